"""Child processes with limits on time and output."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import IO, Any, NamedTuple

from ...facts.problems import Location
from ...reading.packages.environments import INTERPRETER_HINT, failure, find_interpreter

MAX_BYTES = 8_000_000
MAX_LINE = 1_000_000
_END_S = 5.0


class Ran(NamedTuple):
    """The result of a program: exit status, both outputs, and whether it timed out."""

    code: int
    out: str
    err: str
    timed_out: bool

    @property
    def reason(self) -> str:
        """Why it failed: the last line of its standard error, else its exit status."""
        lines = self.err.strip().splitlines()
        return lines[-1].strip() if lines else f"exit status {self.code}"


def run_limited(command: list[str], timeout_s: float) -> Ran:
    """Run a program for at most ``timeout_s``; its process group is killed then, or once it has
    written more than MAX_BYTES. Raises :class:`ModelMedicError` (MM421) if it cannot start."""
    process = _started(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    texts: tuple[list[bytes], list[bytes]] = ([], [])
    readers = [
        Thread(target=_read, args=(process, stream, into), daemon=True)
        for stream, into in zip((process.stdout, process.stderr), texts, strict=True)
    ]
    for reader in readers:
        reader.start()
    timed_out = False
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        timed_out = True
        kill_group(process)
    except BaseException:  # Ctrl-C, which does not reach its process group
        kill_group(process)
        raise
    for reader in readers:
        reader.join(1)
        if reader.is_alive():  # a child of the program lives on and holds the pipe open
            kill_group(process)
            reader.join(1)
    out, err = (b"".join(text).decode("utf-8", "replace") for text in texts)
    return Ran(process.wait(), out, err, timed_out)


def _read(process: subprocess.Popen[bytes], stream: IO[bytes], into: list[bytes]) -> None:
    """Read a pipe to its end, or kill the process once it has written too much."""
    size = 0
    with stream:
        while chunk := os.read(stream.fileno(), 65_536):
            size += len(chunk)
            if size > MAX_BYTES:
                kill_group(process)
                return
            into.append(chunk)


class Reporter:
    """A script of ours in an interpreter of its own; each of its lines is a JSON object.

    It runs isolated (``-I``): neither the folder of the script nor ``PYTHON*`` variables change
    what it imports. Leaving the context ends the process and its children.
    """

    def __init__(
        self, script: str, *arguments: str, python: Path | None, given: bytes = b"", mark: str = ""
    ) -> None:
        """``python`` means an interpreter (None: this one), ``given`` is the script's standard
        input; only lines that begin with ``mark`` are reports. Raises :class:`ModelMedicError`
        (MM420, MM421)."""
        executable = sys.executable if python is None else str(find_interpreter(python))
        command = [executable, "-I", script, *arguments]
        self._process = _started(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self._mark = mark.encode()
        self._lines: SimpleQueue[bytes] = SimpleQueue()
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()
        assert self._process.stdin is not None
        with suppress(OSError), self._process.stdin as stream:
            stream.write(given)  # the reader reports the end of a process that died

    def __enter__(self) -> Reporter:
        return self

    def __exit__(self, *_: object) -> None:
        kill_group(self._process)
        self._process.wait()
        self._reader.join(1)

    def report(self, seconds: float) -> dict[str, Any] | None:
        """The next report, empty if the line is not a report; None at the end. Raises
        :class:`TimeoutError` after ``seconds``."""
        try:
            line = self._lines.get(timeout=max(seconds, 0.001))
        except Empty:
            raise TimeoutError from None
        if not line:
            return None
        try:
            report = json.loads(line.removeprefix(self._mark))
        except (ValueError, RecursionError):
            return {}
        return report if isinstance(report, dict) else {}

    def exit_code(self) -> int:
        """Its exit status; a process that is still running is killed."""
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(_END_S)
        kill_group(self._process)
        return self._process.wait()

    def _read(self) -> None:
        """Pass on each report; an empty line marks the end."""
        assert self._process.stdout is not None
        try:
            with self._process.stdout as stream:
                while line := stream.readline(MAX_LINE):
                    if line.startswith(self._mark):
                        self._lines.put(line)
        finally:
            self._lines.put(b"")


def _started(command: list[str], *, stdin: int, stderr: int) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command, stdin=stdin, stdout=subprocess.PIPE, stderr=stderr, start_new_session=True
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise failure(
            "MM421", f"cannot be started: {reason}", Location(command[0]), INTERPRETER_HINT
        ) from None


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """End the process and its children, which are one group."""
    try:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except (ProcessLookupError, PermissionError):
        pass
