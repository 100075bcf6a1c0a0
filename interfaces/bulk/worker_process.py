"""A worker in a process of its own, seen from the job's process.

Its standard input and output are the only tie to it: it shares no lock, queue or semaphore with
anybody, so it may die at any instant and costs no more than the chunk that it had.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress
from typing import Any, BinaryIO, cast

from .channel import receive, send
from .records import Chunk, Result
from .runner import WorkerDiedError
from .worker import Setup

# -P: the working folder is on the path only where it is on that of this process.
_COMMAND = (
    "import sys; sys.path[:] = sys.argv[1:]; from modelmedic.interfaces.bulk.{} import main; main()"
)
# A group of its own: Ctrl-C is for the job's process, which ends its workers.
_APART: dict[str, Any] = (
    {"process_group": 0}
    if os.name == "posix"
    else {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
)


def begun(module: str, session: bool = False) -> subprocess.Popen[bytes]:
    """A process that runs ``main`` of a module of this folder, at the other end of two pipes.
    Raises OSError where the machine cannot."""
    apart = {"start_new_session": True} if session and os.name == "posix" else _APART
    return subprocess.Popen(
        [sys.executable, "-P", "-c", _COMMAND.format(module), *sys.path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        **apart,
    )


class WorkerProcess:
    """A handle for one thread; :meth:`kill` and :meth:`doing` may be called by others."""

    def __init__(self) -> None:
        """Starts the process. Raises OSError where the machine cannot."""
        self._process = begun("worker_main")
        self._to = cast(BinaryIO, self._process.stdin)
        self._from = cast(BinaryIO, self._process.stdout)
        self._chunk: Chunk | None = None
        self._since = time.monotonic()

    def prepare(self, setup: Setup) -> None:
        """Load the knowledge. Raises :class:`WorkerDiedError`, and what the worker raises."""
        self._ask(setup)

    def work(self, chunk: Chunk) -> Result:
        """The result of a chunk. Raises :class:`WorkerDiedError`."""
        self._chunk, self._since = chunk, time.monotonic()
        result: Result = self._ask(chunk)
        return result

    def _ask(self, value: Any) -> Any:
        try:
            send(self._to, value)
            answer = receive(self._from)
        except (OSError, EOFError):
            raise WorkerDiedError from None
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def doing(self) -> str:
        """Its current work, and for how long."""
        seconds = time.monotonic() - self._since
        chunk = self._chunk
        what = "starting" if chunk is None else f"working on {_place(chunk)}"
        return f"process {self._process.pid} has been {what} for {seconds:.0f} s"

    def kill(self) -> None:
        """End the process. A second call does nothing."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """The same, and give its pipes back."""
        self.kill()
        for stream in (self._to, self._from):
            with suppress(OSError):  # what could not be sent is lost
                stream.close()


def _place(chunk: Chunk) -> str:
    first, last = chunk.records[0], chunk.records[-1]
    where = f"{first.source}:{first.line}" if first.line else first.source
    if last is first:
        return where
    return f"{where} to {last.line}" if first.line else f"{where} and {len(chunk.records) - 1} more"
