"""``kb mutate``: options, formats, exit codes, suggestions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

Run = Callable[..., Any]

pytestmark = pytest.mark.slow

RULES = """
schema: modelmedic/rules/1
domain: local
sources: [{ref: local notes}]
rules:
  - id: local.rule.disk
    title: The disk is full
    when: {fact: disk_space, where: {free_over_model: {lt: 1}}}
    conclude: [{diagnosis: local.disk.full, strength: weak}]
"""
CASES = """
schema: modelmedic/tests/1
cases:
  - {name: full, kind: fires, entry: local.rule.disk,
     facts: [{kind: disk_space, free_over_model: 0.1}]}
  - {name: room, kind: silent, entry: local.rule.disk,
     facts: [{kind: disk_space, free_over_model: 90}]}
  - {name: not seen, kind: unknown, entry: local.rule.disk, facts: []}
"""


@pytest.fixture
def overlay(disk: Callable[[str, str], Path]) -> Path:
    return disk(RULES, CASES)


def test_survivors_are_listed_with_the_missing_test_and_suggested(
    on_small: Run, overlay: Path, tmp_path: Path
) -> None:
    target = tmp_path / "more.test.yaml"
    options = ("--entry", "local.rule.disk", "--kb", overlay)
    answer = on_small("kb", "mutate", *options, "--suggest", target)
    assert answer.code == 0
    assert on_small("kb", "mutate", *options, "--at-least", "90").code == 3
    assert "SURVIVED local/disk.yaml:8:" in answer.out
    assert "free_over_model lt 1 becomes le" in answer.out
    assert "missing: a 'silent' case of local.rule.disk: free_over_model is exactly 1" in answer.out
    suggested = yaml.safe_load(target.read_text())["cases"]
    assert {"kind": "disk_space", "free_over_model": 1} in [c["facts"][0] for c in suggested]
    (overlay / "more.test.yaml").write_text(target.read_text())
    better = on_small("kb", "mutate", *options, "--at-least", "90", "-f", "json")
    assert better.code == 0
    assert better.json["survived"] == 0 and better.json["score"] == 100.0
    assert on_small("kb", "test", "local/", "--kb", overlay).code == 0


def test_a_sample_is_repeatable_and_bounded(on_small: Run) -> None:
    options = ("kb", "mutate", "--sample", "4", "--jobs", "1", "-f", "json")
    one, same = (on_small(*options, "--seed", "5") for _ in range(2))
    other = on_small(*options, "--seed", "6")
    assert one.out == same.out != other.out
    counts = [one.json[n] for n in ("killed", "survived", "equivalent", "invalid")]
    assert sum(counts) == 4 and one.code == 0


def test_an_unknown_entry_is_refused(on_small: Run) -> None:
    answer = on_small("kb", "mutate", "--entry", "tinker.rule.nonsense")
    assert answer.code == 2 and "MM303" in answer.err


ACCEPTED = """
schema: modelmedic/tests/1
cases: []
accepted_faults:
  - entry: local.rule.disk
    fault: "flip operator: free_over_model lt 1 becomes le"
    reason: Exactly one is as good as none.
  - entry: local.rule.disk
    fault: "drop test: the test free_over_model: {lt: 1} is dropped"
    reason: Nobody measures anything else.
"""


def test_a_survivor_is_accepted_with_a_reason_and_a_stale_acceptance_is_named(
    on_small: Run, overlay: Path
) -> None:
    (overlay / "accepted.test.yaml").write_text(ACCEPTED)
    options = ("--entry", "local.rule.disk", "--kb", overlay)
    answer = on_small("kb", "mutate", *options)
    assert "ACCEPTED local/disk.yaml:8:" in answer.out
    assert "because: Exactly one is as good as none." in answer.out
    assert "STALE" in answer.out and "MM319" in answer.out and "accepted.test.yaml:8:" in answer.out
    assert answer.code == 3
    (overlay / "accepted.test.yaml").write_text(ACCEPTED.rpartition("  - entry")[0])
    better = on_small("kb", "mutate", *options, "-f", "json")
    assert better.code == 0 and better.json["accepted"] == 1 and better.json["stale"] == []
    assert better.json["survived"] >= 1  # accepted faults are not noticed all the same
    assert on_small("kb", "lint", "--kb", overlay).code == 0


def test_a_share_just_below_the_bar_is_not_printed_as_the_bar() -> None:
    from modelmedic.authoring.mutation import Score

    assert Score(12_003, 1_336, 0, 0).percent == 89.98
    assert Score(89_999, 10_001, 0, 0).percent == 89.99
    assert Score(0, 0, 3, 0).percent == 100


def test_suggestions_never_replace_a_file(on_small: Run, overlay: Path) -> None:
    taken = overlay / "disk.test.yaml"
    answer = on_small("kb", "mutate", "--entry", "local.rule.disk", "--suggest", taken)
    assert answer.code == 2 and "MM305" in answer.err and taken.read_text() == CASES
