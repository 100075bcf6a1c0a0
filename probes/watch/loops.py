"""Times callbacks on the event loops of a job for :mod:`.monitor`, and notes what blocks one.

A callback is sent to each loop every now and then. If it does not come back, the stacks are
noted several times while the loop stands: of the loop's own thread, and of the others, which tell
who computed if the loop's thread only waited for its turn. A loop that is busy with many short
callbacks does not stand.

It is loaded by *other* interpreters, hence: standard library only, Python 3.8 and later, no
relative imports.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING, Any

EVERY_S = 0.1
MAX_LOOPS = 16
FEW = 4  # loops; of more, each is asked less often
LOOK_EVERY_S = 0.5
MAX_LOOKS = 20
MAX_STACKS, MAX_OWN_STACKS = 5, 10
# A callback that takes so long counts as slow, as asyncio's slow_callback_duration does. A loop
# stands while it is at slow ones.
SLOW_S = 0.1
# No thread could run for so long: that is a stall of its own, and not of the loop. Short ones are
# the loop's if its own thread computed meanwhile, more than all others.
AWAY_S = 0.2
# Other threads computed for this share of a stall (of a busy machine a job gets a part only), and
# so many times as long as the loop's own.
_COMPUTED, _TIMES = 0.2, 2

if TYPE_CHECKING:  # Python 3.8 could not evaluate these
    # The threads as (ident, name, innermost frame), and the stack of frames.
    Threads = Callable[[], list[tuple[int, str, FrameType]]]
    Stack = Callable[[Iterable[FrameType]], list[list[Any]]]


class Loops:
    """The loops of a process. ``threads`` gives all threads but the caller's, ``stack`` what is
    noted of frames; ``running`` is the module :mod:`.running`."""

    def __init__(self, threads: Threads, stack: Stack, stall_s: float, running: Any) -> None:
        self._how = (threads, stack, stall_s, running)
        self._finder = running.Finder()
        self._known: dict[int, Loop] = {}
        self._sdk: Loop | None = None
        self._since = self.blocked_s = 0.0

    def tick(self, now: float, late: float, loops: dict[int, Any], busy: bool) -> list[Any]:
        """Send callbacks and look at those that are not back. ``late`` is how late this call comes,
        ``busy`` whether the process computed meanwhile; ``loops`` are those that have called the
        SDK, by their threads. Gives the stalls that have ended."""
        if self._sdk is None and (loop := _loop_of_the_sdk()) is not None:
            self._sdk = Loop(loop, self._how)
        self._known = {i: each for i, each in self._known.items() if each.is_alive()}
        for ident, loop in list(loops.items()):
            known = self._known.get(ident)
            if known is not None and known.loop is loop:
                known.found = False
            elif loop.is_running() and (known is None or not known.sent):
                self._known[ident] = Loop(loop, self._how, ident)
        self._find(now)
        self._since = self._since or (now if self._all() else 0.0)
        every = EVERY_S * max(1.0, len(self._known) / FEW)
        return self._ended(each.tick(now, late, busy, every) for each in self._all())

    def _find(self, now: float) -> None:
        """Take up the loops that run and have not called the SDK."""
        running = {i: each.loop for i, each in self._known.items() if each.loop.is_running()}
        for ident, loop in self._finder.find(now, running).items():
            known = self._known.get(ident)
            free = len(self._known) < MAX_LOOPS if known is None else not known.sent
            if free and (self._sdk is None or loop is not self._sdk.loop):
                self._known[ident] = Loop(loop, self._how, ident, found=True)

    def last(self, now: float) -> list[dict[str, Any]]:
        """The stalls that still last, or whose end was not recorded."""
        return self._ended(each.ended(now) for each in self._all())

    def summary(self, now: float) -> dict[str, Any]:
        """The running figures."""
        sdk = self._sdk
        return {
            "sdk_max": sdk.max if sdk and sdk.count else None, "sdk_count": sdk.count if sdk else 0,
            "sdk_pending": round(now - sdk.sent, 3) if sdk and sdk.sent and not sdk.back else None,
            "blocked_s": round(self.blocked_s, 3),
            "loops_s": round(now - self._since, 3) if self._since else None,
        }  # fmt: skip

    def _all(self) -> list[Loop]:
        return [*self._known.values(), *([self._sdk] if self._sdk else [])]

    def _ended(self, stalls: Any) -> list[dict[str, Any]]:
        found = [stall for stall in stalls if stall is not None]
        self.blocked_s += sum(stall["late"] for stall in found)
        return found


class Loop:
    """One event loop; without ``ident`` it is the SDK's. ``found`` says that it runs, but has not
    called the SDK."""

    def __init__(
        self, loop: Any, how: tuple[Threads, Stack, float, Any], ident: int | None = None,
        found: bool = False,
    ) -> None:  # fmt: skip
        self.loop, self._ident, self.found = loop, ident, found
        self._threads, self._stack, self._stall_s, self._running = how
        self.sent = self.back = self.max = 0.0
        self.count = 0
        # The callback that the loop is at: since when, when it was last seen there.
        self._turn = 0
        self._since = self._checked = 0.0
        self._slow = self._held = 0.0
        self._cpu = self._own_cpu = self._all_cpu = 0.0
        self._looks = 0
        self._own: dict[str, dict[str, Any]] = {}
        self._others: dict[str, dict[str, Any]] = {}

    def is_alive(self) -> bool:
        """Whether the loop still runs, or may still have a stall to report."""
        return bool(self.sent) or self.loop.is_running()

    def tick(self, now: float, late: float, busy: bool, every: float) -> dict[str, Any] | None:
        """Like :meth:`Loops.tick`, for this loop."""
        stall = None
        if self.back:
            stall = self.ended(now)
        elif self.sent:
            self._follow(now, late, busy)
            if not self.loop.is_running():
                stall = self.ended(now)
            elif self._stands(now) and self._looks < MAX_LOOKS:
                self._look()
        if not self.sent and now - self.back >= every and self.loop.is_running():
            self._send(now)
        return stall

    def _send(self, now: float) -> None:
        self.sent, self.back = now, 0.0
        self._since = self._checked = now
        self._slow = self._held = 0.0
        self._all_cpu = time.process_time()
        with suppress(RuntimeError):  # the loop was closed meanwhile
            self.loop.call_soon_threadsafe(self._answered, now)
        self._turn = self._running.turn_of(self.loop)

    def _follow(self, now: float, late: float, busy: bool) -> None:
        """See whether the loop has gone on to another callback."""
        if late >= self._stall_s or (late >= AWAY_S and not busy):
            self._since += late
        elif late >= AWAY_S:
            self._held += late
        turn = self._running.turn_of(self.loop)
        if turn != self._turn:
            self._slow += self._took(self._checked)
            self._turn, self._since = turn, now
        self._checked = now

    def _took(self, end: float) -> float:
        return end - self._since if end - self._since >= SLOW_S else 0.0

    def _stands(self, now: float) -> bool:
        """Whether it is time to look: the loop is blocked right now, and has been for long."""
        took = self._took(now)
        return took > 0 and self._slow + took >= self._stall_s + self._looks * LOOK_EVERY_S

    def ended(self, now: float) -> dict[str, Any] | None:
        """Take note that the callback is back, or never will be; gives the stall that was seen."""
        if not self.sent:
            return None
        end = self.back or now
        late = self._slow + self._took(end)
        if self.back:
            self.count += 1
            self.max = max(self.max, end - self.sent)
            computed = self._own_cpu >= max(self._held * _COMPUTED, self._cpu_of_others())
            late -= 0.0 if computed else self._held
        stall = self._stall(late) if self._looks and late >= self._stall_s else None
        self.sent, self.back, self._looks = 0.0, end, 0
        self._own, self._others = {}, {}
        return stall

    def _answered(self, sent: float) -> None:
        """Runs on the loop's own thread."""
        if sent != self.sent:  # from when the loop ran before
            return
        spent = time.thread_time() if hasattr(time, "thread_time") else 0.0
        back = time.perf_counter()
        # The first time, work of the thread before the loop ran does not count.
        self._own_cpu = spent - self._cpu if self.count else min(spent, back - sent)
        self._cpu, self.back = spent, back

    def _look(self) -> None:
        self._looks += 1
        for ident, name, frame in self._threads():
            own = name == "sdk" if self._ident is None else ident == self._ident
            stacks, most = (self._own, MAX_OWN_STACKS) if own else (self._others, MAX_STACKS)
            frames = self._stack(self._running.within(frame) if own else self._running.back(frame))
            # Threads of a pool differ in their names and, by chance, in their innermost lines.
            key = str(frames if own else frames[:1])
            if key in stacks or len(stacks) < most:
                name = name if own and name in ("main", "sdk") else "loop" if own else name
                stacks.setdefault(key, {"thread": name, "frames": frames, "looks": 0})["looks"] += 1

    def _stall(self, late: float) -> dict[str, Any]:
        stall: dict[str, Any] = {
            "event": "loop-stall", "late": round(late, 4), "threads": list(self._own.values()),
        }  # fmt: skip
        if self.found:
            stall["found"] = True
        others = self._cpu_of_others()
        if self.back and others > max(_COMPUTED * late, _TIMES * self._own_cpu):
            stall["looks"] = self._looks
            stall["others"] = list(self._others.values())
        return stall

    def _cpu_of_others(self) -> float:
        return time.process_time() - self._all_cpu - self._own_cpu


def _loop_of_the_sdk() -> Any:
    module = sys.modules.get("tinker.lib.internal_client_holder")
    holder = getattr(module, "_internal_client_holder_thread_singleton", None)
    loop = getattr(holder, "_loop", None)
    return loop if loop is not None and loop.is_running() else None
