"""What is left out of joins, or held back from them, changes nothing that is derived."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from modelmedic.engine.inference.durable import DurableBackend
from modelmedic.engine.inference.durable_network import DurableNetwork
from modelmedic.facts import Fact

ENDS = {name: {"type": "integer", "required": True, "description": name} for name in ("a", "b")}
GIVEN: dict[str, Any] = {"description": "given", "functional": False, "attributes": ENDS}
MADE: dict[str, Any] = {
    "description": "derived", "derived": True, "key": ["a", "b"], "attributes": ENDS,
}  # fmt: skip
KINDS = {"left": GIVEN, "right": GIVEN, "third": GIVEN, "pair": MADE, "far": MADE, "lone": MADE}
# Given facts with given ones; with derived ones that come later, from both ends; and an absence.
RULES = {
    "static": (["left x y", "right y z"], "pair x z"),
    "waits": (["pair x z", "third z w"], "far x w"),
    "loop": (["far x y", "left y z", "right z w"], "pair x w"),
    "twice": (["third x x", "pair x y"], "far y x"),
    "absent": (["left x y", "right y z", "-far x z"], "lone x z"),
}


def literal(text: str) -> dict[str, Any]:
    kind, a, b = text.lstrip("-").split()
    pattern = {"fact": kind, "where": {"a": f"${a}", "b": f"${b}"}}
    return {"absent": pattern} if text.startswith("-") else pattern


@pytest.fixture(scope="module")
def world(kit: Any) -> Any:
    entries = [
        {
            "id": f"made.rule.{name}",
            "title": name,
            "when": {"all": [literal(text) for text in when]},
            "conclude": [{"fact": (words := made.split())[0],
                          "set": {"a": f"${words[1]}", "b": f"${words[2]}"}}],
        }
        for name, (when, made) in RULES.items()
    ]  # fmt: skip
    rules = {"schema": "modelmedic/rules/1", "domain": "made", "rules": entries}
    return kit.make_world(KINDS, {"rules": rules}, kit.ENGINES)


def facts_of(kind: str, pairs: Any) -> list[Fact]:
    return [Fact.of(kind, a=a, b=b) for a, b in pairs]


def test_the_same_is_derived_as_without(world: Any, kit: Any) -> None:
    if len(world.doctors) < 2:
        pytest.skip("needs both backends")
    derived: set[str] = set()
    pairs = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=25)

    @settings(max_examples=200, deadline=None, database=None, derandomize=True,
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(pairs, pairs, pairs)
    def alike(left: Any, right: Any, third: Any) -> None:
        facts = facts_of("left", left) + facts_of("right", right) + facts_of("third", third)
        found = [doctor.backend.derive(facts) for doctor in world.doctors.values()]
        assert kit.exact(found[0]) == kit.exact(found[1])
        derived.update(world.base.program.rules[f.rule].id for f in found[0].firings)

    alike()
    assert {name.removeprefix("made.rule.").split("#")[0] for name in derived} == set(RULES)


class Counted(DurableNetwork):
    """Counts what it is fed."""

    marks = 0

    def session(self) -> Any:
        session = super().session()
        feed = session.feed

        class Session:
            def __getattr__(self, name: str) -> Any:
                return getattr(session, name)

            def feed(self, marks: Any) -> Any:
                Counted.marks += len(marks)
                return feed(marks)

        return Session()


def fed(world: Any, facts: list[Fact]) -> tuple[int, int]:
    """Marks fed, and firings."""
    Counted.marks = 0
    backend = DurableBackend(world.base.program, world.base.defaults, network=Counted)
    firings = backend.derive(facts).firings
    return Counted.marks, len(firings)


def test_what_has_no_partner_is_not_fed(world: Any) -> None:
    left = facts_of("left", ((n, 1_000 + n) for n in range(300)))
    right = facts_of("right", ((2_000 + n, n) for n in range(300)))
    third = facts_of("third", ((n, n) for n in range(300)))
    assert fed(world, left + right + third) == (0, 0)
    meeting = facts_of("left", [(500, 2_000), (501, 2_001)])
    marks, firings = fed(world, left + right + third + meeting)
    assert firings >= 4  # two pairs, and what follows from them
    assert marks < 40
