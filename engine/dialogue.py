"""The consultation as a pure state machine: facts and answers so far -> the next question.

A :class:`Dialogue` is immutable. Its state follows from its entries alone, so undoing or changing
an answer gives exactly the dialogue that would have been without it. No terminal, no clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from ..facts import Attribute, Fact, Location, ModelMedicError, Problem, Provenance
from .diagnoser import Consultation, Diagnoser
from .report import NextStep, Report

UNKNOWN = "unknown"
_YES, _NO = ("yes", "y", "true"), ("no", "n", "false")


class Entry(NamedTuple):
    """One thing that happened: a question answered (``facts`` is empty for 'do not know'), or facts
    that came from a probe, a file or the person's own words."""

    question: str
    answer: str
    facts: tuple[Fact, ...]


class Question(NamedTuple):
    """A question to the person. ``choices`` maps each answer to its meaning; empty: a typed value.

    ``unit`` belongs to a number. ``why`` says what the answer separates.
    """

    id: str
    text: str
    why: str
    choices: Mapping[str, str]
    unit: str
    separates: tuple[str, ...]
    sets: Mapping[str, Any]


class Offer(NamedTuple):
    """A probe that would find out by itself."""

    probe: str
    text: str
    command: str
    seconds: float
    separates: tuple[str, ...]


