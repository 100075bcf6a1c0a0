"""The border as a person meets it: planted secrets through every command, format and file."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from modelmedic.interfaces.reports.formats import FORMATS, for_programs

pytestmark = pytest.mark.slow

COMMAND = (sys.executable, "-m", "modelmedic.interfaces.cli.main")
# A key in its parts, so that no scanner takes this file for a leak.
KEY = "tml" + "-" + "Zk8Qw2Lp9Xv4Rt7Yb1Nc6Md3"
PASSWORD = "hunter2" + "xyz"
TEXT = f"tinker.AuthenticationError: Error code: 401 - Invalid API key {KEY}; password={PASSWORD}"
HOME = "/home/" + "alicesmith"


@pytest.fixture(scope="module")
def environment(root, compiled, tmp_path_factory):
    kept = {n: v for n, v in os.environ.items() if not n.startswith(("MODELMEDIC", "PYTHON"))}
    home = str(tmp_path_factory.mktemp("home"))
    return kept | {"PYTHONPATH": str(root / ".typing"), "MODELMEDIC_CACHE": str(compiled),
                   "HOME": home, "XDG_STATE_HOME": f"{home}/state",
                   "MODELMEDIC_SALT": "test"}  # fmt: skip


@pytest.fixture(scope="module")
def run(environment):
    def run(*command, cwd=None, stdin="", program=COMMAND):
        return subprocess.run(
            [*program, *map(str, command)], input=stdin, cwd=cwd, env=environment,
            capture_output=True, text=True, timeout=100, check=False,
        )  # fmt: skip

    return run


@pytest.fixture
def folder(tmp_path):
    """A run of a user who was careless everywhere."""
    facts = [
        {
            "kind": "error_message",
            "text": TEXT,
            "owner": "tinker",
            "provenance": {"location": f"{HOME}/a.log:3"},
        },
        {"kind": "error_message", "text": f"TypeError: login(api_key='{PASSWORD}') is wrong"},
        {"kind": "symptom", "name": "slow-steps"},
    ]
    plain = {"schema": "modelmedic/facts/1", "facts": facts}
    (tmp_path / "facts.json").write_text(json.dumps(plain))
    (tmp_path / "train.log").write_text(f"2026-01-01 10:00:00,000 ERROR {TEXT}\n" * 3)
    (tmp_path / "train.py").write_text(f"import tinker\nAPI_KEY = '{PASSWORD}'\n# {KEY}\n")
    return tmp_path


def assert_clean(*texts):
    for text in texts:
        for secret in (KEY, PASSWORD, "alicesmith"):
            assert secret not in text, text[max(0, text.find(secret) - 200) :][:400]


@pytest.mark.parametrize("format_", FORMATS)
def test_a_report(run, folder, format_):
    done = run("--facts", "facts.json", "-f", format_, "-v", cwd=folder)
    assert (done.returncode, done.stderr) == (1, "")
    assert "secret:" in done.stdout or "~/a.log" in done.stdout
    assert_clean(done.stdout)
    saved = run("--facts", "facts.json", "-f", format_, "-v", "-o", "out", cwd=folder)
    assert (saved.returncode, saved.stdout, saved.stderr) == (1, "", "")
    assert (folder / "out").read_text() == done.stdout


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("command", [["decode", TEXT], ["inspect", "."]], ids=["decode", "inspect"])
def test_other_reports(run, folder, command, format_):
    done = run(*command, "-f", format_, "--fail-on", "never", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert_clean(done.stdout)


@pytest.mark.parametrize("format_", ["text", "json"])
def test_answers(run, folder, format_):
    for command in (
        ["why-not", "tinker.auth.api-key-invalid", "--facts", "facts.json"],
        ["whatif", "--set", f"error_message text='{TEXT}'", "--facts", "facts.json"],
        ["explain", KEY],
        ["why-not", f"password={PASSWORD} {KEY}", "--facts", "facts.json"],
        ["whatif", "--set", f"error_message text='{TEXT}' nonsense={KEY}"],
    ):
        done = run(*command, "-f", format_, cwd=folder)
        assert_clean(done.stdout, done.stderr)


def test_facts_files(run, folder):
    for command in (
        ["probe", "messages", "train.log"],
        ["probe", "logs", "train.log"],
        ["probe", "script", "train.py"],
        ["inspect", ".", "--save-facts", "saved.json", "--fail-on", "never"],
    ):
        done = run(*command, cwd=folder)
        assert done.returncode == 0, done.stderr
        assert_clean(done.stdout, done.stderr)
    assert_clean((folder / "saved.json").read_text())
    again = run("--facts", "saved.json", "--fail-on", "never", cwd=folder)
    assert again.returncode == 0, "what was saved can be read"


@pytest.mark.parametrize("format_", FORMATS)
def test_errors(run, folder, format_):
    bad = folder / f"{KEY}.json"
    bad.write_text(json.dumps([{"kind": "package", "name": "x", f"{KEY}": TEXT}]))
    for command in (
        ["--facts", bad],
        ["--facts", f"none-{KEY}.json"],
        ["--facts", bad, "--" + KEY],
    ):
        done = run(*command, "-f", format_)
        assert done.returncode == 2
        assert_clean(done.stdout, done.stderr)
        assert bool(done.stdout) == for_programs(format_)
        assert bool(done.stderr) != for_programs(format_)


def test_a_traceback_for_us(run, folder):
    code = (
        "import sys; from modelmedic.interfaces.context import Context\n"
        "from modelmedic.interfaces.cli.main import main\n"
        "def broken(*_): raise RuntimeError(sys.argv.pop() + chr(27) + '[31m')\n"
        "Context.emit_report = broken; main(sys.argv[1:-1])"
    )
    done = run(
        "--facts", "facts.json", "--debug", TEXT, cwd=folder, program=[sys.executable, "-c", code]
    )
    assert done.returncode == 70
    assert "RuntimeError" in done.stderr and "Traceback" in done.stderr
    assert "\x1b" not in done.stderr
    assert_clean(done.stdout, done.stderr)


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("target", [[], ["-o", "out"]], ids=["stdout", "file"])
def test_it_fails_closed(run, folder, format_, target):
    """A redactor that breaks: exit 70, nothing of the content anywhere, no file."""
    code = (
        "import sys; from modelmedic.facts.redaction import Redactor\n"
        "def broken(self, value): raise ValueError(repr(value))\n"
        "Redactor.redact = broken\n"
        "from modelmedic.interfaces.cli.main import main; main(sys.argv[1:])"
    )
    for extra in (["--facts", "facts.json"], ["--facts", f"none-{KEY}.json"], ["decode", TEXT]):
        done = run(*extra, "-f", format_, *target, cwd=folder, program=[sys.executable, "-c", code])
        assert (done.returncode, done.stdout) == (70, "")
        assert done.stderr.startswith("MM321 nothing was written")
        assert_clean(done.stderr)
        assert not (folder / "out").exists()


def test_a_consultation(run, folder, environment):
    (folder / "answers").write_text(f"{TEXT}\nsave kept.json\nreport html kept.html\nquit\n")
    done = run("--answers", "answers", cwd=folder)
    assert done.returncode in (0, 1), done.stderr
    kept = [p for p in Path(environment["HOME"]).rglob("*") if p.is_file()]
    written = [p for p in (*folder.glob("kept*"), *kept) if p.suffix != ".pickle"]
    assert folder / "kept.json" in written
    assert_clean(done.stdout, done.stderr, *(p.read_text(errors="replace") for p in written))


def test_the_same_machine_gives_the_same_tokens(run, folder, environment):
    first, again = (run("--facts", "facts.json", "-f", "json", cwd=folder).stdout for _ in "ab")
    assert first == again
    environment["MODELMEDIC_SALT"] = "other"
    try:
        assert run("--facts", "facts.json", "-f", "json", cwd=folder).stdout != first
    finally:
        environment["MODELMEDIC_SALT"] = "test"
