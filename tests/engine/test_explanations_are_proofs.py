"""Each explanation is a proof: an independent checker re-derives every step from what it cites.

The checker shares no code with the engine: it reads the compiled tests as data and decides them by
packaging, re2 and the statistics module.
"""

from __future__ import annotations

import statistics
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import re2
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from packaging.version import InvalidVersion, Version

from modelmedic.facts import Location, Provenance
from modelmedic.facts.fact_file import read_facts
from modelmedic.facts.strict_yaml import load

ROOT = Path(__file__).resolve().parents[2]
SETS = sorted([*ROOT.glob("facts/examples/*.json"), *ROOT.glob("knowledge/healthy/*.json")])
ORDERS = {"lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b,
          "ge": lambda a, b: a >= b}  # fmt: skip


def version(text: Any) -> Any:
    try:
        return Version(Version(text).public)
    except (InvalidVersion, TypeError):
        return None


def equal(a: Any, b: Any) -> bool:
    return isinstance(a, bool) == isinstance(b, bool) and a == b


def within(found: Any, event: Any) -> bool:
    low, fixed, last = (version(event.get(k)) for k in ("introduced", "fixed", "last_affected"))
    return (
        (low is None or str(low) == "0" or found >= low)
        and (fixed is None or found < fixed)
        and (last is None or found <= last)
    )


def ordered(op: str, a: Any, b: Any) -> bool | None:
    """Compare two values of one type, as versions if the operator is one for versions."""
    if op.startswith("version_"):
        left, right, name = version(a), version(b), op.removeprefix("version_")
        if left is None or right is None:
            return a == b if name == "eq" else None
        a, b = left, right
        return (
            {"eq": a == b, "ne": a != b}.get(name) if name in ("eq", "ne") else ORDERS[name](a, b)
        )
    if op in ("eq", "ne"):
        return equal(a, b) == (op == "eq")
    comparable = isinstance(a, str) == isinstance(b, str) and not (
        isinstance(a, bool) or isinstance(b, bool)
    )
    return ORDERS[op](a, b) if comparable else None


def decide(op: str, value: Any, operand: Any) -> bool | None:
    """Whether a known value passes a test."""
    if op in ("in", "not_in"):
        return any(equal(value, item) for item in operand) == (op == "in")
    if op == "contains":
        return operand in value
    if op in ("matches", "not_matches"):
        return bool(re2.search(operand, value)) == (op == "matches")
    if op == "known":
        return True
    if op in ("affected", "prerelease"):
        found = version(value)
        if found is None:
            return None
        if op == "prerelease":
            return bool(found.is_prerelease == operand)
        return any(within(found, event) for event in operand)
    return ordered(op, value, operand)


class Checker:
    """Checks the steps of one consultation against the program as data."""

    def __init__(self, base: Any, consultation: Any) -> None:
        self.program, self.defaults, self.how = (
            base.program,
            base.vocabulary.defaults,
            consultation.explanations,
        )
        self.facts = consultation.facts
        self.steps = 0

    def check(self) -> None:
        report_ids = set(self.how.ids.values())
        assert len(report_ids) == len(self.facts)
        proven = {fact for fact in self.facts if not self.how.is_derived(fact)}
        waiting = [(step, self.check_step(step)) for step in self.how.all_steps()]
        while True:  # each derived fact follows from given ones, not from itself
            ready = [step for step, needs in waiting if all(need & proven for need in needs)]
            fresh = {fact for step in ready for fact in self.conclusions(step)} - proven
            if not fresh:
                break
            proven |= fresh
        assert proven == set(self.facts)

    def check_step(self, step: Any) -> list[set[Any]]:
        """Check one firing; returns the facts for each positive premise, one of which suffices."""
        self.steps += 1
        binding = dict(zip(step.rule.variables, step.firing.binding, strict=True))
        assert [p.literal for p in step.premises] == list(step.rule.literals)
        for premise in step.premises:
            assert set(premise.facts) <= set(self.facts)
            assert len(set(premise.facts)) == len(premise.facts)
            self.check_literal(premise, binding)
        for guard in step.rule.guards:
            assert ordered(guard.op, binding[guard.left], binding[guard.right]) is True
        assert set(self.conclusions(step)) <= set(self.facts)
        return [set(p.facts) for p in step.premises if p.literal.mode == "match"]

    def conclusions(self, step: Any) -> list[Any]:
        binding = dict(zip(step.rule.variables, step.firing.binding, strict=True))
        wanted = []
        for conclusion in step.rule.conclusions:
            values = {n: binding[v[0]] if isinstance(v, tuple) else v for n, v in conclusion.values}
            same = [f for f in self.facts if f.kind == conclusion.kind and dict(f.values) == values]
            assert len(same) == 1, conclusion
            wanted += same
        return wanted

    def check_literal(self, premise: Any, binding: Any) -> None:
        literal, cited = premise.literal, set(premise.facts)
        if literal.mode == "aggregate":
            aggregate = self.program.aggregates[literal.pattern]
            pattern = self.program.patterns[aggregate.pattern]
            matching = {f for f in self.facts if self.passes(pattern, f) is True}
            assert matching == cited
            assert self.aggregate(aggregate, matching) is literal.wanted
            return
        pattern = self.program.patterns[literal.pattern]
        about = [
            f for f in self.facts if f.kind == pattern.kind and self.agrees(f, literal, binding)
        ]
        passing = {f for f in about if self.passes(pattern, f) is True}
        if literal.mode == "match":
            assert cited and cited == passing
        elif literal.mode == "refuted":
            assert cited and not passing and pattern.contradictable
            assert cited == {fact for fact in about if self.contradicts(pattern, fact)}
        elif literal.mode == "unless_possible":
            assert not cited and all(self.passes(pattern, f) is False for f in about)
        else:
            assert literal.mode == "unless_match" and not cited and not passing

    def agrees(self, fact: Any, literal: Any, binding: Any) -> bool:
        values = self.values(fact)
        return all(a in values and equal(values[a], binding[v]) for a, v in literal.joins)

    def values(self, fact: Any) -> dict[str, Any]:
        return {**self.defaults.get(fact.kind, {}), **dict(fact.values)}

    def passes(self, pattern: Any, fact: Any) -> bool | None:
        if fact.kind != pattern.kind:
            return False
        found = [self.test(test, self.values(fact)) for test in pattern.tests]
        return False if False in found else None if None in found else True

    def contradicts(self, pattern: Any, fact: Any) -> bool:
        """Whether a fact about the same key fails a test of something else."""
        tests = [self.test(test, self.values(fact)) for test in pattern.tests]
        key = [tests[number] for number in pattern.pinned]
        rest = [truth for number, truth in enumerate(tests) if number not in pattern.pinned]
        return all(truth is True for truth in key) and False in rest

    def test(self, test: Any, values: dict[str, Any]) -> bool | None:
        if test.op == "none_of":
            return not any(all(decide(op, values[a], x) is True if a in values else False
                               for a, op, x in tests) for tests in test.operand)  # fmt: skip
        return decide(test.op, values[test.attribute], test.operand) if test.attribute in values \
            else None  # fmt: skip

    def aggregate(self, aggregate: Any, facts: set[Any]) -> bool | None:
        if aggregate.function == "count":
            return len(facts) >= aggregate.bound or None
        if aggregate.function.startswith("distinct:"):
            name = aggregate.function.removeprefix("distinct:")
            found = {self.values(f)[name] for f in facts if name in self.values(f)}
            return len(found) >= aggregate.bound or None
        points = [(v[aggregate.order], v[aggregate.value]) for v in map(self.values, facts)
                  if aggregate.order in v and aggregate.value in v]  # fmt: skip
        if len(points) < aggregate.min_points:
            return None
        value = statistic(aggregate.function, [float(y) for _, y in sorted(points)])
        return None if value is None else ordered(aggregate.op, value, aggregate.bound)


