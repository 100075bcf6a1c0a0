"""Laws of the dialogue, for any person and any answers."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from modelmedic.engine import Diagnoser
from modelmedic.engine.compiler.source.knowledge_source import parse
from modelmedic.engine.compiler.store.files import read_folder
from modelmedic.engine.diagnosis.dialogue.dialogue import (
    UNKNOWN,
    AskedQuestion,
    Dialogue,
    HistoryEntry,
    Offer,
)
from modelmedic.facts import Fact, Provenance

from .rehearsal import Story, stories

MAX_TURNS = 150
NUMBERS = [0, 1, 7, 0.02, 0.4, 600, 4000]


@pytest.fixture(scope="module")
def told(doctor: Diagnoser, root: Path) -> Sequence[Story]:
    return tuple(stories(parse(read_folder(root / "knowledge")), doctor))


def begun(doctor: Diagnoser, symptom: str, known: Sequence[Fact] = ()) -> Dialogue:
    probes = doctor.base.vocabulary.probes
    fact = doctor.base.vocabulary.fact("symptom", name=symptom)
    return Dialogue(doctor, (), ["environment"], probes).informed("complaint", [fact, *known])


def some_facts(data: st.DataObject, told: Sequence[Story]) -> list[Fact]:
    """Some of what a whole-story case says."""
    story = data.draw(st.sampled_from(told), label="story")
    facts = [f for f in story.facts if f.kind != "symptom"]
    return data.draw(st.lists(st.sampled_from(facts), unique=True), label="facts") if facts else []


def reply(data: st.DataObject, dialogue: Dialogue, step: AskedQuestion | Offer) -> Dialogue:
    """Any answer that the question takes; one in three is that one does not know."""
    if isinstance(step, Offer):
        return dialogue.declined(step)
    if data.draw(st.integers(0, 2), label="knows") == 0:
        return dialogue.answered(step, UNKNOWN)
    options = list(step.choices) or values(dialogue, step)
    return dialogue.answered(step, data.draw(st.sampled_from(options), label=step.id))


def values(dialogue: Dialogue, question: AskedQuestion) -> list[str]:
    """Values of the attribute that the vocabulary takes."""
    kind = dialogue.doctor.base.vocabulary.kinds[question.sets["kind"]]
    attribute = kind.attributes[question.sets["attribute"]]
    if attribute.type == "version":
        return ["0.16.1", "2.13.0b2", "2.14.3"]
    if attribute.type not in ("integer", "number"):
        return ["some words"]
    ends = [n for n in (attribute.minimum, attribute.maximum) if n is not None]
    whole = attribute.type == "integer"
    typed = [int(n) if whole else n for n in (*NUMBERS, *ends)]
    return [str(n) for n in typed if attribute.problem(n) is None]


def session(data: st.DataObject, dialogue: Dialogue) -> Iterator[Dialogue]:
    """Every state of a session to its end."""
    for _ in range(MAX_TURNS):
        yield dialogue
        step = dialogue.next()
        if step is None:
            return
        dialogue = reply(data, dialogue, step)
    raise AssertionError("the session does not end")


def symptoms(doctor: Diagnoser) -> st.SearchStrategy[str]:
    return st.sampled_from(sorted(Dialogue(doctor).symptoms()))


@given(data=st.data())
@settings(max_examples=40)
def test_every_session_ends_and_asks_nothing_twice(doctor: Diagnoser, data: st.DataObject) -> None:
    dialogue = begun(doctor, data.draw(symptoms(doctor)))
    *_, last = session(data, dialogue)
    asked = [entry.question for entry in last.entries]
    assert len(asked) == len(set(asked))


@given(data=st.data())
@settings(max_examples=40)
def test_nothing_is_asked_that_is_implied_by_what_is_known(
    doctor: Diagnoser, told: Sequence[Story], data: st.DataObject
) -> None:
    kinds = doctor.base.vocabulary.kinds
    said = some_facts(data, told)
    for dialogue in session(data, begun(doctor, data.draw(symptoms(doctor)), said)):
        step = dialogue.next()
        if not isinstance(step, AskedQuestion):
            continue
        known = dialogue.consultation.facts
        if step.sets["kind"] == "answer":
            assert not taken(known, step, doctor), f"{step.id} is settled by facts"
        else:
            sets = {n: v for n, v in step.sets.items() if n not in ("kind", "attribute")}
            kind = kinds[step.sets["kind"]]
            about = [
                f for f in known if f.kind == kind.name and sets.items() <= dict(f.values).items()
            ]
            assert not kind.functional or all(f.get(step.sets["attribute"]) is None for f in about)


def taken(known: tuple[Fact, ...], step: AskedQuestion, doctor: Diagnoser) -> list[Fact]:
    """The branches of a node that facts take, other than the one for not knowing."""
    tree, _, node = str(step.sets["question"]).rpartition("/")
    branches = doctor.base.catalogue["trees"][tree]["nodes"][node]["branches"]
    names = {f"{node}/{branch}" for branch in branches if branch != UNKNOWN}
    return [f for f in known if f.kind == "tree_node" and f.get("tree") == tree
            and f.get("node") in names]  # fmt: skip


@given(data=st.data())
@settings(max_examples=30)
def test_every_question_can_change_the_outcome(doctor: Diagnoser, data: st.DataObject) -> None:
    """With the answers that the dialogue names as its example, the report differs from the one in
    which the question stays unanswered."""
    for dialogue in session(data, begun(doctor, data.draw(symptoms(doctor)))):
        step, example = dialogue.next(), dialogue.example
        if not isinstance(step, AskedQuestion):
            continue
        if step.sets["kind"] == "answer":
            assert example, f"no answers are known under which {step.id} matters"
        elif not example:
            continue  # an answer that must match a pattern of text cannot be made up
        others = [fact for fact in example if not answers(fact, step)]
        assert len(others) < len(example), f"the example answers something else than {step.id}"
        assert outcome(dialogue, example) != outcome(dialogue, others), step.id


def answers(fact: Fact, step: AskedQuestion) -> bool:
    """Whether a fact is an answer to the question: about the same thing, with its attribute."""
    sets = {n: v for n, v in step.sets.items() if n not in ("kind", "attribute")}
    wanted = step.sets.get("attribute", "value")
    return (
        fact.kind == step.sets["kind"]
        and all(fact.get(name) in (value, None) for name, value in sets.items())
        and fact.get(wanted) is not None
    )


def outcome(dialogue: Dialogue, more: tuple[Fact, ...] | list[Fact]) -> object:
    report = dialogue.doctor.diagnose([*dialogue.facts, *more])
    held = {
        d.id: (d.confidence, d.conflicting, len(d.explanation["how"])) for d in report.diagnoses
    }
    return held, {item.id for item in report.ruled_out}


@given(data=st.data())
@settings(max_examples=25)
def test_undoing_equals_replaying_from_scratch(doctor: Diagnoser, data: st.DataObject) -> None:
    before: Dialogue | None = None
    for dialogue in session(data, begun(doctor, data.draw(symptoms(doctor)))):
        if before is not None:
            undone = dialogue.undone()
            assert undone.entries == before.entries
            assert undone.report.plain() == before.report.plain()
            assert undone.next() == before.next()
        before = dialogue


@given(data=st.data())
@settings(max_examples=25)
def test_changing_equals_having_answered_so_from_the_start(
    doctor: Diagnoser, data: st.DataObject
) -> None:
    states = list(session(data, begun(doctor, data.draw(symptoms(doctor)))))
    last = states[-1]
    asked = [n for n, state in enumerate(states[:-1], 1) if has_choices(state)]
    assume(asked)
    number = data.draw(st.sampled_from(asked), label="changed entry")
    question = states[number - 1].next()
    assert isinstance(question, AskedQuestion)
    other = data.draw(st.sampled_from([*question.choices, UNKNOWN]), label="instead")
    changed = last.changed(number, other)
    redone = states[number - 1].answered(question, other)
    scratch = Dialogue(doctor, (*redone.entries, *last.entries[number + 1 :]), ["environment"],
                       doctor.base.vocabulary.probes)  # fmt: skip
    assert changed.report.plain() == scratch.report.plain()
    assert changed.next() == scratch.next()


def has_choices(state: Dialogue) -> bool:
    step = state.next()
    return isinstance(step, AskedQuestion) and bool(step.choices)


@given(data=st.data())
@settings(max_examples=15)
def test_the_state_follows_from_the_entries_alone(doctor: Diagnoser, data: st.DataObject) -> None:
    """A session that is written down, skipped questions included, therefore goes on as it was."""
    *_, last = session(data, begun(doctor, data.draw(symptoms(doctor))))
    for length in range(1, len(last.entries) + 1):
        kept = [
            HistoryEntry(e.question, e.answer, tuple(map(again, e.facts)))
            for e in last.entries[:length]
        ]
        resumed = Dialogue(doctor, kept, ["environment"], doctor.base.vocabulary.probes)
        assert {e.question for e in kept} == {e.question for e in resumed.entries}
        step = resumed.next()
        name = step.probe if isinstance(step, Offer) else step.id if step else ""
        assert name not in {e.question for e in kept}


def again(fact: Fact) -> Fact:
    return Fact(fact.kind, fact.values, (Provenance("answer", certainty="stated"),))
