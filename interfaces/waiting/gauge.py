"""How far a piece of work is."""

from __future__ import annotations


class Part:
    """A part of the work while it is under way; called, it takes that so much more is done."""

    __slots__ = ("_gauge", "done", "ends_early", "note", "total", "unit", "what")

    def __init__(self, gauge: Gauge, what: str, total: int, unit: str, ends_early: bool) -> None:
        self._gauge = gauge
        self.what = what
        self.total = total
        self.unit = unit
        self.ends_early = ends_early
        self.done = 0
        self.note = ""

    def __call__(self, done: int = 1, /) -> bool:
        self.done += done
        return self._gauge.goes_on()

    def __enter__(self) -> Part:
        self._gauge.parts.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._gauge.parts.remove(self)


class Gauge:
    """The parts that are under way, from the whole to its smallest part; see
    :class:`~modelmedic.facts.progress.Progress`. ``stopped``: the work is to end early."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.stopped = False

    def part(self, what: str, total: int = 0, unit: str = "", *, ends_early: bool = False) -> Part:
        """A part of the work; it is under way inside the ``with`` block."""
        return Part(self, what, total, unit, ends_early)

    def goes_on(self) -> bool:
        """Whether the work is not to end early."""
        return not self.stopped

    @property
    def ends_early(self) -> bool:
        """Whether the work in hand ends by itself once it is stopped."""
        return any(part.ends_early for part in self.parts)
