"""The program of a worker process. It reads its setup and chunks from standard input and answers on
standard output. When the job's process dies, the input ends, and this process ends at once and
silently.
"""

from __future__ import annotations

import os
import sys
from queue import SimpleQueue
from threading import Thread
from typing import Any, BinaryIO

from .channel import receive, send


def main() -> None:
    """Serve until the input ends. Never returns."""
    requests, answers = taken(0, "rb"), taken(1, "wb")
    inbox: SimpleQueue[Any] = SimpleQueue()
    Thread(target=_listen, args=(requests, inbox), daemon=True).start()
    try:
        _serve(inbox, answers)
    except OSError:  # the reader of the answers is gone
        os._exit(0)


def taken(descriptor: int, mode: str) -> BinaryIO:
    """A standard stream for us alone: whatever a library prints must not get into the answers."""
    own = os.dup(descriptor)
    empty = os.open(os.devnull, os.O_RDWR)
    os.dup2(empty, descriptor)
    os.close(empty)
    return open(own, mode)  # type: ignore[return-value]


def _listen(requests: BinaryIO, inbox: SimpleQueue[Any]) -> None:
    try:
        while True:
            inbox.put(receive(requests))
    except (EOFError, OSError):
        os._exit(0)
    except BaseException as error:  # noqa: BLE001 - what was sent cannot be read here
        inbox.put(error)


def _serve(inbox: SimpleQueue[Any], answers: BinaryIO) -> None:
    from .worker import Worker

    worker: Worker | None = None
    answer: Any
    while True:
        request = inbox.get()
        try:
            if isinstance(request, BaseException):
                raise request
            if worker is None:
                worker, answer = Worker(request), None
            else:
                answer = worker.work(request)
        except Exception as error:  # noqa: BLE001 - the job's process decides
            answer = portable(error)
        send(answers, answer)


def portable(error: Exception) -> Exception:
    """An error that the other process can read."""
    import pickle

    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    except Exception:  # noqa: BLE001 - pickling runs the error's own code
        print(f"worker: {type(error).__name__}", file=sys.stderr)
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
