"""Shared by the tests of facts: the data files, and a vocabulary with each type of attribute."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from modelmedic.facts import Vocabulary
from modelmedic.facts.declarations import load_vocabulary
from modelmedic.facts.strict_yaml import load

DATA = Path(__file__).resolve().parent / "data"


def refusals(name: str) -> list[Any]:
    """The cases of a data file, each a parameter of its own."""
    path = DATA / f"{name}.yaml"
    cases = load(path.read_text(encoding="utf-8"), str(path)).data
    return [pytest.param(case, id=title) for title, case in cases.items()]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "cases(file): one test for each case of data/file.yaml")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`@pytest.mark.cases("file")` gives a test each case of ``data/file.yaml`` as `case`."""
    if marker := metafunc.definition.get_closest_marker("cases"):
        metafunc.parametrize("case", refusals(marker.args[0]))


@pytest.fixture(scope="session")
def vocabulary() -> Vocabulary:
    """The vocabulary of ``data/vocabulary.yaml``."""
    text = (DATA / "vocabulary.yaml").read_text(encoding="utf-8")
    return Vocabulary.from_plain(load_vocabulary([("vocabulary.yaml", text)]))
