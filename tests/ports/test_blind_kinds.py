"""The later sets of faults, each by an author who knew no hypothesis, checked to show."""

import hashlib
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
from .faulty.sets import SETS, faults_of, half_of
from .faulty.strength import FIRST, Pairs

pytestmark = pytest.mark.heavy

Sets = dict[str, dict[str, Fault]]
Row = tuple[str, list[str]]
SEED = 0
NAMES = ("seventh", "eighth", "ninth", "tenth", "eleventh")
NEW_KINDS_ONLY = ("seventh", "eighth", "ninth")
TABLES = Path(__file__).parent / "faulty"
ROWS: list[Row] = [
    (name, line.split("\t"))
    for name in NAMES
    for line in (TABLES / f"{name}_kinds.txt").read_text().splitlines()[1:]
]
WHOLE = SimpleNamespace(modules="all")
# The tables were made of all kinds; to try each takes minutes.
SAMPLE = [row for row in ROWS if hashlib.sha256(row[1][0].encode()).digest()[1] % 4 == 0]
each_set = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(scope="module")
def sets() -> Iterator[Sets]:
    with mock.patch.dict(FAULTS):
        yield {name: faults_of(name) for name in NAMES}


@pytest.fixture(scope="module")
def pairs() -> Pairs:
    return Pairs(SEED)


def bare(name: str) -> str:
    """A name without that of its set."""
    words = name.split("-")
    while words[0] in ("alien", *SETS):
        words = words[1:]
    return "-".join(words)


def causes_of(fault: Any) -> tuple[str, ...]:
    return fault.cause if isinstance(fault.cause, tuple) else (fault.cause,)


def ratios(pairs: Pairs, fault: Fault, arch: str) -> dict[str, float]:
    found = pairs.broken(fault, arch, SEED % 2)
    assert found is not None
    return dict(found)


@each_set
def test_each_kind_says_what_is_broken(sets: Sets, name: str) -> None:
    faults = sets[name]
    assert len(faults) >= 39
    assert all(each.startswith((f"{name}-", f"alien-{name}-")) for each in faults)
    told = {
        " ".join((getattr(fault.break_it, "__doc__", None) or "").split())
        for fault in faults.values()
    }
    assert "" not in told
    assert len(told) == len(faults)


@pytest.mark.parametrize("name", NEW_KINDS_ONLY)
def test_no_name_is_that_of_an_older_kind(sets: Sets, name: str) -> None:
    older = NAMES[: NAMES.index(name)]
    with mock.patch.dict(FAULTS):
        others = [of for of in SETS if of not in NAMES or of in older]
        known = {bare(kind) for of in others for kind in faults_of(of)}
    assert not known & {bare(kind) for kind in sets[name]}


@each_set
def test_the_table_has_each_kind_with_its_component_and_causes(sets: Sets, name: str) -> None:
    rows = [row for of, row in ROWS if of == name]
    assert [row[0] for row in rows] == sorted(sets[name])
    for kind, half, part, cause, others, *_ in rows:
        fault: Any = sets[name][kind]
        told = (cause, *(() if others == "-" else others.split()))
        assert (half, part, told) == (half_of(kind), fault.part, causes_of(fault))


@pytest.mark.sweep
@pytest.mark.parametrize("row", SAMPLE, ids=lambda row: row[1][0])
def test_a_kind_shows_beyond_rounding_first_at_its_component(
    sets: Sets, pairs: Pairs, row: Row
) -> None:
    name, (kind, _, _, _, _, models, *_) = row
    found = ratios(pairs, sets[name][kind], models.split()[0])
    first = next(place for place, ratio in found.items() if ratio > FIRST)
    assert fits(first, sets[name][kind], SEED % 2, WHOLE)


@pytest.mark.parametrize("arch", sorted({row[5].split()[0] for _, row in SAMPLE}))
def test_a_port_that_is_not_broken_is_silent(pairs: Pairs, arch: str) -> None:
    twin: Any = Fault("twin", "none", "-", lambda port: None, everywhere=False)
    assert max(ratios(pairs, twin, arch).values()) < 1.5


@each_set
def test_alien_kinds_are_those_without_a_cause(sets: Sets, name: str) -> None:
    without = {kind for kind, fault in sets[name].items() if fault.cause == "none"}
    assert without == {kind for kind in sets[name] if kind.startswith("alien")}
    assert len(without) >= 2


@each_set
def test_each_cause_is_a_diagnosis(sets: Sets, name: str) -> None:
    folder = Path(__file__).parents[2] / "knowledge" / "neuron" / "diagnoses"
    known = "".join(path.read_text() for path in sorted(folder.glob("*.yaml")))
    for fault in sets[name].values():
        causes = causes_of(fault)
        assert all(f"id: neuron.component.{each}\n" in known for each in causes if each != "none")
