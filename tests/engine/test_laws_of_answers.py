"""WHY-NOT tells the truth, WHAT-IF is a diagnosis, and a hash seed or a process changes nothing."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

RANDOM = st.randoms(use_true_random=True)
many = settings(
    max_examples=80,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
CANDIDATES: dict[str, list[Any]] = {  # one passes almost any test that worlds make
    "string": ["a", "b", "c", "é", "", "A", "ab", "0", "xxxxxx", "zzz"],
    "text": ["a", "b", "c", "é", "", "A", "ab", "0", "xxxxxx", "zzz", "a x b", "axb"],
    "version": ["1.0", "1", "2.13.0b2", "2.13.0", "2.14.3", "0.5", "99"],
    "number": [0, 1, 2, 2.5, 2**53, 1.5, -5, 11, 1e20, 0.5],
    "integer": [0, 1, 2, 2**53, -5, 11, 404, 500, 502],
    "boolean": [True, False],
}


def satisfying(world, pattern):
    """A fact in flat form that passes the pattern, found by trying; None if none is found."""
    from modelmedic.engine.inference.patterns import compile_tests

    kind = world.base.vocabulary.kinds[pattern.kind]
    flat = {"kind": kind.name}
    by_name: dict[str, list[Any]] = {}
    for test in pattern.tests:
        by_name.setdefault(test.attribute, []).append(test)
    for name, attribute in kind.attributes.items():
        tests = tuple(by_name.get(name, ()))
        if not tests and not attribute.required:
            continue
        passes = compile_tests(tests)
        operands = [t.operand for t in tests if isinstance(t.operand, str | int | float)]
        tried = itertools.chain(operands, CANDIDATES[attribute.type])
        fitting = [v for v in tried if attribute.problem(v) is None and passes({name: v}) is True]
        if not fitting:
            return None
        flat[name] = fitting[0]
    return None if "" in by_name else flat


def closable(world, way):
    """Whether only missing base facts without variables keep the way from its conclusion."""
    derived = world.base.vocabulary.derived
    patterns = world.base.program.patterns
    concluded = {c.kind for rule in world.base.program.rules for c in rule.conclusions}
    return all(
        gap.truth is None
        and gap.literal.mode == "match"
        and not gap.literal.joins
        and patterns[gap.literal.pattern].kind not in derived | concluded
        for gap in way.gaps
    )


def test_closing_the_gaps_that_why_not_names_concludes(worlds, kit, engine):
    closed = []

    @settings(many, max_examples=400)
    @given(worlds.specs(negation=False, closed_world=False, chains=False), st.data())
    def law(spec, data):
        rules = [r for r in spec.files["rules"]["rules"] if '"series"' not in json.dumps(r)]
        files = {**spec.files, "rules": {**spec.files["rules"], "rules": rules}}
        world = kit.make_world(spec.kinds, files, [engine])
        facts = world.facts(data.draw(worlds.fact_sets(spec.kinds, most=4)))
        doctor = world.doctors[engine]
        consultation = doctor.consult(facts)
        concluded = {d.id for d in consultation.report().diagnoses}
        for name in sorted(set(worlds.DIAGNOSES) - concluded):
            ways = consultation.why_not.ways(name)
            assert all(way.gaps for way in ways), f"nothing is said to keep {name} away"
            if not ways or not closable(world, ways[0]):
                continue
            patterns = [world.base.program.patterns[g.literal.pattern] for g in ways[0].gaps]
            flats = [satisfying(world, pattern) for pattern in patterns]
            if None not in flats:
                more = doctor.diagnose([*facts, *world.facts(flats)])
                assert name in {d.id for d in more.diagnoses}, (flats, ways[0])
                closed.append(len(flats))

    law()
    assert len(closed) > 20 and max(closed) > 1, closed


def test_a_failing_comparison_is_a_gap(kit, engine):
    kinds = {"k": {"key": ["s"], "attributes": {
        "s": {"type": "string", "required": True}, "n": {"type": "number"}}}}  # fmt: skip
    when = {"all": [{"fact": "k", "where": {"s": "a", "n": "$x"}},
                    {"fact": "k", "where": {"s": "b", "n": {"gt": "$x"}}}]}  # fmt: skip
    entry = {"id": "t.d.one", "title": "t", "severity": "info", "kind": "symptom", "summary": "s"}
    files = {
        "diagnoses": {"schema": "modelmedic/diagnoses/1", "domain": "t", "diagnoses": [entry]},
        "rules": {"schema": "modelmedic/rules/1", "domain": "t", "rules": [
            {"id": "t.rule.r", "title": "t", "when": when,
             "conclude": [{"diagnosis": "t.d.one"}]}]},
    }  # fmt: skip
    world = kit.make_world(kinds, files, [engine])
    facts = world.facts([{"kind": "k", "s": "a", "n": 5}, {"kind": "k", "s": "b", "n": 3}])
    (way,) = world.doctors[engine].consult(facts).explain_absence("t.d.one")["ways"]
    (gap,) = way["contradicted"]
    assert gap["condition"] == "k with s = 'b' and n > $x"
    assert len(gap["facts"]) == 1 and not way["missing"]


def test_a_count_that_is_too_small_is_missing_not_contradicted(kit, engine):
    kinds = {"k": {"attributes": {"s": {"type": "string"}}}}
    entry = {"id": "t.d.one", "title": "t", "severity": "info", "kind": "symptom", "summary": "s"}
    when = {"count": {"fact": "k"}, "at_least": 2}
    rule = {"id": "t.rule.r", "title": "t", "when": when, "conclude": [{"diagnosis": "t.d.one"}]}
    files = {name: {"schema": f"modelmedic/{name}/1", "domain": "t", name: entries}
             for name, entries in (("diagnoses", [entry]), ("rules", [rule]))}  # fmt: skip
    world = kit.make_world(kinds, files, [engine])
    facts = world.facts([{"kind": "k", "s": "a"}])
    (way,) = world.doctors[engine].consult(facts).explain_absence("t.d.one")["ways"]
    assert [gap["condition"] for gap in way["missing"]] == ["at least 2 k"]
    assert not way["contradicted"]


@pytest.mark.parametrize(
    ("facts", "missing", "contradicted"),
    [([{"n": 1}], 0, 1), ([{"n": 1}, {"n": 2}], 0, 1), ([{}], 1, 0), ([{}, {"n": 2}], 1, 0),
     ([], 1, 0)],
)  # fmt: skip
def test_a_negation_is_one_gap_and_never_half_true(kit, engine, facts, missing, contradicted):
    kinds = {"k": {"attributes": {"n": {"type": "integer"}}}}
    entry = {"id": "t.d.one", "title": "t", "severity": "info", "kind": "symptom", "summary": "s"}
    when = {"not": {"fact": "k", "where": {"n": 1}}}
    rule = {"id": "t.rule.r", "title": "t", "when": when, "conclude": [{"diagnosis": "t.d.one"}]}
    files = {name: {"schema": f"modelmedic/{name}/1", "domain": "t", name: entries}
             for name, entries in (("diagnoses", [entry]), ("rules", [rule]))}  # fmt: skip
    world = kit.make_world(kinds, files, [engine])
    given_facts = world.facts([{"kind": "k", **flat} for flat in facts])
    (way,) = world.doctors[engine].consult(given_facts).explain_absence("t.d.one")["ways"]
    assert (len(way["missing"]), len(way["contradicted"])) == (missing, contradicted)
    assert all(gap["condition"] == "not k with n = 1"
               for gap in way["missing"] + way["contradicted"])  # fmt: skip
    assert not way["holds"]


def test_what_if_compares_two_diagnoses(worlds, kit, engine):
    changes = []

    @settings(many, max_examples=120)
    @given(worlds.specs(), st.data())
    def law(spec, data):
        world = kit.make_world(spec.kinds, spec.files, [engine])
        doctor = world.doctors[engine]
        facts = world.facts(data.draw(worlds.fact_sets(spec.kinds)))
        change = world.facts(data.draw(worlds.fact_sets(spec.kinds)))
        vocabulary = world.base.vocabulary
        kept = [f for f in facts if not any(same_key(vocabulary, f, new) for new in change)]
        before, after = doctor.diagnose(facts), doctor.diagnose([*kept, *change])
        old, new = ({d.id: d.confidence for d in r.diagnoses} for r in (before, after))
        both = sorted(old.keys() & new.keys())
        out = [{r.id for r in report.ruled_out} for report in (before, after)]
        expected = {
            "gained": sorted(new.keys() - old.keys()),
            "lost": sorted(old.keys() - new.keys()),
            "unchanged": [n for n in both if old[n] == new[n]],
            "confidence": {n: [old[n], new[n]] for n in both if old[n] != new[n]},
            "newly_ruled_out": sorted(out[1] - out[0]),
        }
        found = doctor.what_if(facts, change)
        assert {name: found[name] for name in expected} == expected
        changes.append(bool(expected["gained"] or expected["lost"]))

    law()
    assert sum(changes) > 10


def same_key(vocabulary, left, right):
    kind = vocabulary.kinds[left.kind]
    return (
        left.kind == right.kind
        and kind.functional
        and all(left.get(name) == right.get(name) for name in kind.key)
    )


CHILD = """
import json, sys
from modelmedic.engine import Diagnoser, KnowledgeBase
from modelmedic.engine.compiler.build import build
from modelmedic.facts import Location, Provenance

