"""``--baseline``: findings that are known and accepted, with a reason and a last day."""

import json
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from modelmedic.engine.diagnosis.baseline import BaselineEntry, accept
from modelmedic.engine.diagnosis.report import Accepted
from modelmedic.interfaces.reports.formats import FORMATS

PYDANTIC = "tinker.env.pydantic-prerelease-serialization"
REASON = "known, waits for <b>release</b> | 2.14"


@pytest.fixture
def baseline(tmp_path):
    """Writes a baseline; an entry needs an id only."""

    def baseline(*entries):
        usual = {"reason": REASON, "until": "2026-06-30", "owner": "training team"}
        plain = {"schema": "modelmedic/baseline/1", "accepted": [usual | e for e in entries]}
        (tmp_path / "known.yaml").write_text(json.dumps(plain))
        return "known.yaml"

    return baseline


@pytest.fixture
def ask(diagnose, write, slow):
    write("facts.json", slow)

    def ask(*arguments, today="2026-06-30"):
        common = ("--baseline", "known.yaml", "--today", today)
        return diagnose("--facts", "facts.json", *common, *arguments)

    return ask


def all_errors(doctor, read, slow):
    found = doctor.diagnose(read(*slow)).diagnoses
    return [{"id": d.id} for d in found if d.severity in ("error", "blocker")]


def test_accepted_findings_stay_and_do_not_count(ask, baseline, doctor, read, slow, report_schema):
    entries = all_errors(doctor, read, slow)
    baseline(*entries)
    done = ask("-f", "json")
    assert done.code == 0
    jsonschema.Draft202012Validator(report_schema).validate(done.json)
    marked = {d["id"]: d.get("accepted") for d in done.json["diagnoses"]}
    said = {"reason": REASON, "until": "2026-06-30", "owner": "training team"}
    assert {n for n, a in marked.items() if a} == {e["id"] for e in entries}
    assert marked[PYDANTIC] == said
    assert "notes" not in done.json
    assert ask("--fail-on", "warning").code == 1, "the warnings are not accepted"
    baseline(*entries[1:])
    assert ask().code == 1


@pytest.mark.parametrize("format_", FORMATS)
def test_every_format_says_so(ask, baseline, format_, sarif_schema):
    baseline({"id": PYDANTIC}, {"id": "tinker.no.such"})
    shown = ask("-f", format_).out
    if format_ == "sarif":
        log = json.loads(shown)
        jsonschema.Draft4Validator(sarif_schema).validate(log)
        (result,) = (r for r in log["runs"][0]["results"] if r["ruleId"] == PYDANTIC)
        (why,) = result["suppressions"]
        assert (why["kind"], why["status"]) == ("external", "accepted")
        assert REASON in why["justification"]
        assert sum("suppressions" in r for r in log["runs"][0]["results"]) == 1
        (note,) = log["runs"][0]["invocations"][0]["toolExecutionNotifications"]
        assert (note["level"], note["descriptor"]["id"]) == ("note", "MM343")
    elif format_ == "junit":
        cases = {case.get("name"): case for case in ET.fromstring(shown).iter("testcase")}
        skipped = cases[PYDANTIC].find("skipped")
        assert skipped is not None and REASON in skipped.get("message", "")
        assert cases[PYDANTIC].find("failure") is None
        assert cases["MM343"].get("classname") == "note"
    elif format_ == "github":
        assert not [line for line in shown.splitlines() if PYDANTIC in line]
        assert "::notice" in shown and "MM343" in shown
    elif format_ == "lines":
        assert f"[{PYDANTIC}]" not in shown
        assert "MM343" in shown
    elif format_ == "html":
        assert "known, waits for &lt;b&gt;release&lt;/b&gt;" in shown
        assert 'id="accepted"' in shown and "MM343" in shown
    else:
        plain = " ".join(shown.replace("\\", "").split())
        assert "MM343" in plain
        assert (REASON in plain) or "known, waits for" in plain


def test_the_last_day_counts_and_the_next_one_does_not(ask, baseline):
    baseline({"id": PYDANTIC})
    assert ask("-f", "json").json.get("notes") is None
    late = ask("-f", "json", today="2026-07-01")
    assert not [d for d in late.json["diagnoses"] if "accepted" in d]
    (note,) = late.json["notes"]
    assert note["code"] == "MM342"
    assert "training team" in note["message"] and "2026-06-30" in note["message"]
    assert "the finding counts again" in note["message"]
    assert late.code == 1


def test_an_entry_that_matches_nothing_is_named(ask, baseline):
    baseline({"id": "tinker.perf.missing-pipelining"}, {"id": PYDANTIC})
    (note,) = ask("-f", "json").json["notes"]
    assert note["code"] == "MM343" and "tinker.perf.missing-pipelining" in note["message"]
    assert note["where"].startswith("known.yaml:")


