"""Ways to make a rule fire, as ``kb coverage`` reports them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
RULES = """
schema: modelmedic/rules/1
domain: local
sources: [{ref: local notes}]
rules:
  - id: local.rule.asked
    title: Space is short
    when: {fact: disk_space, where: {free_over_model: {lt: 1}}}
    conclude: [{diagnosis: local.disk.full, strength: weak}]
"""
CASES = "schema: modelmedic/tests/1\ncases: []\n"


@pytest.mark.deep
def test_every_shipped_rule_can_be_reached(diagnose: Run, disk: Callable[[str, str], Path]) -> None:
    answer = diagnose("kb", "coverage", "--kb", disk(RULES, CASES), "-f", "json")
    ways = {each["rule"]: each["from"] for each in answer.json["reach"]}
    shipped = {name: way for name, way in ways.items() if not name.startswith("local.")}
    assert len(shipped) > 2_000
    assert set(shipped.values()) <= {"both", "probe", "question", "together"}
    assert ways["local.rule.asked"] in ("both", "question", "probe")
