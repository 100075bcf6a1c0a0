"""``kb coverage``: what the tests exercise, unit by unit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.deep

Run = Callable[..., Any]

RULES = """
schema: modelmedic/rules/1
domain: local
sources: [{ref: local notes}]
rules:
  - id: local.rule.disk
    title: The disk is full
    when:
      any:
        - {fact: disk_space, where: {free_over_model: {lt: 1}}}
        - {fact: disk_space, where: {free_over_model: {gt: 123456}}}
    conclude: [{diagnosis: local.disk.full, strength: weak}]
  - id: local.rule.untested
    title: The disk is nearly full
    when: {fact: disk_space, where: {free_over_model: {lt: 1}}}
    conclude: [{diagnosis: local.disk.full, strength: weak}]
"""
CASES = """
schema: modelmedic/tests/1
cases:
  - {name: full, kind: fires, entry: local.rule.disk,
     facts: [{kind: disk_space, free_over_model: 0.1}]}
"""


@pytest.fixture
def overlay(disk: Callable[[str, str], Path]) -> Path:
    return disk(RULES, CASES)


def test_alternatives_that_no_case_fires_and_untested_entries_are_named(
    on_small: Run, overlay: Path
) -> None:
    answer = on_small("kb", "coverage", "--kb", overlay, "-f", "json")
    local = [x for x in answer.json["not_exercised"] if x["entry"].startswith("local.")]
    assert [(x["entry"], x["unit"], x["name"]) for x in local] == [
        ("local.rule.disk", "leaves", "when.any.1"),
        ("local.rule.untested", "entries", "local.rule.untested"),  # it fires, but no case asked
        ("local.rule.untested", "leaves", "when"),
    ]
    assert local[0]["where"] == "local/disk.yaml:11:11"
    assert answer.code == 0


def test_the_shipped_tests_exercise_nearly_everything(diagnose: Run) -> None:
    answer = diagnose("kb", "coverage", "-f", "json")
    counts = answer.json["exercised"]
    assert set(counts) == {"entries", "leaves", "branches", "bands", "rows", "causes"}
    for unit in ("entries", "bands", "rows", "causes"):
        assert counts[unit]["shown"] == counts[unit]["all"] > 60
    assert counts["leaves"]["shown"] > 0.95 * counts["leaves"]["all"]
    assert diagnose("kb", "coverage", "--at-least", "100.1").code == 3
    assert " exercised (" in diagnose("kb", "coverage").out