def test_a_scope_is_for_its_cases_alone(ask, baseline):
    version = {"kind": "package", "name": "pydantic", "version": "2.13.0b2"}
    sdk = {"kind": "package", "name": "tinker"}
    baseline({"id": PYDANTIC, "facts": [version, sdk]})
    assert PYDANTIC in accepted(ask("-f", "json"))
    for scope, says in (
        ([version | {"version": "2.13.0b1"}, sdk], "there is no such fact: package("),
        ([version], "it rests on more than the facts of the entry: package(name='tinker'"),
    ):
        baseline({"id": PYDANTIC, "facts": scope})
        other = ask("-f", "json")
        assert not accepted(other)
        assert says in other.json["notes"][0]["message"]


def accepted(answer):
    return [d["id"] for d in answer.json["diagnoses"] if "accepted" in d]


def test_new_evidence_ends_the_acceptance(doctor, read):
    """A finding that is accepted in one file is not accepted in the next one."""

    def patterns(*files):
        items = ({"kind": "package", "name": "pydantic", "version": v} for v in files)
        return doctor.diagnose(read({"kind": "symptom", "name": "slow-steps"}, *items))

    scope = (("package", {"name": "pydantic", "version": "2.13.0b2"}),)
    entry = BaselineEntry(PYDANTIC, Accepted("x", "2026-12-31"), scope)
    assert marked(accept(patterns("2.13.0b2"), [entry], "2026-01-01")) == [PYDANTIC]
    assert not marked(accept(patterns("2.13.0b2", "2.13.0b1"), [entry], "2026-01-01"))


def marked(report):
    return [d.id for d in report.diagnoses if d.accepted]


def test_a_scope_is_written_as_the_report_shows_it(diagnose, write, baseline, monkeypatch):
    """A home folder is `~` in the report, so it is in the baseline."""
    home = "/home/" + "alicesmith"
    write("facts.json", [{"kind": "symptom", "name": "slow-steps"},
                         {"kind": "package", "name": "pydantic", "version": "2.13.0b2",
                          "location": f"{home}/site-packages"}])  # fmt: skip
    place = {"kind": "package", "location": "~/site-packages"}
    baseline({"id": PYDANTIC, "facts": [place]})
    done = diagnose("--facts", "facts.json", "--baseline", "known.yaml", "--today", "2026-01-01",
                    "-f", "json")  # fmt: skip
    assert accepted(done) == [PYDANTIC]


def test_inspect_knows_it_too(diagnose, write, slow, baseline, doctor, read):
    write("facts.json", slow)
    baseline(*all_errors(doctor, read, slow))
    day = ("--today", "2026-01-01")
    assert diagnose("inspect", "facts.json", "--baseline", "known.yaml", *day).code == 0
    assert diagnose("inspect", "facts.json").code == 1


def test_a_new_baseline_waits_for_its_reasons(diagnose, write, slow, tmp_path):
    write("facts.json", slow)
    day = ("--today", "2026-01-01")
    done = diagnose("baseline", "write", "--facts", "facts.json", *day, "-o", "new.yaml")
    assert (done.code, done.out, done.err) == (0, "", "")
    text = (tmp_path / "new.yaml").read_text()
    assert '"2026-04-01"' in text and PYDANTIC in text
    refused = diagnose("--facts", "facts.json", "--baseline", "new.yaml", *day)
    assert refused.code == 2
    assert refused.err.count("say why this is accepted") == text.count('reason: ""')
    (tmp_path / "new.yaml").write_text(text.replace('reason: ""', 'reason: "as it is"'))
    with_all = ("--baseline", "new.yaml", *day, "--fail-on", "info")
    assert diagnose("--facts", "facts.json", *with_all).code == 0
    assert diagnose("baseline", "write", "facts.json", *day).out == text


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"reason": "  "}, "say why"),
        ({"until": "2026-02-30"}, "a day is written like"),
        ({"until": "20260228"}, "a day is written like"),
        ({"untill": "2026-02-28"}, "no field 'untill'"),
        ({"facts": [{"kind": "pakage"}]}, "unknown fact kind"),
        ({"facts": [{"kind": "package", "nam": "x"}]}, "has no attribute"),
        ({"facts": [{"kind": "log_event", "count": "x"}]}, "a whole number"),
        ({"id": ""}, "at least 1 character"),
    ],
)
def test_a_baseline_is_read_strictly(ask, baseline, entry, says):
    baseline({"id": PYDANTIC} | entry)
    done = ask()
    assert (done.code, done.out) == (2, "")
    assert "MM341" in done.err and says in " ".join(done.err.split())


@pytest.mark.parametrize("text", ["", "- a", "schema: x\naccepted: []", "a: &x 1\nb: *x", "{"])
def test_what_is_no_baseline_is_refused(ask, tmp_path, text):
    (tmp_path / "known.yaml").write_text(text)
    done = ask("-f", "json")
    assert done.code == 2
    assert {e["code"] for e in done.json["errors"]} == {"MM341"}


def test_a_day_that_is_none(diagnose):
    done = diagnose("--facts", "x.json", "--today", "tomorrow")
    assert done.code == 2 and "MM300" in done.err
