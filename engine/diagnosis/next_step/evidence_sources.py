"""Evidence sources: for each condition, the questions and probes that could settle it.

They depend on the knowledge alone, so one :class:`EvidenceSources` serves all sessions. Each source
is worked out when it is first needed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache

from ....facts import Attribute, Fact, Question
from ....facts.kinds import asked
from ...compiler.knowledge_base import KnowledgeBase
from ...inference.program import Literal, Pattern, Test
from ...inference.rule_index import goal
from ..report import NextStep
from .answers import typed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


ATTENTION_S = 20.0  # what a question, or finding the file for a probe, costs a person at least
CONSENT_S = 5.0  # a probe that needs nothing but a yes
NETWORK_S = 10.0  # a probe that calls the service also costs quota, and can fail for other reasons
_ASK_S = 20.0
MAX_DEPTH = 3


class EvidenceSources:
    """The steps that bear on patterns and tree nodes of one knowledge base."""

    def __init__(self, base: KnowledgeBase) -> None:
        self._base = base
        self.of_pattern = lru_cache(maxsize=None)(self._of_pattern)
        self.of_node = lru_cache(maxsize=None)(self._of_node)
        self.credits = lru_cache(maxsize=None)(self._node_credits)
        self.of_node_kinds = lru_cache(maxsize=None)(self._node_kinds)
        self.topics = lru_cache(maxsize=None)(self._topics)

    def cost(self, step: NextStep, alone: Collection[str] = ()) -> float:
        """Seconds of a person's time that a step costs."""
        probe = self._base.vocabulary.probes.get(step.id) if step.type == "probe" else None
        if probe is None:
            return ATTENTION_S + step.seconds
        attention = CONSENT_S if step.id in alone else ATTENTION_S
        return attention + step.seconds + (NETWORK_S if probe.network else 0.0)

    def kinds(self, step: NextStep) -> frozenset[str]:
        """The kinds of fact that a question is about; for one of a tree, those of its branches."""
        sets = step.sets or {}
        tree, _, node = str(sets.get("question", "")).rpartition("/")
        return self.of_node_kinds(tree, node) if tree else frozenset([str(sets.get("kind", ""))])

    def _node_credits(self, tree: str, node: str) -> dict[str, float]:
        """For each probe, the share of the conditions of a node that it gathers facts for."""
        kinds = self._base.vocabulary.kinds
        patterns = [self._base.program.patterns[n] for n in self._patterns(tree, node)]
        direct = [kinds[p.kind] for p in patterns if not kinds[p.kind].derived]
        found: dict[str, float] = {}
        for kind in direct:
            for name in kind.probes:
                found[name] = found.get(name, 0.0) + 1 / len(direct)
        return found

    def _node_kinds(self, tree: str, node: str) -> frozenset[str]:
        patterns = self._base.program.patterns
        kinds = {patterns[number].kind for number in self._patterns(tree, node)}
        return frozenset(k for k in kinds if not self._base.vocabulary.kinds[k].derived)

    def serves(self, step: NextStep, diagnosis: str) -> bool:
        """Whether the step is about the domain of a diagnosis."""
        probe = self._base.vocabulary.probes.get(step.id) if step.type == "probe" else None
        return probe is None or probe.domain in ("", diagnosis.partition(".")[0])

    def unprompted(self, step: NextStep) -> bool:
        """Whether it may be asked without any sign of its subject: a probe, a question of the
        vocabulary, or one about a kind without a key."""
        if step.type == "probe" or step.id in self._base.vocabulary.questions:
            return True
        kind = self._base.vocabulary.kinds.get(str((step.sets or {}).get("kind")))
        return kind is not None and not kind.key

    def again(self, name: str) -> NextStep | None:
        """The question with an id; None if there is none."""
        tree, _, node = name.rpartition("/")
        if tree in self._base.catalogue["trees"]:
            there = node in self._base.catalogue["trees"][tree]["nodes"]
            return self.question(tree, node) if there else None
        if name in self._base.vocabulary.questions:
            return _question_step(self._base.vocabulary.questions[name])
        kind, _, rest = name.partition("(")
        about, _, attribute = rest.rpartition(").")
        known = self._base.vocabulary.kinds.get(kind)
        attributes = known.attributes if known else {}
        pairs = [part.partition("=") for part in about.split(",") if part]
        if attribute not in attributes or any(n not in attributes for n, _, _ in pairs):
            return None
        tests = tuple(Test(n, "eq", typed(attributes[n], value)) for n, _, value in pairs)
        return self._attribute_step(Pattern(kind, tests, (), False), attributes[attribute])

    def of_literal(self, literal: Literal) -> tuple[NextStep, ...]:
        """Steps that could settle a condition; an aggregate can only be settled by probes."""
        if literal.mode == "aggregate":
            number = self._base.program.aggregates[literal.pattern].pattern
            return tuple(s for s in self.of_pattern(number) if s.type == "probe")
        return self.of_pattern(literal.pattern)

    def about(self, literal: Literal, things: Iterable[Fact]) -> tuple[NextStep, ...]:
        """Questions about known things, where a condition leaves open which one it is about."""
        pattern = self._base.program.patterns[literal.pattern]
        kind = self._base.vocabulary.kinds[pattern.kind]
        fixed = _fixed(pattern)
        open_ = [name for name in kind.key if name not in fixed]
        if kind.derived or literal.mode == "aggregate" or not open_:
            return ()
        wanted = {t.attribute for t in pattern.tests} | {name for name, _ in literal.joins}
        found: dict[str, NextStep] = {}
        for thing in things:
            named = tuple(Test(name, "eq", thing.get(name)) for name in open_)
            for name in sorted(wanted - {*kind.key, ""}):
                if thing.get(name) is None and not any(t.operand is None for t in named):
                    of_thing = pattern._replace(tests=(*pattern.tests, *named))
                    step = self._attribute_step(of_thing, kind.attributes[name])
                    if step is not None:
                        found.setdefault(step.id, step)
        return tuple(found.values())

    def question(self, tree: str, node: str) -> NextStep:
        """The question of a tree node."""
        plain = self._base.catalogue["trees"][tree]["nodes"][node]
        targets = sorted({d for b in plain["branches"].values() for d in b["conclude"]})
        question = f"{tree}/{node}"
        return NextStep(
            "question",
            question,
            plain["ask"],
            "",
            float(plain["seconds"]),
            tuple(targets),
            plain["why"],
            tuple(plain["branches"]),
            {"kind": "answer", "question": question},
        )

    def _of_node(self, tree: str, node: str) -> tuple[NextStep, ...]:
        """The question of a tree node, and the probes that could settle it instead."""
        plain = self._base.catalogue["trees"][tree]["nodes"][node]
        named = self._base.vocabulary.probes.get(plain["probe"])
        steps = {named.name: self._probe(named.name, plain["why"])} if named else {}
        for number in self._patterns(tree, node):
            for step in self.of_pattern(number):
                if step.type == "probe":
                    steps.setdefault(step.id, step)
        question = self.question(tree, node)
        return question, *steps.values()

    def _topics(self, tree: str, node: str) -> frozenset[str]:
        """The questions about attributes that the question of a tree node covers."""
        return frozenset(
            step.id
            for number in self._patterns(tree, node)
            for step in self.of_pattern(number)
            if step.type == "question"
        )

    def _patterns(self, tree: str, node: str) -> dict[int, None]:
        """The patterns by which facts settle a node, those of derived facts unfolded."""
        found: dict[int, None] = {}
        for branch in self._base.catalogue["trees"][tree]["nodes"][node]["branches"]:
            wanted = goal("tree_node", {"tree": tree, "node": f"{node}/{branch}"})
            self._unfold(wanted, found, MAX_DEPTH)
        return found

    def _unfold(self, wanted: str, found: dict[int, None], depth: int) -> None:
        program = self._base.program
        for rule in program.network.concluding.get(wanted, ()):
            for literal in program.rules[rule].literals:
                number = literal.pattern
                if literal.mode == "aggregate":
                    number = program.aggregates[number].pattern
                pattern = program.patterns[number]
                if pattern.kind in ("tree_node", "answer") or number in found:
                    continue
                found[number] = None
                if depth and self._base.vocabulary.kinds[pattern.kind].derived:
                    self._unfold(goal(pattern.kind, _fixed(pattern)), found, depth - 1)

    def _of_pattern(self, number: int) -> tuple[NextStep, ...]:
        """Questions and probes about one pattern."""
        pattern = self._base.program.patterns[number]
        kind = self._base.vocabulary.kinds[pattern.kind]
        if pattern.kind == "answer":
            return tuple(self._node_question(pattern))
        probes = [self._probe(name) for name in kind.probes if name in self._base.vocabulary.probes]
        return (*probes, *(() if kind.derived else self._questions(pattern)))

    def _node_question(self, pattern: Pattern) -> Iterator[NextStep]:
        fixed = _fixed(pattern)
        tree, _, node = str(fixed.get("question", "")).rpartition("/")
        if node in self._base.catalogue["trees"].get(tree, {"nodes": {}})["nodes"]:
            yield self.question(tree, node)

    def _probe(self, name: str, why: str = "") -> NextStep:
        probe = self._base.vocabulary.probes[name]
        return NextStep("probe", name, probe.title, probe.command, probe.seconds, (), why)

    def _questions(self, pattern: Pattern) -> Iterable[NextStep]:
        fixed = _fixed(pattern)
        tested = [t.attribute for t in pattern.tests]
        named = [
            q
            for q in self._base.vocabulary.questions.values()
            if q.kind == pattern.kind
            and q.attribute in tested
            and all(fixed.get(n) == v or n not in tested for n, v in q.where)
        ]
        for question in sorted(named, key=lambda q: q.id):
            yield _question_step(question)
        if named:
            return
        kind = self._base.vocabulary.kinds[pattern.kind]
        for attribute in kind.attributes.values():
            open_ = attribute.name in kind.key and attribute.name not in fixed
            if attribute.name in tested or open_:
                step = self._attribute_step(pattern, attribute)
                if step is not None:
                    yield step

    def _attribute_step(self, pattern: Pattern, attribute: Attribute) -> NextStep | None:
        """The attribute's own question; None if it has none, or where the condition leaves
        another required attribute open, so that the answer would not make a fact. An attribute
        of the key is asked for where the condition leaves it open."""
        kind = self._base.vocabulary.kinds[pattern.kind]
        required = [a for a in kind.attributes.values() if a.required and a is not attribute]
        fixed = {a.name: a.default for a in required if a.default is not None} | _fixed(pattern)
        needed = {a.name for a in required}
        text = asked(kind, attribute.ask, fixed)
        known = attribute.name in kind.key and attribute.name in fixed
        if not text or known or not needed <= fixed.keys():
            return None
        about = {name: fixed[name] for name in fixed if name in needed or name in kind.key}
        shown = ",".join(f"{name}={value}" for name, value in sorted(about.items()))
        return NextStep(
            "question",
            f"{pattern.kind}({shown}).{attribute.name}",
            text,
            "",
            _ASK_S,
            (),
            choices=tuple(attribute.values or ()),
            sets={"kind": pattern.kind, **about, "attribute": attribute.name},
        )


def _fixed(pattern: Pattern) -> dict[str, Any]:
    return {t.attribute: t.operand for t in pattern.tests if t.op == "eq"}


def _question_step(question: Question) -> NextStep:
    sets = {"kind": question.kind, **dict(question.where), "attribute": question.attribute}
    return NextStep(
        "question", question.id, question.text, "", question.seconds, (), question.help, sets=sets
    )
