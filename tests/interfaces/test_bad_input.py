"""Facts that are refused: exit code 2, a coded message with its place and advice, no diagnosis.

The texts of facts files are in ``cases/bad_facts.yaml``; what a text cannot show is here.
"""

import json
import os
import sys
from pathlib import Path

import pytest
import yaml

CASES = yaml.safe_load(Path(__file__).with_name("cases").joinpath("bad_facts.yaml").read_text())
GOOD = b'[{"kind": "package", "name": "pydantic", "version": "2.14.3"}]'


SHOWN = 30
"""Problems that people see at once; programs get more."""


@pytest.fixture
def refused(diagnose):
    """Runs in both formats and returns the errors, after checking what holds for all of them."""

    def refused(*arguments, code=2, **more):
        text = diagnose(*arguments, **more)
        assert (text.code, text.out) == (code, "")
        plain = diagnose(*arguments, "--format", "json", **more)
        assert (plain.code, plain.err) == (code, "")
        report = plain.json
        assert (report["schema"], report["status"]) == ("modelmedic/report/1", "error")
        assert report["facts"] == report["diagnoses"] == report["ruled_out"] == []
        assert report["errors"]
        words = " ".join(text.err.split())
        for number, error in enumerate(report["errors"]):
            assert set(error) == {"code", "message", "where", "hint"}
            assert error["hint"], f"no advice: {error}"
            place = f"{error['where']}: " if error["where"] else ""
            said = f"{error['code']} {place}{error['message']} -> {error['hint']}"
            assert " ".join(said.split()) in words or number >= SHOWN
        return report["errors"]

    return refused


@pytest.mark.sweep
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_bad_facts_file_is_refused(refused, tmp_path, case):
    path = tmp_path / "facts.json"
    path.write_bytes(case["text"].encode())
    (error,) = refused("--facts", "facts.json", cwd=tmp_path)
    assert (error["code"], error["where"]) == (case["code"], f"facts.json:{case['at']}")
    assert case["says"] in error["message"]
    assert case["advice"] in error["hint"]


def test_the_cases_have_names_of_their_own():
    names = [case["name"] for case in CASES]
    assert len(set(names)) == len(names) > 25


@pytest.mark.parametrize(
    ("content", "code", "says"),
    [
        pytest.param(bytes(range(256)), "MM104", "not a text file in UTF-8", id="binary"),
        pytest.param("[]".encode("utf-16"), "MM104", "not a text file in UTF-8", id="utf-16"),
        pytest.param(b"\x1f\x8b\x08\0\0\0", "MM104", "byte 1 is 0x8b", id="gzip"),
        pytest.param(b"\0" * 9, "MM109", "not valid JSON", id="zeros"),
        pytest.param(b"[" * 100_000, "MM109", "nested too deep", id="deep"),
        pytest.param(b'[{"kind": ' + b"9" * 5000 + b"}]", "MM109", "digits", id="many digits"),
        pytest.param(
            b'[{"kind": "package", "name": "' + b"x" * 5000 + b'"}]',
            "MM115",
            "at most 4096 characters",
            id="over-long string",
        ),
        pytest.param(
            b'[{"kind": "error_message", "text": "' + b"x" * 70_000 + b'"}]',
            "MM115",
            "at most 65536 characters",
            id="over-long text",
        ),
        pytest.param(
            b'[{"kind": "package", "name": ' + b"[" * 300 + b"]" * 300 + b"}]",
            "MM115",
            "must be text in quotes",
            id="nested value",
        ),
        pytest.param(
            b"[" + b",".join([b'{"kind": "python"}'] * 100_001) + b"]",
            "MM103",
            "limit 100,000",
            id="too many facts",
        ),
    ],
)
def test_bytes_that_are_no_facts_are_refused(refused, tmp_path, content, code, says):
    path = tmp_path / "facts.json"
    path.write_bytes(content)
    (error,) = refused("--facts", path)
    assert error["code"] == code
    assert says in error["message"]
    assert error["where"].startswith(str(path))
    assert len(error["message"]) < 300


def test_many_problems_are_reported_at_once_up_to_a_cap(refused, tmp_path):
    path = tmp_path / "facts.json"
    path.write_text("[" + ",\n".join(['{"kind": "pakage"}'] * 200) + "]")
    errors = refused("--facts", path)
    assert 20 <= len(errors) < 200
    assert [e["where"] for e in errors[:3]] == [f"{path}:1:2", f"{path}:2:1", f"{path}:3:1"]


def test_a_missing_file(refused, tmp_path):
    (error,) = refused("--facts", tmp_path / "none.json")
    assert (error["code"], error["where"]) == ("MM101", str(tmp_path / "none.json"))
    assert (error["message"], error["hint"]) == (
        "cannot read the file: No such file or directory",
        "check the path",
    )


def test_a_folder(refused, tmp_path):
    (error,) = refused("--facts", tmp_path)
    assert (error["code"], error["message"]) == ("MM102", "this is a folder")


def test_a_pipe_is_not_waited_for(refused, tmp_path):
    path = tmp_path / "facts.json"
    os.mkfifo(path)
    (error,) = refused("--facts", path)
    assert (error["code"], error["message"]) == ("MM102", "this is not a regular file")


