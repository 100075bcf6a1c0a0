"""Screening says what a report says, only less of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from modelmedic.engine import Diagnoser
from modelmedic.engine.diagnosis.screening import Finding
from modelmedic.facts import Location, ModelMedicError
from modelmedic.facts.strict_yaml import load
from modelmedic.facts.typed_facts import TypedFacts

ROOT = Path(__file__).resolve().parents[2]
QUIETLY = settings(
    max_examples=150,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def _said(report: Any) -> list[Any]:
    """The findings of a report, with the given facts that they rest on."""
    facts = {number: fact for number, fact, _ in report.facts}
    return [
        (d.id, d.severity, d.kind, d.confidence, d.explains, d.explained_by, d.conflicting,
         {facts[e.fact].sort_key() for e in d.evidence})
        for d in report.diagnoses
    ]  # fmt: skip


def _told(findings: Sequence[Finding], facts: list[Any]) -> list[Any]:
    return [
        (f.id, f.severity, f.kind, f.confidence, f.explains, f.explained_by, f.conflicting,
         {facts[place].sort_key() for place in f.evidence})
        for f in findings
    ]  # fmt: skip


def _screened(doctor: Diagnoser, flats: list[dict[str, Any]], facts: list[Any]) -> list[Any]:
    return _told(doctor.screen(flats), facts)


def test_screening_finds_what_the_report_finds(worlds, kit):
    found = []

    @QUIETLY
    @given(worlds.specs(), st.data())
    def agree(spec, data):
        world = kit.make_world(spec.kinds, spec.files, kit.ENGINES)
        flats = data.draw(worlds.fact_sets(spec.kinds))
        facts = world.facts(flats)
        for doctor in world.doctors.values():
            said = _said(doctor.diagnose(facts))
            assert _screened(doctor, flats, facts) == said
            found.extend(said)

    agree()
    assert len(found) > 50


@pytest.mark.slow
def test_on_the_cases_of_the_knowledge(engine, compiled):
    doctor = Diagnoser.load(engine=engine, cache=compiled)
    rules = []
    stories = sorted(ROOT.glob("knowledge/**/stories/*.test.yaml"))
    for path in stories[::16] if engine == "reference" else stories:  # the oracle takes its time
        for case in load(path.read_text(encoding="utf-8"), str(path)).data["cases"]:
            flats = case["facts"]
            facts = [doctor.base.vocabulary.fact(**flat) for flat in flats]
            findings = doctor.screen(flats)
            assert _told(findings, facts) == _said(doctor.diagnose(facts))
            rules += [rule for f in findings for rule in f.rules]
    assert len(set(rules)) > 50


SPOILT = [2**70, -(2**70), 2**63, -(2**63), 2**63 - 1, 1e301, -1e301, 1e300, float("inf"),
          float("nan"), "\ud800", "a\udfffb", "x" * 70_000, "x" * 5_000, None, [], {}, True, False,
          1, 1.0, 1.5, "a", "", "\0"]  # fmt: skip


def test_typed_facts_are_never_too_lenient(worlds, kit):
    """Facts in order, and the same with a value, a name or a kind spoilt: what is read is in order,
    and most of what is in order is read."""
    read, refused, strict = [], [], []

    @QUIETLY
    @given(worlds.specs(), st.data())
    def law(spec, data):
        world = kit.make_world(spec.kinds, spec.files, ["native"])
        vocabulary, matcher = world.base.vocabulary, world.doctors["native"].matcher
        typed = TypedFacts(vocabulary, matcher.key)
        flats = data.draw(worlds.fact_sets(spec.kinds))
        for flat in list(flats):
            name = data.draw(st.sampled_from([*flat, "unheard_of", "provenance"]))
            flats.append({**flat, name: data.draw(st.sampled_from(SPOILT))})
            flats.append({n: v for n, v in flat.items() if n != name})
        for flat in flats:
            found = typed.read_items([flat])
            problems = vocabulary.problems(flat, Location("test"))
            if found is None:
                refused.append(flat)
                strict.append(not problems)
            else:
                assert not problems, flat
                assert typed.fact(flat["kind"], found[0]).sort_key() == world.fact(flat).sort_key()
                read.append(flat)

    law()
    assert len(read) > 500 and len(refused) > 300
    assert sum(strict) < len(strict) / 10  # a whole number may be written 2.0, null be a provenance


def test_equal_facts_count_once(kit, engine):
    kinds = {"k": {"functional": False, "attributes": {
        "s": {"type": "string"}, "f": {"type": "boolean", "default": True},
        "n": {"type": "number"}}}}  # fmt: skip
    when = {"count": {"fact": "k"}, "at_least": 3}
    files = kit.knowledge_of([("r", when, {"diagnosis": "t.d.one"})])
    world = kit.make_world(kinds, files, [engine])
    doctor = world.doctors[engine]
    flats = [{"kind": "k", "s": "a", "n": 1}, {"kind": "k", "n": 1.0, "s": "a"},
             {"kind": "k", "s": "a", "n": 1, "provenance": {"source": "x"}},
             {"kind": "k", "s": "a"}]  # fmt: skip
    for more, holds in (([], False), ([{"kind": "k", "s": "b"}], True)):
        facts = world.facts(flats + more)
        assert bool(doctor.diagnose(facts).diagnoses) is holds
        assert bool(doctor.screen(flats + more)) is holds
        assert bool(doctor.screen_json(json.dumps(flats + more).encode())) is holds


def test_a_fact_that_breaks_the_vocabulary_is_named(doctor):
    items = [{"kind": "package", "name": "pydantic", "version": "2.13.0"}, {"kind": "pakcage"}]
    with pytest.raises(ModelMedicError) as caught:
        doctor.screen(json.loads(json.dumps(items)))
    assert "facts[1]" in str(caught.value)


def test_json_is_read_as_the_facts_are(worlds, kit):
    """Facts in order, spoilt ones, and both ways to write a facts file."""
    read, refused = [], []

    @QUIETLY
    @given(worlds.specs(), st.data())
    def agree(spec, data):
        world = kit.make_world(spec.kinds, spec.files, kit.ENGINES)
        doctor = next(iter(world.doctors.values()))
        flats = data.draw(worlds.fact_sets(spec.kinds))
        for flat in list(flats):
            if data.draw(st.integers(0, 20)) == 0:
                name = data.draw(st.sampled_from([*flat, "unheard_of", "provenance"]))
                flats.append({**flat, name: data.draw(st.sampled_from(SPOILT))})
        document = {"schema": "modelmedic/facts/1", "facts": flats}
        for plain in (flats, document):
            try:
                said = doctor.screen(flats)
            except ModelMedicError:
                with pytest.raises(ModelMedicError):
                    doctor.screen_json(json.dumps(plain).encode())
                refused.append(plain)
            else:
                assert doctor.screen_json(json.dumps(plain).encode()) == said
                read.extend(said)

    agree()
    assert len(read) > 50
    assert len(refused) > 10


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[",
        b"{}",
        b"null",
        b"\xff",
        b'[{"kind": "nope"}]',
        b"[1]",
        b"[" * 100_000,
        b'[{"kind": "python", "version": "\xed\xa0\x80"}]',
        b'[{"kind": "python", "version": "\\ud800"}]',
    ],
)
def test_json_that_is_no_facts_file_is_refused_with_a_code(text, doctor):
    with pytest.raises(ModelMedicError) as caught:
        doctor.screen_json(text)
    assert all(problem.code.startswith("MM1") for problem in caught.value.problems)


def test_more_facts_than_a_report_takes_are_refused(doctor):
    text = json.dumps([{"kind": "symptom", "name": "hang"}] * 100_001).encode()
    with pytest.raises(ModelMedicError) as caught:
        doctor.screen_json(text)
    assert [problem.code for problem in caught.value.problems] == ["MM103"]
