"""A session answers as a diagnosis of its facts from scratch does, whatever happened before."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from modelmedic.facts import Fact, Provenance

QUIETLY = settings(
    max_examples=120,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.deep
def test_a_session_equals_a_diagnosis_from_scratch(worlds, kit):
    reports = set()

    @QUIETLY
    @given(worlds.specs(), st.data())
    def agree(spec, data):
        world = kit.make_world(spec.kinds, spec.files, kit.ENGINES)
        pool = world.facts(data.draw(worlds.fact_sets(spec.kinds)))
        for doctor in world.doctors.values():
            session = doctor.session(pool[:2])
            held = list(pool[:2])
            for fact in pool[2:]:
                deed = data.draw(st.sampled_from(["add", "add", "change", "retract", "look"]))
                if deed == "add":
                    session.add(fact)
                    held.append(fact)
                elif deed == "change":
                    session.change(fact)
                    held = [f for f in held if f == fact or not doctor.replaces(fact, f)] + [fact]
                elif deed == "retract" and held:
                    gone = data.draw(st.sampled_from(held))
                    session.retract(gone)
                    held = [f for f in held if f != gone]
                said = kit.as_json(session.report())
                assert said == kit.as_json(doctor.diagnose(held))
                reports.add(said)

    agree()
    assert len(reports) > 200


def test_provenance_of_a_fact_said_twice_is_kept(doctor):
    once = Fact.of("package", [Provenance("probe:environment")], name="pydantic", version="2.13.0")
    again = Fact.of("package", [Provenance("answer")], name="pydantic", version="2.13.0")
    session = doctor.session([once])
    session.add(again)
    assert [p.source for p in session.facts[0].provenance] == ["answer", "probe:environment"]
    assert session.report() == doctor.diagnose([once, again])


def test_a_fact_that_is_not_there_cannot_be_taken_back(doctor):
    session = doctor.session()
    with pytest.raises(KeyError):
        session.retract(Fact.of("python", version="3.11.7"))
    assert session.report() == doctor.diagnose([])
