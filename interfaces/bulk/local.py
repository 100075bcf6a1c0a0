"""The local runner: processes of this machine, one for each thread of a pool.

A thread hands its process one chunk at a time and waits for the answer. A process that dies, be it
while it starts, is replaced by its thread; the others do not notice.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for

from .records import Chunk, Result
from .runner import PATIENCE, Survival, Waiting, WorkerDiedError, in_order
from .trouble import failure
from .worker import Setup, Worker
from .worker_process import WorkerProcess

AHEAD = 2
"""Chunks in flight for each worker: one running, one queued."""
TRIES = 2
"""How often a chunk whose process died is tried as a whole."""
MAX_STARTS = 5
"""How many processes in a row may die while they start."""


class _ClosedError(Exception):
    """The job ends: no process may be started any more."""


class LocalRunner:
    """Runs chunks in processes. They are spawned, not forked, so that they share no lock, open
    file or half-finished state with this process."""

    def __init__(
        self, setup: Setup, workers: int, say: Callable[[str], object] = lambda text: None
    ) -> None:
        """``say`` gets a note on the work that takes long."""
        self._setup = setup
        self._workers = workers
        self._say = say
        self._survival = Survival(self._attempt, Worker(setup))
        self._own = threading.local()
        self._lock = threading.Lock()
        self._processes: set[WorkerProcess] = set()
        self._closed = False
        self._threads = ThreadPoolExecutor(workers, "bulk")

    def results(self, chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, Result]]:
        return in_order(chunks, self._submit, self._first, AHEAD * self._workers)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            processes = list(self._processes)
        for process in processes:
            process.kill()  # its thread notices, and ends
        self._threads.shutdown(wait=True, cancel_futures=True)
        for process in processes:
            process.close()

    def _submit(self, chunk: Chunk) -> Future[Result]:
        return self._threads.submit(self._result, chunk)

    def _first(self, waiting: Waiting[Future[Result]]) -> tuple[Chunk, Result]:
        chunk, future = waiting.popleft()
        patience = PATIENCE
        while not wait_for([future], patience).done:
            with self._lock:
                doing = sorted(process.doing() for process in self._processes)
            self._say("still waiting: " + ("; ".join(doing) or "no process could be started yet"))
            patience *= 2
        return chunk, future.result()

    # ---- in the threads ----------------------------------------------------------------------

    def _result(self, chunk: Chunk) -> Result:
        """The result. Where its process dies again and again, it is cut up to find the record that
        is to blame."""
        for _ in range(TRIES):
            try:
                return self._attempt(chunk)
            except WorkerDiedError:
                continue
        return self._survival.result(chunk)

    def _attempt(self, chunk: Chunk) -> Result:
        process = self._prepared()
        try:
            return process.work(chunk)
        except WorkerDiedError:
            self._drop(process)
            raise

    def _prepared(self) -> WorkerProcess:
        """The process of this thread. Raises :class:`ModelMedicError` (MM339) where none comes
        up."""
        known: WorkerProcess | None = getattr(self._own, "process", None)
        if known is not None:
            return known
        for _ in range(MAX_STARTS):
            process = self._started()
            try:
                process.prepare(self._setup)
            except BaseException as error:
                self._drop(process)
                if not isinstance(error, WorkerDiedError):
                    raise
            else:
                self._own.process = process
                return process
        what = f"{MAX_STARTS} worker processes in a row died while they started"
        hint = "check for lack of memory (fewer --workers), then run the same command to resume"
        raise failure("MM339", what, hint)

    def _started(self) -> WorkerProcess:
        with self._lock:
            if self._closed:
                raise _ClosedError
            try:
                process = WorkerProcess()
            except OSError as error:
                what = f"no worker process can be started: {error.strerror or error}"
                hint = "make room (fewer --workers), then run the same command to resume"
                raise failure("MM339", what, hint) from None
            self._processes.add(process)
            return process

    def _drop(self, process: WorkerProcess) -> None:
        self._own.process = None
        with self._lock:
            self._processes.discard(process)
        process.close()
