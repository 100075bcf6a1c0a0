"""Wrong merges of models with several layers are named with what is wrong about them; of sound
ones that look alike nothing is said."""

import re

import pytest

from modelmedic.engine import Diagnoser

pytest.importorskip("numpy")

from tests.probes.weights import merge_form_kinds, merge_kinds, merge_kinds_more
from tests.probes.weights.merge_farm import Farm

WRONG = merge_kinds.WRONG | merge_form_kinds.WRONG | merge_kinds_more.WRONG
SOUND = merge_kinds.SOUND | merge_form_kinds.SOUND | merge_kinds_more.SOUND


def cases(table):
    return [(family, name) for name, (families, *_) in table.items() for family in families]


@pytest.fixture(scope="module")
def doctor():
    return Diagnoser.load()


@pytest.fixture
def examine(tmp_path, safetensors_file, compare, doctor):
    """Makes a merge of a family: the problems, the causes, and what is said of them."""

    def run(family, make):
        outcome = compare(make(Farm(tmp_path, family, safetensors_file)))
        report = doctor.diagnose(outcome.facts, outcome.problems)
        causes = [d for d in report.diagnoses if d.kind != "benign"]
        said = [step["message"] for d in causes for step in d.explanation["how"]]
        return outcome, [d.id.rpartition(".")[2] for d in causes], said

    return run


@pytest.mark.sweep
@pytest.mark.parametrize(("family", "name"), cases(WRONG))
def test_a_wrong_merge_is_named(examine, family, name):
    _, make, wanted, words = WRONG[name]
    _, causes, said = examine(family, make)
    assert causes and set(causes) <= set(wanted)
    assert any(re.search(words, each) for each in said), said


@pytest.mark.parametrize(("family", "name"), cases(SOUND))
def test_nothing_is_said_of_a_sound_merge(examine, family, name):
    outcome, causes, said = examine(family, SOUND[name][1])
    assert not outcome.problems
    assert not causes, said
