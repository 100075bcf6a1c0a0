"""The dialogue: a pure state machine whose state follows from its entries."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modelmedic.engine import Diagnoser
from modelmedic.engine.diagnosis.dialogue.dialogue import UNKNOWN, AskedQuestion, Dialogue, Offer
from modelmedic.facts import ModelMedicError

MAX_TURNS = 60


def walk(dialogue: Dialogue, choose: Callable[[AskedQuestion], str]) -> Dialogue:
    """To the end, declining every probe."""
    for _ in range(MAX_TURNS):
        step = dialogue.next()
        if step is None:
            return dialogue
        if isinstance(step, Offer):
            dialogue = dialogue.declined(step)
        else:
            dialogue = dialogue.answered(step, choose(step))
    raise AssertionError("the consultation does not end")


def test_it_opens_with_the_symptoms(doctor: Diagnoser) -> None:
    first = Dialogue(doctor).next()
    assert isinstance(first, AskedQuestion)
    assert "slow-steps" in first.choices


def test_answers_along_the_triage_reach_the_cause(doctor: Diagnoser) -> None:
    answers = {"symptom": "slow-steps", "tinker.tree.performance/environment": "stable",
               "tinker.tree.performance/pipelining": "sequential"}  # fmt: skip
    done = walk(Dialogue(doctor), lambda q: answers.get(q.id, UNKNOWN))
    assert done.report.diagnoses[0].id == "tinker.perf.missing-pipelining"


def test_a_probe_is_offered_before_its_question(doctor: Diagnoser) -> None:
    dialogue = Dialogue(doctor, runnable=["environment"])
    first = dialogue.next()
    assert isinstance(first, AskedQuestion)
    offer = dialogue.answered(first, "slow-steps").next()
    assert isinstance(offer, Offer)
    assert offer.probe == "environment"


def complain(doctor: Diagnoser, symptom: str, *probes: str) -> Dialogue:
    fact = doctor.base.vocabulary.fact("symptom", name=symptom)
    return Dialogue(doctor, (), probes).informed("complaint", [fact])


def test_a_question_ahead_of_its_turn_counts_and_leaves_the_others_open(doctor: Diagnoser) -> None:
    sets = {"kind": "answer", "question": "tinker.tree.performance/timing"}
    later = AskedQuestion(sets["question"], "", "", {"data": "", "wait": ""}, "", (), sets)
    told = complain(doctor, "slow-steps").answered(later, "data")
    assert told.report.diagnoses[0].id == "tinker.perf.data-loading-bottleneck"
    assumed = [f for f in told.facts if f.provenance and f.provenance[0].source == "passed over"]
    assert {f.get("value") for f in assumed} == {UNKNOWN}
    for further in ("wait", UNKNOWN):
        asked = {q.id for q in steps_of(complain(doctor, "slow-steps").answered(later, further))}
        assert {f"tinker.tree.performance/{n}" for n in ("environment", "pipelining")} <= asked


def steps_of(dialogue: Dialogue) -> list[AskedQuestion]:
    """The questions to a user who knows nothing."""
    found = []
    while (step := (dialogue.more() if dialogue.paused else dialogue).next()) is not None:
        if isinstance(step, AskedQuestion):
            found.append(step)
            dialogue = dialogue.answered(step, UNKNOWN)
        else:
            dialogue = dialogue.declined(step)
    return found


@pytest.mark.parametrize(
    "symptom", ["e2e-fails", "component-fails", "smoke-test-bad", "port-check"]
)
def test_the_stage_order_of_a_port_check_is_never_overridden(
    doctor: Diagnoser, symptom: str
) -> None:
    tree = next(t for t in doctor.base.catalogue["trees"].values() if t["symptom"] == symptom)
    names = [q.id.rpartition("/")[2] for q in steps_of(complain(doctor, symptom)) if "/" in q.id]
    asked = [name for name in names if name in tree["nodes"]]
    assert asked
    assert asked == sorted(asked, key=list(tree["nodes"]).index)


def test_a_gate_is_not_asked_ahead_of_the_nodes_before_it(doctor: Diagnoser) -> None:
    asked = [q.id for q in steps_of(complain(doctor, "output-mismatch"))]
    before = [n for n in asked if n.startswith("tinker.tree.output-mismatch/")]
    assert before[-1] == "tinker.tree.output-mismatch/confirmed"


def test_answers_about_one_thing_are_one_fact_also_after_a_change(doctor: Diagnoser) -> None:
    def ask(attribute: str) -> AskedQuestion:
        sets = {"kind": "merge", "attribute": attribute}
        return AskedQuestion(f"merge().{attribute}", "", "", {}, "", (), sets)

    told = complain(doctor, "output-mismatch").answered(ask("method"), "custom")
    told = told.answered(ask("dtype"), "bfloat16")
    assert "tinker.export.low-precision-merge" in {d.id for d in told.report.diagnoses}
    changed = told.changed(1, "cookbook")
    merges = [f for f in changed.facts if f.kind == "merge"]
    assert {f.get("method") for f in merges} == {"cookbook"}


def test_who_has_no_complaint_is_asked_what_there_is_to_look_at(doctor: Diagnoser) -> None:
    dialogue = Dialogue(doctor, (), ["environment"], ["experiment", "script"])
    first = dialogue.next()
    assert isinstance(first, AskedQuestion)
    second = (dialogue := dialogue.answered(first, UNKNOWN)).next()
    assert isinstance(second, AskedQuestion)
    assert set(second.choices) == {"environment", "experiment", "script"}
    offer = dialogue.answered(second, "script").next()
    assert isinstance(offer, Offer)
    assert (offer.probe, offer.reads) == ("script", True)
    assert dialogue.answered(second, UNKNOWN).next() is None


def test_the_conclusion_says_what_to_do_and_what_would_refute_it(doctor: Diagnoser) -> None:
    told = complain(doctor, "slow-steps").answered(
        AskedQuestion("tinker.tree.performance/pipelining", "", "", {"sequential": ""}, "", (),
                 {"kind": "answer", "question": "tinker.tree.performance/pipelining"}),
        "sequential",
    )  # fmt: skip
    conclusion = told.conclusion
    cause = conclusion.causes[0]
    assert conclusion.outcome == "cause"
    assert cause.diagnosis.id == "tinker.perf.missing-pipelining"
    assert cause.confidence.startswith("likely")
    assert cause.actions[0].do and cause.actions[0].verify
    assert cause.evidence and cause.because and cause.refuted_by
    assert "Training steps are slow" in cause.accounts_for


def test_without_facts_nothing_is_concluded(doctor: Diagnoser) -> None:
    assert Dialogue(doctor).conclusion.outcome == "nothing"
    assert complain(doctor, "slow-steps").conclusion.outcome == "symptom"


def test_an_escalation_comes_with_its_packet(doctor: Diagnoser) -> None:
    fact = doctor.base.vocabulary.fact
    told = Dialogue(doctor).informed("metrics", [
        fact("symptom", name="slow-steps"),
        fact("package", name="pydantic", version="2.12.5"),
        fact("package", name="tinker", version="0.38.0"),
        fact("code_pattern", pattern="cookbook-train-loop"),
        fact("gil_jitter", max_s=0.02),
        fact("service_check", check="capabilities", ok=True, latency_s=0.2),
        fact("profile", async_mode=True, waiting_share=0.93),
        fact("timing_summary", operation="forward_backward", submit_s=0.01, wait_s=52.0),
    ])  # fmt: skip
    packet = next(p for p in told.conclusion.packets if p.diagnosis.endswith("server-side-slow"))
    assert packet.wanted
    assert any("wait_s=52" in fact for fact in packet.known)
    assert packet.excluded


def test_an_answer_that_does_not_fit_is_refused_with_what_would(doctor: Diagnoser) -> None:
    dialogue = Dialogue(doctor)
    first = dialogue.next()
    assert isinstance(first, AskedQuestion)
    with pytest.raises(ModelMedicError, match="slow-steps"):
        dialogue.answered(first, "no-such-symptom")


def test_a_number_chooses(doctor: Diagnoser) -> None:
    dialogue = Dialogue(doctor)
    first = dialogue.next()
    assert isinstance(first, AskedQuestion)
    place = list(first.choices).index("hang") + 1
    assert dialogue.answered(first, str(place)).facts[0].get("name") == "hang"


def seeded(seed: int) -> Callable[[AskedQuestion], str]:
    """Choices that depend on the question alone, so that every replay makes the same ones."""

    def choose(question: AskedQuestion) -> str:
        options = [*question.choices, UNKNOWN]
        if not question.choices:
            return UNKNOWN
        return options[(seed * 31 + sum(map(ord, question.id))) % len(options)]

    return choose


@given(seed=st.integers(0, 10_000))
@settings(max_examples=25)
def test_every_session_ends_and_asks_nothing_twice(doctor: Diagnoser, seed: int) -> None:
    done = walk(Dialogue(doctor), seeded(seed))
    asked = [entry.question for entry in done.entries]
    assert len(asked) == len(set(asked))


@given(seed=st.integers(0, 10_000), turns=st.integers(1, 8))
@settings(max_examples=25)
def test_undoing_equals_never_having_answered(doctor: Diagnoser, seed: int, turns: int) -> None:
    choose = seeded(seed)
    dialogue = Dialogue(doctor)
    for _ in range(turns):
        step = dialogue.next()
        if not isinstance(step, AskedQuestion):
            break
        before, dialogue = dialogue, dialogue.answered(step, choose(step))
        undone = dialogue.undone()
        assert undone.report.plain() == before.report.plain()
        assert undone.next() == step


@given(seed=st.integers(0, 10_000))
@settings(max_examples=15)
def test_changing_an_answer_equals_giving_it_at_once(doctor: Diagnoser, seed: int) -> None:
    choose = seeded(seed)
    first = Dialogue(doctor).next()
    assert isinstance(first, AskedQuestion)
    names = list(first.choices)
    one, other = names[seed % len(names)], names[(seed + 1) % len(names)]
    changed = Dialogue(doctor).answered(first, one).changed(0, other)
    assert changed.report.plain() == Dialogue(doctor).answered(first, other).report.plain()
    assert (
        walk(changed, choose).report.plain()
        == walk(Dialogue(doctor).answered(first, other), choose).report.plain()
    )


def test_what_was_not_known_can_be_answered_later(doctor: Diagnoser) -> None:
    told = complain(doctor, "slow-steps")
    while (step := told.next()) is not None:
        assert isinstance(step, AskedQuestion)
        told = told.answered(step, UNKNOWN)
    for number, entry in enumerate(told.entries[1:], 1):
        question = doctor.gathering.again(entry.question)
        assert question is not None, entry.question
        if entry.question.endswith("/pipelining"):
            changed = told.changed(number, "sequential")
            assert changed.report.diagnoses[0].id == "tinker.perf.missing-pipelining"
            break
    else:
        raise AssertionError("the triage does not ask about pipelining")
