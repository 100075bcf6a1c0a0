"""The meaning of exit codes, and what goes to which stream when something goes wrong."""

import contextlib
import json
import os
import signal
import subprocess
import sys

import pytest

from ..conftest import ON_KNOWLEDGE

COMMAND = (sys.executable, "-m", "modelmedic.interfaces.cli.main")
# Breaks the main job at its start, as a bug of ours would. It is tried again without the cache, so
# it runs upon the small knowledge in the folder argv[1].
BROKEN = """
from modelmedic.interfaces.context import Context
from modelmedic.interfaces.cli.main import main
def broken(*arguments):
    raise {error}
Context.emit_report = broken
main(sys.argv[1:])
"""


@pytest.fixture
def broken(small_knowledge):
    """The command with a bug that raises this."""

    def broken(error):
        code = ON_KNOWLEDGE + BROKEN.format(error=error)
        return (sys.executable, "-c", code, str(small_knowledge))

    return broken


@pytest.fixture
def verdicts(slow_steps, cleared, facts_file):
    """Facts files by the highest severity that they lead to."""
    return {
        "blocker": facts_file(
            {"kind": "service_check", "check": "credentials", "ok": False}, name="blocker.json"
        ),
        "error": slow_steps,
        "warning": cleared,
        "nothing": facts_file(
            {"kind": "package", "name": "pydantic", "version": "2.14.3"},
            {"kind": "package", "name": "tinker", "version": "0.38.0"},
            name="nothing.json",
        ),
    }


@pytest.mark.parametrize(
    ("worst", "codes"),
    [
        #            info warning error blocker never
        ("blocker", [1, 1, 1, 1, 0]),
        ("error", [1, 1, 1, 0, 0]),
        ("warning", [1, 1, 0, 0, 0]),
        ("nothing", [0, 0, 0, 0, 0]),
    ],
)
@pytest.mark.parametrize("format_", ["text", "json"])
def test_fail_on(diagnose, verdicts, worst, codes, format_):
    levels = ("info", "warning", "error", "blocker", "never")
    answers = [
        diagnose("--facts", verdicts[worst], "--fail-on", level, "-f", format_) for level in levels
    ]
    assert [answer.code for answer in answers] == codes
    assert len({answer.out for answer in answers}) == 1, "the level changes the code, nothing else"
    assert {answer.err for answer in answers} == {""}
    assert diagnose("--facts", verdicts[worst], "-f", format_).code == codes[2]


def test_what_is_fine_is_no_finding(diagnose, verdicts):
    answer = diagnose("--facts", verdicts["nothing"], "-f", "json")
    assert {d["kind"] for d in answer.json["diagnoses"]} == {"benign"}
    assert answer.json["status"] == "clear"
    assert diagnose("--facts", verdicts["nothing"]).out.startswith("No problem found.")


def test_no_facts(diagnose, facts_file):
    answer = diagnose("--facts", facts_file())
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("No facts")


@pytest.mark.parametrize("command", ["--help", "--version", "kb --help", "decode -h"])
def test_help_and_version(diagnose, command):
    answer = diagnose(*command.split())
    assert (answer.code, answer.err) == (0, "")
    assert answer.out


@pytest.mark.parametrize(
    "error", ["RuntimeError('boom')", "RecursionError()", "MemoryError()", "OSError(5, 'boom')"]
)
def test_a_bug_of_ours_is_one_line(run, slow_steps, error, broken, tmp_path):
    command = (*broken(error), "--facts", slow_steps)
    text = run(*command, MODELMEDIC_CACHE=str(tmp_path))
    assert (text.code, text.out) == (70, "")
    assert text.err.startswith(f"MM399 internal error: {error.split('(')[0]}:")
    assert "--debug" in text.err
    plain = run(*command, "--format", "json", MODELMEDIC_CACHE=str(tmp_path))
    assert (plain.code, plain.err) == (70, "")
    assert [e["code"] for e in plain.json["errors"]] == ["MM399"]


