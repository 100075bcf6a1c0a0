"""A file of stage results that lies by itself says what it says in its experiment folder."""

import shutil

import pytest

from modelmedic.probes.experiment.probe import gather_experiment
from modelmedic.probes.experiment.stage_file import SIGNS
from modelmedic.probes.recognition import find_units, gather_unit


def said(facts):
    return {(fact.kind, fact.values) for fact in facts}


def gathered(path, vocabulary):
    units, problems = find_units([path], vocabulary)
    assert [unit.artefact.name for unit in units] == ["experiment"]
    assert not problems
    return gather_unit(units[0], vocabulary).facts


@pytest.mark.parametrize("name", SIGNS)
def test_one_file_is_enough_wherever_it_lies(name, whole, vocabulary, tmp_path):
    of_all = gather_experiment(whole.root, vocabulary).facts
    away = tmp_path / "away" / name
    away.parent.mkdir()
    shutil.copyfile(whole.root / "results" / name, away)
    own = gathered(away, vocabulary)
    assert own
    assert {fact.kind for fact in own} <= {fact.kind for fact in of_all}
    assert {str(away) in p.location for fact in own for p in fact.provenance} == {True}
    inside = tmp_path / "copied" / "results"
    inside.mkdir(parents=True)
    shutil.copyfile(away, inside / name)
    assert said(gathered(inside.parent, vocabulary)) == said(own)


@pytest.mark.parametrize("name", SIGNS)
def test_files_that_may_lie_elsewhere_are_not_missing(name, whole, vocabulary, tmp_path):
    away = tmp_path / name
    shutil.copyfile(whole.root / "results" / name, away)
    states = [f for f in gathered(away, vocabulary) if f.kind in ("stage_result", "workflow_file")]
    assert all(fact.get("present") is not False for fact in states)


def test_a_file_of_that_name_by_another_program_is_none(vocabulary, tmp_path):
    path = tmp_path / "stage1.json"
    path.write_text('{"speed": 3}')
    units, problems = find_units([path], vocabulary)
    assert not units
    assert [problem.code for problem in problems] == ["MM406"]
