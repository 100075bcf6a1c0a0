"""Notes the calls of the Tinker SDK in the process that it runs in, for :mod:`.monitor` to write.

The public methods of the SDK's clients are replaced by ones that note when they were called, what
shape their arguments have (numbers only), when their request left, when their result arrived and
how long the program waited for it. The same arguments go on in the same order; results and
exceptions come back as they are. Texts, paths, keys and tokens are never noted; token ids only on
demand.

It is loaded by *other* interpreters, hence: standard library only, Python 3.8 and later, no
relative imports. Its own errors are swallowed, and it does less if it would cost more than a
fixed share of the time.
"""

from __future__ import annotations

import functools
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

_INTERFACES = "tinker.lib.public_interfaces."
# (module, class, methods): only those that return a future. The deprecated ones call these.
CLIENTS = (
    (_INTERFACES + "training_client", "TrainingClient",
     ("forward", "forward_backward", "forward_backward_custom", "optim_step", "save_state",
      "load_state", "load_state_with_optimizer", "save_weights_for_sampler")),
    (_INTERFACES + "sampling_client", "SamplingClient", ("sample", "compute_logprobs")),
)  # fmt: skip
FUTURES = (
    (_INTERFACES + "api_future", "AwaitableConcurrentFuture"),
    ("tinker.lib.backcompat_concurrent_future", "_AwaitableFutureCompatWrapper"),
    ("tinker.lib.api_future_impl", "_APIFuture"),
    ("tinker.lib.api_future_impl", "_CombinedAPIFuture"),
)
HOLDER = ("tinker.lib.internal_client_holder", "InternalClientHolder")
MAX_NOTED = 20_000  # calls that are written one by one,
NOTED_A_SECOND = 20  # and of them each second
MAX_PENDING = 1_000  # finished calls that wait to be written
LOOKED_AT = 50  # first calls of a method with all arguments read; later only some
_SHARE = 0.001  # of the time that looking at arguments may cost
_KEPT = 512  # values of a running sample
_CURRENT: ContextVar[Call | None] = ContextVar("modelmedic_call", default=None)


class Call:
    """One call: its times in seconds since the beginning (None: not yet), and its shape."""

    __slots__ = ("done", "error", "number", "op", "sent", "shape", "start", "submit", "waited",
                 "weight")  # fmt: skip

    def __init__(self, op: str, number: int, start: float) -> None:
        self.op, self.number, self.start = op, number, start
        self.submit = self.waited = 0.0
        self.sent: float | None = None
        self.done: float | None = None
        self.error = ""
        self.weight = 1
        self.shape: dict[str, Any] | None = None


