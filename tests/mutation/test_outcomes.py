"""The faults that the cases of small knowledge bases notice, as the data files say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

FILES = sorted(Path(__file__).with_name("cases").glob("*.yaml"))
CASES = [
    pytest.param(case, id=f"{path.stem}-{number}")
    for path in FILES
    for number, case in enumerate(yaml.safe_load_all(path.read_text("utf-8")))
]


@pytest.mark.parametrize("case", CASES)
def test_the_survivors_are_those_that_no_case_shows(workshop: Any, case: dict[str, Any]) -> None:
    verdicts = workshop(case["entries"], case["cases"]).verdicts
    assert [v.what for v in verdicts if v.outcome == "survived"] == case["survivors"]
    assert any(v.outcome == "killed" for v in verdicts)


@pytest.mark.parametrize("case", CASES)
def test_every_survivor_says_where_it_is_and_which_test_is_missing(
    workshop: Any, case: dict[str, Any]
) -> None:
    for verdict in workshop(case["entries"], case["cases"]).verdicts:
        assert bool(verdict.missing) == (verdict.outcome == "survived")
        assert bool(verdict.noticed_by) == (verdict.outcome == "killed")
        assert verdict.where.path == "toy/entries.yaml" and verdict.where.line > 1
        assert verdict.entry in verdict.missing or not verdict.missing


@pytest.mark.parametrize("case", CASES)
def test_the_tests_that_are_found_missing_notice_the_survivors(
    workshop: Any, case: dict[str, Any]
) -> None:
    shop = workshop(case["entries"], case["cases"])
    found = []
    for item in shop.built.source.items:
        outcomes = [verdict.outcome for verdict in shop.mutation.verdicts(item)]
        survivors = [place for place, outcome in enumerate(outcomes) if outcome == "survived"]
        missing = shop.mutation.missing_tests(item, survivors)
        found += [witness.plain(f"missing {n}") for n, (_, witness) in enumerate(missing)]
    tests = yaml.safe_load(case["cases"])
    tests["cases"] += found
    better = workshop(case["entries"], yaml.safe_dump(tests))
    left = [v.what for v in better.verdicts if v.outcome == "survived"]
    assert len(left) <= len(case["survivors"]) // 4, left


def test_nothing_is_counted_that_changes_nothing(workshop: Any) -> None:
    entries = """
schema: modelmedic/rules/1
domain: toy
sources: [{ref: made up}]
rules:
  - id: toy.rule.seen
    title: It was seen
    when: {fact: reading, where: {name: {known: true}, count: {ge: 0}, good: true}}
    conclude: [{diagnosis: toy.fine, strength: weak}]
"""
    cases = """
schema: modelmedic/tests/1
cases:
  - {name: seen, kind: fires, entry: toy.rule.seen,
     facts: [{kind: reading, name: a, count: 0, good: true}],
     expect: {confidence: {toy.fine: possible}}}
  - {name: not good, kind: silent, entry: toy.rule.seen,
     facts: [{kind: reading, name: a, count: 0, good: false}]}
  - {name: not counted, kind: unknown, entry: toy.rule.seen,
     facts: [{kind: reading, name: a, good: true}]}
"""
    shop = workshop(entries, cases)
    outcomes = {v.what: v.outcome for v in shop.verdicts}
    assert outcomes["the test name: {known: true} is dropped"] == "equivalent"  # all have a name
    assert "count ge 0 becomes ge -1" not in outcomes  # there is no count below 0
    assert shop.score == (len(outcomes) - 1, 0, 1, 0) and shop.score.percent == 100
