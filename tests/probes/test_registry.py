"""Probes by name, and what importing them costs."""

import inspect
import subprocess
import sys

import pytest

from modelmedic.facts import ModelMedicError
from modelmedic.probes import list_probes, load_probe
from modelmedic.probes.outcome import Collector, clean, not_available
from modelmedic.probes.recognition import Table
from modelmedic.probes.registry import load_module


def test_every_listed_probe_loads():
    for name in list_probes():
        assert callable(load_probe(name))
    assert list_probes() == tuple(sorted(list_probes()))


def test_an_unknown_probe_has_a_suggestion():
    with pytest.raises(ModelMedicError, match=r"MM401.*did you mean 'environment'"):
        load_probe("enviroment")


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        (
            "probes",
            {
                "modelmedic.probes.environment.probe",
                "modelmedic.probes.messages.probe",
                "json",
            },
        ),
        (
            "probes.messages.probe",
            {"re2", "packaging", "yaml", "pydantic", "json", "importlib.metadata"},
        ),
        (
            "probes.environment.probe",
            {"subprocess", "tomllib", "importlib.metadata", "pydantic", "yaml"},
        ),
    ],
)
def test_importing_is_light(module, unwanted):
    code = f"import sys, modelmedic.{module}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert not unwanted & set(done.stdout.split())


def test_a_missing_extra_is_an_outcome():
    (problem,) = not_available("torch", "tensors").problems
    assert problem.code == "MM403"
    assert problem.hint == "install it: pip install 'modelmedic[tensors]'"


def test_a_fact_that_breaks_the_vocabulary_becomes_a_problem(vocabulary):
    collector = Collector(vocabulary, "probe:x")
    collector.add("python", "here", version="3.11", colour="red")
    collector.add("python", "here", version="3.11", implementation=None)
    outcome = collector.outcome()
    assert [fact.get("version") for fact in outcome.facts] == ["3.11"]
    assert [problem.code for problem in outcome.problems] == ["MM402"]


def test_texts_are_cut_and_cleaned():
    assert clean("abc", 3) == "abc"
    assert clean("a" * 50, 20) == "a" * 14 + " [...]"
    assert clean("\ud800", 5) == "?"


def test_every_probe_has_what_it_declares(vocabulary):
    assert set(vocabulary.probes) == set(list_probes())
    for probe in vocabulary.probes.values():
        assert callable(load_probe(probe.name))
        if probe.artefacts:
            assert hasattr(load_module(probe.name, "recognition"), f"looks_like_{probe.name}")


def test_every_option_is_a_keyword_of_its_probe(vocabulary):
    for probe in vocabulary.probes.values():
        known = inspect.signature(load_probe(probe.name)).parameters
        assert set(probe.options) - {"plots"} <= set(known), probe.name
        assert set(probe.needs) <= set(probe.options)


def test_artefacts_have_names_and_places_of_their_own(vocabulary):
    rows = Table(vocabulary).rows
    assert len({row.name for row in rows}) == len({row.precedence for row in rows}) == len(rows)
    shipped = [
        "run", "experiment", "tensors", "weights", "profile", "metrics", "dataset", "transcript",
        "freeze", "modeling", "structure", "script", "log", "checkpoints",
    ]  # fmt: skip
    assert [row.name for row in rows if row.name in shipped] == shipped


def test_parameters_of_probes_do_not_meet_those_of_commands():
    """``--target`` of the structure probe is a tree to read, not a file to write."""
    from modelmedic.engine import KnowledgeBase
    from modelmedic.interfaces.cli.probe_commands import _command
    from modelmedic.interfaces.context import Context

    vocabulary = KnowledgeBase.load().vocabulary
    for probe in vocabulary.probes.values():
        names = [parameter.name for parameter in _command(probe, vocabulary).params]
        assert len(names) == len(set(names)), probe.name
        assert {name for name in names if name in Context._fields} <= {"debug", "format", "target"}
