"""The next best step: questions and probes by what they would settle, per cost.

The value of a step is the chance, over all open diagnoses, that it settles one of them, divided by
what it costs a person. The authored order of a triage is the prior of that chance.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from ....facts import Fact
from ....facts.records import NamedTuple, cached_property
from ...compiler.knowledge_base import KnowledgeBase
from ..report import Candidate, NextStep
from ..why_not import Gap
from .evidence_sources import EvidenceSources
from .hypotheses import Hypotheses, Open
from .triage import PASSED_OVER, TreeNode

MAX_STEPS = 8
MAX_CANDIDATES = 12
MAX_THINGS = 3  # with the same question
QUICK_S = 35.0  # so much a look at the rivals of a likely cause may cost
WORTH = 0.001  # a minute of a person's time must buy six chances in a hundred
_RATHER_NOT = 1.5  # what a probe can find out costs more to be asked for
_HARDLY = 2.0  # what a probe did not find, a person finds in twice the time


_WHOLE: Mapping[str, float] = {}


class Need(NamedTuple):
    """One condition of an open way: the steps any of which could settle it now, and whether any
    step could settle it at last."""

    steps: tuple[NextStep, ...]
    feasible: bool
    credits: Mapping[str, float] = _WHOLE

    def credit(self, step: NextStep) -> float:
        """The probability that a step with a result settles the open condition; below 1 if a probe
        sees only part of it."""
        return self.credits.get(step.id, 1.0)


class Option(NamedTuple):
    """A step, its value per cost, and the open ways that it can settle, likeliest first."""

    step: NextStep
    value: float
    ways: tuple[Open, ...]


class Planner:
    """Plans for one set of facts and what was found in them."""

    def __init__(
        self,
        base: KnowledgeBase,
        gathering: EvidenceSources,
        hypotheses: Hypotheses,
        facts: Sequence[Fact],
        asked: Collection[str] = (),
        probes: Collection[str] | None = None,
        alone: Collection[str] = (),
    ) -> None:
        """``asked`` names the steps already taken; ``probes`` those that can be run (default: all),
        ``alone`` those that need no argument."""
        self._base = base
        self._gathering = gathering
        self._hypotheses = hypotheses
        self._probes = probes
        self._alone = alone
        self._facts = facts
        self._behind = frozenset((*asked, *_run(facts)))
        self._done = set(self._behind)
        for fact in facts:
            if fact.kind == "answer" and fact.provenance != (PASSED_OVER,):
                self._done |= self._comprised(str(fact.get("question")))
        for position in hypotheses.triage.positions():
            for node in hypotheses.triage.ahead(position.node):
                self._done |= gathering.topics(*node)

    @cached_property
    def _looked(self) -> set[str]:
        """The kinds that probes have looked for."""
        known = self._base.vocabulary.probes
        return {k for name in self._behind if name in known for k in known[name].gathers}

    @cached_property
    def _gatherable(self) -> set[str]:
        """The kinds that probes can still look for."""
        return {
            kind
            for probe in self._base.vocabulary.probes.values()
            if probe.name not in self._behind
            and (self._probes is None or probe.name in self._probes)
            for kind in probe.gathers
        }

    @cached_property
    def _keyed(self) -> Mapping[str, Sequence[Fact]]:
        """The facts of the kinds that have a key."""
        found: dict[str, list[Fact]] = {}
        for fact in self._facts:
            kind = self._base.vocabulary.kinds.get(fact.kind)
            if kind and kind.key:
                found.setdefault(fact.kind, []).append(fact)
        return found

    def candidates(self) -> tuple[Candidate, ...]:
        """The unknown conditions of the diagnoses that facts support in part."""
        held = self._hypotheses.held
        unheld = [open_ for _, open_ in self._hypotheses.supported if open_.id not in held]
        return tuple(
            Candidate(o.id, self._base.summary(o.id).title, tuple(g.text for g in o.gaps))
            for o in unheld[:MAX_CANDIDATES]
        )

    @cached_property
    def possible(self) -> tuple[str, ...]:
        """The open diagnoses that some step could still settle, likeliest first."""
        weights: dict[str, float] = {}
        for way, _ in self._feasible:
            weights[way.id] = max(weights.get(way.id, 0.0), way.weight)
        return tuple(sorted(weights, key=lambda name: (-weights[name], name)))

    @cached_property
    def options(self) -> tuple[Option, ...]:
        """Everything that could be asked or run now, best first."""
        best: dict[str, dict[str, tuple[float, Open]]] = {}
        steps: dict[str, NextStep] = {}
        for way, needs in self._feasible:
            shares: dict[str, float] = {}
            for need in needs:
                for step in need.steps:
                    steps.setdefault(step.id, step)
                    shares[step.id] = shares.get(step.id, 0.0) + need.credit(step)
            for name, share in shares.items():
                value = way.weight * share / len(needs)
                known = best.setdefault(name, {}).get(way.id)
                if known is None or known[0] < value:
                    best[name][way.id] = (value, way)
        found = [_option(steps[name], ways, self._cost(steps[name])) for name, ways in best.items()]
        worth = (option for option in found if option.value >= WORTH)
        return tuple(sorted(worth, key=lambda o: (-o.value, o.step.type == "question", o.step.id)))

    def steps(self) -> tuple[NextStep, ...]:
        """The next steps for the reader of a report: the questions of the triage at its present
        node, in their order, then the best of the rest. A later question would not help, because
        only a consultation skips nodes."""
        found = {step.id: step for step in self._standing()}
        for option in self.options:
            if not self._is_triage(option.step):
                found.setdefault(option.step.id, with_targets(option))
        return tuple(found.values())[:MAX_STEPS]

    def _standing(self) -> Iterator[NextStep]:
        for position in self._hypotheses.triage.positions():
            if position.symptom not in self._hypotheses.settled_symptoms:
                question, *probes = self._gathering.of_node(*position.node)
                named = (step for step in probes if step.why)
                yield from (s._replace(separates=question.separates) for s in self._left(named))
                yield from self._left([question])

    @staticmethod
    def _is_triage(step: NextStep) -> bool:
        return (step.sets or {}).get("kind") == "answer"

    @cached_property
    def _feasible(self) -> tuple[tuple[Open, tuple[Need, ...]], ...]:
        """The open ways whose gaps can all still be settled."""
        found = []
        for way in self._hypotheses.all:
            needs = tuple(self._needs(way))
            if needs and all(need.feasible for need in needs):
                found.append((way, needs))
        return tuple(found)

    def _needs(self, way: Open) -> Iterator[Need]:
        for place, node in enumerate(way.leaf.needs if way.leaf else ()):
            yield self._node_need(way, node, turn=not place)
        for gap in way.gaps:
            steps = self._steps(gap) if gap.truth is None else ()
            left = tuple(s for s in self._left(steps) if self._allowed(s, way))
            yield Need(left, bool(left))

    def _steps(self, gap: Gap) -> tuple[NextStep, ...]:
        """The steps that could settle a gap, for the known things that it may be about."""
        kind = self._base.program.patterns[gap.literal.pattern].kind
        things = self._keyed.get(kind, ()) if gap.literal.mode != "aggregate" else ()
        about = self._gathering.about(gap.literal, things[:MAX_THINGS])
        return (*about, *self._gathering.of_literal(gap.literal))

    def _node_need(self, way: Open, node: TreeNode, *, turn: bool) -> Need:
        """A node that is not yet reached may be settled by a probe; its question has to wait."""
        domain = node.tree.partition(".")[0]
        steps = self._left(self._gathering.of_node(*node))
        steps = tuple(s for s in steps if self._gathering.serves(s, domain))
        if way.ground == "check":
            steps = tuple(s for s in steps if s.id in self._alone)
        now = steps if turn else tuple(s for s in steps if s.type == "probe")
        return Need(now, bool(steps), self._gathering.credits(*node))

    def _allowed(self, step: NextStep, way: Open) -> bool:
        """Whether a step is fit for the ground on which the way is open."""
        if not self._gathering.serves(step, way.id):
            return False
        if way.ground in ("evidence", "aside", "rival"):
            quick = way.ground != "rival" or self._cost(step) <= QUICK_S
            return step.type == "probe" and quick
        return way.ground != "complaint" or self._gathering.unprompted(step)

    def _cost(self, step: NextStep) -> float:
        """The cost of a step. Asking costs more for facts that a probe did not find or can still
        find."""
        cost = self._gathering.cost(step, self._alone)
        kinds = self._gathering.kinds(step) if step.type == "question" else frozenset()
        if kinds and kinds <= self._looked:
            return cost * _HARDLY
        return cost * _RATHER_NOT if kinds and kinds <= self._gatherable else cost

    def _left(self, steps: Iterable[NextStep]) -> tuple[NextStep, ...]:
        return tuple(
            step
            for step in steps
            if step.id not in self._done
            and (step.type == "question" or self._probes is None or step.id in self._probes)
        )

    def _comprised(self, question: str) -> frozenset[str]:
        """An answered question of a tree, with the plain questions that it comprises."""
        tree, _, node = question.rpartition("/")
        trees: Mapping[str, Mapping[str, Mapping[str, object]]] = self._base.catalogue["trees"]
        if tree not in trees or node not in trees[tree]["nodes"]:
            return frozenset([question])
        return self._gathering.topics(*TreeNode(tree, node)) | {question}


def _run(facts: Iterable[Fact]) -> set[str]:
    """The names of the probes that facts come from."""
    return {
        p.source.removeprefix("probe:")
        for fact in facts
        for p in fact.provenance
        if p.source.startswith("probe:")
    }


def _option(step: NextStep, ways: Mapping[str, tuple[float, Open]], cost: float) -> Option:
    value = sum(value for value, _ in ways.values()) / cost
    ordered = sorted(ways.values(), key=lambda item: (-item[0], item[1].id))
    return Option(step, value, tuple(way for _, way in ordered))


def with_targets(option: Option) -> NextStep:
    """The step with the diagnoses that its result can confirm or exclude."""
    return option.step._replace(separates=tuple(sorted({way.id for way in option.ways})))