def test_a_huge_file_is_not_read(refused, tmp_path):
    path = tmp_path / "facts.json"
    with path.open("wb") as file:
        file.truncate(50_000_000)
    (error,) = refused("--facts", path)
    assert error["code"] == "MM103"
    assert "50,000,000 bytes" in error["message"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(refused, tmp_path):
    path = tmp_path / "facts.json"
    path.write_bytes(GOOD)
    path.chmod(0)
    (error,) = refused("--facts", path)
    assert (error["code"], error["hint"]) == ("MM101", "check its permissions")


@pytest.mark.parametrize("name", ["a\0b.json", "x" * 300 + ".json"], ids=["zero", "long"])
def test_a_name_that_no_file_can_have(run, name):
    code = f"from modelmedic.interfaces.cli.main import main; main(['--facts', {name!r}])"
    answer = run(sys.executable, "-c", code)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("MM101 ")
    assert "\0" not in answer.err


@pytest.mark.parametrize("place", ["first", "last"])
def test_one_bad_file_among_good_ones_is_enough(refused, tmp_path, slow_steps, place):
    bad = tmp_path / "bad.json"
    bad.write_text('[{"kind": "pakage"}]')
    files = [bad, slow_steps] if place == "first" else [slow_steps, bad]
    (error,) = refused("--facts", *files)
    assert error["where"] == f"{bad}:1:2"


def test_the_problems_of_all_files_are_reported(refused, tmp_path):
    (tmp_path / "kind.json").write_text('[{"kind": "pakage"}]')
    (tmp_path / "empty.json").touch()
    errors = refused("--facts", "kind.json", "none.json", "empty.json", cwd=tmp_path)
    assert [e["code"] for e in errors] == ["MM112", "MM101", "MM108"]


@pytest.mark.parametrize(
    ("stdin", "code", "where"),
    [
        (b'[{"kind": "pakage"}]', "MM112", "<stdin>:1:2"),
        (b"", "MM108", "<stdin>:1:1"),
        (b'[{"kind": "package", "name": "\xff"}]', "MM104", "<stdin>"),
    ],
    ids=["unknown kind", "empty", "not UTF-8"],
)
def test_bad_facts_on_standard_input(refused, stdin, code, where):
    (error,) = refused("--facts", "-", stdin=stdin)
    assert (error["code"], error["where"]) == (code, where)


def test_standard_input_has_a_limit(refused):
    (error,) = refused("--facts", "-", stdin=b" " * 32_000_001)
    assert error["code"] == "MM103"


@pytest.mark.parametrize(
    "content",
    [
        GOOD,
        b"\xef\xbb\xbf" + GOOD,
        GOOD.replace(b", ", b",\r\n"),
        b'{"schema": "modelmedic/facts/1", "note": ["any", {"thing": 1}], "facts": ' + GOOD + b"}",
        b"\n\t " + GOOD + b"\r\n",
    ],
    ids=["list", "byte order mark", "Windows line ends", "note", "white space"],
)
def test_harmless_differences_are_accepted(diagnose, tmp_path, content):
    path = tmp_path / "facts.json"
    path.write_bytes(content)
    from_file = diagnose("--facts", path, "-f", "json")
    from_stdin = diagnose("--facts", "-", "-f", "json", stdin=content)
    assert from_file.code == from_stdin.code == 0, from_file.err + from_stdin.err
    given = [f for f in from_file.json["facts"] if not f.get("derived")]
    assert [(f["name"], f["version"]) for f in given] == [("pydantic", "2.14.3")]
    assert from_stdin.out == from_file.out.replace(json.dumps(str(path)), '"<stdin>"')


@pytest.mark.parametrize(
    ("arguments", "says", "help_of"),
    [
        (["--facts"], "'--facts' requires an argument", "diagnose"),
        (["--bogus"], "No such option '--bogus'", "diagnose"),
        (["--facts", "x.json", "--fail-on", "fatal"], "'fatal' is not one of", "diagnose"),
        (["--facts", "x.json", "--engine", "clips"], "'clips' is not one of", "diagnose"),
        (["hogwash"], "No such command 'hogwash'", "diagnose"),
        (["explain"], "Missing argument 'ENTRY'", "diagnose explain"),
        (["whatif", "--facts", "x.json"], "Missing option '--set'", "diagnose whatif"),
        (["kb"], "Missing command", "diagnose kb"),
        (["probe"], "Missing command", "diagnose probe"),
        (["kb", "coverage", "--at-least", "x"], "'x' is not a valid float", "diagnose kb coverage"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_usage(diagnose, arguments, says, help_of):
    answer = diagnose(*arguments)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("MM300 ")
    assert says in " ".join(answer.err.split())
    assert f"see `{help_of} --help`" in answer.err


@pytest.mark.parametrize(
    "spelling", [("--format", "json"), ("--format=json",), ("-f", "json"), ("-fjson",)]
)
def test_bad_usage_in_a_machine_format_is_valid(diagnose, spelling):
    for arguments in ((*spelling, "--facts", "x.json", "--fail-on", "fatal"), (*spelling,)):
        answer = diagnose(*arguments)
        assert answer.code == 2
        assert [e["code"] for e in answer.json["errors"]] == ["MM300"]


def test_nothing_to_diagnose_shows_the_help_on_stderr(diagnose):
    answer = diagnose()
    assert (answer.code, answer.out) == (2, "")
    assert "Usage: diagnose" in answer.err
    assert "nothing to diagnose" in answer.err


def test_answers_that_are_no_text(diagnose, tmp_path):
    path = tmp_path / "answers"
    path.write_bytes(b"1\n\xff\n")
    answer = diagnose("--answers", path)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("MM104 ")
