"""The consultation as a pure state machine: facts and answers so far -> the next question.

A :class:`Dialogue` is immutable, and its state follows from its entries alone: undoing or changing
an answer gives exactly the dialogue without it. No terminal, no clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ....facts import Attribute, Fact, Location, Provenance
from ....facts.records import cached_property
from ..consultation import Consultation
from ..diagnoser import Diagnoser
from ..next_step.answers import choose, is_unsure, typed, wrong
from ..next_step.plan import Option, Planner, with_targets
from ..next_step.triage import UNKNOWN
from ..report import Candidate, NextStep, Report
from .answer_facts import united, with_passed_over
from .deciding import deciding, undecided
from .history import MORE, AskedQuestion, HistoryEntry, Offer, not_known
from .outcome import ConsultationResult, conclude
from .separation import Chosen, first_that_matters

__all__ = [
    "MORE",
    "UNKNOWN",
    "AskedQuestion",
    "Dialogue",
    "HistoryEntry",
    "Offer",
    "Order",
    "by_value",
]

MAX_UNKNOWN = 8  # so many questions in a row without an answer, and it says what it lacks
_ARTEFACT = "artefact"


Order = Callable[[Sequence[Option]], Sequence[Option]]


def by_value(options: Sequence[Option]) -> Sequence[Option]:
    """The order of a plan: what settles most for its cost comes first."""
    return options


class Dialogue:
    """A consultation at one moment."""

    def __init__(
        self,
        doctor: Diagnoser,
        entries: Sequence[HistoryEntry] = (),
        runnable: Iterable[str] = (),
        readable: Iterable[str] = (),
        order: Order = by_value,
    ) -> None:
        """``runnable`` names the probes that may be offered, ``readable`` those that may be offered
        if the person can say what to read. ``order`` sorts the possible steps."""
        self.doctor = doctor
        self.entries = tuple(entries)
        self._runnable = frozenset(runnable)
        self._readable = frozenset(readable) - self._runnable
        self._order = order

    @cached_property
    def facts(self) -> tuple[Fact, ...]:
        """Everything said or gathered so far, as the engine sees it."""
        base = self.doctor.base
        said = united([f for e in self.entries for f in e.facts], base.vocabulary.kinds)
        derive = self.doctor.backend.derive
        return with_passed_over(said, base.catalogue["trees"], lambda facts: derive(facts).facts)

    @cached_property
    def consultation(self) -> Consultation:
        """The facts with their derivation."""
        return self.doctor.consult(self.facts)

    @cached_property
    def report(self) -> Report:
        """The conclusions from the facts so far."""
        return self.consultation.report()

    @cached_property
    def planner(self) -> Planner:
        """The plan for what comes next."""
        asked = [entry.question for entry in self.entries]
        probes = self._runnable if self._has_no_complaint else self._runnable | self._readable
        return self.consultation.planner(asked, probes, self._runnable)

    @property
    def _has_no_complaint(self) -> bool:
        """Whether no complaint is known and nothing is found. Then the person is asked what there
        is to look at."""
        complaint = any(f.kind in ("symptom", "error_message") for f in self.facts)
        return not complaint and self.report.status != "findings"

    def symptoms(self) -> dict[str, str]:
        """The symptoms from which trees start, with their titles."""
        trees = self.doctor.base.catalogue["trees"].values()
        known = self.doctor.base.vocabulary.kinds["symptom"].attributes["name"].values or {}
        return {t["symptom"]: known.get(t["symptom"], t["title"]) for t in trees}

    def possible(self) -> tuple[Candidate, ...]:
        """The diagnoses that some question or probe could still settle, likeliest first."""
        title = self.doctor.base.summary
        return tuple(Candidate(name, title(name).title, ()) for name in self.planner.possible)

    @cached_property
    def conclusion(self) -> ConsultationResult:
        """The conclusions so far, in the parts that are shown."""
        return conclude(self.report, self.possible(), self.doctor.base.program)

    @cached_property
    def deciding(self) -> tuple[NextStep, ...]:
        """The one or two steps that would decide most, whether or not they were asked before."""
        known = self.with_entries([entry for entry in self.entries if entry.answer != UNKNOWN])
        return deciding(self.doctor, known.facts) if known.facts else ()

    @property
    def undecided(self) -> tuple[str, ...]:
        """The steps that would decide the triages that ended because an answer was not known."""
        trees = self.doctor.base.catalogue["trees"]
        return tuple(undecided(trees, self.consultation.facts))

    def next(self) -> AskedQuestion | Offer | None:
        """The next question or offer; None if nothing would change the outcome, or after many
        questions in a row without an answer."""
        return None if not_known(self.entries) >= MAX_UNKNOWN else self._next

    @property
    def paused(self) -> bool:
        """Whether there are more questions for a user who wants them."""
        return self.next() is None and self._next is not None

    def more(self) -> Dialogue:
        """The dialogue that asks on."""
        return self._with(HistoryEntry(MORE, "", ()))

    @property
    def example(self) -> tuple[Fact, ...]:
        """Assumed answers, one of them to the current question, under which that answer changes the
        outcome; empty if none can be made up."""
        return self._best.example if self._best else ()

    @cached_property
    def _best(self) -> Chosen | None:
        return first_that_matters(self._order(self.planner.options), self.doctor, self.facts)

    @cached_property
    def _next(self) -> AskedQuestion | Offer | None:
        if not self.facts and not self._asked("symptom"):
            return self._opening()
        if offer := self._chosen():
            return offer
        if self._best is None:
            return self._artefact()
        step = with_targets(self._best.option)
        return self._question(step) if step.type == "question" else self._offer(step)

    def answered(self, question: AskedQuestion, text: str) -> Dialogue:
        """The dialogue after an answer. Raises :class:`ModelMedicError` (MM310) for an answer that
        does not fit, and says what would."""
        word = text.strip()
        if not word or (is_unsure(word) and word not in question.choices):
            facts = self._unknown(question)
            return self._with(HistoryEntry(question.id, UNKNOWN, facts))
        if question.sets.get("kind") == _ARTEFACT:
            return self._with(HistoryEntry(question.id, self._choice(question, word), ()))
        fact = self._fact(question, word)
        return self._with(HistoryEntry(question.id, word, (fact,)))

    def declined(self, offer: Offer) -> Dialogue:
        """The dialogue after an offer was declined."""
        return self._with(HistoryEntry(offer.probe, UNKNOWN, ()))

    def informed(self, source: str, facts: Iterable[Fact]) -> Dialogue:
        """The dialogue with facts from elsewhere."""
        return self._with(HistoryEntry(source, "", tuple(facts)))

    def undone(self) -> Dialogue:
        """The dialogue before its last entry."""
        return self.with_entries(self.entries[:-1])

    def changed(self, number: int, text: str) -> Dialogue:
        """The dialogue with another answer to entry ``number``; later entries are kept."""
        before = self.with_entries(self.entries[:number])
        question = before.next()
        if not isinstance(question, AskedQuestion) or question.id != self.entries[number].question:
            question = self._again(self.entries[number])
        redone = before.answered(question, text)
        rest = self.entries[number + 1 :]
        return self.with_entries((*redone.entries, *rest))

    def _with(self, entry: HistoryEntry) -> Dialogue:
        return self.with_entries((*self.entries, entry))

    def with_entries(self, entries: Sequence[HistoryEntry]) -> Dialogue:
        """The dialogue with other entries, such as kept ones."""
        return Dialogue(self.doctor, entries, self._runnable, self._readable, self._order)

    def _asked(self, question: str) -> bool:
        return any(entry.question == question for entry in self.entries)

    def _opening(self) -> AskedQuestion:
        symptoms = self.symptoms()
        text = "What is wrong? Choose what fits best, or say it in your own words."
        sets = {"kind": "symptom", "attribute": "name"}
        return AskedQuestion(
            "symptom", text, "The symptom chooses the triage.", symptoms, "", (), sets
        )

    def _offer(self, step: NextStep) -> Offer:
        reads = step.id in self._readable
        return Offer(step.id, step.text, step.command, step.seconds, step.separates, reads)

    def _artefact(self) -> AskedQuestion | None:
        """Without a complaint, ask what there is to look at, until there is nothing more or a
        problem is found."""
        rounds = [e for e in self.entries if e.question.startswith(_ARTEFACT)]
        run = {entry.question for entry in self.entries}
        left = {
            probe.name: probe.title
            for probe in self.doctor.base.vocabulary.probes.values()
            if probe.name in self._runnable | self._readable and probe.name not in run
        }
        nothing_more = bool(rounds) and rounds[-1].answer == UNKNOWN
        if not self._has_no_complaint or nothing_more or not left:
            return None
        name = f"{_ARTEFACT}-{len(rounds) + 1}"
        more = "What else do you have" if rounds else "What do you have"
        sets = {"kind": _ARTEFACT, "attribute": "probe"}
        return AskedQuestion(
            name, f"{more} that I could look at?", "Facts tell more than words.", left, "", (), sets
        )

    def _chosen(self) -> Offer | None:
        """The probe that reads what the person has just named."""
        last = self.entries[-1] if self.entries else None
        probe = self.doctor.base.vocabulary.probes.get(last.answer if last else "")
        if last is None or probe is None or not last.question.startswith(_ARTEFACT):
            return None
        reads = probe.name in self._readable
        return Offer(probe.name, probe.title, probe.command, probe.seconds, (), reads)

    def _question(self, step: NextStep) -> AskedQuestion:
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
        return AskedQuestion(step.id, step.text, why, choices, attribute.unit, step.separates, sets)

    def _node_answers(self, question: str) -> dict[str, str]:
        tree, _, node = question.rpartition("/")
        known = self.doctor.base.catalogue["trees"].get(tree)
        if not known or node not in known["nodes"]:
            return {}
        branches = known["nodes"][node]["branches"]
        return {name: b["answer"] for name, b in branches.items() if name != UNKNOWN}

    def _again(self, entry: HistoryEntry) -> AskedQuestion:
        """The question of an earlier entry, else one about the fact that it set."""
        if step := self.doctor.gathering.again(entry.question):
            return self._question(step)
        if not entry.facts:
            raise wrong(f"the answer to {entry.question!r} set nothing that could be changed")
        fact = entry.facts[0]
        key = self.doctor.base.vocabulary.kinds[fact.kind].key
        name = next((n for n, _ in fact.values if n not in key), fact.values[-1][0])
        sets = {"kind": fact.kind, **{n: v for n, v in fact.values if n != name}, "attribute": name}
        question, choices = entry.question, self._node_answers(entry.question)
        return AskedQuestion(question, question, "", choices, "", (), sets)

    def _attribute(self, sets: Mapping[str, Any]) -> Attribute:
        if sets["kind"] in ("answer", _ARTEFACT):
            return Attribute("value", "string")
        return self.doctor.base.vocabulary.kinds[sets["kind"]].attributes[sets["attribute"]]

    def _unknown(self, question: AskedQuestion) -> tuple[Fact, ...]:
        """'Do not know' is a fact only for a tree node, where it takes the unknown branch."""
        if question.sets.get("kind") != "answer":
            return ()
        return (self._read({**question.sets, "value": UNKNOWN}),)

    def _choice(self, question: AskedQuestion, word: str) -> str:
        """The name of the chosen answer, or the word itself."""
        choice = choose(word, question.choices)
        if question.choices and choice is None:
            raise wrong(f"{word!r} is not one of: {', '.join(question.choices)}, {UNKNOWN}")
        return choice if choice is not None else word

    def _fact(self, question: AskedQuestion, word: str) -> Fact:
        sets = dict(question.sets)
        name = sets.pop("attribute", "value")
        value = self._choice(question, word)
        return self._read({**sets, name: typed(self._attribute(question.sets), value)})

    def _read(self, item: Mapping[str, Any]) -> Fact:
        source = Provenance("answer", certainty="stated")
        return self.doctor.base.vocabulary.read(dict(item), Location("answer"), source)
