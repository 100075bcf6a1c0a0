"""Ctrl-C while facts are gathered or cases run, or a time limit: the work ends early, and what is
known counts."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import ParamSpec, TypeVar

from ..deadline import NEVER, Deadline
from .display import shown
from .gauge import Gauge

_GRACE_S = 2.0
"""Seconds after the time limit at which work that should have ended by itself is interrupted."""
P = ParamSpec("P")
T = TypeVar("T")


class Watch(Gauge):
    """A gauge that Ctrl-C stops, or a deadline: then it is ``late``. The second Ctrl-C is a
    ``KeyboardInterrupt``, wherever it comes; the first one is only inside :meth:`attempt`, and
    there only where no part ends by itself."""

    def __init__(self, deadline: Deadline = NEVER) -> None:
        super().__init__()
        self.late = False
        self.deadline = deadline
        self._alarms = 0
        self._presses = 0
        self._breaks = False

    def attempt(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
        """Run ``work`` and return its result; None if Ctrl-C interrupted it or came before."""
        if not self.goes_on():
            return None
        self._breaks = True
        try:
            return work(*args, **kwargs)
        except KeyboardInterrupt:
            self.stopped = True
            if self._presses > 1:
                raise
            return None
        finally:
            self._breaks = False

    def goes_on(self) -> bool:
        if not self.stopped and self.deadline.has_passed():
            self.stopped = self.late = True
        return not self.stopped

    def alarm(self, number: int = 0, frame: FrameType | None = None) -> None:
        """Treat the deadline as passed, like a single Ctrl-C."""
        self._alarms += 1
        self.goes_on()
        if self.late and self._breaks and (self._alarms > 1 or not self.ends_early):
            raise KeyboardInterrupt

    def press(self, number: int = signal.SIGINT, frame: FrameType | None = None) -> None:
        """Take a Ctrl-C."""
        self._presses += 1
        self.stopped = True
        if self._presses > 1 or (self._breaks and not self.ends_early):
            raise KeyboardInterrupt


@contextmanager
def watched(deadline: Deadline = NEVER) -> Iterator[Watch]:
    """Shows the progress of the block on a terminal, and lets Ctrl-C or a deadline stop it. A
    signal that is ignored (nohup), or that others handle, is left to them."""
    watch = Watch(deadline)
    with _taken(watch), alarmed(watch), shown(watch):
        yield watch


@contextmanager
def alarmed(watch: Watch) -> Iterator[None]:
    """Lets the deadline break off work that does not look at it, where signals can."""
    mine = threading.current_thread() is threading.main_thread()
    can = mine and hasattr(signal, "setitimer") and watch.deadline is not NEVER
    if not can or signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGALRM, watch.alarm)
    signal.setitimer(signal.ITIMER_REAL, max(watch.deadline.left(), 0.001), _GRACE_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


@contextmanager
def _taken(watch: Watch) -> Iterator[None]:
    mine = threading.current_thread() is threading.main_thread()
    if not mine or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, watch.press)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
