"""The results of recomputing modules (:mod:`..replay`), applied to the rows of a forward pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

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


class Replays:
    """Modules by name. They explain a row if its module, or one around it, was recomputed, or if
    one of them fails. Norms slightly above the limit are judged by the form of their errors
    instead."""

    def __init__(self, found: Sequence[Recomputed]) -> None:
        tau = Limits().tau_r
        self._clear = {one.name for one in found
                       if one.fails or one.family != "norm" or one.r_ratio < tau}  # fmt: skip
        self._fails = {one.name for one in found if one.fails}
        self._known = bool(found)
        self._experts = any(one.family == "moe" for one in found)

    def tells(self, row: Row) -> bool:
        """Whether the figures of a row are not evidence any more."""
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
