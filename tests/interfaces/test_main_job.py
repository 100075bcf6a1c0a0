"""The main job: ``diagnose --facts FILE`` on the examples that ship with ModelMedic."""

import json
import re
import sys

import pytest

PYDANTIC = "tinker.env.pydantic-prerelease-serialization"
SYMPTOMS = {
    "tinker.perf.slow-steps",
    "tinker.perf.high-submit-time",
    "tinker.perf.heartbeat-warnings",
}

# The outer contract. A key that is not here breaks a user's parser when it goes or is renamed.
REPORT_KEYS = {
    "schema", "tool", "knowledge", "status", "facts", "diagnoses", "ruled_out", "unknown", "next",
    "messages", "errors",
}  # fmt: skip
DIAGNOSIS_KEYS = {
    "id", "title", "severity", "kind", "confidence", "summary", "evidence", "explanation",
    "actions", "explains", "explained_by", "conflicting",
}  # fmt: skip
EVIDENCE_KEYS = {"fact", "text", "rule", "source"}
RULED_OUT_KEYS = {"id", "title", "because"}
UNKNOWN_KEYS = {"id", "title", "missing"}
NEXT_KEYS = {"type", "id", "text", "seconds", "separates"}
NEXT_KEYS_NOW_AND_THEN = {"command", "why", "choices", "sets"}


@pytest.fixture(scope="module")
def report(diagnose, slow_steps):
    answer = diagnose("--facts", slow_steps, "--format", "json")
    assert (answer.code, answer.err) == (1, "")
    return answer.json


@pytest.fixture(scope="module")
def text(diagnose, slow_steps):
    answer = diagnose("--facts", slow_steps, "-v")
    assert (answer.code, answer.err) == (1, "")
    return answer.out


@pytest.fixture(scope="module")
def cleared_report(diagnose, cleared):
    answer = diagnose("--facts", cleared, "--format", "json")
    assert (answer.code, answer.err) == (0, "")
    return answer.json


def leaves(how):
    """The fact ids that a derivation ends in."""
    for step in how:
        for premise in step["because"]:
            if premise.get("how"):
                yield from leaves(premise["how"])
            else:
                yield from premise["facts"]


def test_the_cause_comes_first(report):
    first = report["diagnoses"][0]
    assert (first["id"], first["kind"]) == (PYDANTIC, "root-cause")
    assert (first["severity"], first["confidence"]) == ("error", "certain")
    assert report["status"] == "findings"


def test_it_takes_the_symptoms_under_itself(report):
    by_id = {d["id"]: d for d in report["diagnoses"]}
    assert set(by_id[PYDANTIC]["explains"]) >= SYMPTOMS
    assert all(PYDANTIC in by_id[symptom]["explained_by"] for symptom in SYMPTOMS)
    assert all(by_id[symptom]["kind"] == "symptom" for symptom in SYMPTOMS)


def test_every_derivation_ends_in_given_facts(report, slow_steps):
    facts = {f["id"]: f for f in report["facts"]}
    given = {name for name, fact in facts.items() if not fact.get("derived")}
    for d in report["diagnoses"]:
        ends = set(leaves(d["explanation"]["how"]))
        assert ends and ends <= given, d["id"]
        assert {e["fact"] for e in d["evidence"]} <= given
    (pydantic,) = (n for n in given if facts[n].get("name") == "pydantic")
    first = report["diagnoses"][0]
    assert pydantic in set(leaves(first["explanation"]["how"]))
    (evidence,) = {e["source"] for e in first["evidence"] if e["fact"] == pydantic}
    assert evidence == str(slow_steps)
    assert {"run/metrics.jsonl", "run/logs.log:211"} <= {e["source"] for e in first["evidence"]}


def test_every_step_names_its_rule(report):
    def steps(how):
        for step in how:
            yield step
            for premise in step["because"]:
                yield from steps(premise.get("how", ()))

    found = [s for d in report["diagnoses"] for s in steps(d["explanation"]["how"])]
    assert found
    assert all(step["rule"] and step["because"] for step in found)


def test_the_fix_is_a_command_with_a_way_to_verify_it(report):
    action = report["diagnoses"][0]["actions"][0]
    assert action["command"].startswith("pip install --upgrade") and "pydantic" in action["command"]
    assert action["do"] and action["verify"]


def test_the_text_says_the_same(text, slow_steps, report):
    first = report["diagnoses"][0]
    assert text.startswith("1 problem found")
    assert text.index(f"[error] {first['title']}") < text.index(PYDANTIC) < text.index("Do:")
    accounts = text[text.index("Accounts for:") : text.index("Because:")]
    assert all(f"({symptom})" in accounts for symptom in SYMPTOMS)
    version = re.search(r"(f\d+): package\(name='pydantic', version='2.13.0b2'\)\s+\[(.*)\]", text)
    assert version
    facts = {f["id"]: f for f in report["facts"]}
    assert facts[version[1]]["name"] == "pydantic"
    assert version[2] == str(slow_steps)
    assert "[run/logs.log:211]" in text
    for action in first["actions"]:
        assert "command" not in action or f"$ {action['command']}\n" in text
    assert text.count("Verify: ") >= len(first["actions"])


def test_a_command_stands_on_one_line_however_narrow(run, slow_steps, report):
    command = report["diagnoses"][0]["actions"][0]["command"]
    code = (
        "import sys; from modelmedic.interfaces.reports.layout import Line, text_of;"
        "print(text_of([Line(sys.argv[1], 9, mark='$ ', keep=True)], width=20), end='')"
    )
    assert run(sys.executable, "-c", code, command).out == " " * 9 + f"$ {command}\n"


