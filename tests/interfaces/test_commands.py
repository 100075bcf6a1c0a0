"""The other commands: decode, why-not, whatif, explain, facts, probe, kb."""

import json
import re
from pathlib import Path

import jsonschema
import pytest
import yaml

PYDANTIC = "tinker.env.pydantic-prerelease-serialization"
RATE_LIMITED = "Error code: 429 - {'detail': 'Too many concurrent requests'}"
TRACEBACK = f"""some output before
Traceback (most recent call last):
  File "/home/me/train.py", line 12, in <module>
    future.result()
  File "/usr/lib/python3.11/concurrent/futures/_base.py", line 456, in result
    return self.__get_result()
tinker.RateLimitError: {RATE_LIMITED}
some output after
"""
BAD_FACTS = yaml.safe_load(
    Path(__file__).with_name("cases").joinpath("bad_facts.yaml").read_text(encoding="utf-8")
)
# Problems that JSON Schema cannot express: most are refused while the text is read.
BEYOND_SCHEMAS = {"MM108", "MM109", "MM118", "MM119", "lone surrogate",
                  "number too large to be finite"}  # fmt: skip

# ---- decode -------------------------------------------------------------------------------------


def test_decode_an_argument(diagnose):
    answer = diagnose("decode", RATE_LIMITED)
    assert (answer.code, answer.err) == (0, "")
    assert "What it says:" in answer.out and "429" in answer.out
    assert "tinker.service.rate-limited" in answer.out
    assert "Do:" in answer.out
    assert diagnose("decode", RATE_LIMITED, "--fail-on", "warning").code == 1


def test_decode_takes_words_and_standard_input_alike(diagnose):
    answer = diagnose("decode", RATE_LIMITED)
    assert diagnose("decode", *RATE_LIMITED.split(" ")) == answer
    assert diagnose("decode", "-", stdin=RATE_LIMITED.encode()) == answer
    assert diagnose("decode", stdin=RATE_LIMITED.encode()) == answer
    assert diagnose("decode", stdin=b"\xef\xbb\xbf" + RATE_LIMITED.encode()) == answer


def test_decode_a_traceback(diagnose):
    answer = diagnose("decode", "-", "--format", "json", stdin=TRACEBACK.encode())
    assert (answer.code, answer.err) == (0, "")
    report = answer.json
    assert report["schema"] == "modelmedic/report/1"
    errors = [f for f in report["facts"] if f["kind"] == "error_message"]
    assert [e["exception"].rpartition(".")[2] for e in errors] == ["RateLimitError"]
    assert "tinker.service.rate-limited" in {d["id"] for d in report["diagnoses"]}
    assert report["messages"]
    for message in report["messages"]:
        assert set(message) == {"row", "title", "text", "meaning", "fix", "retry", "causes"}
        assert message["row"].startswith("tinker.err.") and message["title"]


def test_decode_bytes_that_are_no_text(diagnose):
    answer = diagnose("decode", "-", stdin=b"\xff\xfe\x00 " + RATE_LIMITED.encode())
    assert answer.code == 0
    assert "tinker.service.rate-limited" in answer.out


@pytest.mark.parametrize(
    ("text", "code"), [("nothing that anybody has seen", 4), ("", 2), ("\0", 2)]
)
def test_decode_what_is_not_known(diagnose, text, code):
    answer = diagnose("decode", "-", stdin=text.encode())
    assert (answer.code, answer.err) == (code, "")
    assert answer.out.startswith("Unknown: " if code == 4 else "MM410 ")
    plain = diagnose("decode", "-", "-f", "json", stdin=text.encode()).json
    assert plain["messages"] == plain["diagnoses"] == []


# ---- why-not ------------------------------------------------------------------------------------


