"""The sixth set of faults: of an author who knew no hypothesis; new kinds, with known causes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from .faulty.port import FAULTS, Fault
from .faulty.sets import SETS, faults_of
from .faulty.strength import Pairs

pytestmark = pytest.mark.heavy

Faults = dict[str, Fault]


@pytest.fixture(scope="module")
def sixth() -> Iterator[Faults]:
    with mock.patch.dict(FAULTS):
        yield faults_of("sixth")


def bare(name: str) -> str:
    """A name without that of its set."""
    sets = ("alien", *SETS)
    while name.partition("-")[0] in sets:
        name = name.partition("-")[2]
    return name


def causes_of(fault: Any) -> tuple[str, ...]:
    return fault.cause if isinstance(fault.cause, tuple) else (fault.cause,)


def test_there_are_many_kinds_and_each_says_what_is_broken(sixth: Faults) -> None:
    assert len(sixth) >= 60
    assert all(name.startswith(("sixth-", "alien-sixth-")) for name in sixth)
    told = {
        " ".join((getattr(fault.break_it, "__doc__", None) or "").split())
        for fault in sixth.values()
    }
    assert "" not in told
    assert len(told) == len(sixth)


def test_no_name_is_that_of_an_older_kind(sixth: Faults) -> None:
    with mock.patch.dict(FAULTS):
        older = {bare(name) for each in SETS if each != "sixth" for name in faults_of(each)}
    assert not older & {bare(name) for name in sixth}


@pytest.mark.parametrize("arch", ["llama", "gpt-oss"])
def test_a_port_that_is_not_broken_is_silent(arch: str) -> None:
    twin: Any = Fault("twin", "none", "-", lambda port: None, everywhere=False)
    assert max(Pairs(0).broken(twin, arch, 0).values()) < 1.5


def test_alien_kinds_are_those_without_a_cause(sixth: Faults) -> None:
    without = {name for name, fault in sixth.items() if fault.cause == "none"}
    assert without == {name for name in sixth if name.startswith("alien")}
    assert 0 < len(without) <= 6


def test_each_cause_is_a_diagnosis(sixth: Faults) -> None:
    folder = Path(__file__).parents[2] / "knowledge" / "neuron" / "diagnoses"
    known = "".join(path.read_text() for path in sorted(folder.glob("*.yaml")))
    for fault in sixth.values():
        causes = causes_of(fault)
        assert all(f"id: neuron.component.{each}\n" in known for each in causes if each != "none")
