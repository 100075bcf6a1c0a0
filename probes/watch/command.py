"""Runs the user's command with the monitor inside, and reads its records.

Only an explicit call runs anything. The command gets the terminal as it is: standard input and
output are its own, standard error is copied through while its end is kept, signals reach it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from ...facts.kinds import Vocabulary
from ...facts.problems import Location, Problem
from ...facts.regular_files import replace_file
from ..outcome import Collector, Outcome
from .folder import watch_folder
from .outside import Look, Outside, with_looks
from .probe import SOURCE, Record, add_record, read_record, text_of

START = os.path.join(os.path.dirname(os.path.abspath(__file__)), "start")
MAX_TAIL = 64_000
MAX_PROCESSES = 64
_Handler = Callable[[int, FrameType | None], None]
_FORWARDED = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGQUIT")
_KEPT = frozenset({"WARNING", "ERROR", "CRITICAL"})


class Watched(NamedTuple):
    """The end of a watched command: its exit status (128 + number for a signal, 127 if it could
    not be started) and what was seen."""

    exit_code: int
    outcome: Outcome


def run_watch(
    command: Sequence[str], vocabulary: Vocabulary, *, environment: Mapping[str, str] | None = None,
    folder: Path | None = None, keep: Path | None = None,
) -> Watched:  # fmt: skip
    """Run ``command`` to its end and give the facts that the monitor saw in it: ``gil_jitter``,
    ``thread_state``, ``sdk_loop_delay``, and the messages at the end of standard error.

    The monitor starts in every Python interpreter that the command starts (by PYTHONPATH); the
    facts are those of the process that used the Tinker SDK, else of the one that ran longest.
    ``environment`` replaces that of this process, ``folder`` is the working folder. The record of
    that process is kept in the file ``keep``.

    Problems: MM464 the command cannot be started, or its record not kept, MM465 no monitor started
    in it. Ctrl-C and SIGTERM reach the command; this function returns when it has ended.
    """
    collector = Collector(vocabulary, SOURCE)
    with watch_folder() as place:
        inherited = dict(os.environ if environment is None else environment)
        with Outside(Path(place)) as outside:
            code, tail = _run(list(command), _with_monitor(inherited, place), folder, collector)
        ended = time.time()
        records = _records(Path(place), outside.looks)
        if records:
            _add(collector, records, ended, keep)
        elif code != 127:
            collector.extend([_no_monitor(command)])
        add_messages(collector, vocabulary, tail, code)
    return Watched(code, collector.outcome())


def _with_monitor(environment: dict[str, str], place: str) -> dict[str, str]:
    before = environment.get("PYTHONPATH")
    environment["PYTHONPATH"] = START + (os.pathsep + before if before else "")
    environment["MODELMEDIC_WATCH"] = place
    return environment


def _run(
    command: list[str], environment: dict[str, str], folder: Path | None, collector: Collector
) -> tuple[int, bytes]:
    tail = Tail()
    try:
        with ErrorStream(tail) as stream:
            process = subprocess.Popen(command, env=environment, cwd=folder, stderr=stream.child)
            stream.started()
            code = _wait(process)
    except (OSError, ValueError, IndexError, TypeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        name = str(command[0]) if command else "-"
        hint = "write it as you would in the shell: diagnose watch -- python train.py"
        collector.problem("MM464", f"cannot start the command: {reason}", Location(name), hint)
        return 127, b""
    return code, tail.bytes()


def _wait(process: subprocess.Popen[Any]) -> int:
    """Wait for the command; signals to this process are passed on to it meanwhile."""

    def forward(number: int, frame: FrameType | None) -> None:
        if process.poll() is None:
            process.send_signal(number)

    def interrupted(number: int, frame: FrameType | None) -> None:
        # A terminal sends Ctrl-C to the command as well; only a signal to us alone is passed on.
        if not _has_terminal():
            forward(number, frame)

    with _signals(forward, interrupted):
        code = process.wait()
    return 128 - code if code < 0 else code


def _has_terminal() -> bool:
    try:
        return os.getpgrp() == os.tcgetpgrp(sys.__stdin__.fileno())  # type: ignore[union-attr]
    except (OSError, ValueError, AttributeError):
        return False


@contextmanager
def _signals(forward: _Handler, interrupted: _Handler) -> Iterator[None]:
    """Handlers for the time of the run; none if this is not the main thread."""
    wanted = {signal.SIGINT: interrupted} | {
        getattr(signal, name): forward for name in _FORWARDED if hasattr(signal, name)
    }
    is_main = threading.current_thread() is threading.main_thread()
    before = {each: signal.signal(each, wanted[each]) for each in wanted if is_main}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)


class Tail:
    """The last bytes of standard error."""

    def __init__(self) -> None:
        self._kept = b""

    def add(self, data: bytes) -> None:
        """Append ``data`` to the kept bytes, and drop those that are too old."""
        self._kept = (self._kept + data)[-MAX_TAIL:]

    def bytes(self) -> bytes:
        """The kept bytes, from the start of a line on."""
        return self._kept if len(self._kept) < MAX_TAIL else self._kept.partition(b"\n")[2]


class ErrorStream:
    """Standard error of the command: copied to ours, its end kept."""

    def __init__(self, tail: Tail) -> None:
        self._tail = tail
        self._out = _descriptor(sys.stderr)
        self._source, self.child = _channel(self._out)
        self._copied = 0
        self._copier = threading.Thread(target=self._copy, daemon=True)

    def __enter__(self) -> ErrorStream:
        return self

    def started(self) -> None:
        """Close our end of the command's channel, so that the end of the command is noticed."""
        os.close(self.child)
        self.child = -1
        self._copier.start()

    def __exit__(self, *_: object) -> None:
        if self.child >= 0:
            os.close(self.child)
            os.close(self._source)
            return
        # Processes that live on in the background may hold it open: do not wait for them, only for
        # data that is on its way.
        copied = -1
        while self._copier.is_alive() and copied != self._copied:
            copied = self._copied
            self._copier.join(1)

    def _copy(self) -> None:
        while True:
            try:
                data = os.read(self._source, 65_536)
            except OSError:  # a terminal reports its end in this way
                data = b""
            if not data:
                os.close(self._source)
                return
            self._tail.add(data)
            self._copied += len(data)
            with suppress(OSError):  # the output is no longer read; the command must not notice
                while data:
                    data = data[os.write(self._out, data) :]


