"""The screen that a person sees while a command works, and the effect of Ctrl-C.

Nothing here is slow by chance: what a command reads waits at a gate until the test opens it."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

Start = Callable[..., Any]
# A gate is a file that a test makes; whatever is held waits for it.
GATE = """
import os, time
from modelmedic.interfaces.waiting import display
display.DELAY_S = 0.0
def wait(gate={gate!r}):
    open(gate + ".reached", "w").close()
    while not os.path.exists(gate):
        time.sleep(0.01)
"""
# The second piece of a log is held, and what a metrics file gives.
READING = """
import modelmedic.probes.logs.files as files
import modelmedic.probes.metrics.probe as metrics
files.CHUNK = 4096
read, tables = files._read, metrics.read_table
count = []
def held_read(stream):
    count.append(1)
    if len(count) == 4:
        wait()
    return read(stream)
def held_table(*given):
    wait()
    return tables(*given)
files._read, metrics.read_table = held_read, held_table
"""
CASES = """
from modelmedic.authoring.testing.case_runner import CaseRunner
import modelmedic.authoring.lint as lint
case, checks, count = CaseRunner.case, lint.CHECKS, []
def held_case(*given):
    count.append(1)
    if len(count) == 3:
        wait()
    return case(*given)
def band_problems(subject):
    wait()
    return []
CaseRunner.case = held_case
lint.CHECKS = (checks[0], band_problems, checks[2])
"""
# An anchor, fault or file is held: the second, or the first of two.
OTHERS = """
import modelmedic.authoring.drift as drift
import modelmedic.interfaces.cli.kb.mutate as mutate
import modelmedic.reading.packages.building as building
count = []
def held(work):
    def run(*given, **options):
        count.append(1)
        if len(count) == HELD:
            wait()
        return work(*given, **options)
    return run
drift.look_for, mutate._try = held(drift.look_for), held(mutate._try)
building.read_sites = held(building.read_sites)
"""
# Faults are counted over all of the knowledge before the first is tried.
ON_SMALL = """
HELD = 1
from modelmedic.engine.compiler import knowledge_base
knowledge_base.SHIPPED_KNOWLEDGE = {folder!r}
knowledge_base.SHIPPED_FOLDERS = ({folder!r}, *knowledge_base.SHIPPED_FOLDERS[1:])
"""
IGNORING = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
MAIN = "\nfrom modelmedic.interfaces.cli.main import main; main()"


class Gate:
    """Holds what a command reads."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def program(self, held: str) -> str:
        return GATE.format(gate=str(self.path)) + held + MAIN

    @property
    def is_reached(self) -> bool:
        return self.path.with_name(self.path.name + ".reached").exists()

    def open(self) -> None:
        self.path.touch()


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    made = Gate(tmp_path / "gate")
    yield made
    made.open()


