"""Every format and every way in says the same of an error that nothing explains: no verdict."""

import json
import re
from xml.etree import ElementTree as ET

import pytest

from modelmedic.interfaces.cli.main import main
from modelmedic.interfaces.mcp.tools import TOOLS
from modelmedic.interfaces.reports.formats import FORMATS

UNKNOWN = {
    "import": ("ImportError: cannot import name 'greet' from 'hello'",
               {"exception": "ImportError", "text": "cannot import name 'greet' from 'hello'"}),
    "key": ("KeyError: 'colour_of_the_sky'",
            {"exception": "KeyError", "text": "'colour_of_the_sky'"}),
    "exit": ("subprocess.CalledProcessError: Command '['paint']' returned non-zero exit status 7.",
             {"exception": "CalledProcessError", "module": "subprocess",
              "text": "Command '['paint']' returned non-zero exit status 7."}),
}  # fmt: skip
WARNED = "UserWarning: the sky is blue"
KNOWN = "tinker.AuthenticationError: Error code: 401 - {'detail': 'Invalid API key'}"


@pytest.fixture(params=["decode", "facts", "inspect", "inspect-log"])
def arguments_for(request, tmp_path):
    """The command line that is given an error, one way or the other."""

    def arguments(text, facts):
        if request.param == "decode":
            return ["decode", text]
        if request.param == "inspect-log":
            log = tmp_path / "run.log"
            frame = 'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n'
            log.write_text(f"2026-01-05 10:00:00 INFO step 1\n{frame}    go()\n{text}\n")
            return ["inspect", str(log)]
        path = tmp_path / "facts.json"
        items = [{"kind": "error_message", **facts}]
        path.write_text(json.dumps({"schema": "modelmedic/facts/1", "facts": items}))
        return ["--facts", str(path)] if request.param == "facts" else ["inspect", str(path)]

    return arguments


@pytest.fixture
def answer(capsys, compiled, monkeypatch):
    """Exit code and output of a command line, in this process."""

    def answer(*arguments):
        with pytest.raises(SystemExit) as end:
            main(list(arguments))
        return end.value.code, capsys.readouterr().out

    return answer


def _says_unknown(out, format_):
    if format_ == "json":
        report = json.loads(out)
        return report["status"] == "unknown" and len(report["unexplained"]) == 1
    if format_ == "sarif":
        (run,) = json.loads(out)["runs"]
        (result,) = run["results"]
        kind = result["kind"], result["level"], result["ruleId"]
        rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
        return (
            run["properties"]["status"] == "unknown"
            and kind == ("open", "none", "unexplained-error")
            and rules[result["ruleIndex"]] == result["ruleId"]
        )
    if format_ == "junit":
        suite = ET.fromstring(out)
        found = suite.findall(".//testcase[@classname='unexplained']/error")
        return suite.get("errors") == "1" and suite.get("failures") == "0" and len(found) == 1
    marks = {"text": "Not explained:", "markdown": "**Not explained:**",
             "html": 'id="h-unexplained">Not explained<',
             "github": "title=Not explained::", "lines": "warning: Not explained: "}  # fmt: skip
    healthy = re.search(r"no problem found", out, re.IGNORECASE)
    return marks.get(format_, "Not explained") in out and not healthy


@pytest.mark.sweep
@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("error", UNKNOWN)
def test_an_unknown_error_is_no_verdict(answer, arguments_for, error, format_):
    code, out = answer(*arguments_for(*UNKNOWN[error]), "-f", format_)
    assert code == 4
    assert _says_unknown(out, format_), out


def test_the_tools_of_agents_say_the_same(doctor):
    for text, facts in UNKNOWN.values():
        for tool, given in (
            ("decode", {"text": text}),
            ("diagnose", {"facts": [{"kind": "error_message", **facts}]}),
        ):
            found = TOOLS[tool].answer(doctor, given)
            assert found["verdict"]["status"] == "unknown"
            (error,) = found["verdict"]["unexplained"]
            quoted = {i["id"]: i["text"] for i in found["untrusted_evidence"]["items"]}
            assert facts["text"] in quoted[error["evidence"]]


@pytest.mark.parametrize(
    ("text", "code", "status", "left"),
    [
        (WARNED, 0, "clear", 0),
        (KNOWN, 1, "findings", 0),
        (f"{KNOWN}\n\n{UNKNOWN['key'][0]}", 1, "findings", 1),
        ("KeyboardInterrupt", 0, "clear", 0),
    ],
)
def test_what_is_explained_or_no_error(answer, text, code, status, left):
    got, out = answer("decode", text, "-f", "json")
    report = json.loads(out)
    assert (got, report["status"], len(report.get("unexplained", ()))) == (code, status, left)


def test_nothing_fails_on_request(answer):
    assert answer("decode", UNKNOWN["key"][0], "--fail-on", "never")[0] == 0
    code, out = answer("decode", UNKNOWN["key"][0], "--fail-on", "never", "-f", "junit")
    assert code == 0
    assert ET.fromstring(out).get("errors") == "0"


def test_a_lesser_finding_does_not_hide_an_unknown_error(answer, cleared, tmp_path):
    """The exit code 0 says that nothing of weight is there, which is unknown here."""
    facts = json.loads(cleared.read_text())
    facts = facts["facts"] if isinstance(facts, dict) else facts
    path = tmp_path / "both.json"
    path.write_text(json.dumps([*facts, {"kind": "error_message", **UNKNOWN["key"][1]}]))
    assert answer("--facts", str(cleared))[0] == 0
    code, out = answer("--facts", str(path), "-f", "json")
    assert (code, json.loads(out)["status"]) == (4, "findings")


def test_inputs_that_are_not_read_leave_the_report_incomplete(answer, tmp_path):
    (tmp_path / "facts.json").write_text(
        '{"schema": "modelmedic/facts/1", "facts": [{"kind": "python", "version": "3.11.4"}]}'
    )
    assert answer("inspect", str(tmp_path / "facts.json"))[0] == 0
    (tmp_path / "broken.json").write_text('{"schema": "modelmedic/facts/1", "facts": [{]}')
    code, out = answer(
        "inspect", str(tmp_path / "facts.json"), str(tmp_path / "broken.json"), "-f", "json"
    )
    report = json.loads(out)
    assert (code, report["status"]) == (4, "incomplete")
    assert report["errors"]


def test_nothing_read_at_all_is_bad_input(answer):
    code, out = answer("decode", " ", "-f", "json")
    assert (code, json.loads(out)["status"]) == (2, "error")
