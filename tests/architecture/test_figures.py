"""Limits on the figures of the house (``make figures``). They go down only."""

import pytest
from tests.architecture import arrows, figures

MAX_MODULES = 20
# Eight of the files of an error text read the figures that it states.
# Of a fact 575 in 49, and the six of one more file that look closer where a digest in the report
# reads like encoded text, which depends on the digest.
MAX_FUNCTIONS = 581
MAX_FILES = {"a fact": 50, "an error text": 95, "a script": 166}


@pytest.fixture(scope="module")
def passed():
    return figures.passed()


def test_no_module_needs_itself_to_load():
    assert arrows.cycles(when={arrows.START}) == []


def test_no_module_imports_itself_over_others():
    assert arrows.cycles() == []


def test_folders_do_not_point_at_each_other():
    assert arrows.folders_in_circles() == []


def test_no_folder_has_too_many_modules():
    counts = figures.modules_by_folder()
    full = {folder: count for folder, count in counts.items() if count > MAX_MODULES}
    assert not full


def test_the_way_of_a_fact_is_short(passed):
    assert 100 < len(passed["a fact"]) <= MAX_FUNCTIONS


@pytest.mark.parametrize("name", figures.WAYS)
def test_few_files_are_passed(passed, name):
    assert 10 < len(figures.files_of(passed[name])) <= MAX_FILES[name]


@pytest.fixture
def house(tmp_path):
    """Writes modules of a small house; ``a__b`` is module b in folder a."""

    def write(**texts):
        for name, text in texts.items():
            path = tmp_path.joinpath("engine", *name.split("__")).with_suffix(".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            for folder in (path.parent, tmp_path / "engine"):
                (folder / "__init__.py").touch()
        return tmp_path

    return write


def test_a_cycle_is_found(house):
    root = house(a="from .b import x", b="from . import c", c="if 1:\n    from .a import y", d="")
    assert arrows.cycles(root) == [["engine.a", "engine.b", "engine.c"]]


LATE, TYPES = "def f():\n    from .a import y", "if TYPE_CHECKING:\n    from .a import y"


@pytest.mark.parametrize(
    ("text", "when", "found"),
    [
        (LATE, {arrows.START}, 0),
        (LATE, arrows.RUN, 1),
        (TYPES, arrows.RUN, 0),
        (TYPES, {*arrows.RUN, arrows.TYPES}, 1),
        ("from re import a", {*arrows.RUN, arrows.TYPES}, 0),
    ],
)
def test_a_late_import_counts_and_one_for_types_does_apart(house, text, when, found):
    assert len(arrows.cycles(house(a="from .b import x", b=text), when)) == found


def test_modules_are_counted_without_the_init(house):
    assert figures.modules_by_folder(house(a="", b="")) == {"engine": 2}


def test_folders_that_point_at_each_other_are_found(house):
    root = house(a__x="from ..b import y", b__y="def f():\n    from ..a.z import z", a__z="")
    assert arrows.folders_in_circles(root) == [["engine.a", "engine.b"]]


def test_a_module_above_and_below_a_folder_is_found(house):
    root = house(a__x="from ..low import low", low="from .b import b", b="from .a.z import z")
    assert arrows.folders_in_circles(root) == []
    (root / "engine" / "a" / "z.py").touch()
    assert arrows.folders_in_circles(root) == [["engine.a", "engine.b", "engine.low"]]


def test_one_module_above_a_folder_and_one_below_it_are_in_order(house):
    root = house(probe="from .a.x import x", a__x="from ..terms import t", terms="")
    assert arrows.folders_in_circles(root) == []
    assert arrows.parents_in_circles(root) == [("engine", "engine/a")]


def test_what_an_init_hands_on_is_no_arrow(house):
    root = house(a__x="from ..terms import t", terms="", __init__="from .a.x import x")
    assert arrows.folders_in_circles(root) == []
