"""How fast the consultation feels: the first prompt, a keypress, a completion, an answer.

Measured from outside, through a pseudo-terminal, with the whole shipped knowledge, compiled before.
Where the system tells it (Linux), with the processor time of the same: on a machine that others use
as well, that is the figure to compare.
Run it with ``pytest -m bench -s tests/benchmarks/bench_consultation.py`` or as a script.
"""

import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pexpect
import pytest

_RUN = "from modelmedic.interfaces.cli.main import main; main()"
_RUNS = 9
_KEYS = 40
_PATIENCE_S = 60
_CURSOR_QUESTION, _CURSOR_ANSWER = "\x1b[6n", "\x1b[24;1R"
_READY = "\x1b[?2004h"
_DRAWN = "\x1b[?25h"  # the cursor is shown again: the end of every redraw
BUDGET_MS = {"first prompt": 300, "keypress to redraw": 15, "Tab among all diagnoses": 50}


class _Terminal:
    """The least terminal there can be: it answers where the cursor is."""

    def __init__(self, state: Path) -> None:
        environment = {**os.environ, "TERM": "xterm-256color", "XDG_STATE_HOME": str(state)}
        self._child = pexpect.spawn(sys.executable, ["-c", _RUN], env=environment,
                                    dimensions=(40, 100), encoding="utf-8")  # fmt: skip
        self._child.delaybeforesend = None

    def seconds(self, keys: str, shown: Callable[[str], bool]) -> float:
        """How long it takes from keys to a sign of them."""
        begin = time.perf_counter()
        if keys:
            self._child.send(keys)
        text = ""
        while not shown(text):
            if time.perf_counter() - begin > _PATIENCE_S:
                raise TimeoutError(text[-500:])
            try:
                part = self._child.read_nonblocking(65_536, timeout=1)
            except pexpect.TIMEOUT:
                continue
            text += part
            if _CURSOR_QUESTION in part:
                self._child.send(_CURSOR_ANSWER)
        return time.perf_counter() - begin

    def processor(self) -> float:
        """Seconds that the program has computed so far; not a number if that is unknown."""
        try:
            figures = Path(f"/proc/{self._child.pid}/schedstat").read_text(encoding="ascii")
        except OSError:
            return math.nan
        return int(figures.split()[0]) / 1e9

    def settle(self) -> None:
        """Until nothing more is drawn."""
        try:
            while True:
                self._child.read_nonblocking(65_536, timeout=0.3)
        except pexpect.TIMEOUT:
            return

    def close(self) -> None:
        self._child.close(force=True)


def _drawn(text: str) -> bool:
    return _DRAWN in text


def _bare() -> tuple[float, float]:
    begin, before = time.perf_counter(), os.times()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    after = os.times()
    computed = after.children_user + after.children_system
    computed -= before.children_user + before.children_system
    return time.perf_counter() - begin, computed


class Figure(NamedTuple):
    """Seconds that passed, and seconds that were computed."""

    wall: float
    processor: float


def measure(runs: int = _RUNS) -> dict[str, list[Figure]]:
    """Each thing, in every run."""
    found: dict[str, list[Figure]] = {}

    def note(name: str, wall: float, processor: float) -> None:
        found.setdefault(name, []).append(Figure(wall, processor))

    with tempfile.TemporaryDirectory() as folder:
        _one(Path(folder), lambda name, wall, processor: None)  # compiled knowledge into the cache
        for _ in range(runs):
            note("python -c pass", *_bare())
            _one(Path(folder), note)
    return found


def _one(state: Path, note: Callable[[str, float, float], None]) -> None:
    """One consultation."""
    terminal = _Terminal(state)

    def time_of(name: str, keys: str, shown: Callable[[str], bool]) -> None:
        before = terminal.processor() if keys else 0.0
        wall = terminal.seconds(keys, shown)
        note(name, wall, terminal.processor() - before)

    try:
        # The cursor question is the last thing drawn before the editor waits for keys.
        time_of("first prompt", "", lambda text: _READY in text and "1-" in text)
        terminal.settle()
        for key in "q" * _KEYS:
            time_of("keypress to redraw", key, _drawn)
        terminal.seconds("\x15why-not tpmp", _drawn)
        terminal.settle()
        time_of("Tab among all diagnoses", "\t", _drawn)
        terminal.settle()
        terminal.seconds("\x15slow-steps", _drawn)
        terminal.settle()
        time_of("an answer, to the next prompt", "\r", lambda text: _READY in text)
    finally:
        terminal.close()


def report(found: dict[str, list[Figure]]) -> str:
    """A table: median, slowest, ratio to the bare interpreter, processor time, budget."""
    bare = statistics.median(each.wall for each in found["python -c pass"])
    rows = [f"{'':30} {'median':>9} {'slowest':>9} {'of bare':>8} {'processor':>9}  budget"]
    for name, figures in found.items():
        middle = statistics.median(each.wall for each in figures)
        worst = max(each.wall for each in figures)
        computed = statistics.median(each.processor for each in figures)
        budget = f"{BUDGET_MS[name]} ms" if name in BUDGET_MS else ""
        times = f"{1000 * middle:6.1f} ms {1000 * worst:6.1f} ms {middle / bare:6.2f} x"
        rows.append(f"{name:30} {times} {1000 * computed:6.1f} ms  {budget}")
    return "\n".join(rows)


@pytest.mark.bench
def test_the_consultation_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    """Prints the table; the times are for people, only completeness is checked."""
    found = measure(5)
    with capsys.disabled():
        print("\n" + report(found))
    assert set(BUDGET_MS) < set(found)


if __name__ == "__main__":
    print(report(measure()))
