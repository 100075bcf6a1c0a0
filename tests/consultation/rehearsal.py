"""Rehearses the consultation: a simulated person with the facts of a whole-story case.

The person starts with the complaint (symptoms and pasted errors), answers truthfully from the facts
of the case, says 'unknown' to everything else, and lets a probe run where the case has facts that
it gathers.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from modelmedic.engine.compiler.source.knowledge_source import KnowledgeSource
from modelmedic.engine.diagnosis.diagnoser import Diagnoser
from modelmedic.engine.diagnosis.dialogue.dialogue import (
    UNKNOWN,
    AskedQuestion,
    Dialogue,
    Offer,
    Order,
    by_value,
)
from modelmedic.engine.diagnosis.evaluation import Evaluator
from modelmedic.engine.diagnosis.next_step.plan import Option
from modelmedic.engine.inference.program import Rule
from modelmedic.engine.inference.rule_index import goal
from modelmedic.facts import Fact, Location, Provenance

COMPLAINT = ("symptom", "error_message")
RUN_ALONE = ("environment", "serialization", "service")  # needs nothing but a yes
_MOST_TURNS = 200


class Story(NamedTuple):
    """A whole-story case: its facts, and the diagnosis that must come first (empty: none)."""

    file: str
    name: str
    facts: tuple[Fact, ...]
    first: str


class Turn(NamedTuple):
    """One question or offer, the answer to it, how many steps there were to choose from, and the
    diagnosis that led afterwards."""

    asked: str
    answer: str
    choice: int
    leading: str


class Rehearsal(NamedTuple):
    """A finished session."""

    story: Story
    turns: tuple[Turn, ...]
    dialogue: Dialogue

    @property
    def reached(self) -> bool:
        """Whether the expected diagnosis leads in the end."""
        found = [d.id for d in self.dialogue.report.diagnoses]
        return found[:1] == [self.story.first] if self.story.first else not found

    @property
    def had_choice(self) -> bool:
        """Whether more than one step was open at some moment, so that their order matters."""
        return any(turn.choice > 1 for turn in self.turns)


def stories(source: KnowledgeSource, doctor: Diagnoser) -> Iterator[Story]:
    """The whole-story cases of a knowledge base."""
    for document, file in source.tests:
        for case in file.cases:
            if case.kind == "story":
                where = Location(document.path)
                read = doctor.base.vocabulary.read
                facts = tuple(read(item, where, Provenance("test")) for item in case.facts)
                yield Story(document.path, case.name, facts, case.expect.first or "")


def rehearse(doctor: Diagnoser, story: Story, order: Order = by_value) -> Rehearsal:
    """Play a story to the end of its consultation."""
    person = Person(doctor, story.facts)
    probes = doctor.base.vocabulary.probes.values()
    dialogue = Dialogue(doctor, (), RUN_ALONE, [p.name for p in probes], order)
    complaint = [fact for fact in story.facts if fact.kind in COMPLAINT]
    if complaint:
        dialogue = dialogue.informed("complaint", complaint)
    turns: list[Turn] = []
    while len(turns) < _MOST_TURNS:
        if dialogue.paused:
            dialogue = dialogue.more()
        step = dialogue.next()
        if step is None:
            break
        choice = len(dialogue.planner.options) if dialogue.entries else 1
        dialogue = person.reply(dialogue, step)
        last = dialogue.entries[-1]
        leading = next((d.id for d in dialogue.report.diagnoses), "")
        turns.append(Turn(last.question, last.answer, choice, leading))
    return Rehearsal(story, tuple(turns), dialogue)


def authored_order(doctor: Diagnoser) -> Order:
    """The order in which the knowledge stands: each triage node after node, its probe before its
    question; then probes and questions as the vocabulary lists them."""
    base = doctor.base
    names: list[str] = []
    for tree_id, tree in base.catalogue["trees"].items():
        for name, node in tree["nodes"].items():
            names += [node["probe"], f"{tree_id}/{name}"]
    names += [*base.vocabulary.probes, *base.vocabulary.questions]
    place = {name: number for number, name in reversed([*enumerate(names)])}

    def order(options: Sequence[Option]) -> Sequence[Option]:
        return sorted(options, key=lambda o: (place.get(o.step.id, len(place)), o.step.id))

    return order


def random_order(seed: int) -> Order:
    """Any order; the same seed gives the same one."""

    def order(options: Sequence[Option]) -> Sequence[Option]:
        names = sorted(option.step.id for option in options)
        chance = random.Random(f"{seed} {' '.join(names)}")
        return chance.sample(sorted(options, key=lambda o: o.step.id), len(options))

    return order


class Person:
    """Answers from the facts of a case."""

    def __init__(self, doctor: Diagnoser, facts: Sequence[Fact]) -> None:
        self._doctor = doctor
        self._facts = facts
        self._evaluator = doctor.consult(facts).evaluator

    def reply(self, dialogue: Dialogue, step: AskedQuestion | Offer) -> Dialogue:
        """The dialogue after the answer."""
        if isinstance(step, Offer):
            found = self.gather(step.probe)
            return dialogue.informed(step.probe, found) if found else dialogue.declined(step)
        return dialogue.answered(step, self.answer(step, dialogue.facts))

    def answer(self, question: AskedQuestion, known: Collection[Fact] = ()) -> str:
        """The true answer, as far as the case says; of things to look at, that with most news."""
        sets = dict(question.sets)
        kind, attribute = sets.pop("kind"), sets.pop("attribute", "")
        if kind == "answer":
            return self._branch(str(sets["question"]), question.choices)
        if question.id.startswith("artefact"):
            best = max(question.choices, key=lambda probe: len(self._new(probe, known)))
            return best if self._new(best, known) else UNKNOWN
        for fact in self._facts:
            values = self._doctor.matcher.values(fact)
            if fact.kind == kind and all(values.get(n) == v for n, v in sets.items()):
                value = values.get(attribute)
                if isinstance(value, bool):
                    return "yes" if value else "no"
                if value is not None:
                    return str(value)
        return UNKNOWN

    def gather(self, probe: str) -> list[Fact]:
        """Return the facts that a probe finds."""
        kinds = self._doctor.base.vocabulary.probes[probe].gathers
        source = (Provenance(f"probe:{probe}"),)
        return [Fact(f.kind, f.values, source) for f in self._facts if f.kind in kinds]

    def _new(self, probe: str, known: Collection[Fact]) -> list[Fact]:
        return [fact for fact in self.gather(probe) if fact not in known]

    def _branch(self, question: str, answers: Iterable[str]) -> str:
        """The branch of a tree node that the facts take, were it reached."""
        tree, _, node = question.rpartition("/")
        program = self._doctor.base.program
        for answer in answers:
            wanted = goal("tree_node", {"tree": tree, "node": f"{node}/{answer}"})
            for number in program.network.concluding.get(wanted, ()):
                if _holds(program.rules[number], self._evaluator):
                    return answer
        return UNKNOWN


def _holds(rule: Rule, evaluator: Evaluator) -> bool:
    """Whether all conditions of a rule but the position in the tree are true."""
    kinds = evaluator.program.patterns
    there = [x for x in rule.literals if kinds[x.pattern].kind == "tree_node" and x.mode == "match"]
    others = [x for x in rule.literals if x not in there]
    return any(
        all(evaluator.judge(literal, binding).truth is True for literal in others)
        and not evaluator.failing_guards(rule, binding)
        for binding in evaluator.best_bindings(rule)
    )
