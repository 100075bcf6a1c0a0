"""The Ray runner in a process of its own.

If parts of the cluster are lost, Ray ends the process that uses it, without an exception and with
an exit code of its own. Here it ends a process that holds no results; the job reports it (MM338)
and keeps its output. If the job dies, the process ends together with the cluster that it started.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, BinaryIO, cast

from .channel import receive, send
from .records import Chunk, Result
from .runner import PATIENCE, Waiting, in_order
from .trouble import lost
from .worker import Setup
from .worker_main import portable, taken
from .worker_process import begun

_START = 180.0
"""Seconds in which a cluster has to be there."""
_END = 20.0
"""Seconds for a process to take leave of its cluster."""


class RayProcess:
    """Runs chunks by a :class:`.RayRunner` elsewhere."""

    def __init__(
        self,
        setup: Setup,
        *,
        address: str = "",
        workers: int | None = None,
        say: Callable[[str], object] = lambda text: None,
    ) -> None:
        """Connects; see :class:`.RayRunner`."""
        self._say = say
        self._process = begun("ray_process", session=True)
        self._to = cast(BinaryIO, self._process.stdin)
        self._from = cast(BinaryIO, self._process.stdout)
        try:
            self._window: int = self._connected(setup, address, workers)
        except BaseException:
            self.close()
            raise

    def results(self, chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, Result]]:
        return in_order(self._announced(chunks), self._submit, self._first, self._window)

    def close(self) -> None:
        with suppress(OSError):  # what could not be sent is lost
            self._to.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END)
        _end_group(self._process.pid)  # what a cluster leaves behind when parts of it are lost
        self._process.kill()
        self._process.wait()
        self._from.close()

    def _connected(self, setup: Setup, address: str, workers: int | None) -> int:
        waiting = (
            threading.Timer(PATIENCE, self._say, ["still waiting: the Ray cluster is starting"]),
            threading.Timer(_START, self._process.kill),
        )
        for each in waiting:
            each.daemon = True
            each.start()
        try:
            self._send((setup, address, workers))
            window: int = self._answer()
        finally:
            for each in waiting:
                each.cancel()
        return window

    def _announced(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """The chunks; the process is told that there are no more."""
        yield from chunks
        self._send(None)

    def _submit(self, chunk: Chunk) -> None:
        self._send(chunk)

    def _first(self, waiting: Waiting[None]) -> tuple[Chunk, Result]:
        chunk, _ = waiting.popleft()
        result: Result = self._answer()
        return chunk, result

    def _send(self, value: Any) -> None:
        with suppress(OSError):  # its last answer says why
            send(self._to, value)

    def _answer(self) -> Any:
        """Return its next answer, without notes. Raises the errors that it raised, and
        :class:`ModelMedicError` (MM338) if it is gone."""
        while True:
            try:
                answer = receive(self._from)
            except (OSError, EOFError):
                raise lost("the Ray cluster is gone, with the process that used it") from None
            if isinstance(answer, BaseException):
                raise answer
            if not isinstance(answer, str):
                return answer
            self._say(answer)


def _end_group(group: int) -> None:
    """End all processes of a session that this job has begun."""
    if os.name == "posix":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


# ---- in the process --------------------------------------------------------------------------


def main() -> None:
    """Serve until the input says that there is no more, or ends."""
    requests, answers = taken(0, "rb"), taken(1, "wb")
    inbox: SimpleQueue[Any] = SimpleQueue()
    threading.Thread(target=_listen, args=(requests, inbox), daemon=True).start()
    try:
        _serve(inbox, answers)
    except OSError:  # the reader of the answers is gone
        _end()


def _listen(requests: BinaryIO, inbox: SimpleQueue[Any]) -> None:
    try:
        while (request := receive(requests)) is not None:
            inbox.put(request)
        inbox.put(None)
    except (EOFError, OSError):
        _end()


def _end() -> None:
    """At once, with the cluster that was begun for the job."""
    _end_group(os.getpid())
    os._exit(0)


def _serve(inbox: SimpleQueue[Any], answers: BinaryIO) -> None:
    from .ray_runner import RayRunner

    runner: RayRunner | None = None
    setup, address, workers = inbox.get()
    try:
        runner = RayRunner(
            setup, address=address, workers=workers, say=lambda text: send(answers, text)
        )
        send(answers, runner.window)
        for _, result in runner.results(iter(inbox.get, None)):
            send(answers, result)
    except Exception as error:  # noqa: BLE001 - the job's process decides
        send(answers, portable(error))
    if runner is not None:
        runner.close()
