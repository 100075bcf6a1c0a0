"""Limits on the figures of the house (``make figures``)."""

import importlib.util
from pathlib import Path

import pytest

MAX_MODULES = 20
# 573 in 49, and the six of one more file that look closer where a digest in the report reads like
# encoded text, which depends on the digest.
MAX_FUNCTIONS, MAX_FILES = 580, 50


@pytest.fixture(scope="module")
def figures():
    path = Path(__file__).with_name("figures.py")
    spec = importlib.util.spec_from_file_location("figures_of_the_house", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_no_module_needs_itself_to_load(figures):
    assert figures.cycles() == []


def test_no_folder_has_too_many_modules(figures):
    counts = figures.modules_by_folder()
    full = {folder: count for folder, count in counts.items() if count > MAX_MODULES}
    assert not full


def test_the_way_of_a_fact_is_short(figures):
    way = figures.passed()
    assert 100 < len(way) <= MAX_FUNCTIONS
    assert len({line.rsplit(":", 2)[0] for line in way}) <= MAX_FILES


@pytest.fixture
def house(tmp_path):
    """Writes modules of a small house."""

    def write(**texts):
        for name, text in texts.items():
            path = tmp_path / "engine" / f"{name}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        (tmp_path / "engine" / "__init__.py").touch()
        return tmp_path

    return write


def test_a_cycle_is_found(figures, house):
    root = house(a="from .b import x", b="from . import c", c="if 1:\n    from .a import y", d="")
    assert figures.cycles(root) == [["engine.a", "engine.b", "engine.c"]]


@pytest.mark.parametrize(
    "late",
    [
        "def f():\n    from .a import y",
        "if TYPE_CHECKING:\n    from .a import y",
        "from re import a",
    ],
)
def test_what_is_imported_later_makes_no_cycle(figures, house, late):
    assert figures.cycles(house(a="from .b import x", b=late)) == []


def test_modules_are_counted_without_the_init(figures, house):
    assert figures.modules_by_folder(house(a="", b="")) == {"engine": 2}
