"""Package lists in files. Cases are files: data/freeze/NAME and NAME.expected."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelmedic.facts import ModelMedicError
from modelmedic.probes.environment.freeze import (
    MAX_PROBLEMS,
    parse_listing,
    read_listing,
)
from modelmedic.probes.environment.package_lists import Entry, read_line

FOLDER = Path(__file__).parent / "data" / "freeze"
CASES = sorted(path for path in FOLDER.iterdir() if path.suffix != ".expected")


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_file_gives_the_recorded_packages(case):
    expected = json.loads(case.with_name(case.name + ".expected").read_text("utf-8"))
    found = read_listing(case)
    assert {name: list(entry) for name, entry in found.packages.items()} == expected["packages"]
    places = [[p.code, p.where.line if p.where else 0] for p in found.problems]
    assert places == expected["problems"]
    assert found.complete == expected["complete"]


@pytest.mark.parametrize(
    ("line", "entry"),
    [
        ("tinker==0.38.0", Entry("tinker", "0.38.0")),
        ("tinker == 0.38.0", Entry("tinker", "0.38.0")),
        ("torch==2.13.0+cu126 ; sys_platform == 'linux'", Entry("torch", "2.13.0+cu126")),
        ("pydantic==2.13.0b2 --hash=sha256:aa", Entry("pydantic", "2.13.0b2")),
        ("x @ https://h/x-1.2.tar.gz", Entry("x")),
        ("numpy             2.4.6", Entry("numpy", "2.4.6")),
        ("  - pytorch=2.7.1=cuda_0", Entry("torch", "2.7.1")),
        ("torch>=2,<3", Entry("torch")),
        ("httpx==0.28.*", Entry("httpx")),
        ("# comment", None),
        ("--index-url https://x", None),
        ("dependencies:", None),
        ("hello world of text", Entry("", bad="hello world of text")),
    ],
)
def test_lines(line, entry):
    assert read_line(line) == entry


def test_many_bad_lines_give_few_problems():
    found = parse_listing("tinker==1.0\n" + "no package here\n" * 1000, "x.txt")
    assert found.packages == {"tinker": ("1.0", 1)}
    assert len(found.problems) == MAX_PROBLEMS + 1
    assert "980 more lines" in found.problems[-1].message


def test_a_text_without_any_package_is_one_problem():
    listing = parse_listing("dear diary,\nnothing was installed today\n", "notes.txt")
    assert not listing.packages
    assert [problem.code for problem in listing.problems] == ["MM433"]


def test_what_is_no_text_is_one_problem(tmp_path):
    path = tmp_path / "freeze.txt"
    path.write_bytes(bytes(range(256)) * 40)
    with pytest.raises(ModelMedicError, match=r"MM430.*this is not text"):
        read_listing(path)


@pytest.mark.parametrize("target", ["missing.txt", "."])
def test_a_file_that_cannot_be_read_is_one_clear_problem(tmp_path, target):
    with pytest.raises(ModelMedicError, match="MM430"):
        read_listing(tmp_path / target)


lines = st.one_of(st.text(), st.sampled_from([p.read_text("latin-1") for p in CASES]))


@given(
    text=st.lists(lines, max_size=4).map("\n".join),
    name=st.sampled_from(["x.txt", "uv.lock", "pylock.toml", "x.json"]),
)
def test_no_text_breaks_the_reader(text, name):
    assert parse_listing(text, name) == parse_listing(text, name)
