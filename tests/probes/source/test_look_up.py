"""Messages -> the sites that they come from."""

import pytest

from modelmedic.reading.packages.index import open_index


@pytest.fixture
def index(shapes, cache):
    return open_index(shapes, cache=cache)


def found(index, text, **more):
    return [(match.site.line, dict(match.values)) for match in index.look_up(text, **more)]


def test_the_values_of_a_message(index):
    text = "factor must be above zero, got -0.5 for width 30"
    assert found(index, text) == [(12, {"factor": "-0.5", "width": "30"})]
    assert found(index, text, exception="ValueError") == found(index, text)
    assert found(index, text, exception="KeyError") == []


@pytest.mark.parametrize(
    "text",
    [
        "factor must be above\n    zero, got -0.5\n for width 30",
        "2026-01-01 worker 3: factor must be above zero, got -0.5 for width 30",
        "factor must be above zero, got -0.5 for wid...",
        "factor must be above zer",
        "('factor must be above zero, got -0.5 for width 30', 7)",
    ],
)
def test_wrapped_prefixed_and_cut_messages(index, text):
    assert [line for line, _ in found(index, text)] == [12]


def test_the_message_that_a_class_builds(index):
    assert found(index, "width has a wrong shape: 3.5", exception="ShapeError") == [
        (14, {"width": "3.5"})
    ]
    # Its base will do as well: a launcher may name that.
    assert found(index, "width has a wrong shape: 3.5", exception="ValueError")


@pytest.mark.parametrize(
    "text", ["", " ", "factor", "got 3", "something else altogether", "\0" * 99]
)
def test_what_says_nothing(index, text):
    assert found(index, text) == []


def test_most_constant_text_wins_and_equal_templates_are_all_told(install, cache):
    site = install("many", files={
        "many/a.py": "raise A(f'cannot open {path}')\n",
        "many/b.py": "raise A(f'cannot open {path}: no such volume')\n",
        "many/c.py": "raise A(f'cannot open {path}: no such volume')\n",
    })  # fmt: skip
    index = open_index(site, cache=cache)
    first, second, *rest = index.look_up("cannot open /x: no such volume")
    assert [first.site.file, second.site.file] == ["many/b.py", "many/c.py"]
    assert first.score == second.score > rest[0].score
    assert (
        index.look_up("cannot open /x: no such volume", module="many.c")[0].site.file == "many/c.py"
    )
    assert index.look_up("cannot open /x: it is locked")[0].site.file == "many/a.py"


def test_places_of_tracebacks(index, shapes):
    for path in (
        f"{shapes}/shapes/core.py", "/usr/lib/python3/site-packages/shapes/core.py",
        "C:\\env\\Lib\\site-packages\\shapes\\core.py", "/src/shapes/core.py", "shapes/core.py",
    ):  # fmt: skip
        assert [site.line for site in index.at(path, 12)] == [12], path
    assert index.at("shapes/core.py", 11) == ()
    assert index.at("/elsewhere/core.py", 12) == ()
    assert index.at("../../shapes/core.py\0", 12) == ()


def test_a_long_message_is_no_burden(index):
    text = "factor must be above zero, got 2 for width " + "3 width " * 200_000
    assert index.look_up(text)[0].site.line == 12
    assert index.look_up("x" * 2_000_000) == ()
