"""The results of recomputing modules (:mod:`..replay`), applied to the rows of a forward pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from ...reading.tensors.captures import is_logits
from ..experiment.limits import Limits
from .faults import Row


class Recomputed(Protocol):
    """A module that was recomputed."""

    @property
    def name(self) -> str: ...
    @property
    def r_ratio(self) -> float: ...
    @property
    def fails(self) -> bool: ...
    @property
    def family(self) -> str: ...


class Cause(Protocol):
    """The subject of a trial."""

    @property
    def cause(self) -> str: ...


class Tried(Protocol):
    """A recomputation under a hypothesis."""

    @property
    def hypothesis(self) -> Cause: ...
    @property
    def r_ratio(self) -> float: ...


class Tested(Recomputed, Protocol):
    """A module that was recomputed, with its trials, best first."""

    @property
    def trials(self) -> Sequence[Tried]: ...


One = TypeVar("One", bound=Tested)
Trial = TypeVar("Trial", bound=Tried)
ROUNDING = frozenset({"precision-ordering", "rope-frequencies-rounded"})
"""Causes that do not show in FP32."""
EXPLAINS = 1.8
"""R up to which a trial explains a module."""
OTHER_FORM = 100.0
"""R that rounding in a few bits does not reach."""
SOUND = 3.0
"""R of the logits below which other orders of rounding leave a port whose operations are right."""


def of_rounding(found: Sequence[One]) -> list[One]:
    """The recomputed modules of a port that equals its reference in FP32. One that fails by far
    holds its values in another form, unless rounding explains it."""

    def kept(one: One) -> bool:
        rounded = [each for each in one.trials[:1] if each.hypothesis.cause in ROUNDING]
        explained = any(each.r_ratio < EXPLAINS for each in rounded)
        return not one.fails or one.r_ratio < OTHER_FORM or explained

    return [one for one in found if kept(one)]


def only_rounding(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    """The trials of causes that do not show in FP32."""
    return tuple(each for each in trials if each.hypothesis.cause in ROUNDING)


class Replays:
    """Modules by name. They explain a row if its module, or one around it, was recomputed, or if
    one of them fails. Norms slightly above the limit are judged by the form of their errors
    instead."""

    def __init__(self, found: Sequence[Recomputed], traced: bool = False) -> None:
        tau = Limits().tau_r
        self._clear = {one.name for one in found
                       if one.fails or one.family != "norm" or one.r_ratio < tau}  # fmt: skip
        self._fails = {one.name for one in found if one.fails}
        self._known = bool(found)
        self._traced, self.sound = traced, False
        self._experts = any(one.family == "moe" for one in found)

    def beside(self, rows: Sequence[Row]) -> Replays:
        """Note whether the port is ``sound``: its operations equal those of the reference in FP32,
        no rounding was found that it has alone, and the logits differ no more than by rounding."""
        last = [row.result.r_ratio or 0.0 for row in rows if is_logits(row.name.module)]
        self.sound = self._traced and not self._fails and bool(last) and max(last) < SOUND
        return self

    def tells(self, row: Row) -> bool:
        """Whether the figures of a row are not evidence any more."""
        if self.sound:
            return True
        if not self._known or self._fails:
            return self._known
        module = row.name.module
        parts = module.split(".")
        return any(".".join(parts[:end]) in self._clear for end in range(1, len(parts) + 1))

    @property
    def only_ties(self) -> bool:
        """Whether every module of a mixture of experts is right by itself: the remaining difference
        comes from tokens that went to other experts at ties."""
        return self._experts and not self._fails

    def open_to_signs(self, row: Row) -> bool:
        """Whether to examine the form of a row's error: more digits than the reference has are not
        failures of a formula."""
        if not self.tells(row):
            return True
        return not (self._fails or row.fails or "norm" in row.name.module)


NONE = Replays(())