def test_why_not_when_it_is_ruled_out(diagnose, cleared):
    plain = diagnose("why-not", PYDANTIC, "--facts", cleared, "-f", "json").json
    assert set(plain) == {"schema", "id", "title", "concluded", "ruled_out", "ways"}
    assert (plain["schema"], plain["id"], plain["concluded"]) == (
        "modelmedic/why-not/1", PYDANTIC, False,
    )  # fmt: skip
    assert plain["ruled_out"]
    contradicted = [gap for way in plain["ways"] for gap in way["contradicted"]]
    assert any("pydantic" in gap["condition"] and gap["facts"] for gap in contradicted)
    text = diagnose("why-not", PYDANTIC, "--facts", cleared)
    assert (text.code, text.err) == (0, "")
    assert "is not concluded." in " ".join(text.out.split())
    assert "It is ruled out:" in text.out
    assert re.search(r"f\d+: package\(name='pydantic', version='2.14.3'\)", text.out)


def test_why_not_when_something_is_missing(diagnose, facts_file):
    facts = facts_file({"kind": "symptom", "name": "slow-steps"})
    plain = diagnose("why-not", PYDANTIC, "--facts", facts, "-f", "json").json
    assert plain["ways"] and not plain["ruled_out"]
    assert all(way["missing"] and way["rule"] for way in plain["ways"])
    assert all(gap["condition"] for way in plain["ways"] for gap in way["missing"])
    assert "not known: " in diagnose("why-not", PYDANTIC, "--facts", facts).out


def test_why_not_without_facts(diagnose):
    answer = diagnose("why-not", PYDANTIC, "-f", "json")
    assert answer.code == 0
    assert answer.json["ways"]


def test_why_not_when_it_is_concluded(diagnose, slow_steps):
    answer = diagnose("why-not", PYDANTIC, "--facts", slow_steps)
    assert "is concluded from these facts." in " ".join(answer.out.split())
    plain = diagnose("why-not", PYDANTIC, "--facts", slow_steps, "-f", "json").json
    assert plain["concluded"] and plain["ways"] == []


@pytest.mark.parametrize("command", ["why-not", "explain"])
def test_an_unknown_id(diagnose, command):
    misspelt = PYDANTIC.replace("serialization", "serialisation")
    answer = diagnose(command, misspelt)
    assert (answer.code, answer.out) == (2, "")
    said = " ".join(answer.err.split())
    assert said.startswith("MM303 there is no ")
    assert said.endswith(f"-> did you mean '{PYDANTIC}'?")
    plain = diagnose(command, "nothing like it", "-f", "json")
    assert plain.code == 2
    (error,) = plain.json["errors"]
    assert (error["code"], error["hint"]) == ("MM303", "`diagnose kb list` shows all ids")


def test_why_not_is_about_diagnoses(diagnose):
    assert diagnose("explain", "tinker.rule.perf-slow-steps").code == 0
    answer = diagnose("why-not", "tinker.rule.perf-slow-steps")
    assert answer.code == 2
    assert "there is no diagnosis" in answer.err


# ---- whatif -------------------------------------------------------------------------------------


def test_what_if_replaces_the_fact_about_the_same_thing(diagnose, slow_steps):
    change = ("--set", "package name=pydantic version=2.14.3")
    plain = diagnose("whatif", "--facts", slow_steps, *change, "-f", "json").json
    assert set(plain) == {
        "schema", "gained", "lost", "unchanged", "confidence", "newly_ruled_out",
    }  # fmt: skip
    assert plain["schema"] == "modelmedic/whatif/1"
    assert PYDANTIC in plain["lost"], "the old version still counts"
    assert PYDANTIC in plain["newly_ruled_out"]
    assert "tinker.perf.slow-steps" in plain["unchanged"]
    text = diagnose("whatif", "--facts", slow_steps, *change)
    assert (text.code, text.err) == (0, "")
    assert f"({PYDANTIC})" in text.out[text.out.index("Gone:") :]


def test_what_if_keeps_facts_about_other_things(diagnose, slow_steps):
    change = ("--set", "package name=numpy version=2.4.0")
    plain = diagnose("whatif", "--facts", slow_steps, *change, "-f", "json").json
    assert plain["lost"] == []
    assert PYDANTIC in plain["unchanged"]


def test_what_if_nothing_changes(diagnose, slow_steps):
    same = ("--set", "package name=pydantic version=2.13.0b2")
    assert diagnose("whatif", "--facts", slow_steps, *same).out.startswith("Nothing would change.")


