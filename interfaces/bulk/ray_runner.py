"""The Ray runner: the same chunks as tasks of a Ray cluster.

Tasks rather than actors: Ray retries a task whose process or machine was lost, and spreads tasks
over machines that join later. They are as fast, because a process keeps its worker between tasks.
"""

from __future__ import annotations

import os
import secrets
import socket
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ...facts import ModelMedicError
from .records import Chunk, Result
from .runner import PATIENCE, Survival, Waiting, WorkerDiedError, in_order
from .trouble import failure, lost, missing_extra
from .worker import Setup, Worker

AHEAD = 2
"""Tasks in flight for each core."""
RETRIES = 4
"""How often Ray reruns a task whose process or machine was lost."""
_PATIENCE = 10.0
_LOOK_EVERY = 2.0
"""Seconds between looks at the head while a result is awaited. Where it is gone, Ray ends this
process after a minute, with the exit code of findings."""
_STORE = 256 * 1024 * 1024
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_DEDUP_LOGS": "0",
}

_workers: dict[str, Worker] = {}


class RayRunner:
    """Runs chunks as tasks of a cluster, or of a private cluster on this machine."""

    def __init__(
        self,
        setup: Setup,
        *,
        address: str = "",
        workers: int | None = None,
        say: Callable[[str], object] = lambda text: None,
    ) -> None:
        """Connects. ``address`` names a cluster (``auto``, ``ray://host:port``, ``host:port``);
        ``say`` is told where a result takes long. Raises :class:`ModelMedicError` (MM332,
        MM338)."""
        self._ray = _import(address)
        self._begun = not self._ray.is_initialized()
        if self._begun:
            _connect(self._ray, address, workers)
        self._head = _head(self._ray, address)
        self._say = say
        self._setup = self._ray.put(setup)
        self._task = self._ray.remote(max_retries=RETRIES)(_work)
        self.window = AHEAD * (workers or _cores(self._ray))
        self._survival = Survival(self._alone, Worker(setup))

    def results(self, chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, Result]]:
        return in_order(chunks, self._submit, self._first, self.window)

    def close(self) -> None:
        if self._begun:
            self._ray.shutdown()

    def _submit(self, chunk: Chunk) -> Any:
        # Inside a list the setup stays a reference, which each process resolves once.
        return self._task.remote([self._setup], chunk)

    def _first(self, waiting: Waiting[Any]) -> tuple[Chunk, Result]:
        chunk, reference = waiting.popleft()
        try:
            return chunk, self._got(reference)
        except WorkerDiedError:
            return chunk, self._survival.result(chunk)

    def _alone(self, chunk: Chunk) -> Result:
        return self._got(self._submit(chunk))

    def _got(self, reference: Any) -> Result:
        errors = self._ray.exceptions
        try:
            self._await(reference)
            result: Result = self._ray.get(reference)
        except (errors.WorkerCrashedError, errors.NodeDiedError, errors.OutOfMemoryError):
            raise WorkerDiedError from None
        except errors.RayTaskError as error:
            cause = error.cause
            if isinstance(cause, ModelMedicError):
                raise cause from None
            raise
        except errors.RayError as error:
            raise lost(f"the Ray cluster failed: {type(error).__name__}") from None
        return result

    def _await(self, reference: Any) -> None:
        """Wait until a result is there. Raises :class:`ModelMedicError` (MM338) where the head of
        the cluster is gone."""
        begin, patience, seen = time.monotonic(), PATIENCE, time.monotonic()
        while not self._ray.wait([reference], timeout=_LOOK_EVERY)[0]:
            now = time.monotonic()
            if _answers(self._head):
                seen = now
            elif now - seen > _PATIENCE:
                host, port = self._head
                raise lost(f"the head of the Ray cluster ({host}:{port}) is gone")
            if now - begin >= patience:
                self._say(
                    f"still waiting: the Ray cluster has sent no result for {now - begin:.0f} s"
                )
                patience *= 2


def _work(setup: list[Any], chunk: Chunk) -> Result:
    """Runs in a process of the cluster."""
    key = setup[0].hex()
    worker = _workers.get(key)
    if worker is None:
        import ray

        _workers.clear()  # of an earlier job
        worker = _workers[key] = Worker(ray.get(setup[0]))
    return worker.work(chunk)


def _import(address: str) -> Any:
    """Import Ray, which reads its environment variables at import."""
    told = dict(_QUIET)
    if not address:
        # Ray listens on all interfaces: the token keeps others from giving it work.
        told |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    if "ray" not in sys.modules:
        os.environ.update({n: v for n, v in told.items() if n not in os.environ})
    try:
        import ray
    except ImportError:
        raise missing_extra("Ray", "ray") from None
    return ray


def _look_for(address: str) -> None:
    """Raises OSError if nothing answers there; Ray itself would retry for many minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE).close()


def _answers(place: tuple[str, int]) -> bool:
    try:
        socket.create_connection(place, timeout=_LOOK_EVERY).close()
    except OSError:
        return False
    return True


def _head(ray: Any, address: str) -> tuple[str, int]:
    """The address of the head of the cluster: for clients, or for all others."""
    if not address.startswith("ray://"):
        address = ray.get_runtime_context().gcs_address
    host, _, port = address.removeprefix("ray://").rpartition(":")
    return host.strip("[]"), int(port)


def _connect(ray: Any, address: str, workers: int | None) -> None:
    try:
        if address:
            _look_for(address)
            ray.init(address, log_to_driver=False, logging_level="error")
        else:
            ray.init(
                "local",
                num_cpus=workers,
                include_dashboard=False,
                log_to_driver=False,
                logging_level="error",
                object_store_memory=_STORE,
            )
    except Exception as error:  # noqa: BLE001 - where it cannot start, Ray raises a bare one
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        hint = "`ray status` there shows whether one is up; then run the same command to resume"
        where = f" at {address}" if address else ""
        what = f"no Ray cluster can be used{where}: {first[:200]}"
        raise failure("MM338", what, hint) from None


def _cores(ray: Any) -> int:
    return max(1, int(ray.cluster_resources().get("CPU", 1)))
