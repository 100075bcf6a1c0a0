"""The fifth set of faults: each kind has its report, and is not one of the older kinds."""

from pathlib import Path
from unittest import mock

import pytest
import yaml

pytest.importorskip("torch")
pytest.importorskip("transformers")

from .faulty.port import FAULTS
from .faulty.sets import faults_of

pytestmark = pytest.mark.heavy

HERE = Path(__file__).parent / "faulty"


@pytest.fixture(scope="module")
def fifth():
    with mock.patch.dict(FAULTS):
        yield faults_of("fifth")


def test_each_kind_has_the_report_that_it_is_of(fifth):
    rows = yaml.safe_load((HERE / "fifth_sources.yaml").read_text())
    told = {
        name: (fault.break_it.link, " ".join(fault.break_it.__doc__.split()))
        for name, fault in fifth.items()
    }
    assert {row["kind"]: (row["link"], row["sentence"]) for row in rows} == told
    assert len({row["link"] for row in rows}) == len(rows) >= 40


def test_no_name_is_that_of_an_older_kind(fifth):
    older = (HERE / "kinds.txt").read_text().split()
    assert all(name.removeprefix("fifth-") not in older for name in fifth)
    assert all(name.startswith("fifth-") for name in fifth)


def test_few_kinds_have_no_cause(fifth):
    assert 0 < sum(fault.cause == "none" for fault in fifth.values()) <= 5


def test_each_cause_is_a_diagnosis(fifth):
    folder = Path(__file__).parents[2] / "knowledge" / "neuron" / "diagnoses"
    known = "".join(path.read_text() for path in sorted(folder.glob("*.yaml")))
    for fault in fifth.values():
        causes = fault.cause if isinstance(fault.cause, tuple) else (fault.cause,)
        assert all(f"id: neuron.component.{each}\n" in known for each in causes if each != "none")
