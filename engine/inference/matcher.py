"""The matcher finds the patterns that a fact passes, possibly passes, or contradicts.

Patterns are found by kind and by one test: an equality, a choice of values, or texts, one of which
each match of an expression contains. So the cost of a fact follows its matches, not the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain

from ...facts import Fact, Value
from ...facts.records import NamedTuple
from .operators import identity
from .patterns import FactCheck, Refutes, compile_contradiction, compile_pattern
from .program import Program
from .rule_index import AlphaTable, Signal, contained

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    Shareable = TypeVar("Shareable", bound=Hashable)
else:
    Any = object


Values = Mapping[str, Value]
Defaults = Mapping[str, Mapping[str, Value]]

PASSED, POSSIBLE, REFUTED, FAILED = range(4)
"""How a fact stands to a pattern; it is refuted where the fact is about the same key and fails."""

Standings = dict[int, int]
"""By pattern."""

MAX_KEPT = 16_384
MAX_KEPT_TEXT = 2048
"""Bounds what the matches of earlier facts hold: ten to twenty megabytes."""


class Candidate(NamedTuple):
    """A pattern that a fact may pass: the ``check`` that is left once it is looked up (None if
    nothing is left), and the signals that it gives. ``possible`` and ``refuted`` are None if no
    rule waits for them."""

    number: int
    check: FactCheck | None
    match: Signal
    possible: Signal | None
    refuted: Signal | None


Candidates = Sequence[Candidate]
_NONE: Candidates = ()


class _ByValue(dict[Any, Candidates]):
    """The candidates of one attribute by its value; made when a value is first looked up. Where all
    values are texts (``plain``), they are looked up as they are. ``unknown`` gives those that a
    fact may pass which does not have the attribute."""

    def __init__(
        self,
        attribute: str,
        numbers: Mapping[tuple[str, Value], Sequence[int]],
        make: Callable[[int], Candidate],
        unknown: Callable[[], Candidates],
    ) -> None:
        super().__init__()
        self.attribute = attribute
        self.plain = all(kind == "s" for kind, _ in numbers)
        self.numbers: Mapping[Any, Sequence[int]] = (
            {value: found for (_, value), found in numbers.items()} if self.plain else numbers
        )
        self.unknown = unknown
        self._make = make

    def __missing__(self, value: Any) -> Candidates:
        numbers = self.numbers.get(value)
        if numbers is None:
            return _NONE
        found = self[value] = list(map(self._make, numbers))
        return found

    def of(self, values: Values) -> Candidates:
        """The candidates of a fact."""
        value = values.get(self.attribute)
        if value is None:
            return self.unknown()
        return self[value if self.plain else identity(value)]


class _Kind(NamedTuple):
    """The patterns of a kind. ``only`` is set where they are all looked up by one attribute."""

    only: _ByValue | None
    general: Candidates
    by_value: Sequence[_ByValue]
    by_text: Sequence[tuple[str, Mapping[str, Sequence[tuple[str, int]]], Callable[[], Candidates]]]


class Key(NamedTuple):
    """The attribute by whose value facts of a kind are looked up, and the values of interest."""

    attribute: str
    values: Collection[Any]


class Matcher:
    """The patterns of a program with their index. Threads may share it: what two of them prepare
    at once is the same."""

    def __init__(self, program: Program, defaults: Defaults) -> None:
        self._defaults = defaults
        self._matched: dict[str, tuple[Values, Sequence[Signal]]] = {}  # by the sort key of a fact
        self._standings: dict[str, Standings] = {}
        self._index = program.network
        self._patterns = program.patterns
        self._kinds: dict[str, _Kind | None] = {}
        self._candidates: dict[tuple[int, str], Candidate] = {}
        self._passes: list[FactCheck | None] = [None] * len(program.patterns)
        self._refutes: list[Refutes | None] = [None] * len(program.patterns)
        self._interned: dict[Any, Any] = {}

    def intern(self, value: Shareable) -> Shareable:
        """The one object that stands for equal ones, such as a signal or a constant fact."""
        key = value.sort_key() if isinstance(value, Fact) else value  # it tells 1 from true
        return self._interned.setdefault(key, value)  # type: ignore[no-any-return]

    def passes(self, number: int) -> FactCheck:
        """Whether a fact of the pattern's kind passes (three-valued)."""
        check = self._passes[number]
        if check is None:
            check = self._passes[number] = compile_pattern(self._patterns[number])
        return check

    def refutes(self, number: int) -> Refutes:
        """Whether a fact about the same key contradicts the pattern."""
        check = self._refutes[number]
        if check is None:
            check = self._refutes[number] = compile_contradiction(self._patterns[number])
        return check

    def match(self, fact: Fact) -> tuple[Values, Sequence[Signal]]:
        """The attribute values of a fact, and its signals. Kept for the latest facts: the runs of
        one user, the answers tried by a plan and the records of a batch have most facts in common.
        """
        key = fact.sort_key()
        found = self._matched.get(key)
        if found is None:
            values = self.values(fact)
            found = values, self.signals(fact.kind, values)
            if len(self._matched) >= MAX_KEPT:
                self._matched.clear()
            if _is_short(values):
                self._matched[key] = found
        return found

    def standings(self, fact: Fact) -> Standings:
        """How the fact stands to patterns, as far as it is known: kept like its matches."""
        key = fact.sort_key()
        known = self._standings.get(key)
        if known is None:
            if len(self._standings) >= MAX_KEPT:
                self._standings.clear()
            known = self._standings[key] = {}
        return known

    def standing(self, number: int, values: Values) -> int:
        """How a fact of the pattern's kind stands to the pattern."""
        truth = self.passes(number)(values)
        if truth is not False:
            return PASSED if truth else POSSIBLE
        return REFUTED if self.refutes(number)(values) else FAILED

    def values(self, fact: Fact) -> Values:
        """The attribute values of a fact, with the defaults of its kind where it is silent."""
        defaults = self._defaults.get(fact.kind)
        return {**defaults, **dict(fact.values)} if defaults else dict(fact.values)

    def key(self, kind: str) -> Key | None:
        """By what facts of a kind may be left out because no pattern looks at them; None if
        every fact is of interest."""
        table = self._table(kind)
        if table is None:
            return Key("", ())
        by_value = table.only
        if by_value is None or not by_value.plain or by_value.unknown():
            return None
        return Key(by_value.attribute, by_value.numbers.keys())

    def signals(self, kind: str, values: Values) -> list[Signal]:
        """The state of the patterns of its kind for the fact: ``unless_possible`` for those that it
        passes or may pass, ``match`` for those it passes, ``refuted`` for those it contradicts."""
        table = self._kinds.get(kind) or self._table(kind)
        if table is None:
            return []
        only = table.only
        return self._judge(self._found(table, values) if only is None else only.of(values), values)

    def signals_of(
        self, kind: str, constants: Mapping[str, Value], variable: Collection[str]
    ) -> tuple[Signal, ...] | None:
        """The signals of every fact with those constants, whatever its ``variable`` attributes are;
        None if they depend on them."""
        table = self._table(kind)
        if table is None:
            return ()
        looked_up = {t.attribute for t in table.by_value} | {a for a, *_ in table.by_text}
        if not looked_up.isdisjoint(variable):
            return None
        values = {**self._defaults.get(kind, {}), **constants}
        candidates = self._found(table, values)
        tested = {t.attribute for c in candidates for t in self._patterns[c.number].tests}
        if not tested.isdisjoint({*variable, ""}):  # "": a test of the whole fact
            return None
        return tuple(self._judge(candidates, values))

    def _judge(self, candidates: Candidates, values: Values) -> list[Signal]:
        found: list[Signal] = []
        for number, check, match, possible, refuted in candidates:
            truth = True if check is None else check(values)
            if truth is True:
                found.append(match)
            if truth is not False:
                if possible is not None:
                    found.append(possible)
            elif refuted is not None and self.refutes(number)(values):
                found.append(refuted)
        return found

    def _table(self, kind: str) -> _Kind | None:
        if kind not in self._kinds:
            table = self._index.alpha.get(kind)
            self._kinds[kind] = None if table is None else self._prepare(table)
        return self._kinds[kind]

    def _prepare(self, table: AlphaTable) -> _Kind:
        by_value = [
            _ByValue(
                attribute,
                numbers,
                partial(self._candidate, looked_up=attribute),
                self._unknown(chain.from_iterable(numbers.values())),
            )
            for attribute, numbers in table.by_value.items()
        ]
        single = len(by_value) == 1 and not table.general and not table.by_text
        return _Kind(
            by_value[0] if single else None,
            list(map(self._candidate, table.general)),
            by_value,
            [
                (attribute, texts, self._unknown({n for pairs in texts.values() for _, n in pairs}))
                for attribute, texts in table.by_text.items()
            ],
        )

    def _unknown(self, numbers: Iterable[int]) -> Callable[[], Candidates]:
        """Those that count as possible while the attribute that they are looked up by is unknown;
        made when first asked for."""
        blocking = sorted(self._index.blocking.intersection(numbers))
        made: list[Candidate] = []

        def unknown() -> Candidates:
            if len(made) < len(blocking):
                made[:] = [self._candidate(number) for number in blocking]
            return made

        return unknown

    def _candidate(self, number: int, looked_up: str = "") -> Candidate:
        known = self._candidates.get((number, looked_up))
        if known is None:
            index, intern = self._index, self.intern
            known = self._candidates[number, looked_up] = Candidate(
                number,
                self._rest(number, looked_up),
                intern(("match", number)),
                intern(("unless_possible", number)) if number in index.blocking else None,
                intern(("refuted", number)) if number in index.refutable else None,
            )
        return known

    def _rest(self, number: int, looked_up: str) -> FactCheck | None:
        """The remaining tests once a fact is found by the value of an attribute."""
        pattern = self._patterns[number]
        rest = tuple(t for t in pattern.tests if t.op != "eq" or t.attribute != looked_up)
        if len(rest) == len(pattern.tests) - 1:  # the one equality that the look-up has made
            return compile_pattern(pattern._replace(tests=rest)) if rest else None
        return self.passes(number)

    def _found(self, table: _Kind, values: Values) -> Candidates:
        """The patterns of a kind that a fact may pass."""
        found = list(table.general)
        for by_value in table.by_value:
            found += by_value.of(values)
        for attribute, by_text, unknown in table.by_text:
            text = values.get(attribute)
            if text is None:
                found += unknown()
            elif isinstance(text, str):
                found += map(self._candidate, contained(by_text, text))
            else:
                numbers = sorted({number for pairs in by_text.values() for _, number in pairs})
                found += map(self._candidate, numbers)
        return found


def _is_short(values: Values) -> bool:
    return all(not isinstance(v, str) or len(v) <= MAX_KEPT_TEXT for v in values.values())
