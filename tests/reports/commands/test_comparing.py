"""``diff`` and ``replay``: what changed between two reports, and whether one holds."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modelmedic.engine.diagnosis.comparison import Comparison, Snapshot, compare

PYDANTIC = "tinker.env.pydantic-prerelease-serialization"
SUBMIT = "tinker.perf.high-submit-time"


def ids(changes):
    return {change["id"] if isinstance(change, dict) else change.id for change in changes}


def without(facts, **values):
    return [f for f in facts if not values.items() <= f.items()]


def test_the_same_has_only_persisting(diagnose, write, slow):
    write("a.json", slow)
    done = diagnose("diff", "a.json", "a.json", "-f", "json")
    assert done.code == 0
    assert PYDANTIC in ids(done.json["persisting"])
    assert not any(done.json[p] for p in Comparison._fields if p != "persisting")


def test_another_version_fixes_it(diagnose, write, slow):
    write("a.json", slow)
    mended = [*without(slow, name="pydantic"),
              {"kind": "package", "name": "pydantic", "version": "2.14.3"}]  # fmt: skip
    write("b.json", mended)
    found = diagnose("diff", "a.json", "b.json", "-f", "json").json
    assert PYDANTIC in ids(found["fixed"])
    assert not found["lost_visibility"] and not found["new"]
    back = diagnose("diff", "b.json", "a.json", "-f", "json")
    assert PYDANTIC in ids(back.json["new"])
    assert back.code == 1, "a new problem ends with 1"
    assert diagnose("diff", "b.json", "a.json", "--fail-on", "never").code == 0


def test_missing_evidence_fixes_nothing(diagnose, write, slow):
    write("a.json", slow)
    write("b.json", without(slow, kind="package"))
    done = diagnose("diff", "a.json", "b.json", "-f", "json")
    assert PYDANTIC in ids(done.json["lost_visibility"])
    assert PYDANTIC not in ids(done.json["fixed"])
    (change,) = (c for c in done.json["lost_visibility"] if c["id"] == PYDANTIC)
    assert "nothing is said any more about" in change["because"] and "pydantic" in change["because"]
    assert done.code == 1, "what is out of sight is not mended"
    text = diagnose("diff", "a.json", "b.json")
    assert "Out of sight, not fixed" in text.out


def test_a_probe_that_ran_again_and_did_not_see_it(doctor, read):
    """The log was read again: the message is gone, not out of sight."""

    def log(text, by="probe:logs"):
        return {"kind": "error_message", "text": text, "provenance": {"source": by}}

    bad = "tinker.AuthenticationError: Error code: 401 - Invalid API key"
    before = Snapshot.of(doctor.diagnose(read(log(bad))))
    assert before.problems
    again = Snapshot.of(doctor.diagnose(read(log("RuntimeError: something else"))))
    elsewhere = Snapshot.of(doctor.diagnose(read(log("RuntimeError: other", by="probe:watch"))))
    assert ids(compare(doctor, before, again).fixed) >= before.problems.keys()
    assert not compare(doctor, before, elsewhere).fixed


@settings(max_examples=25)
@given(data=st.data())
def test_laws(doctor, read, slow, data):
    """Every problem is in one list; the mirror image is new against gone; less to see is never an
    improvement."""
    facts = read(*slow)
    kept = data.draw(st.lists(st.sampled_from(facts), unique=True))
    one, two = (Snapshot.of(doctor.diagnose(f)) for f in (facts, kept))
    there, back = compare(doctor, one, two), compare(doctor, two, one)
    listed = [c.id for part in there for c in part]
    assert sorted(listed) == sorted({*one.problems, *two.problems})
    assert ids(there.new) == ids((*back.fixed, *back.lost_visibility))
    assert ids(there.persisting) == ids(back.persisting)
    assert not there.fixed


def test_other_knowledge_is_told_apart_from_a_change_of_the_run(diagnose, write, slow):
    write("facts.json", slow)
    diagnose("--facts", "facts.json", "-f", "json", "-o", "old.json", "--fail-on", "never")
    report = json.loads(Path("old.json").read_text())
    gone = [d for d in report["diagnoses"] if d["id"] != PYDANTIC]
    for d in gone:
        d["explained_by"] = []
    report["diagnoses"] = gone
    report["knowledge"]["digest"] = "0" * 64
    write("older.json", report)
    found = diagnose("diff", "older.json", "old.json", "-f", "json").json
    assert ids(found["changed_by_knowledge"]) == {PYDANTIC}
    assert SUBMIT in ids(found["persisting"])
    assert not found["new"] and not found["fixed"]


@pytest.fixture
def report(diagnose, write, slow):
    """A saved report, as plain data."""
    write("facts.json", slow)
    diagnose("--facts", "facts.json", "-f", "json", "-o", "report.json")
    return json.loads(Path("report.json").read_text())


def test_a_report_holds(diagnose, report):
    done = diagnose("replay", "report.json")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("The report holds")
    assert diagnose("replay", "report.json", "-f", "json").json["differences"] == []


def test_a_report_with_secrets_holds(diagnose, write):
    key = "tml" + "-" + "Zk8Qw2Lp9Xv4Rt7Yb1Nc6Md3"
    text = f"tinker.AuthenticationError: Error code: 401 - Invalid API key {key}"
    other = f"TypeError: {key} is no Datum"
    write("facts.json", [{"kind": "error_message", "text": t} for t in (text, other)])
    diagnose("--facts", "facts.json", "-f", "json", "-o", "report.json")
    assert "secret:API_KEY" in Path("report.json").read_text()
    assert diagnose("replay", "report.json").code == 0


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda r: r["diagnoses"][0].update(confidence="possible"), ("confidence", PYDANTIC)),
        (lambda r: r["diagnoses"][0].update(severity="info"), ("severity", PYDANTIC)),
        (lambda r: r["diagnoses"].pop(0), ("diagnosis", PYDANTIC)),
        (lambda r: r["diagnoses"][0]["evidence"].pop(), ("evidence", PYDANTIC)),
        (lambda r: r["ruled_out"].append({"id": SUBMIT, "title": "x", "because": []}),
         ("ruled_out", SUBMIT)),
        (lambda r: r["facts"].pop(next(i for i, f in enumerate(r["facts"])
                                       if f.get("name") == "pydantic")), ("diagnosis", PYDANTIC)),
    ],
)  # fmt: skip
def test_a_changed_report_does_not_hold(diagnose, write, report, change, named):
    change(report)
    write("changed.json", report)
    done = diagnose("replay", "changed.json", "-f", "json")
    assert (done.code, done.json["holds"]) == (1, False)
    assert named in {(d["part"], d["id"]) for d in done.json["differences"] if d["counts"]}
    text = diagnose("replay", "changed.json").out
    assert text.startswith("The report does not hold") and named[1] in text


def test_other_knowledge_with_the_same_conclusions_is_named(diagnose, write, report):
    report["knowledge"]["digest"] = "0" * 64
    write("older.json", report)
    done = diagnose("replay", "older.json")
    assert done.code == 0
    assert "for no conclusion" in done.out and "0000" in done.out


@pytest.mark.parametrize("command", [["replay"], ["diff", "facts.json"]])
@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda r: r.update(diagnoses="x"), "MM344"),
        (lambda r: r["diagnoses"].append({}), "MM344"),
        (lambda r: r.update(more=1), "MM344"),
        (lambda r: r["facts"].append({"id": "f99", "kind": "pakage"}), "MM112"),
    ],
)
def test_what_is_no_report_is_refused(diagnose, write, report, command, change, code):
    change(report)
    write("bad.json", report)
    done = diagnose(*command, "bad.json")
    assert (done.code, done.out) == (2, "")
    assert code in done.err


def test_facts_cannot_be_replayed(diagnose, write, slow):
    write("facts.json", slow)
    done = diagnose("replay", "facts.json")
    assert done.code == 2 and "MM344" in done.err
