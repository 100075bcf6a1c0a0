"""The intermediate rule set: what every form of knowledge is compiled to.

A :class:`Program` holds *rules*. A rule is a conjunction of *literals* over *patterns*;
alternatives (``any``) have become several rules with one ``entry``. All values are immutable named
tuples of plain data, which JSON can hold.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...facts import Value
from ...facts.records import NamedTuple
from .rule_index import NetworkIndex, Signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
    from typing import Literal as OneOf

    Operand = Any  # a constant, a list of constants, or nested tests for 'none_of'
    Mode = OneOf["match", "refuted", "unless_possible", "unless_match", "aggregate"]


class Test(NamedTuple):
    """A test of one attribute (or of the whole fact for ``none_of``, attribute '')."""

    attribute: str
    op: str
    operand: Operand


class Pattern(NamedTuple):
    """Tests that one fact of ``kind`` must pass; ``pinned`` holds the indexes of the tests that fix
    the key, by which a fact is recognised as being about the same thing."""

    kind: str
    tests: tuple[Test, ...]
    pinned: tuple[int, ...]
    contradictable: bool


class Aggregate(NamedTuple):
    """A count or a series statistic over the facts that match ``pattern``.

    ``function`` is ``count`` or a statistic; it is compared by ``op`` with ``bound``.
    """

    pattern: int
    function: str
    op: str
    bound: float
    value: str = ""
    order: str = ""
    min_points: int = 1


class Literal(NamedTuple):
    """One conjunct of a rule.

    Modes: ``match``, some fact passes; ``refuted``, some fact about the same key fails;
    ``unless_possible``, no fact passes or might pass; ``unless_match``, no fact passes;
    ``aggregate``, aggregate number ``pattern`` is true (``wanted``) or false.
    ``joins`` pairs attributes with variables.
    """

    mode: Mode
    pattern: int
    joins: tuple[tuple[str, str], ...] = ()
    alias: str = ""
    wanted: bool = True


class Guard(NamedTuple):
    """A comparison of two variables, made when a rule fires."""

    left: str
    op: str
    right: str


class Conclusion(NamedTuple):
    """A fact to derive: attributes with constants, or ``("$x",)`` for the variable x. ``strength``
    is set where the fact is a diagnosis that holds."""

    kind: str
    values: tuple[tuple[str, Value | tuple[str]], ...]
    strength: str = ""


class Repair(NamedTuple):
    """A repair that fits the facts: a sentence with a command and its check, in place of the first
    action; or correct code, with a note on it."""

    do: str = ""
    command: str = ""
    verify: str = ""
    code: str = ""
    note: str = ""


class Rule(NamedTuple):
    """One alternative of one entry. ``variables`` are in canonical order; ``waits`` are the signals
    of its positive literals, the rarest first; the first of the ``messages`` whose values are all
    known counts, with its repair from ``repairs``."""

    id: str
    entry: str
    form: str
    literals: tuple[Literal, ...]
    guards: tuple[Guard, ...]
    conclusions: tuple[Conclusion, ...]
    variables: tuple[str, ...]
    stratum: int
    messages: tuple[str, ...] = ()
    waits: tuple[Signal, ...] = ()
    repairs: tuple[Repair | None, ...] = ()


def is_twin(rule: Rule) -> bool:
    """Whether a rule is the twin of another one, for facts that assume something."""
    return "~" in rule.id


class Program(NamedTuple):
    """A compiled rule set; rules are sorted by (stratum, id)."""

    patterns: Sequence[Pattern]
    aggregates: Sequence[Aggregate]
    rules: Sequence[Rule]
    strata: int
    network: NetworkIndex