class Series:
    """Count, sum, largest and first value, and a sample for the median that stays small."""

    def __init__(self) -> None:
        self.count = 0
        self.sum = self.max = self.first = 0.0
        self._sample: list[float] = []
        self._stride = 1

    def add(self, value: float) -> None:
        if not self.count:
            self.first = value
        if self.count % self._stride == 0:
            self._sample.append(value)
            if len(self._sample) >= _KEPT:
                self._sample = self._sample[::2]
                self._stride *= 2
        self.count += 1
        self.sum += value
        self.max = max(self.max, value)

    def plain(self) -> dict[str, Any]:
        ordered = sorted(self._sample)
        median = ordered[len(ordered) // 2] if ordered else 0.0
        return {
            "count": self.count, "mean": round(self.sum / self.count, 6) if self.count else 0.0,
            "median": round(median, 6), "max": round(self.max, 6), "first": round(self.first, 6),
        }  # fmt: skip


class Operation:
    """The record of all calls of one method."""

    def __init__(self) -> None:
        self.total, self.submit, self.waited, self.delay = (Series() for _ in range(4))
        self.calls = self.errors = self.flying = self.most_flying = 0
        self.seen: dict[str, float] = {}

    def plain(self) -> dict[str, Any]:
        return {
            "calls": self.calls, "errors": self.errors, "in_flight": self.most_flying,
            "total": self.total.plain(), "submit": self.submit.plain(),
            "wait": self.waited.plain(), "send_delay": self.delay.plain(), "seen": self.seen,
        }  # fmt: skip


class Recorder:
    """Notes calls once the SDK is there; :meth:`tick` looks for it."""

    def __init__(self, shapes: Any, token_ids: bool = False) -> None:
        """``shapes`` is the module :mod:`.call_shapes`."""
        self._shapes, self._token_ids = shapes, token_ids
        self._clock = time.perf_counter
        self._started = self._clock()
        self._spent = 0.0
        self._lock = threading.Lock()
        self._operations: dict[str, Operation] = {}
        self._finished: deque[Call] = deque(maxlen=MAX_PENDING)
        self._noted = self._numbers = 0
        self._done: set[str] = set()
        self.loops: dict[int, Any] = {}

    def tick(self) -> None:
        """Install the wrappers once a module of the SDK has been imported."""
        for module, name, methods in CLIENTS:
            cls = self._ready(module, name)
            for method in methods if cls is not None else ():
                self._replace(cls, method, self._noting(method))
        for module, name in FUTURES:
            cls = self._ready(module, name)
            if cls is not None:
                self._replace(cls, "result", self._waiting)
                self._replace(cls, "result_async", self._awaiting)
        cls = self._ready(*HOLDER)
        if cls is not None:
            self._replace(cls, "aclient", self._sending)

    def _ready(self, module: str, name: str) -> Any:
        """The class, once, when its module is complete."""
        key = module + name
        if key in self._done:
            return None
        found = sys.modules.get(module)
        spec = getattr(found, "__spec__", None)
        if found is None or getattr(spec, "_initializing", False):
            return None
        self._done.add(key)
        return getattr(found, name, None)

    @staticmethod
    def _replace(owner: Any, name: str, wrap: Callable[[Any], Any]) -> None:
        with suppress(Exception):
            before = vars(owner).get(name)
            if callable(before) and not isinstance(before, (staticmethod, classmethod)):
                setattr(owner, name, wrap(before))

    def _noting(self, op: str) -> Callable[[Any], Any]:
        def wrap(method: Any) -> Any:
            @functools.wraps(method)
            def noted(*args: Any, **kwargs: Any) -> Any:
                if _CURRENT.get() is not None:  # a call of the SDK to itself
                    return method(*args, **kwargs)
                call = self._begin(op, args, kwargs)
                token = _CURRENT.set(call)
                before = self._clock()
                try:
                    future = method(*args, **kwargs)
                except BaseException as error:
                    self._end(call, self._clock() - before, error)
                    raise
                finally:
                    _CURRENT.reset(token)
                self._submitted(call, self._clock() - before, future)
                return future

            return noted

        return wrap

    def _waiting(self, method: Any) -> Any:
        @functools.wraps(method)
        def result(future: Any, *args: Any, **kwargs: Any) -> Any:
            call = getattr(future, "_modelmedic_call", None)
            if call is None:
                return method(future, *args, **kwargs)
            before = self._clock()
            try:
                return method(future, *args, **kwargs)
            finally:
                call.waited += self._clock() - before

        return result

    def _awaiting(self, method: Any) -> Any:
        @functools.wraps(method)
        async def result_async(future: Any, *args: Any, **kwargs: Any) -> Any:
            call = getattr(future, "_modelmedic_call", None)
            before = self._clock()
            try:
                return await method(future, *args, **kwargs)
            finally:
                if call is not None:
                    call.waited += self._clock() - before

        return result_async

    def _sending(self, method: Any) -> Any:
        @functools.wraps(method)
        def aclient(*args: Any, **kwargs: Any) -> Any:
            call = _CURRENT.get()
            if call is not None and call.sent is None:
                call.sent = self._clock()
            return method(*args, **kwargs)

        return aclient

    def _begin(self, op: str, args: Any, kwargs: Any) -> Call:
        now = self._clock()
        self._numbers += 1
        call = Call(op, self._numbers, now)
        with suppress(Exception):  # arguments that the SDK will refuse
            self._note_loop()
            known = self._operations.get(op) or self._operations.setdefault(op, Operation())
            with self._lock:
                known.calls += 1
                looked = known.calls <= LOOKED_AT or known.calls % LOOKED_AT == 0
            if op == "sample":
                call.weight = self._shapes.weight_of(args[1:], kwargs)
            if looked and self._spent <= _SHARE * (now - self._started) + 0.05:
                call.shape = self._shapes.shape_of(op, args[1:], kwargs, self._token_ids)
                self._spent += self._clock() - now
            with self._lock:
                known.flying += call.weight
                known.most_flying = max(known.most_flying, known.flying)
                if call.shape:
                    _accumulate(known.seen, call.shape)
        return call

    def _note_loop(self) -> None:
        """Remember the event loop that the caller runs on, to time it."""
        asyncio = sys.modules.get("asyncio")
        loop = asyncio._get_running_loop() if asyncio is not None else None
        ident = threading.get_ident()
        if loop is not None and (ident in self.loops or len(self.loops) < 8):
            self.loops[ident] = loop  # of several, one after the other, the one that runs

    def _submitted(self, call: Call, seconds: float, future: Any) -> None:
        call.submit = seconds
        with suppress(Exception):
            future._modelmedic_call = call
        try:
            future.future().add_done_callback(functools.partial(self._finish, call))
        except Exception:  # noqa: BLE001 - no future of the kind that is known
            self._end(call, seconds, None)

    def _finish(self, call: Call, future: Any) -> None:
        with suppress(BaseException):  # the SDK must not notice
            cancelled = future.cancelled()
            error = None if cancelled else future.exception()
            if error is None and not cancelled and call.shape is not None:
                call.shape.update(self._shapes.shape_of_result(call.op, future.result()))
            self._end(call, call.submit, error, cancelled)

    def _end(
        self, call: Call, submit: float, error: BaseException | None, cancelled: bool = False
    ) -> None:
        call.submit, call.done = submit, self._clock()
        call.error = "cancelled" if cancelled else type(error).__name__ if error else ""
        known = self._operations.get(call.op)
        if known is None:
            return
        with self._lock:
            known.flying -= call.weight
            known.errors += bool(call.error)
            known.total.add(call.done - call.start)
            known.submit.add(submit)
            if call.sent is not None:
                known.delay.add(max(call.sent - call.start, 0.0))
            for name in _OF_RESULTS:
                if call.shape and name in call.shape:
                    known.seen[name] = known.seen.get(name, 0) + call.shape[name]
        self._finished.append(call)

    def drain(self, *, last: bool = False) -> list[dict[str, Any]]:
        """The calls that have ended since the last time, in the form in which they are written;
        only some if there are many. ``last`` means that no further results are fetched."""
        found: list[dict[str, Any]] = []
        later: list[Call] = []
        now = self._clock()
        while self._finished:
            call = self._finished.popleft()
            if not last and call.done is not None and now - call.done < _FETCHED_S:
                later.append(call)  # its result may only now be fetched
                continue
            known = self._operations[call.op]
            known.waited.add(call.waited)
            told = call.shape is not None or call.error or len(found) < NOTED_A_SECOND
            if told and self._noted < MAX_NOTED and len(found) < 4 * NOTED_A_SECOND:
                self._noted += 1
                found.append(self._plain(call))
        self._finished.extendleft(reversed(later))
        return found

    def _plain(self, call: Call) -> dict[str, Any]:
        plain: dict[str, Any] = {
            "event": "call", "op": call.op, "n": call.number,
            "at": round(call.start - self._started, 4), "submit": round(call.submit, 5),
            "wait": round(call.waited, 5),
        }  # fmt: skip
        if call.done is not None:
            plain["total"] = round(call.done - call.start, 5)
        if call.sent is not None:
            plain["sent"] = round(call.sent - call.start, 5)
        if call.error:
            plain["error"] = call.error
        return {**plain, **(call.shape or {})}

    def summary(self) -> dict[str, Any]:
        """The figures of all calls so far."""
        with self._lock:
            operations = {name: known.plain() for name, known in self._operations.items()}
        return {"operations": operations, "spent": round(self._spent, 4)}


_OF_RESULTS = ("stopped_for_length", "sampled", "sampled_tokens")
_FETCHED_S = 0.5
_LARGEST = ("longest", "prompt_tokens", "max_tokens", "temperature")


def _accumulate(seen: dict[str, float], shape: dict[str, Any]) -> None:
    """Add up the figures of calls: largest or last values, and sums."""
    for name, value in shape.items():
        if isinstance(value, (int, float)) and name not in ("first_ids",):
            if name in _LARGEST:
                seen[name] = max(seen.get(name, value), value)
            elif name == "learning_rate":
                seen[name] = value
            else:
                seen[name] = seen.get(name, 0) + value
