"""The boundary cases that are generated: they agree with sound knowledge, and notice an engine that
runs something other than the YAML."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from modelmedic.authoring.testing.boundary import BoundaryCases
from modelmedic.engine import Diagnoser
from modelmedic.engine.compiler.source.knowledge_source import Item
from modelmedic.facts import Fact

FILES = sorted(Path(__file__).with_name("cases").glob("*.yaml"))
CASES = [
    pytest.param(case, id=f"{path.stem}-{number}")
    for path in FILES
    for number, case in enumerate(yaml.safe_load_all(path.read_text("utf-8")))
]
EVERY_SYMPTOM = {"the test name: slow is dropped", "the test name: dead is dropped"}
"""Between them the alternatives name every symptom there is, so nothing is different."""
UNCHECKED = "change strength"
"""Boundary cases say what is concluded, not how surely."""


def _boundary(shop: Any, doctor: Diagnoser) -> BoundaryCases:
    def examples(item: Item) -> Iterator[list[Fact]]:
        return (list(t.given) for t in shop.trials.all if t.case.entry == item.id)

    return BoundaryCases(doctor, shop.built.source, examples)


@pytest.mark.parametrize("case", CASES)
def test_sound_knowledge_passes_and_every_rule_is_reached(workshop: Any, case: Any) -> None:
    shop = workshop(case["entries"], case["cases"])
    boundary = _boundary(shop, shop.trials.doctor)
    for item in shop.built.source.items:
        checked = boundary.check(item)
        assert checked.failures == () and checked.never == (), item.id
        assert (checked.cases > 2) == (item.form != "diagnosis")


@pytest.mark.parametrize("case", CASES)
def test_rules_that_differ_from_the_yaml_are_noticed(workshop: Any, case: Any) -> None:
    shop = workshop(case["entries"], case["cases"])
    slices = shop.trials.slices
    missed = []
    for item in shop.built.source.items:
        for fault in shop.mutation.faults(item):
            outcome = shop.mutation.verdict(fault).outcome
            if outcome in ("equivalent", "invalid") or fault.operator == UNCHECKED:
                continue
            kept = [rule for rule in shop.built.rules if rule.entry != item.id]
            boundary = _boundary(shop, slices.small_doctor([*kept, *fault.rules]))
            if not boundary.check(item).failures:
                missed.append(fault.what)
    assert set(missed) <= EVERY_SYMPTOM
