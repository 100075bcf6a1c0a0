"""The tenth and eleventh set of faults, by authors who knew no hypothesis, checked to show."""

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

Sets = dict[str, dict[str, Fault]]
Row = tuple[str, list[str]]
SEED = 0
NAMES = ("tenth", "eleventh")
TABLES = Path(__file__).parent / "faulty"
ROWS: list[Row] = [
    (name, line.split("\t"))
    for name in NAMES
    for line in (TABLES / f"{name}_kinds.txt").read_text().splitlines()[1:]
]
WHOLE = SimpleNamespace(modules="all")
each_set = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(scope="module")
def sets() -> Iterator[Sets]:
    with mock.patch.dict(FAULTS):
        yield {name: faults_of(name) for name in NAMES}


@pytest.fixture(scope="module")
def pairs() -> Pairs:
    return Pairs(SEED)


def causes_of(fault: Any) -> tuple[str, ...]:
    return fault.cause if isinstance(fault.cause, tuple) else (fault.cause,)


def ratios(pairs: Pairs, fault: Fault, arch: str) -> dict[str, float]:
    found = pairs.broken(fault, arch, SEED % 2)
    assert found is not None
    return dict(found)


@each_set
def test_each_kind_says_what_is_broken(sets: Sets, name: str) -> None:
    faults = sets[name]
    assert len(faults) == 39
    assert all(each.startswith((f"{name}-", f"alien-{name}-")) for each in faults)
    told = {
        " ".join((getattr(fault.break_it, "__doc__", None) or "").split())
        for fault in faults.values()
    }
    assert "" not in told
    assert len(told) == len(faults)


@each_set
def test_the_table_has_each_kind_with_its_component_and_causes(sets: Sets, name: str) -> None:
    rows = [row for of, row in ROWS if of == name]
    assert [row[0] for row in rows] == sorted(sets[name])
    for kind, half, part, cause, others, *_ in rows:
        fault: Any = sets[name][kind]
        told = (cause, *(() if others == "-" else others.split()))
        assert (half, part, told) == (half_of(kind), fault.part, causes_of(fault))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[1][0])
def test_a_kind_shows_beyond_rounding_first_at_its_component(
    sets: Sets, pairs: Pairs, row: Row
) -> None:
    name, (kind, _, _, _, _, models, *_) = row
    found = ratios(pairs, sets[name][kind], models.split()[0])
    first = next(place for place, ratio in found.items() if ratio > FIRST)
    assert fits(first, sets[name][kind], SEED % 2, WHOLE)


@pytest.mark.parametrize("arch", sorted({row[5].split()[0] for _, row in ROWS}))
def test_a_port_that_is_not_broken_is_silent(pairs: Pairs, arch: str) -> None:
    twin: Any = Fault("twin", "none", "-", lambda port: None, everywhere=False)
    assert max(ratios(pairs, twin, arch).values()) < 1.5


@each_set
def test_alien_kinds_are_those_without_a_cause(sets: Sets, name: str) -> None:
    without = {kind for kind, fault in sets[name].items() if fault.cause == "none"}
    assert without == {kind for kind in sets[name] if kind.startswith("alien")}
    assert len(without) == 3


@each_set
def test_each_cause_is_a_diagnosis(sets: Sets, name: str) -> None:
    folder = Path(__file__).parents[2] / "knowledge" / "neuron" / "diagnoses"
    known = "".join(path.read_text() for path in sorted(folder.glob("*.yaml")))
    for fault in sets[name].values():
        causes = causes_of(fault)
        assert all(f"id: neuron.component.{each}\n" in known for each in causes if each != "none")