def test_what_if_takes_several_settings_of_every_type(diagnose):
    settings = (
        "timing_summary operation=forward_backward submit_s=4e1",
        "log_event event=heartbeat-failed count=4 text='Session heartbeat failed'",
        "env_var name=TINKER_API_KEY is_set=no",
    )
    sets = [word for setting in settings for word in ("--set", setting)]
    answer = diagnose("whatif", *sets, "-f", "json")
    assert answer.code == 0, answer.err
    gained = answer.json["gained"]
    assert {"tinker.perf.high-submit-time", "tinker.perf.heartbeat-warnings"} <= set(gained)


@pytest.mark.parametrize(
    ("setting", "code", "says"),
    [
        ("", "MM304", "it must start with a fact kind"),
        ("name=pydantic", "MM304", "it must start with a fact kind"),
        ("package name", "MM304", "word 2 is not attribute=value"),
        ("package name='pydantic", "MM304", "No closing quotation"),
        ("pakage name=pydantic", "MM112", "did you mean 'package'?"),
        ("package nam=pydantic", "MM114", "did you mean 'name'?"),
        ("log_event event=retry count=many", "MM115", "must be a whole number"),
        ("timing_summary operation=x submit_s=nan", "MM115", "a finite number"),
        ("env_var name=X is_set=maybe", "MM115", "true or false"),
        ("package version=1", "MM116", "needs the attribute 'name'"),
        ("diagnosis name=x holds=true", "MM113", "derived by the engine"),
    ],
)
def test_a_bad_setting(diagnose, setting, code, says):
    answer = diagnose("whatif", "--set", setting)
    assert (answer.code, answer.out) == (2, "")
    assert code in answer.err
    assert says in " ".join(answer.err.split())


# ---- explain ------------------------------------------------------------------------------------


def test_explain_a_diagnosis(diagnose):
    plain = diagnose("explain", PYDANTIC, "-f", "json").json
    assert (plain["schema"], plain["id"], plain["form"]) == (
        "modelmedic/entry/1", PYDANTIC, "diagnosis",
    )  # fmt: skip
    assert plain["actions"] and plain["explains"] and plain["sources"]
    assert "tinker.rule.env-pydantic-training-submit" in plain["concluded_by"]
    assert "tinker.rule.env-pydantic-fast-benchmark" in plain["ruled_out_by"]
    assert "tinker.rule.env-pydantic-fast-benchmark" not in plain["concluded_by"]
    text = diagnose("explain", PYDANTIC)
    assert (text.code, text.err) == (0, "")
    assert text.out.startswith(plain["title"])
    for heading in ("Do:", "Accounts for:", "Concluded by:", "Ruled out by:", "Source:"):
        assert heading in text.out


@pytest.mark.parametrize("form", ["rule", "error", "tree", "classification", "diagnosis"])
def test_explain_every_form(diagnose, form):
    listed = diagnose("kb", "list", "--form", form)
    assert (listed.code, listed.err) == (0, "")
    name, title = listed.out.splitlines()[0].split("  ", 1)
    answer = diagnose("explain", name)
    assert answer.code == 0
    assert title in " ".join(answer.out.split())
    assert diagnose("explain", name, "-f", "json").json["form"] == form


# ---- facts --------------------------------------------------------------------------------------


def test_facts_lists_the_kinds(diagnose):
    out = diagnose("facts").out
    assert "- package: " in out and "- symptom: " in out
    assert "- diagnosis: " not in out, "nobody may give a derived fact"


def test_facts_describes_a_kind(diagnose):
    out = diagnose("facts", "symptom").out
    assert out.startswith("symptom: ")
    assert "name (string, required, key)" in out
    assert "= slow-steps" in out


@pytest.mark.parametrize("option", [[], ["--schema"], ["-f", "json"]])
def test_facts_of_an_unknown_kind(diagnose, option):
    answer = diagnose("facts", "pakage", *option)
    assert answer.code == 2
    assert "MM112" in answer.out + answer.err
    assert "did you mean 'package'?" in answer.out + answer.err


@pytest.fixture(scope="module")
def schema(diagnose):
    answer = diagnose("facts", "--schema")
    assert (answer.code, answer.err) == (0, "")
    jsonschema.Draft7Validator.check_schema(answer.json)
    return jsonschema.Draft7Validator(answer.json)


