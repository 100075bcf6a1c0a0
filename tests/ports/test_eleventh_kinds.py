"""The eleventh set of faults, of an author who knew no hypothesis, checked to show."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from .faulty.making import fits
from .faulty.port import FAULTS, Fault
from .faulty.sets import faults_of, half_of
from .faulty.strength import FIRST, Pairs

Faults = dict[str, Fault]
SEED = 0
TABLE = Path(__file__).parent / "faulty" / "eleventh_kinds.txt"
ROWS = [line.split("\t") for line in TABLE.read_text().splitlines()[1:]]
WHOLE = SimpleNamespace(modules="all")


@pytest.fixture(scope="module")
def eleventh() -> Iterator[Faults]:
    with mock.patch.dict(FAULTS):
        yield faults_of("eleventh")


@pytest.fixture(scope="module")
def pairs() -> Pairs:
    return Pairs(SEED)


def causes_of(fault: Any) -> tuple[str, ...]:
    return fault.cause if isinstance(fault.cause, tuple) else (fault.cause,)


def ratios(pairs: Pairs, fault: Fault, arch: str) -> dict[str, float]:
    found = pairs.broken(fault, arch, SEED % 2)
    assert found is not None
    return dict(found)


def test_there_are_many_kinds_and_each_says_what_is_broken(eleventh: Faults) -> None:
    assert len(eleventh) == 39
    assert all(name.startswith(("eleventh-", "alien-eleventh-")) for name in eleventh)
    told = {
        " ".join((getattr(fault.break_it, "__doc__", None) or "").split())
        for fault in eleventh.values()
    }
    assert "" not in told
    assert len(told) == len(eleventh)


def test_the_table_has_each_kind_with_its_component_and_causes(eleventh: Faults) -> None:
    assert [row[0] for row in ROWS] == sorted(eleventh)
    for name, half, part, cause, others, *_ in ROWS:
        fault: Any = eleventh[name]
        told = (cause, *(() if others == "-" else others.split()))
        assert (half, part, told) == (half_of(name), fault.part, causes_of(fault))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_kind_shows_beyond_rounding_first_at_its_component(
    eleventh: Faults, pairs: Pairs, row: list[str]
) -> None:
    found = ratios(pairs, eleventh[row[0]], row[5].split()[0])
    first = next(name for name, ratio in found.items() if ratio > FIRST)
    assert fits(first, eleventh[row[0]], SEED % 2, WHOLE)


@pytest.mark.parametrize("arch", sorted({row[5].split()[0] for row in ROWS}))
def test_a_port_that_is_not_broken_is_silent(pairs: Pairs, arch: str) -> None:
    twin: Any = Fault("twin", "none", "-", lambda port: None, everywhere=False)
    assert max(ratios(pairs, twin, arch).values()) < 1.5


def test_alien_kinds_are_those_without_a_cause(eleventh: Faults) -> None:
    without = {name for name, fault in eleventh.items() if fault.cause == "none"}
    assert without == {name for name in eleventh if name.startswith("alien")}
    assert len(without) == 3


def test_each_cause_is_a_diagnosis(eleventh: Faults) -> None:
    folder = Path(__file__).parents[2] / "knowledge" / "neuron" / "diagnoses"
    known = "".join(path.read_text() for path in sorted(folder.glob("*.yaml")))
    for fault in eleventh.values():
        causes = causes_of(fault)
        assert all(f"id: neuron.component.{each}\n" in known for each in causes if each != "none")