def _descriptor(stream: Any) -> int:
    try:
        return int(stream.fileno())
    except (OSError, ValueError, AttributeError):
        return 2


def _channel(out: int) -> tuple[int, int]:
    """Both ends of a channel: a terminal if ours is one (progress bars ask), or a pipe."""
    try:
        if os.isatty(out):
            import pty
            import termios

            source, child = pty.openpty()
            mode = termios.tcgetattr(child)
            mode[1] &= ~termios.OPOST  # our own terminal converts line ends itself
            termios.tcsetattr(child, termios.TCSANOW, mode)
            termios.tcsetwinsize(child, termios.tcgetwinsize(out))
            return source, child
    except (ImportError, OSError, AttributeError):
        pass
    return os.pipe()


def _records(place: Path, looks: Sequence[Look]) -> list[tuple[Record, float]]:
    """The records of all processes with the time of their last change."""
    found = []
    for path in sorted(place.glob("*.jsonl"))[:MAX_PROCESSES]:
        record = read_record(path)
        if record is not None:
            pid = int(path.stem) if path.stem.isdecimal() else 0
            record = record._replace(stalls=with_looks(pid, record.stalls, looks))
            found.append((record, path.stat().st_mtime))
    return found


def _add(
    collector: Collector, records: Sequence[tuple[Record, float]], ended: float, keep: Path | None
) -> None:
    def weight(item: tuple[Record, float]) -> tuple[bool, float, str]:
        record = item[0]
        used_sdk = any(t.get("thread") == "sdk" for t in record.state.get("threads") or ())
        seconds = record.state.get("seconds")
        used_sdk = used_sdk or bool(record.state.get("sdk_count"))
        return used_sdk, seconds if isinstance(seconds, (int, float)) else 0.0, record.name

    record, changed = max(records, key=weight)
    add_record(collector, record, max(ended - changed, 0.0))
    if keep is not None:
        try:
            replace_file(keep, text_of(record).encode())
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            message = f"the record was not kept: {reason}"
            collector.problem("MM464", message, Location(str(keep)), "name a file of your own")


def _no_monitor(command: Sequence[str]) -> Problem:
    message = "the monitor did not start: the command runs no Python that heeds PYTHONPATH"
    hint = (
        "run the training itself, without -I, -E or -S; "
        "or use modelmedic.probes.watch.monitor in it"
    )
    return Problem("MM465", message, Location(str(command[0]) if command else "-"), hint)


def add_messages(collector: Collector, vocabulary: Vocabulary, tail: bytes, code: int) -> None:
    """The messages at the end of standard error. Of a job that succeeded only warnings count."""
    from ..messages.probe import read_messages

    if not tail.strip():
        return
    text = tail.decode("utf-8", "replace")
    outcome = read_messages(text, vocabulary, name="stderr")
    for fact in outcome.facts:
        if code != 0 or fact.kind != "error_message" or fact.get("level") in _KEPT:
            values = dict(fact.values)
            if values.get("source") == "pasted":
                values["source"] = "stderr"
            collector.add(fact.kind, fact.provenance[0].location, **values)
