"""WHY-NOT: the smallest set of unknown or contradicted conditions that keep a diagnosis away."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping, Sequence, Set

from ...facts import Fact
from ...facts.records import NamedTuple
from ..inference.program import Literal, Pattern, Rule, is_twin
from ..inference.rule_index import goal
from ..inference.working_memory import Token
from .evaluation import Evaluator, Judgement
from .rule_constants import RuleConstants

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


MAX_DEPTH = 4
_HALVES = ("refuted", "unless_possible")  # 'not X' holds with both or not at all


class Gap(NamedTuple):
    """One condition that does not hold: unknown (``truth`` None) or contradicted by ``facts``."""

    literal: Literal
    text: str
    truth: bool | None
    facts: tuple[Fact, ...]


class Way(NamedTuple):
    """One way to a conclusion: what already holds, the gaps that remain, and how many of them known
    facts contradict."""

    rule: Rule
    holds: tuple[Judgement, ...]
    gaps: tuple[Gap, ...]
    contradicted: int

    def cost(self) -> tuple[int, int, int, str]:
        """Fewer contradictions first, then fewer gaps, then more that already holds."""
        return self.contradicted, len(self.gaps), -len(self.holds), self.rule.id


class WhyNot:
    """Answers for one set of facts."""

    def __init__(
        self, constants: RuleConstants, evaluator: Evaluator, derived: Collection[str]
    ) -> None:
        """``derived`` names the fact kinds that only rules conclude: there is no question about
        them."""
        self._derived = derived
        self._constants = constants
        self.prospects = constants.prospects
        self._program = constants.program
        self._evaluator = evaluator
        self._best: dict[str, Way] = {}

    @property
    def out_of_time(self) -> bool:
        """Whether ways may have been missed because time is up."""
        return self._evaluator.work.ended

    def supported_rules(self, news: Container[Token]) -> tuple[Mapping[int, int], Set[int]]:
        """Rules with prospects that some fact bears out; see :meth:`.Evaluator.supported_rules`."""
        return self._evaluator.supported_rules(self._constants.with_prospects, news)

    def recognising(self, kinds: Collection[str]) -> list[tuple[Rule, tuple[Fact, ...]]]:
        """The rules of rows that recognise facts; see :meth:`.Evaluator.recognising`."""
        return self._evaluator.recognising(self._constants.rows, kinds)

    def ways(self, diagnosis: str) -> list[Way]:
        """Every way to conclude the diagnosis, nearest first; empty if no rule concludes it."""
        return self._ways(goal("diagnosis", {"name": diagnosis}))

    def unfold(self, gap: Gap, depth: int = MAX_DEPTH) -> list[Way]:
        """How a gap that is about a derived fact could be closed: ways to that fact."""
        wanted = self._gap_goal(gap)
        return self._ways(wanted)[:2] if wanted and depth else []

    def bottom(self, way: Way, depth: int = MAX_DEPTH) -> tuple[Gap, ...]:
        """The gaps of a way, those about derived facts replaced by what they need."""
        found: list[Gap] = []
        unfolded = False
        for gap in way.gaps:
            inner = self.unfold(gap, depth) if gap.truth is None else []
            found.extend(self.bottom(inner[0], depth - 1) if inner else [gap])
            unfolded = unfolded or bool(inner)
        return tuple(dict.fromkeys(found)) if unfolded else way.gaps

    def lacking(self, rule: Rule) -> int:
        """How many gaps its best way has at least; see :meth:`.Evaluator.lacking`."""
        return self._evaluator.lacking(rule, self._constants.conditions(rule))

    def best_way(self, rule: Rule) -> Way:
        """The rule's binding that leaves the fewest gaps."""
        best = self._best.get(rule.id)
        if best is None:
            bindings = list(self._evaluator.best_bindings(rule)) if rule.variables else ()
            ways = [self._way(rule, binding) for binding in bindings or ({},)]
            best = ways[0] if len(ways) == 1 else min(ways, key=Way.cost)
            self._best[rule.id] = best
        return best

    def pattern(self, literal: Literal) -> Pattern:
        """The pattern that a literal is about."""
        number = literal.pattern
        if literal.mode == "aggregate":
            number = self._program.aggregates[number].pattern
        return self._program.patterns[number]

    def words(self, literal: Literal, rule: Rule) -> str:
        """The condition in words."""
        return self._constants.condition(literal, rule.guards)

    def _ways(self, wanted: str) -> list[Way]:
        rules = [self._program.rules[n] for n in self._program.network.concluding.get(wanted, ())]
        return sorted((self.best_way(r) for r in rules if not is_twin(r)), key=Way.cost)

    def _way(self, rule: Rule, binding: Mapping[str, Any]) -> Way:
        truth_of = self._evaluator.truth
        failing = dict(self._evaluator.failing_guards(rule, binding)) if rule.guards else None
        gaps: dict[str, Gap] = {}
        held: list[tuple[str, Judgement]] = []
        contradicted = 0
        for text, literal in zip(self._constants.conditions(rule), rule.literals, strict=True):
            truth, facts = truth_of(literal, binding)
            if truth is True and failing and (variable := _guarded(literal, failing)):
                truth = failing[variable]
            if truth is True:
                held.append((text, Judgement(literal, truth, facts)))
            # 'not X' is two literals; the contradicted one tells more than the unknown one
            elif text not in gaps or gaps[text].truth is None:
                gaps[text] = Gap(literal, text, truth, facts)
                contradicted += truth is False
        holds = tuple([j for text, j in held if text not in gaps or j.literal.mode not in _HALVES])
        return Way(rule, holds, tuple(gaps.values()), contradicted)

    def _gap_goal(self, gap: Gap) -> str:
        literal = gap.literal
        if literal.mode != "match":
            return ""
        number = literal.pattern
        if self._program.patterns[number].kind not in self._derived:
            return ""
        return self._constants.goals[number]


def plain(way: Way, why_not: WhyNot, ids: Mapping[Fact, str]) -> dict[str, Any]:
    """A way in its JSON form, with the gaps under gaps about derived facts."""
    return {
        "rule": way.rule.entry,
        "holds": sorted({why_not.words(j.literal, way.rule) for j in way.holds}),
        "missing": [_gap_plain(g, why_not, ids) for g in way.gaps if g.truth is None],
        "contradicted": [_gap_plain(g, why_not, ids) for g in way.gaps if g.truth is False],
    }


def _gap_plain(gap: Gap, why_not: WhyNot, ids: Mapping[Fact, str]) -> dict[str, Any]:
    shown: dict[str, Any] = {"condition": gap.text}
    if gap.facts:
        shown["facts"] = [ids[f] for f in gap.facts[:5] if f in ids]
    inner = why_not.unfold(gap) if gap.truth is None else []
    needs = [g.text for g in why_not.bottom(inner[0])] if inner else []
    return shown | ({"needs": needs} if needs else {})


def _guarded(literal: Literal, failing: Collection[str]) -> str:
    """The variable of the literal whose comparison with another one fails."""
    return next((name for _, name in literal.joins if name in failing), "")


def nearest(ways: Sequence[Way], limit: int = 3) -> list[Way]:
    """The nearest ways, one for each entry and set of gaps."""
    kept: dict[Any, Way] = {}
    for way in ways:
        kept.setdefault((way.rule.entry, _texts(way.gaps)), way)
    return list(kept.values())[:limit]


def _texts(gaps: Iterable[Gap]) -> tuple[str, ...]:
    return tuple(gap.text for gap in gaps)
