"""The mark network on the C extension of durable-rules.

The stock Host is never used: its timer threads steal actions and walk freed memory. This driver
calls `durable_rules_engine` directly, from the calling thread only. It asserts and never retracts;
a changed input means a new session.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from queue import Empty, SimpleQueue

from .durable_engine import load_engine
from .durable_session import DurableSession
from .identities import LAST_MARK_ID, SESSION_IDS
from .mark_network import (
    DEFAULT_FIRING_BUDGET,
    DEFAULT_MARK_LIMIT,
    NetworkError,
    SessionClosed,
    SessionLimitExceeded,
    Shape,
    ShapeError,
)
from .network_definition import SlotPlan, compile_shapes


class DurableNetwork:
    """Shapes compiled into one rule set. Thread-safe; up to 256 sessions at once.

    A session costs about 4 us and 1 us more per shape, and memory in proportion to all slots, so
    keep rare shapes in a network of their own. Raises `ShapeError` for shapes the engine cannot
    carry (see `network_definition`) and `NetworkUnavailable` where the extension is missing.

    `firing_budget` and `mark_limit` bound each session, `session_wait_s` the wait for a free
    session. `debug` makes each session compare what the engine stored and fired with what was fed;
    it is slow.
    """

    def __init__(
        self,
        shapes: Sequence[Shape],
        *,
        firing_budget: int = DEFAULT_FIRING_BUDGET,
        mark_limit: int = DEFAULT_MARK_LIMIT,
        session_wait_s: float = 30.0,
        debug: bool = False,
    ) -> None:
        if not 0 < mark_limit <= LAST_MARK_ID:
            raise ValueError(f"mark_limit is 1 to {LAST_MARK_ID}")
        self._shapes = tuple(shapes)
        self.firing_budget = firing_budget
        self.mark_limit = mark_limit
        self.session_wait_s = session_wait_s
        self.debug = debug
        compiled = compile_shapes(self._shapes)
        self.plans: dict[tuple[int, int], SlotPlan] = compiled.plans
        self.engine = load_engine()
        try:
            self.handle = self.engine.create_ruleset("marks", compiled.text)
        except Exception as error:
            raise ShapeError(f"durable-rules refuses the network: {error}") from error
        self._sids: SimpleQueue[int] = SimpleQueue()
        for sid in SESSION_IDS:
            self._sids.put(sid)
        self._retired = 0
        # Not at exit: a daemon thread may still be inside a session then.
        self._free = weakref.finalize(self, self.engine.delete_ruleset, self.handle)
        self._free.atexit = False

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The shapes, in the order that `Mark.shape` counts."""
        return self._shapes

    def session(self) -> DurableSession:
        """Open a session. Raises `SessionLimitExceeded` if none of 256 closes in time."""
        if not self._free.alive:
            raise SessionClosed("the network is closed")
        try:
            sid = self._sids.get(timeout=self.session_wait_s)
        except Empty:
            raise SessionLimitExceeded(
                f"{len(SESSION_IDS)} sessions are open and none closed in {self.session_wait_s} s"
            ) from None
        return DurableSession(self, sid)

    def give_back(self, sid: int, *, usable: bool) -> None:
        """Return a session's id. One the engine may still hold is not `usable` ever again."""
        if usable:
            self._sids.put(sid)
        else:
            self._retired += 1

    def close(self) -> None:
        """Free the engine's memory. Raises `NetworkError` while sessions are open."""
        in_use = len(SESSION_IDS) - self._retired - self._sids.qsize()
        if in_use and self._free.alive:
            raise NetworkError(f"{in_use} sessions are still open")
        self._free()
