"""Alpha nodes: what a fact meets that has the text which its kind is looked up by.

A screening that reads typed facts goes from the text to the node and from the node to the rules,
without a look into a table of all signals.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..operators import FactCheck
from .network_index import Signal

if TYPE_CHECKING:
    from .durable import DurableBackend
    from .slots import RulePlan


class AlphaNode:
    """A pattern: its ``signal``, the ``check`` that is left once the text is there (None if nothing
    is left), and the rules that watch it before all other patterns, those that need nothing else
    and the ``others``; found when the first fact comes through."""

    __slots__ = ("alone", "check", "known", "others", "signal")

    def __init__(self, signal: Signal, check: FactCheck | None) -> None:
        self.signal = signal
        self.check = check
        self.alone: Sequence[RulePlan] = ()
        self.others: Sequence[RulePlan] = ()
        self.known = False

    def find(self, backend: DurableBackend) -> None:
        """Look up the rules."""
        self.alone, self.others = backend.watchers[self.signal]
        self.known = True