def test_a_fast_benchmark_and_a_final_release_clear_pydantic(cleared_report):
    assert PYDANTIC not in {d["id"] for d in cleared_report["diagnoses"]}
    assert "tinker.perf.slow-steps" in {d["id"] for d in cleared_report["diagnoses"]}
    (out,) = (r for r in cleared_report["ruled_out"] if r["id"] == PYDANTIC)
    facts = {f["id"]: f for f in cleared_report["facts"]}
    for kind in ("serialization_benchmark", "package"):
        assert kind in {facts[name]["kind"] for name in leaves(out["because"])}
    assert all(step["message"] for step in out["because"])


def test_the_short_text_is_a_verdict(diagnose, slow_steps, report):
    first = report["diagnoses"][0]
    text = diagnose("--facts", slow_steps).out
    assert text.startswith(f"[error] {first['title']}")
    assert text.count(first["title"]) == 1 and "=> " not in text  # it is still on the screen
    assert f"$ {first['actions'][0]['command']}\n" in text and "run/logs.log:211" in text
    assert "tinker.rule." not in text and len(text.splitlines()) <= 24


def test_why_tells_of_one_finding(diagnose, slow_steps, cleared, cleared_report):
    told = diagnose("--facts", slow_steps, "--why", PYDANTIC).out
    assert told.startswith("[error] ") and "Because:" in told and "Perhaps" not in told
    assert diagnose("--facts", cleared, "--why", PYDANTIC).out.startswith("Ruled out: ")
    still_open = cleared_report["unknown"][0]["id"]
    assert "not known: " in diagnose("--facts", cleared, "--why", still_open).out
    missed = diagnose("--facts", slow_steps, "--why", "tinker.perf.gil-contentoin").out
    assert "tinker.perf.gil-contention" in missed


def test_the_text_says_why_it_is_cleared(diagnose, cleared, cleared_report):
    text = diagnose("--facts", cleared, "-v").out
    above, ruled_out = text.split("Ruled out:")
    assert "pydantic" not in above.split("Looked at, and fine:")[0].split("Because:")[0].lower()
    (out,) = (r for r in cleared_report["ruled_out"] if r["id"] == PYDANTIC)
    assert PYDANTIC in ruled_out
    words = " ".join(ruled_out.split())
    assert all(step["message"] in words for step in out["because"])
    assert "seconds=0.005" in ruled_out and f"[{cleared}]" in ruled_out


@pytest.mark.parametrize("name", ["report", "cleared_report"])
def test_json_has_the_keys_of_the_contract(name, request):
    plain = request.getfixturevalue(name)
    assert set(plain) == REPORT_KEYS
    assert plain["schema"] == "modelmedic/report/1"
    assert set(plain["tool"]) == {"name", "version"}
    assert set(plain["knowledge"]) == {"version", "digest", "overlays"}
    assert re.fullmatch(r"[0-9a-f]{64}", plain["knowledge"]["digest"])
    for d in plain["diagnoses"]:
        assert set(d) - {"packet"} == DIAGNOSIS_KEYS
        assert set(d["explanation"]) == {"how"}
        assert d["evidence"]
        assert all(EVIDENCE_KEYS - {"source"} <= set(e) <= EVIDENCE_KEYS for e in d["evidence"])
    assert all(set(r) == RULED_OUT_KEYS for r in plain["ruled_out"])
    assert all(set(c) == UNKNOWN_KEYS for c in plain["unknown"])
    for step in plain["next"]:
        assert NEXT_KEYS <= set(step) <= NEXT_KEYS | NEXT_KEYS_NOW_AND_THEN
    assert plain["errors"] == [] and plain["messages"] == []


def test_what_is_open_and_what_comes_next(cleared_report):
    concluded = {d["id"] for d in cleared_report["diagnoses"]}
    assert not concluded & {c["id"] for c in cleared_report["unknown"]}
    assert cleared_report["next"]
    assert {step["type"] for step in cleared_report["next"]} <= {"probe", "question"}
    assert all(step["text"] for step in cleared_report["next"])


@pytest.mark.parametrize("format_", ["text", "json"])
def test_the_same_facts_give_the_same_bytes(diagnose, tmp_path, slow_steps, format_):
    """In any order and any number of files, with any hash seed, engine, and state of the cache.
    Only the command that shows more is the one that was given."""
    facts = json.loads(slow_steps.read_text())["facts"]
    for fact in facts:
        fact.setdefault("provenance", {"source": "probe:x", "location": "somewhere"})
    for name, part in (("all", facts), ("back", facts[::-1]), ("a", facts[:3]), ("b", facts[3:])):
        (tmp_path / f"{name}.json").write_text(json.dumps(part))
    runs = (
        (["all.json"], "auto", {"PYTHONHASHSEED": "0"}),
        (["back.json"], "auto", {"PYTHONHASHSEED": "1"}),
        (["a.json", "b.json"], "reference", {"PYTHONHASHSEED": "77"}),
        (["b.json", "a.json"], "auto", {"MODELMEDIC_CACHE": ""}),
    )
    answers = [
        diagnose("--facts", *files, "-f", format_, "--engine", engine, cwd=tmp_path, **variables)
        for files, engine, variables in runs
    ]
    more = re.compile("^More: .*", re.MULTILINE | re.DOTALL)
    assert len({(answer.code, more.sub("", answer.out), answer.err) for answer in answers}) == 1
    assert answers[0].code == 1


def test_a_fact_given_twice_counts_once(diagnose, slow_steps, report):
    twice = diagnose("--facts", slow_steps, slow_steps, "-f", "json").json
    assert twice == report
