"""Runs the user's command against a stand-in, and judges nothing: it gives facts.

Only an explicit call runs anything. The command gets an address on the loopback and a dummy
key; it runs in a session of its own, which is gone when this function returns.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from ...facts.kinds import Vocabulary
from ...facts.problems import Location
from ...facts.progress import UNWATCHED, Progress, Step
from ..outcome import Collector
from ..watch.command import START, ErrorStream, Tail, Watched, add_messages
from ..watch.folder import watch_folder
from .laws import Call, add_facts
from .server import Server
from .stand_in import Given, StandIn

SOURCE = "probe:rehearsal"
KEY = "tml-rehearsal"
_MOST_NOTES = 64_000_000
_PATIENCE_S = (15.0, 5.0, 2.0)  # after an interrupt, a second one, and a request to end
_EVERY_S = 0.05
_QUIET = {"TINKER_TELEMETRY": "0", "WANDB_MODE": "disabled", "NEPTUNE_MODE": "offline",
          "HF_HUB_DISABLE_TELEMETRY": "1", "DO_NOT_TRACK": "1"}  # fmt: skip


class Limits(NamedTuple):
    """When a run is interrupted: after so many steps, or seconds; None: not for that reason."""

    steps: int | None = None
    seconds: float | None = None


UNLIMITED = Limits()


def run_rehearsal(
    command: Sequence[str], vocabulary: Vocabulary, limits: Limits = UNLIMITED, *,
    given: Given | None = None, environment: Mapping[str, str] | None = None,
    folder: Path | None = None, progress: Progress = UNWATCHED,
) -> Watched:  # fmt: skip
    """Run ``command`` against a stand-in: the facts of what it asked for, and the messages at the
    end of its standard error. ``given`` answers prompts. ``environment`` replaces that of this
    process, ``folder`` is the working folder.

    Problems: MM464 the command cannot be started, MM472 it asked nothing of the stand-in.
    """
    collector = Collector(vocabulary, SOURCE)
    stand_in = StandIn(given)
    with watch_folder() as place, Server(stand_in) as server:
        inherited = dict(os.environ if environment is None else environment)
        run = _Run(stand_in, limits, progress)
        code, tail = run.through(
            list(command), _pointed(inherited, place, server.url), folder, collector
        )
        calls = _noted(Path(place))
    ended = "stopped" if run.stopped else "by-itself" if code == 0 else "error"
    if stand_in.recording.counts or calls:
        add_facts(collector, stand_in.recording, calls, ended, given is not None)
    elif code != 127:
        message = "the command asked nothing of the service"
        hint = "run the script that trains, with the interpreter that has tinker"
        collector.problem("MM472", message, Location(str(command[0])), hint)
    if not run.stopped:
        add_messages(collector, vocabulary, tail, code)
    return Watched(0 if run.stopped else code, collector.outcome())


def _pointed(environment: dict[str, str], place: str, url: str) -> dict[str, str]:
    """The environment of a job that is to find the stand-in, and no key."""
    environment.pop("TINKER_CREDENTIAL_CMD", None)
    before = environment.get("PYTHONPATH")
    environment["PYTHONPATH"] = START + (os.pathsep + before if before else "")
    local = "127.0.0.1,localhost"
    around = {
        name: ",".join(filter(None, [environment.get(name), local]))
        for name in ("NO_PROXY", "no_proxy")
    }
    named = {
        "MODELMEDIC_WATCH": place,
        "MODELMEDIC_REHEARSAL": url,
        "TINKER_BASE_URL": url,
        "TINKER_API_KEY": KEY,
    }
    return {**environment, **_QUIET, **around, **named}


class _Run:
    """One run of a command, and why it was stopped."""

    def __init__(self, stand_in: StandIn, limits: Limits, progress: Progress) -> None:
        self._counts, self._limits, self._progress = stand_in.recording.counts, limits, progress
        self.stopped = False

    def through(
        self,
        command: list[str],
        environment: dict[str, str],
        folder: Path | None,
        collector: Collector,
    ) -> tuple[int, bytes]:
        """Run to the end, or to a limit. Returns the exit status and the end of standard error."""
        tail = Tail()
        try:
            with ErrorStream(tail) as stream:
                process = subprocess.Popen(
                    command,
                    env=environment,
                    cwd=folder,
                    stderr=stream.child,
                    start_new_session=True,
                )
                try:
                    stream.started()
                    code = self._watch(process)
                finally:
                    _end_all(process)
        except (OSError, ValueError, IndexError, TypeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            hint = "write it as you would in the shell: diagnose rehearse -- python train.py"
            name = str(command[0]) if command else "-"
            collector.problem("MM464", f"cannot start the command: {reason}", Location(name), hint)
            return 127, b""
        return 128 - code if code < 0 else code, tail.bytes()

    def _watch(self, process: subprocess.Popen[Any]) -> int:
        began, told = time.monotonic(), 0
        total = self._limits.steps or 0
        with self._progress.part("steps of the rehearsal", total, "steps", ends_early=True) as step:
            while process.poll() is None:
                done = self._counts.get("optim_step", 0)
                goes_on = _tell(step, done - told)
                told = done
                late = (
                    self._limits.seconds is not None
                    and time.monotonic() - began > self._limits.seconds
                )
                if (
                    late
                    or not goes_on
                    or (self._limits.steps is not None and done >= self._limits.steps)
                ):
                    self.stopped = True
                    return _stop(process)
                time.sleep(_EVERY_S)
        return process.returncode


def _tell(step: Step, more: int) -> bool:
    return step(more)


def _stop(process: subprocess.Popen[Any]) -> int:
    """Interrupt a process as Ctrl-C does, so that it can save; then insist."""
    for number, seconds in zip(
        (signal.SIGINT, signal.SIGINT, signal.SIGTERM), _PATIENCE_S, strict=True
    ):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            return process.wait(seconds)
    _end_all(process)
    return process.returncode


def _end_all(process: subprocess.Popen[Any]) -> None:
    """Leave nothing of the command behind."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        process.wait(5)


def _noted(place: Path) -> dict[str, Call]:
    """The calls that the processes of the command noted, by process and number."""
    found: dict[str, Call] = {}
    for path in sorted(place.glob("*.calls"))[:64]:
        with suppress(OSError), path.open("rb") as file:
            for raw in file.read(_MOST_NOTES).splitlines():
                with suppress(ValueError, KeyError, TypeError):
                    _note(found, path.stem, json.loads(raw))
    return found


def _note(found: dict[str, Call], process: str, line: dict[str, Any]) -> None:
    if "call" in line:
        at, made = (
            tuple((str(file), int(number)) for file, number in line[name])
            for name in ("at", "made")
        )
        call = Call(
            str(line["op"]),
            at,
            made,
            " ".join(line["ignored"]),
            int(line["builds"]),
            int(line["contents"]),
            False,
        )
        found[f"{process}-{line['call']}"] = call
    elif "asked" in line:
        key = f"{process}-{line['asked']}"
        found[key] = found[key]._replace(asked=True)
