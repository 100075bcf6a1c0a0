"""Questions in a world of a few rules, where the right ones can be worked out by hand."""

from collections.abc import Callable
from pathlib import Path

import pytest

from modelmedic.engine import Diagnoser
from modelmedic.engine.compiler.knowledge_base import KnowledgeBase
from modelmedic.engine.diagnosis.dialogue.dialogue import UNKNOWN, AskedQuestion, Dialogue, Offer
from modelmedic.facts import Fact

WORLD = """
schema: modelmedic/diagnoses/1
domain: tinker
sources: [{ref: made up}]
diagnoses:
  - id: tinker.toy.slow
    title: It is slow
    severity: error
    kind: symptom
    summary: Slow.
    actions: [{do: Look.}]
  - id: tinker.toy.one
    title: The first cause
    severity: error
    kind: root-cause
    summary: One.
    explains: [tinker.toy.slow]
    actions: [{do: Mend it., verify: It is fast.}]
  - id: tinker.toy.two
    title: The second cause
    severity: error
    kind: root-cause
    summary: Two.
    explains: [tinker.toy.slow]
    actions: [{do: Mend it., verify: It is fast.}]
---
schema: modelmedic/rules/1
domain: tinker
sources: [{ref: made up}]
rules:
  - id: tinker.rule.toy-slow
    title: Slow
    when: {fact: symptom, where: {name: slow-steps}}
    conclude: [{diagnosis: tinker.toy.slow, strength: strong}]
"""

RULE = """
  - id: tinker.rule.toy-{name}
    title: {name}
    when: {{all: [{when}]}}
    conclude: [{{diagnosis: tinker.toy.{cause}, strength: {strength}}}]
"""

IMAGES = "{fact: run_option, where: {option: image-inputs, enabled: true}}"
DEARER = "{fact: image_comparison, where: {aspect: counts, same: false}}"
LONGER = "{fact: tokenization_check, where: {case: default, round_trip: false}}"
SESSION = "{fact: session, where: {known: true}}"
MATCHES = "{fact: session, where: {id_matches: false}}"

