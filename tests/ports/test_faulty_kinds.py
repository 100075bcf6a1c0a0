"""The fourth set of faults agrees with its table and its halves."""

from pathlib import Path
from unittest import mock

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from .faulty.port import FAULTS
from .faulty.sets import faults_of, half_of

pytestmark = pytest.mark.heavy

HERE = Path(__file__).parent / "faulty"


@pytest.fixture(scope="module")
def fourth():
    with mock.patch.dict(FAULTS):
        yield faults_of("fourth")


def test_each_kind_is_in_the_half_of_its_name(fourth):
    lines = (HERE / "fourth_halves.txt").read_text().splitlines()
    assert lines == [f"{half_of(name)} {name}" for name in sorted(fourth)]


def test_each_kind_strikes_where_the_table_says(fourth):
    rows = [line.split("\t") for line in (HERE / "fourth_kinds.txt").read_text().splitlines()[1:]]
    assert [row[0] for row in rows] == sorted(fourth)
    for name, _, part, cause, others, struck, largest in rows:
        fault = fourth[name]
        causes = fault.cause if isinstance(fault.cause, tuple) else (fault.cause,)
        assert (part, causes[0], " ".join(causes[1:]) or "-") == (fault.part, cause, others)
        assert struck and float(largest) > 5, name


def test_no_name_is_that_of_an_older_kind(fourth):
    assert not set((HERE / "kinds.txt").read_text().split()) & set(fourth)


def test_aliens_have_no_cause(fourth):
    aliens = {name for name in fourth if name.startswith("alien-")}
    assert len(aliens) >= 10
    assert aliens == {name for name, fault in fourth.items() if fault.cause == "none"}