def test_the_schema_accepts_what_is_accepted(schema, examples):
    files = [*examples.glob("*.json"), *examples.parents[1].glob("knowledge/healthy/*.json")]
    assert len(files) > 5
    for path in files:
        assert schema.is_valid(json.loads(path.read_text())), path.name


@pytest.mark.parametrize(
    "case",
    [case for case in BAD_FACTS if not {case["code"], case["name"]} & BEYOND_SCHEMAS],
    ids=lambda case: case["name"],
)
def test_the_schema_refuses_what_is_refused(schema, case):
    assert not schema.is_valid(json.loads(case["text"]))


# ---- probe --------------------------------------------------------------------------------------


def test_probes_are_listed(diagnose):
    text = diagnose("probe", "list")
    assert (text.code, text.err) == (0, "")
    plain = diagnose("probe", "list", "-f", "json").json
    assert "environment" in {probe["name"] for probe in plain}
    for probe in plain:
        assert set(probe) >= {"name", "title", "command", "seconds", "network", "gathers"}
        assert f"{probe['name']}: " in text.out and f"$ {probe['command']}\n" in text.out


def test_a_probe_prints_a_facts_file(diagnose, tmp_path, schema):
    answer = diagnose("probe", "environment")
    assert (answer.code, answer.err) == (0, "")
    assert schema.is_valid(answer.json)
    assert {"python", "platform"} <= {fact["kind"] for fact in answer.json["facts"]}
    report = diagnose("--facts", "-", "-f", "json", stdin=answer.out.encode())
    assert report.code in (0, 1), report.err
    given = [f for f in report.json["facts"] if not f.get("derived")]
    assert len(given) == len(answer.json["facts"])
    to_file = diagnose("probe", "environment", "-o", tmp_path / "facts.json")
    assert (to_file.code, to_file.out) == (0, "")
    assert diagnose("--facts", tmp_path / "facts.json").code in (0, 1)


def test_the_environment_of_a_freeze_file_is_diagnosed(diagnose, tmp_path):
    (tmp_path / "freeze.txt").write_text("pydantic==2.13.0b2\ntinker==0.16.1\n")
    answer = diagnose("probe", "environment", "--freeze", "freeze.txt", cwd=tmp_path)
    report = diagnose("--facts", "-", "-f", "json", stdin=answer.out.encode()).json
    assert PYDANTIC in {d["id"] for d in report["diagnoses"]}


@pytest.mark.parametrize(
    "arguments", [["environment", "--freeze", "none"], ["messages", "none"]], ids=" ".join
)
def test_a_probe_that_finds_nothing_to_read(diagnose, tmp_path, arguments):
    answer = diagnose("probe", *arguments, cwd=tmp_path)
    assert answer.code == 2
    assert "cannot read the file: No such file or directory" in " ".join(answer.err.split())
    assert not answer.out or answer.json["facts"] == []


def test_messages_of_a_log(diagnose, schema):
    answer = diagnose("probe", "messages", "-", stdin=TRACEBACK.encode())
    assert answer.code == 0
    assert schema.is_valid(answer.json)
    assert "error_message" in {fact["kind"] for fact in answer.json["facts"]}
    assert answer.json["facts"][0]["provenance"][0]["location"].startswith("<stdin>:")


# ---- help ---------------------------------------------------------------------------------------


def test_help_lists_every_command_once_and_everyday_ones_first(diagnose):
    answer = diagnose("--help")
    assert answer.code == 0
    everyday, others = answer.out.partition("Everyday commands:")[2].split(
        "Commands for maintainers and pipelines:"
    )
    first, rest = (re.findall(r"^  ([a-z-]+) ", text, re.M) for text in (everyday, others))
    assert first[:2] == ["inspect", "decode"]
    assert {"kb", "bulk", "diff", "replay", "report"} <= set(rest)
    assert len({*first, *rest}) == len([*first, *rest])


def test_reports_are_compared_and_replayed_by_one_command_each(diagnose):
    assert "bundle" in diagnose("report", "--help").out
    for name in ("diff", "replay"):
        assert diagnose(name, "--help").code == 0
        assert diagnose("report", name, "--help").code == 2