Rule = tuple[str, str, str]  # cause, strength, condition
World = Callable[..., Dialogue]


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A consultation about slow steps in a world of some rules."""

    def world(*rules: Rule, known: tuple[Fact, ...] = (), trees: str = "") -> Dialogue:
        diagnoses, base = WORLD.split("---")
        texts = [RULE.format(name=f"r{n}", cause=cause, strength=strength, when=when)
                 for n, (cause, strength, when) in enumerate(rules)]  # fmt: skip
        (tmp_path / "diagnoses.yaml").write_text(diagnoses.lstrip(), encoding="utf-8")
        (tmp_path / "rules.yaml").write_text(base.lstrip() + "".join(texts), encoding="utf-8")
        if trees:
            (tmp_path / "trees.yaml").write_text(trees, encoding="utf-8")
        doctor = Diagnoser.of(KnowledgeBase.load([tmp_path], shipped=False))
        complaint = doctor.base.vocabulary.fact("symptom", name="slow-steps")
        return Dialogue(doctor).informed("complaint", [complaint, *known])

    return world


def asked(dialogue: Dialogue, **answers: str) -> list[str]:
    """The questions to a user who gives the answers by fact kind, else does not know."""
    found = []
    while (step := dialogue.next()) is not None:
        assert not isinstance(step, Offer)
        found.append(step.id)
        dialogue = dialogue.answered(step, answers.get(str(step.sets["kind"]), UNKNOWN))
    return found


def test_what_no_rule_waits_for_is_not_asked(world: World) -> None:
    assert asked(world(("one", "strong", IMAGES))) == ["images-in-run"]
    assert asked(world()) == []


def test_an_answer_that_changes_nothing_is_not_asked_for(world: World) -> None:
    """The cheap question decides nothing: each cause is concluded without it."""
    rules = [(cause, "strong", when) for cause in ("one", "two")
             for when in (DEARER, f"{DEARER}, {IMAGES}")]  # fmt: skip
    assert asked(world(*rules)) == ["export-image-counts"]
    assert asked(world(*rules[1::2]))[0] == "images-in-run", "the cheap one first, where it counts"


def test_the_last_condition_is_worth_asking_for_once_the_other_holds(world: World) -> None:
    both = ("one", "strong", f"{IMAGES}, {SESSION}")
    assert len(asked(world(both), run_option="yes", session="yes")) == 2
    assert len(asked(world(both), run_option="no", session="no")) == 1


def test_nothing_more_is_asked_once_the_complaint_has_its_cause(world: World) -> None:
    rules = [("one", "strong", IMAGES), ("two", "strong", MATCHES)]
    assert len(asked(world(*rules))) == 2
    assert len(asked(world(*rules), run_option="yes", session="no")) == 1


def test_a_lead_is_no_cause_so_the_search_goes_on(world: World) -> None:
    weak = Fact.of("call_outcomes", operation="sample", failed=1)
    rules = [("one", "weak", IMAGES), ("two", "strong", MATCHES)]
    told = world(*rules, known=(weak,))
    assert "session().id_matches" in asked(told, run_option="yes")


def test_the_cheaper_of_two_equal_questions_comes_first(world: World) -> None:
    """Encoding and decoding takes a minute to try."""
    rules = [("one", "strong", LONGER), ("two", "strong", MATCHES)]
    first = world(*rules).next()
    assert isinstance(first, AskedQuestion)
    assert first.id == "session().id_matches"


SECOND = "yes: {when: {fact: session, where: {known: true}}, conclude: [tinker.toy.two]}"
TREE = """
schema: modelmedic/trees/1
domain: tinker
sources: [{{ref: made up}}]
trees:
  - id: tinker.tree.toy
    title: Slow
    symptom: {{name: slow-steps, phrases: [a, b, c]}}
    root: first
    {strict}
    nodes:
      first:
        ask: One?
        why: It separates.
        seconds: {seconds}
        branches:
          yes: {{conclude: [tinker.toy.one]}}
          no: {{goto: second}}
          unknown: {{goto: second}}
      second:
        ask: Two?
        why: It separates.
        seconds: 1
        {gate}
        branches:
          yes: {{when: {{fact: session, where: {{known: true}}}}, conclude: [tinker.toy.two]}}
          no: {{healthy: Fine.}}
          unknown: {{healthy: Fine.}}
"""


@pytest.mark.parametrize(
    ("strict", "gate", "seconds", "first"),
    [
        ("", "", 1, "first"),
        ("", "", 600, "second"),
        ("strict_order: true", "", 600, "first"),
        ("", "gate: true", 600, "first"),
    ],
)
def test_a_later_node_comes_first_where_that_is_better_and_allowed(
    world: World, strict: str, gate: str, seconds: int, first: str
) -> None:
    step = world(trees=TREE.format(strict=strict, gate=gate, seconds=seconds)).next()
    assert isinstance(step, AskedQuestion)
    assert step.id == f"tinker.tree.toy/{first}"


def test_a_fact_settles_a_later_node_and_nobody_is_asked_about_it(world: World) -> None:
    tree = TREE.format(strict="", gate="", seconds=600)
    told = world(trees=tree, known=(Fact.of("session", known=True),))
    assert told.report.diagnoses[0].id == "tinker.toy.two"
    assert "tinker.tree.toy/second" not in asked(told)


def test_a_node_that_facts_have_settled_is_not_asked_though_it_leads_on(world: World) -> None:
    settled = "yes: {when: {fact: session, where: {known: true}}, goto: third}"
    third = """
      third:
        ask: Three?
        why: It separates.
        branches:
          yes: {conclude: [tinker.toy.two]}
          no: {healthy: Fine.}
          unknown: {healthy: Fine.}
"""
    tree = TREE.format(strict="", gate="", seconds=600).replace(SECOND, settled)
    tree = tree.replace("no: {healthy: Fine.}", "no: {conclude: [tinker.toy.two]}")
    told = world(trees=tree.rstrip() + third, known=(Fact.of("session", known=True),))
    assert {"first", "third"} >= {name.rpartition("/")[2] for name in asked(told)}


def test_a_node_that_was_passed_over_is_asked_later(world: World) -> None:
    tree = TREE.format(strict="", gate="", seconds=600)
    assert asked(world(trees=tree)) == ["tinker.tree.toy/second", "tinker.tree.toy/first"]