def test_debug_shows_where_it_broke(environment, slow_steps, broken, tmp_path):
    done = subprocess.run(
        [*broken("RuntimeError('boom')"), "--facts", str(slow_steps), "--debug"],
        env=environment | {"MODELMEDIC_CACHE": str(tmp_path)}, capture_output=True, text=True,
        timeout=100, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (70, "")
    assert "Traceback (most recent call last)" in done.stderr
    assert "in broken\n" in done.stderr


FINALIZED = """
import sys
from modelmedic.interfaces.context import Context
from modelmedic.interfaces.cli.main import main
class Finalized:
    def __del__(self):
        raise KeyboardInterrupt
def dropped(*arguments):
    Finalized()
    while True:
        pass
Context.diagnosed = dropped
main(sys.argv[1:])
"""


def test_an_interrupt_inside_a_finalizer(slow_steps, environment):
    done = subprocess.run(
        [sys.executable, "-c", FINALIZED, "--facts", str(slow_steps)],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


def test_an_interrupt(environment):
    process = subprocess.Popen(
        [*COMMAND, "--facts", "-"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
    )  # fmt: skip
    assert process.stdin
    with process.stdin:
        process.stdin.write(b"x" * 300_000)  # more than a pipe holds: it is reading when this ends
        for _ in range(10):  # CPython may see a signal between two reads only after the second
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(5)
                break
    assert process.wait(60) == 130
    assert process.stdout and process.stderr
    with process.stdout as out, process.stderr as err:
        assert (out.read(), err.read().strip()) == (b"", b"interrupted")


@pytest.fixture
def into(environment, slow_steps):
    """Runs the main job with stdout going to a file descriptor; the exit code and stderr."""

    def into(stdout, *arguments):
        done = subprocess.run(
            [*COMMAND, "--facts", str(slow_steps), "--verbose", *arguments],
            stdout=stdout, stderr=subprocess.PIPE, env=environment, timeout=100, check=False,
        )  # fmt: skip
        return done.returncode, done.stderr.decode()

    return into


@pytest.mark.parametrize("format_", ["text", "json"])
def test_a_reader_that_has_gone_changes_nothing(into, format_):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        assert into(writer, "-f", format_) == (1, "")
        assert into(writer, "-f", format_, "--fail-on", "never") == (0, "")
    finally:
        os.close(writer)


def test_head(environment, slow_steps):
    pipeline = '"$0" -m modelmedic.interfaces.cli.main --facts "$1" | head -n 1; '
    done = subprocess.run(
        ["bash", "-c", pipeline + 'echo "${PIPESTATUS[0]}"', sys.executable, str(slow_steps)],
        env=environment, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    first, code = done.stdout.splitlines()
    assert (first[:19], code, done.stderr) == ("[error] Pre-release", "1", "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.parametrize("format_", ["text", "json"])
def test_a_full_disk(into, format_):
    with open("/dev/full", "wb") as full:
        code, err = into(full, "-f", format_)
    assert code == 2
    assert err.startswith("MM320 cannot write the answer: No space left on device\n")


@pytest.mark.parametrize("stream", [0, 1, 2])
def test_a_closed_stream(environment, slow_steps, stream):
    file = "-" if stream == 0 else slow_steps
    done = subprocess.run(
        ["bash", "-c", f'exec "$@" {stream}>&-', "bash", *COMMAND, "--facts", str(file)],
        env=environment, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    assert done.returncode == (2 if stream == 0 else 1)
    assert done.stderr.startswith("MM108 <stdin>:1:1: ") if stream == 0 else not done.stderr
    assert bool(done.stdout) == (stream == 2)


def test_an_encoding_without_the_characters(run, facts_file):
    facts = facts_file({"kind": "symptom", "name": "hang", "provenance": {"location": "naïve →"}})
    answer = run(*COMMAND, "--facts", facts, "-v", "--fail-on", "never", PYTHONIOENCODING="ascii")
    assert answer.code == 0
    assert "[na\\xefve \\u2192]" in answer.out


@pytest.mark.parametrize("format_", ["text", "json"])
def test_the_answer_goes_to_a_file(diagnose, slow_steps, tmp_path, format_):
    target = tmp_path / "report"
    target.write_text("old " * 100_000)
    target.chmod(0o640)
    answer = diagnose("--facts", slow_steps, "-f", format_, "-o", target)
    assert (answer.code, answer.out, answer.err) == (1, "", "")
    assert target.read_text() == diagnose("--facts", slow_steps, "-f", format_).out
    assert target.stat().st_mode & 0o777 == 0o640
    assert [p.name for p in tmp_path.iterdir()] == ["report"]


def test_a_new_file_has_the_rights_that_the_user_wants(environment, slow_steps, tmp_path):
    target = tmp_path / "report"
    subprocess.run(
        [*COMMAND, "--facts", str(slow_steps), "-o", str(target)],
        env=environment, umask=0o077, timeout=100, check=False,
    )  # fmt: skip
    assert target.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("target", "says"),
    [("none/report", "No such file or directory"), (".", "Is a directory"),
     ("facts.json/report", "Not a directory"), ("x" * 300, "File name too long")],
)  # fmt: skip
def test_a_file_that_cannot_be_written(diagnose, facts_file, slow_steps, target, says):
    folder = facts_file().parent
    text = diagnose("--facts", slow_steps, "-o", target, cwd=folder)
    assert (text.code, text.out) == (2, "")
    assert text.err.startswith(f"MM320 {target}:")
    assert says in " ".join(text.err.split())
    plain = diagnose("--facts", slow_steps, "-o", target, "-f", "json", cwd=folder)
    assert plain.code == 2
    assert [e["code"] for e in plain.json["errors"]] == ["MM320"]
    assert [p.name for p in folder.iterdir()] == ["facts.json"]


def test_a_refused_input_leaves_the_file_alone(diagnose, tmp_path):
    target = tmp_path / "report"
    target.write_text("the last good one")
    assert diagnose("--facts", tmp_path / "none.json", "-o", target).code == 2
    assert target.read_text() == "the last good one"


def test_a_link_stays_a_link(diagnose, slow_steps, tmp_path):
    (tmp_path / "link").symlink_to("report")
    assert diagnose("--facts", slow_steps, "-o", tmp_path / "link").code == 1
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "report").read_text().startswith("[error] Pre-release")


def test_a_pipe_is_written_to_and_not_replaced(environment, slow_steps, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        assert reader.stdout
        done = subprocess.run(
            [*COMMAND, "--facts", str(slow_steps), "-f", "json", "-o", str(pipe)],
            env=environment, timeout=100, check=False,
        )  # fmt: skip
        assert json.load(reader.stdout)["status"] == "findings"
    assert done.returncode == 1
    assert pipe.is_fifo()