@pytest.fixture
def held(terminal: Start, gate: Gate) -> Start:
    """Starts a command that is held, in a terminal."""

    def start(program: str, *words: object, **settings: Any) -> Any:
        settings = {"CI": "", "NO_PROGRESS": "", "NO_COLOR": "1"} | settings
        return terminal(*map(str, words), program=gate.program(program), **settings)

    return start


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A folder with a log whose error is at its beginning, and metrics."""
    folder = tmp_path / "run"
    folder.mkdir()
    line = "2026-01-02 10:00:00 INFO train: step {} is done, and nothing else is to be said\n"
    error = "Error code: 401 - {'detail': 'Invalid API key'}\n"
    text = error + "".join(line.format(n) for n in range(500)) + "OSError: the last line\n"
    (folder / "a.log").write_text(text)
    rows = "".join(f'{{"step": {n}, "loss": 1.5}}\n' for n in range(20))
    (folder / "metrics.jsonl").write_text(rows)
    return folder


def ended(term: Any) -> int:
    term.wait_for(lambda: not term.alive, "for the end")
    while term._read():
        pass
    return int(term.status)


def test_progress_is_shown_and_erased(held: Start, gate: Gate, run: Path) -> None:
    log = run / "a.log"
    gate.open()
    plain = held(READING, "inspect", log, NO_PROGRESS="1")
    code = ended(plain)
    gate.path.unlink()
    term = held(READING, "inspect", log)
    term.wait("a.log")
    term.wait("%")
    assert len([line for line in term.lines if line]) == 1
    gate.open()
    assert ended(term) == code
    assert [line for line in term.lines if line] == [line for line in plain.lines if line]
    assert not term._screen.cursor.hidden
    assert "%" not in plain.raw


@pytest.mark.parametrize("setting", ["NO_PROGRESS=1", "CI=true", "TERM=dumb"])
def test_who_does_not_want_it_sees_none(held: Start, gate: Gate, run: Path, setting: str) -> None:
    name, _, value = setting.partition("=")
    term = held(READING, "inspect", run / "a.log", **{name: value})
    term.wait_for(lambda: gate.is_reached, "for the gate")
    gate.open()
    ended(term)
    assert "Read:" in term.text
    assert "%" not in term.raw and "\x1b[2K" not in term.raw and "\x1b[?25" not in term.raw


def test_pipes_get_no_progress(gate: Gate, run: Path) -> None:
    shown = "import atexit; atexit.register(lambda: print('rich' in sys.modules))"
    program = f"import sys\n{shown}\n{gate.program(READING)}"
    gate.open()
    done = subprocess.run(
        [sys.executable, "-c", program, "inspect", str(run / "a.log")], check=False,
        env=environment(), capture_output=True, text=True, timeout=90,
    )  # fmt: skip
    assert done.stderr == ""
    assert "\x1b" not in done.stdout and "\r" not in done.stdout
    assert done.stdout.endswith("False\n")


@pytest.mark.parametrize("columns", [40, 59, 60, 100])
def test_names_are_safe_and_never_wrap(
    held: Start, gate: Gate, tmp_path: Path, run: Path, columns: int
) -> None:
    name = "\x1b[31mtrain\n" + "\u5b66" * 10 + "-of-the-second-run" * 3 + ".log"
    log = tmp_path / name
    log.write_bytes((run / "a.log").read_bytes())
    term = held(READING, "inspect", log, columns=columns)
    term.wait("\\x1b[31m")
    assert len([line for line in term.lines if line]) == 1
    assert "\x1b[31mtrain" not in term.raw
    gate.open()
    ended(term)


def test_ctrl_c_in_a_log_tells_what_is_known(held: Start, gate: Gate, run: Path) -> None:
    term = held(READING, "inspect", run / "a.log", "-v")
    term.wait_for(lambda: gate.is_reached, "for the gate")
    term.send("\x03")
    term.wait("stopping: a.log")
    gate.open()
    assert ended(term) == 130
    assert "API key" in term.text
    assert re.search(r"interrupted: what follows \S*a\.log:\d+ was not read", term.text)
    assert "the last line" not in term.text
    assert "Traceback" not in term.raw


def test_ctrl_c_in_a_folder_tells_of_the_files_that_were_read(
    held: Start, gate: Gate, run: Path
) -> None:
    (run / "a.log").write_text("Error code: 401 - {'detail': 'Invalid API key'}\nValueError: no\n")
    term = held(READING, "inspect", run / "a.log", run / "metrics.jsonl", "-f", "json")
    term.wait("2/2 metrics.jsonl")
    term.wait_for(lambda: gate.is_reached, "for the gate")
    term.send("\x03")
    assert ended(term) == 130
    assert "Invalid API key" in term.text
    assert '"code": "MM407"' in term.text and "metrics.jsonl" in term.text
    assert "Traceback" not in term.raw


@pytest.mark.deep
def test_ctrl_c_before_anything_is_known(held: Start, gate: Gate, run: Path) -> None:
    term = held(READING, "inspect", run / "metrics.jsonl", "-f", "json")
    term.wait_for(lambda: gate.is_reached, "for the gate")
    term.send("\x03")
    assert ended(term) == 130
    assert '"code": "MM407"' in term.text and '"diagnoses": []' in term.text
    assert "Traceback" not in term.raw


@pytest.mark.deep
@pytest.mark.parametrize("probe", ["logs", "metrics"])
def test_ctrl_c_in_a_probe(held: Start, gate: Gate, run: Path, probe: str) -> None:
    file = {"logs": "a.log", "metrics": "metrics.jsonl"}[probe]
    term = held(READING, "probe", probe, run / file)
    term.wait_for(lambda: gate.is_reached, "for the gate")
    term.send("\x03")
    gate.open()
    assert ended(term) == 130
    assert "interrupted: " in term.text
    assert ("API key" in term.text) == (probe == "logs")


def test_the_second_ctrl_c_ends_at_once(held: Start, gate: Gate, run: Path) -> None:
    term = held(READING, "inspect", run / "a.log")
    term.wait_for(lambda: gate.is_reached, "for the gate")
    term.send("\x03")
    term.wait("stopping: ")
    term.send("\x03")
    assert ended(term) == 130
    assert [line for line in term.lines if line][-1] == "interrupted"
    assert "Traceback" not in term.raw
    assert not term._screen.cursor.hidden


def test_ctrl_c_while_a_pipe_is_read(terminal: Start, tmp_path: Path, run: Path) -> None:
    """``slow | diagnose decode -``: what came so far is an answer."""
    os.mkfifo(tmp_path / "pipe")
    program = f"import sys; sys.stdin = open({str(tmp_path / 'pipe')!r}){MAIN}"
    term = terminal("decode", "-", program=program, CI="", NO_COLOR="1")
    with (tmp_path / "pipe").open("wb", 0) as pipe:
        pipe.write(b"Error code: 401 - {'detail': 'Invalid API key'}\n")
        term.wait("standard input")
        term.wait("48 bytes")
        term.send("\x03")
        code = ended(term)
    assert code == 130
    assert "API key" in term.text
    assert "standard input was not read to its end" in term.text


def test_nohup_goes_on(gate: Gate, run: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", IGNORING + gate.program(READING), "inspect", str(run / "a.log")],
        env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        while not gate.is_reached:
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        gate.open()
        out, err = process.communicate(timeout=90)
    assert err == ""
    assert "API key" in out and "interrupted" not in out
    assert process.returncode != 130


@pytest.mark.deep
def test_ctrl_c_in_kb_test(held: Start, gate: Gate) -> None:
    term = held(CASES, "kb", "test", "stories")
    term.wait("cases")
    term.wait_for(lambda: gate.is_reached, "for the gate")
    term.send("\x03")
    term.wait("stopping: cases")
    gate.open()
    assert ended(term) == 130
    assert "3 passed, 0 failed" in term.text
    assert "interrupted: 3 cases were run," in term.text
    assert "Traceback" not in term.raw


@pytest.mark.deep
def test_ctrl_c_in_kb_lint(held: Start, gate: Gate) -> None:
    term = held(CASES, "kb", "lint")
    term.wait("2/3 band problems")
    term.wait_for(lambda: gate.is_reached, "for the gate")
    term.send("\x03")
    assert ended(term) == 130
    assert "0 problems" in term.text
    assert "interrupted: not looked for: band problems, tree problems" in term.text
    assert "Traceback" not in term.raw


@pytest.mark.deep
@pytest.mark.parametrize("command, shown, said", [
    ("kb drift", "anchors", "anchors were not looked for"),
    ("kb mutate --jobs 1 --sample 9", "faults", "faults were not tried"),
    ("source index shapes --site .", "source of shapes", "the source of shapes was not read"),
], ids=lambda value: value.split()[1] if " " in value else "")  # fmt: skip
def test_ctrl_c_in_what_takes_long(
    held: Start, gate: Gate, tmp_path: Path, small_knowledge: Path,
    monkeypatch: pytest.MonkeyPatch, command: str, shown: str, said: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b", "c"):
        (tmp_path / "shapes").mkdir(exist_ok=True)
        (tmp_path / "shapes" / f"{name}.py").write_text("raise ValueError('no shape')\n")
    (tmp_path / "shapes" / "__init__.py").touch()
    small = ON_SMALL.format(folder=str(small_knowledge)) if "mutate" in command else "HELD = 2\n"
    term = held(small + OTHERS, *command.split())
    term.wait_for(lambda: gate.is_reached, "for the gate")
    term.wait(shown)
    term.send("\x03")
    term.wait(f"stopping: {shown}")
    gate.open()
    assert ended(term) == 130
    assert said in term.text
    assert "Traceback" not in term.raw


def environment() -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if name not in ("CI", "NO_PROGRESS")}
    return ours | {"LANG": "C.UTF-8"}
