"""What all tests share: the tree they test, and settings that make a run repeatable."""

import importlib.util
import os
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent

# Time limits are pytest-timeout's. In CI the examples are the same in every run, so that a change
# is judged by what it changes; elsewhere they are fresh, so that new cases are found.
settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


def pytest_configure() -> None:
    """Refuse to test another copy of ModelMedic than the one in this tree, or the one that
    MODELMEDIC_UNDER_TEST names (a built one, with compiled modules)."""
    wanted = Path(os.environ.get("MODELMEDIC_UNDER_TEST") or ROOT).resolve()
    spec = importlib.util.find_spec("modelmedic")
    places = (spec and spec.submodule_search_locations) or ()
    # The package has no file of its own, so an editable install stays a second place behind.
    if [Path(place, "engine").resolve() for place in places][:1] != [wanted / "engine"]:
        raise pytest.UsageError("these tests need the editable install of this tree: make dev")


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the tree under test."""
    return ROOT
