"""Joins: what they make, and the bound on their work, which counts the different partial matches of
two slots or more that are made along the join order of each rule."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from modelmedic.engine.inference import join_strategy
from modelmedic.engine.inference.derivation import join_order
from modelmedic.facts import Fact, Value

many = settings(max_examples=100, deadline=None, database=None,
                suppress_health_check=list(HealthCheck))  # fmt: skip
ENDS = {name: {"type": "integer", "required": True} for name in ("a", "b")}
GIVEN: dict[str, Any] = {"functional": False, "attributes": ENDS}
MADE: dict[str, Any] = {"derived": True, "key": ["a", "b"], "attributes": ENDS}
KINDS = {"left": GIVEN, "right": GIVEN, "third": GIVEN, "pair": MADE, "far": MADE, "lone": MADE}
# Given facts with given ones; with derived ones that come later, from both ends and in two slots at
# once; four slots; slots with nothing in common; and an absence.
RULES = {
    "static": (["left x y", "right y z"], "pair x z"),
    "waits": (["pair x z", "third z w"], "far x w"),
    "loop": (["far x y", "left y z", "right z w"], "pair x w"),
    "twice": (["third x x", "pair x y"], "far y x"),
    "itself": (["pair x y", "pair y z"], "far x z"),
    "four": (["left x y", "far y z", "right z w", "third w w"], "pair x w"),
    "cross": (["third x x", "far y y"], "pair y y"),
    "absent": (["left x y", "right y z", "-far x z"], "lone x z"),
}
NUMBERS: list[Value] = [0, 1, 2, 3, 2.5, "1"]
TRUTHS: list[Value] = [True, False, 2, 3, 2.5, "1"]  # true is not 1


def literal(text: str) -> dict[str, Any]:
    kind, a, b = text.lstrip("-").split()
    pattern = {"fact": kind, "where": {"a": f"${a}", "b": f"${b}"}}
    return {"absent": pattern} if text.startswith("-") else pattern


@pytest.fixture(scope="module")
def world(kit: Any) -> Any:
    rules = []
    for name, (when, made) in RULES.items():
        kind, a, b = made.split()
        conclusion = {"fact": kind, "set": {"a": f"${a}", "b": f"${b}"}}
        rules.append((name, {"all": [literal(text) for text in when]}, conclusion))
    return kit.make_world(KINDS, kit.knowledge_of(rules), kit.ENGINES)


def relation(kind: str, first: list[Value]) -> Any:
    pair = st.tuples(st.sampled_from(first), st.sampled_from(NUMBERS))
    return st.lists(pair, max_size=12).map(
        lambda pairs: [Fact.of(kind, a=a, b=b) for a, b in pairs]
    )


FACTS = st.tuples(
    relation("left", NUMBERS), relation("right", NUMBERS), relation("third", TRUTHS)
).map(lambda each: [fact for facts in each for fact in facts])


def test_all_strategies_join_alike(world: Any, kit: Any) -> None:
    fired: set[str] = set()

    @settings(many, max_examples=150, derandomize=True)
    @given(FACTS, st.randoms(use_true_random=True))
    def alike(facts: Any, rng: Any) -> None:
        found = [kit.exact(doctor.backend.derive(facts)) for doctor in world.doctors.values()]
        rng.shuffle(facts)
        found += [kit.exact(doctor.backend.derive(facts)) for doctor in world.doctors.values()]
        assert all(each == found[0] for each in found)
        fired.update(world.base.program.rules[number].entry for number, *_ in found[0][1])

    alike()
    assert fired == {f"t.rule.{name}" for name in RULES}


def partial_matches(rule: Any, program: Any, facts: Any) -> int:
    """Counted by trying every fact with every other."""
    slots = [x for x in rule.literals if x.mode == "match"]
    known = [[f for f in facts if f.kind == program.patterns[x.pattern].kind] for x in slots]
    order = join_order([[v for _, v in x.joins] for x in slots])
    if max(map(len, known)) == 1:
        return 0  # nothing to join
    count = 0
    for length in range(2, len(order) + 1):
        found = set()
        for chosen in itertools.product(*(known[n] for n in order[:length])):
            pairs = [(v, fact.get(a)) for n, fact in zip(order, chosen, strict=False)
                     for a, v in slots[n].joins]  # fmt: skip
            bound = {(v, type(value) is bool, value) for v, value in pairs}
            if len(bound) == len({v for v, _ in pairs}):
                found.add(frozenset(bound))
        count += len(found)
    return count if all(known) else 0


def test_the_work_is_that_of_trying_all(world: Any, kit: Any, engine: str) -> None:
    """It depends neither on the strategy nor on the order of facts. One less is too little."""
    works = []
    doctor = world.doctors[engine]
    rules = world.base.program.rules

    @settings(many, max_examples=40, derandomize=True)
    @given(FACTS, st.randoms(use_true_random=True))
    def law(facts: Any, rng: Any) -> None:
        whole = doctor.backend.derive(facts)
        work = sum(partial_matches(r, world.base.program, whole.facts) for r in rules)
        rng.shuffle(facts)
        assert kit.limited(doctor, max_join_work=work).backend.derive(facts) == whole
        if work:
            assert kit.limited(doctor, max_join_work=work - 1).backend.derive(facts).capped
        works.append(work)

    law()
    assert max(works) > 40 and sum(work > 0 for work in works) > 10


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 3, 20])
def test_backends_stop_alike(worlds: Any, kit: Any, most: int) -> None:
    """The facts left after a stop do not depend on the backend, nor on the order of the facts, and
    are a part of what the whole run derives."""
    stopped = []

    @seed(1)
    @many
    @given(worlds.specs(), st.data(), st.randoms(use_true_random=True))
    def law(spec: Any, data: Any, rng: Any) -> None:
        world = kit.make_world(spec.kinds, spec.files, kit.ENGINES)
        facts = world.facts(data.draw(worlds.fact_sets(spec.kinds)))
        (whole, *_) = (doctor.backend.derive(facts) for doctor in world.doctors.values())
        found = []
        for doctor in world.doctors.values():
            rng.shuffle(facts)
            found.append(kit.limited(doctor, max_join_work=most).backend.derive(facts))
        assert len({json.dumps(kit.exact(each), default=str) for each in found}) == 1
        assert set(found[0].facts) <= set(whole.facts)
        assert bool(found[0].capped) or kit.exact(found[0]) == kit.exact(whole)
        stopped.append(bool(found[0].capped))

    law()
    assert 0 < sum(stopped) < len(stopped)


def unrelated(*kinds: str) -> dict[str, Any]:
    """Patterns that have nothing in common."""
    return {"all": [{"fact": kind, "where": {"s": f"$v{n}"}} for n, kind in enumerate(kinds)]}


WORD = {"functional": False, "attributes": {
    "s": {"type": "string", "required": True}, "t": {"type": "string"}}}  # fmt: skip
ONE = {"diagnosis": "t.d.one"}


@pytest.fixture
def wide(kit: Any, engine: str) -> Any:
    """A world in which two rules pair every left with every right and third, and each left becomes
    a right."""
    rules = [
        ("pairs", unrelated("left", "right"), ONE),
        ("again", unrelated("left", "third"), ONE),
        ("grow", unrelated("left"), {"fact": "right", "set": {"s": "$v0"}}),
    ]
    kinds = dict.fromkeys(("left", "right", "third"), WORD)
    world = kit.make_world(kinds, kit.knowledge_of(rules), [engine])

    def wide(most: int, **counts: int) -> Any:
        flats = [{"kind": k, "s": f"{k}{n}"} for k, count in counts.items() for n in range(count)]
        doctor = kit.limited(world.doctors[engine], max_join_work=most)
        return doctor.diagnose(world.facts(flats))

    return wide


def test_the_report_says_that_it_is_incomplete(wide: Any) -> None:
    report = wide(1_000, left=2, right=600)
    assert [p.code for p in report.errors] == ["MM301"]
    assert "more than 1,000 combinations" in report.errors[0].message
    assert not report.diagnoses and len(report.facts) == 602
    assert not wide(1_300, left=2, right=600).errors


def test_facts_that_rules_add_count(wide: Any) -> None:
    """30 lefts and 10 rights are 300 pairs; the rule that makes each left a right adds 900."""
    assert [p.code for p in wide(1_199, left=30, right=10).errors] == ["MM301"]
    assert not wide(1_200, left=30, right=10).errors


def test_all_rules_together_have_one_bound(wide: Any) -> None:
    """40 x 60 pairs with the rights that are made, 40 x 50 with the thirds."""
    assert not wide(4_400, left=40, right=20, third=50).errors
    assert [p.code for p in wide(4_399, left=40, right=20, third=50).errors] == ["MM301"]


@pytest.mark.parametrize("strategy", ["durable", "native"])
@pytest.mark.parametrize("count", [300, 600, 1_000, 1_500])
@pytest.mark.parametrize("common", [False, True], ids=["nothing in common", "one value for all"])
def test_a_hostile_join_stops_at_its_bound(
    kit: Any, monkeypatch: pytest.MonkeyPatch, strategy: str, count: int, common: bool
) -> None:
    """The work is counted in rows taken and partial matches made: times depend on machines."""
    if strategy not in kit.ENGINES:
        pytest.skip("durable-rules is not installed")
    spent = []
    spend = join_strategy.Budget.spend

    def counted(budget: Any, number: int) -> None:
        spent.append(number)
        spend(budget, number)

    monkeypatch.setattr(join_strategy.Budget, "spend", counted)
    when = unrelated(*["word"] * 4)
    for part in when["all"] if common else ():
        part["where"]["t"] = "$shared"
    world = kit.make_world({"word": WORD}, kit.knowledge_of([("r", when, ONE)]), [strategy])
    facts = world.facts({"kind": "word", "s": str(n), "t": "same"} for n in range(count))
    most = 20_000
    report = kit.limited(world.doctors[strategy], max_join_work=most).diagnose(facts, plan=False)
    assert [p.code for p in report.errors] == ["MM301"] and not report.diagnoses
    assert most < sum(spent) <= 2 * most + 2 * count
    assert len(spent) <= most + 4 * count