def statistic(name: str, xs: list[float]) -> float | None:
    middle = statistics.median(xs)
    rest = statistics.median(xs[1:]) if len(xs) > 1 else 0.0
    plain = {"first": xs[0], "last": xs[-1], "min": min(xs), "max": max(xs), "median": middle,
             "mean": statistics.fmean(xs), "range": max(xs) - min(xs), "count": len(xs),
             "last_minus_first": xs[-1] - xs[0], "last_minus_min": xs[-1] - min(xs)}  # fmt: skip
    if name in plain:
        return plain[name]
    if name == "slope":
        return statistics.linear_regression(range(len(xs)), xs).slope if len(xs) > 1 else None
    rises = sum(b > a for a, b in pairwise(xs))
    parts = {"first_over_rest": (xs[0], rest), "max_over_median": (max(xs), middle),
             "last_over_first": (xs[-1], xs[0]), "last_over_min": (xs[-1], min(xs)),
             "stdev_over_mean": (statistics.pstdev(xs), statistics.fmean(xs)),
             "increases_share": (rises, len(xs) - 1)}  # fmt: skip
    top, bottom = parts[name]
    return top / bottom if bottom else None


def check_report(consultation: Any) -> None:
    """Evidence is given, explanations cite what is there, and nothing is concluded without them."""
    report = consultation.report()
    ids = {fact_id: derived for fact_id, _, derived in report.facts}

    def cited(how: Any) -> list[str]:
        found = []
        for step in how:
            assert step["because"]
            for premise in step["because"]:
                assert premise["condition"]
                found += [*premise["facts"], *cited(premise.get("how", []))]
        return found

    for diagnosis in report.diagnoses:
        assert diagnosis.explanation["how"]
        assert set(cited(diagnosis.explanation["how"])) <= ids.keys()
        assert all(not ids[evidence.fact] for evidence in diagnosis.evidence)
    for ruled_out in report.ruled_out:
        assert ruled_out.because and set(cited(ruled_out.because)) <= ids.keys()


@pytest.mark.parametrize("path", SETS, ids=lambda path: path.stem)
def test_on_shipped_facts(path, doctor):
    consultation = doctor.consult(read_facts(path, doctor.base.vocabulary))
    Checker(doctor.base, consultation).check()
    check_report(consultation)


@pytest.mark.deep
@pytest.mark.slow
def test_on_the_cases_of_the_knowledge(doctor):
    steps = 0
    for path in sorted(ROOT.glob("knowledge/**/*.test.yaml")):
        for case in load(path.read_text(encoding="utf-8"), str(path)).data["cases"]:
            facts = [doctor.base.vocabulary.read(flat, Location(str(path)), Provenance("file"))
                     for flat in case["facts"]]  # fmt: skip
            consultation = doctor.consult(facts)
            checker = Checker(doctor.base, consultation)
            checker.check()
            check_report(consultation)
            steps += checker.steps
    assert steps > 500


def test_on_made_up_worlds(worlds, kit, engine):
    steps = []

    @settings(
        max_examples=150,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(worlds.specs(), st.data())
    def law(spec, data):
        world = kit.make_world(spec.kinds, spec.files, [engine])
        facts = world.facts(data.draw(worlds.fact_sets(spec.kinds)))
        consultation = world.doctors[engine].consult(facts)
        checker = Checker(world.base, consultation)
        checker.check()
        check_report(consultation)
        steps.append(checker.steps)

    law()
    assert sum(steps) > 200
