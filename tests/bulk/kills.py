"""Kills processes of bulk jobs at random instants: every job must end by itself, or when it is
given again, with the bytes of an undisturbed job.

    python tests/bulk/kills.py [500] [--seed 1] [--runner local|ray]      or     make kills

Half of the kills hit any process of the job at any instant from its first on, the others a worker
in its first tenth of a second. With Ray the others hit any process while tasks are running; what is
killed is one of the roles that are there, as likely as the others: the job, the store of the
cluster's state (gcs_server), the scheduler (raylet), an agent, a worker.
"""

import argparse
import collections
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-m", "modelmedic.interfaces.cli.main", "bulk")
ARGUMENTS = ("r.jsonl", "-o", "o.jsonl", "--summary", "o.json")
SIZES = ("--workers", "2", "--chunk", "20", "--checkpoint", "0")
RECORDS = 240
ROLES = (
    ("bulk.ray_process", "driver"), ("gcs_server", "gcs"), ("raylet/raylet", "raylet"),
    ("ray::_work", "task"), ("ray::IDLE", "worker"), ("default_worker", "worker"),
    ("gent", "agent"), ("dashboard", "agent"), ("monitor", "monitor"),
)  # fmt: skip
PATIENCE = 30.0
"""Seconds in which a disturbed job has to end."""


class Kill(NamedTuple):
    """The killed process, after how long, and how the job ended: ``itself``, or ``rerun``."""

    victim: str
    after: float
    end: str
    took: float
    """Seconds from the kill to the end of the job itself."""


class Harness:
    """Jobs in one folder, all on the same records."""

    def __init__(self, folder: Path, environment: dict[str, str], runner: str = "local") -> None:
        self._folder = folder
        self._environment = environment
        self._command = (*COMMAND, *ARGUMENTS, *SIZES, "--runner", runner)
        self._ray = runner == "ray"
        write_records(folder / "r.jsonl")
        begin = time.monotonic()
        assert self._begun().wait(10 * PATIENCE) == 0, self._said()
        self._length = time.monotonic() - begin
        self._wanted = self._taken_away()

    def kill(self, chance: random.Random) -> Kill:
        """Disturb one job, and see that it ends well."""
        process = self._begun()
        begin = time.monotonic()
        victims = self._victims(process, chance)
        after = time.monotonic() - begin
        victim, name = drawn(victims, chance)
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            name = "nobody"
        killed = time.monotonic()
        code = self._ended(process)
        took = time.monotonic() - killed
        self._quiet(set(victims) - {process.pid})
        if code == 0 and name != "main":
            end = "itself"
        else:
            self._excused(code, name)
            end = "rerun"
            assert self._ended(self._begun()) == 0, self._said()
        assert self._taken_away() == self._wanted, "other bytes"
        return Kill(name, after, end, took)

    def _victims(self, process: "subprocess.Popen[bytes]", chance: random.Random) -> dict[int, str]:
        """The processes of a job at the instant that is drawn, with their roles."""
        main = {process.pid: "main"}
        if chance.random() < 0.5:
            time.sleep(chance.random() * self._length)
        else:
            main = main if self._ray else {}
            while process.poll() is None:
                roles = [role(pid) for pid in descendants(process.pid)]
                if "task" in roles if self._ray else roles:
                    break
                time.sleep(0.05 if self._ray else 0.001)
            time.sleep(chance.random() * (1.0 if self._ray else 0.1))
        below = {pid: role(pid) for pid in descendants(process.pid)}
        return {**main, **below} or {process.pid: "main"}

    def _excused(self, code: int, victim: str) -> None:
        """A job that does not end by itself was killed, or says what to do."""
        if victim == "main" and code in (0, -signal.SIGKILL):
            return
        assert code == 2, (victim, code, self._said())
        if self._ray:
            assert "MM338" in self._said() and "resume" in self._said(), (victim, self._said())

    def _begun(self) -> "subprocess.Popen[bytes]":
        with (self._folder / "said").open("wb") as said:
            return subprocess.Popen(
                self._command,
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
            )

    def _ended(self, process: "subprocess.Popen[bytes]") -> int:
        """The exit code; a job that takes too long must be working (on a busy machine), or have
        said what it waits for."""
        before = -1
        for _ in range(6 if self._ray else 20):
            with contextlib.suppress(subprocess.TimeoutExpired):
                return process.wait(PATIENCE)
            now = ticks([process.pid, *descendants(process.pid)])
            assert now != before or "still waiting" in self._said(), f"hangs: {self._said()}"
            before = now
        raise AssertionError("does not end")

    def _quiet(self, workers: Sequence[int] | set[int]) -> None:
        """Its children end, and say nothing of it."""
        limit = time.monotonic() + PATIENCE
        while left := [pid for pid in workers if alive(pid)]:
            assert time.monotonic() < limit, f"left behind: {left}"
            time.sleep(0.005)
        assert "Traceback" not in self._said(), self._said()

    def _said(self) -> str:
        return (self._folder / "said").read_text(errors="replace")

    def _taken_away(self) -> list[bytes]:
        """Return what a job left, and remove it; nothing else of the job may be there any more."""
        places = [self._folder / f"o{end}" for end in (".jsonl", ".jsonl.errors.jsonl", ".json")]
        contents = [place.read_bytes() for place in places]
        left = sorted(place.name for place in self._folder.glob("o.*"))
        assert left == sorted(place.name for place in places), left
        for place in places:
            place.unlink()
        return contents