for vocabulary, knowledge, sets in json.load(sys.stdin):
    built = build([("v.yaml", vocabulary)], [tuple(item) for item in knowledge])
    base = KnowledgeBase.of(built.compiled, "digest")
    for engine in sys.argv[1:]:
        doctor = Diagnoser.of(base, engine)
        for flats in sets:
            facts = [base.vocabulary.read(f, Location("t"), Provenance("file")) for f in flats]
            print(json.dumps(doctor.diagnose(facts).plain()))
"""


@pytest.mark.slow
def test_hash_seeds_and_processes_change_nothing(worlds, kit):
    jobs = []

    @settings(many, max_examples=25)
    @given(worlds.specs(chains=False), st.data())
    def collect(spec, data):
        kinds = kit.described({**kit.CORE, **spec.kinds})
        vocabulary = json.dumps({"schema": "modelmedic/vocabulary/1", "kinds": kinds})
        files = [[f"{name}.yaml", json.dumps(file)] for name, file in spec.files.items()]
        jobs.append([vocabulary, files, [data.draw(worlds.fact_sets(spec.kinds)) for _ in "123"]])

    collect()
    answers = {}
    for seed in ("0", "1", "2", "4294967295"):
        done = subprocess.run(
            [sys.executable, "-c", CHILD, *kit.ENGINES],
            input=json.dumps(jobs),
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        answers[seed] = done.stdout
    lines = answers["0"].splitlines()
    assert len(lines) == len(jobs) * 3 * len(kit.ENGINES)
    assert sum('"status": "findings"' in line for line in lines) > len(lines) / 5
    assert len(set(answers.values())) == 1


def test_too_many_firings_are_reported(kit, engine):
    """101 x 100 pairs are more than the cap, and the report mentions it."""
    kinds = {name: {"functional": False, "attributes": {
        "s": {"type": "string", "required": True}}} for name in ("left", "right")}  # fmt: skip
    when = {"all": [{"fact": "left", "where": {"s": "$a"}},
                    {"fact": "right", "where": {"s": "$b"}}]}  # fmt: skip
    files = {"rules": {"schema": "modelmedic/rules/1", "domain": "t", "rules": [
        {"id": "t.rule.r", "title": "t", "when": when,
         "conclude": [{"fact": "left", "set": {"s": "$b"}}]}]}}  # fmt: skip
    world = kit.make_world(kinds, files, [engine])
    facts = world.facts([{"kind": "left", "s": f"l{n}"} for n in range(101)]
                        + [{"kind": "right", "s": f"r{n}"} for n in range(100)])  # fmt: skip
    report = world.doctors[engine].diagnose(facts)
    assert [p.code for p in report.errors] == ["MM301"]
    assert "incomplete" in report.errors[0].message and report.errors[0].hint