class Dialogue:
    """A consultation at one moment."""

    def __init__(
        self,
        doctor: Diagnoser,
        entries: Sequence[Entry] = (),
        runnable: Iterable[str] = (),
    ) -> None:
        """``runnable`` names the probes that may be offered."""
        self.doctor = doctor
        self.entries = tuple(entries)
        self._runnable = frozenset(runnable)

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Everything said or gathered so far."""
        return tuple(fact for entry in self.entries for fact in entry.facts)

    @cached_property
    def consultation(self) -> Consultation:
        """The facts with their derivation."""
        return self.doctor.consult(self.facts)

    @cached_property
    def report(self) -> Report:
        """What follows from the facts so far."""
        return self.consultation.report()

    def symptoms(self) -> dict[str, str]:
        """The symptoms that trees start from, with their titles: what a consultation opens with."""
        trees = self.doctor.base.catalogue["trees"].values()
        known = self.doctor.base.vocabulary.kinds["symptom"].attributes["name"].values or {}
        return {t["symptom"]: known.get(t["symptom"], t["title"]) for t in trees}

    def next(self) -> Question | Offer | None:
        """What to ask or offer now; None when nothing would change the outcome."""
        if not self.facts:
            return self._opening() if not self._asked("symptom") else None
        for step in self.report.next:
            if self._asked(step.id):
                continue
            if step.type == "question":
                return self._question(step)
            if step.id in self._runnable:
                return Offer(step.id, step.text, step.command, step.seconds, step.separates)
        return None

    def answered(self, question: Question, text: str) -> Dialogue:
        """The dialogue after an answer. Raises :class:`ModelMedicError` (MM310) for an answer that
        does not fit, with what would."""
        word = text.strip()
        if word.lower() in (UNKNOWN, "?", "don't know", "dont know", ""):
            facts = self._unknown(question)
            return self._with(Entry(question.id, UNKNOWN, facts))
        fact = self._fact(question, word)
        return self._with(Entry(question.id, word, (fact,)))

    def declined(self, offer: Offer) -> Dialogue:
        """The dialogue after a probe was not wanted."""
        return self._with(Entry(offer.probe, UNKNOWN, ()))

    def informed(self, source: str, facts: Iterable[Fact]) -> Dialogue:
        """The dialogue with facts from elsewhere."""
        return self._with(Entry(source, "", tuple(facts)))

    def undone(self) -> Dialogue:
        """The dialogue before its last entry."""
        return Dialogue(self.doctor, self.entries[:-1], self._runnable)

    def changed(self, number: int, text: str) -> Dialogue:
        """The dialogue in which entry ``number`` had been answered otherwise; later entries stay if
        their questions are not answered twice thereby."""
        before = Dialogue(self.doctor, self.entries[:number], self._runnable)
        question = before.next()
        if not isinstance(question, Question) or question.id != self.entries[number].question:
            question = self._again(self.entries[number])
        redone = before.answered(question, text)
        rest = self.entries[number + 1 :]
        return Dialogue(self.doctor, (*redone.entries, *rest), self._runnable)

    def _with(self, entry: Entry) -> Dialogue:
        return Dialogue(self.doctor, (*self.entries, entry), self._runnable)

    def _asked(self, question: str) -> bool:
        return any(entry.question == question for entry in self.entries)

    def _opening(self) -> Question:
        symptoms = self.symptoms()
        text = "What is wrong? Choose what fits best, or say it in your own words."
        sets = {"kind": "symptom", "attribute": "name"}
        return Question("symptom", text, "The symptom chooses the triage.", symptoms, "", (), sets)

    def _question(self, step: NextStep) -> Question:
        sets = dict(step.sets or {})
        attribute = self._attribute(sets)
        if step.choices:
            choices = {c: (attribute.values or {}).get(c, "") for c in step.choices if c != UNKNOWN}
            choices = self._node_answers(step.id) or choices
        elif attribute.type == "boolean":
            choices = {"yes": "", "no": ""}
        else:
            choices = dict(attribute.values or {})
        why = step.why or f"It bears on {', '.join(step.separates[:3])}."
        return Question(step.id, step.text, why, choices, attribute.unit, step.separates, sets)

    def _node_answers(self, question: str) -> dict[str, str]:
        tree, _, node = question.rpartition("/")
        known = self.doctor.base.catalogue["trees"].get(tree)
        if not known or node not in known["nodes"]:
            return {}
        branches = known["nodes"][node]["branches"]
        return {name: b["answer"] for name, b in branches.items() if name != UNKNOWN}

    def _again(self, entry: Entry) -> Question:
        """The question of an old entry, from the fact it set."""
        if not entry.facts:
            raise _wrong(f"the answer to {entry.question!r} set nothing that could be changed")
        fact = entry.facts[0]
        kind = self.doctor.base.vocabulary.kinds[fact.kind]
        name = next((n for n, _ in fact.values if n not in kind.key), kind.key[-1])
        sets = {"kind": fact.kind, **{n: v for n, v in fact.values if n != name}, "attribute": name}
        return Question(entry.question, entry.question, "", self._node_answers(entry.question), "",
                        (), sets)  # fmt: skip

    def _attribute(self, sets: Mapping[str, Any]) -> Attribute:
        if sets["kind"] == "answer":
            return Attribute("value", "string")
        return self.doctor.base.vocabulary.kinds[sets["kind"]].attributes[sets["attribute"]]

    def _unknown(self, question: Question) -> tuple[Fact, ...]:
        """'Do not know' is a fact only for the nodes of trees, whose unknown branch it takes."""
        if question.sets.get("kind") != "answer":
            return ()
        return (self._read({**question.sets, "value": UNKNOWN}),)

    def _fact(self, question: Question, word: str) -> Fact:
        sets = dict(question.sets)
        name = sets.pop("attribute", "value")
        choice = _choose(word, question.choices)
        if question.choices and choice is None:
            raise _wrong(f"{word!r} is not one of: {', '.join(question.choices)}, {UNKNOWN}")
        value = choice if choice is not None else word
        return self._read({**sets, name: _typed(self._attribute(question.sets), value)})

    def _read(self, item: Mapping[str, Any]) -> Fact:
        source = Provenance("answer", certainty="stated")
        return self.doctor.base.vocabulary.read(dict(item), Location("answer"), source)


def _choose(word: str, choices: Mapping[str, str]) -> str | None:
    """The choice meant by a name, a number from 1, or a yes/no word."""
    names = list(choices)
    if word in names:
        return word
    if word.isdecimal() and 1 <= int(word) <= len(names):
        return names[int(word) - 1]
    lowered = word.lower()
    for group in (_YES, _NO):
        if lowered in group and group[0] in names:
            return group[0]
    starting = [name for name in names if name.startswith(lowered)]
    return starting[0] if len(starting) == 1 else None


def _typed(attribute: Attribute, value: str) -> Any:
    """The value in the attribute's type; what does not fit is refused by the vocabulary."""
    if attribute.type == "boolean":
        return value.lower() in _YES if value.lower() in (*_YES, *_NO) else value
    if attribute.type in ("integer", "number"):
        number = value.removesuffix(attribute.unit).strip().replace(",", ".")
        try:
            return int(number) if attribute.type == "integer" else float(number)
        except ValueError:
            unit = f" in {attribute.unit}" if attribute.unit else ""
            raise _wrong(f"{value!r} is no number{unit}") from None
    return value


def _wrong(message: str) -> ModelMedicError:
    return ModelMedicError(Problem("MM310", message, None, "or answer 'unknown'"))