def write_records(path: Path) -> None:
    """Sick, healthy and broken records."""
    paths = [
        *(ROOT / "facts/examples").glob("*.json"),
        *(ROOT / "knowledge/healthy").glob("*.json"),
    ]
    known = [json.loads(each.read_text())["facts"] for each in sorted(paths)]
    with path.open("w", encoding="utf-8") as file:
        for number in range(RECORDS):
            facts = known[number % len(known)]
            whole = {"schema": "modelmedic/facts/1", "id": f"run-{number}", "facts": facts}
            file.write((json.dumps(whole) if number % 47 else f"bad {number}") + "\n")


def role(pid: int) -> str:
    """The role of a process in a job with Ray."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ")
    except OSError:
        return "gone"
    return next((role for sign, role in ROLES if sign in command), "child")


def drawn(victims: dict[int, str], chance: random.Random) -> tuple[int, str]:
    """One of them. With Ray each role is as likely as the others."""
    if set(victims.values()) <= {"main", "child"}:
        victim = chance.choice(list(victims))
        return victim, victims[victim]
    name = chance.choice(sorted(set(victims.values())))
    return chance.choice([pid for pid, role in victims.items() if role == name]), name


def descendants(pid: int) -> Iterator[int]:
    """The processes below one."""
    below = collections.defaultdict(list)
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = place.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z":
            below[int(fields[1])].append(int(place.parent.name))
    queue = list(below[pid])
    for each in queue:  # grows while it is walked
        queue += below[each]
        yield each


def ticks(pids: Sequence[int]) -> int:
    """The processor time of processes."""
    found = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            found += int(fields[11]) + int(fields[12])
    return found


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("kills", type=int, nargs="?", default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runner", choices=("local", "ray"), default="local")
    chosen = parser.parse_args()
    environment = dict(os.environ) | {"MODELMEDIC_SALT": "kills"}
    kills: list[Kill] = []
    with tempfile.TemporaryDirectory() as name:
        harness = Harness(Path(name), environment, chosen.runner)
        chance = random.Random(chosen.seed)
        while len(kills) < chosen.kills:
            kills.append(harness.kill(chance))
            if chosen.runner == "ray":
                print(*kills[-1], flush=True)
            if len(kills) % 50 == 0 or len(kills) == chosen.kills:
                print(told(kills), flush=True)


def told(kills: Sequence[Kill]) -> str:
    """The kills so far, counted."""
    counts = collections.Counter(f"{kill.victim} -> {kill.end}" for kill in kills)
    shown = ", ".join(f"{what}: {count}" for what, count in sorted(counts.items()))
    last = max(kill.after for kill in kills)
    slow = max(kills, key=lambda kill: kill.took)
    return (
        f"{len(kills)} kills, up to {last:.1f} s after the start ({shown}); always the same bytes; "
        f"the longest end took {slow.took:.1f} s ({slow.victim})"
    )


if __name__ == "__main__":
    main()
