"""``kb diff``: what changed between folders or revisions, decided by running the cases of both."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from modelmedic.engine.compiler.store.files import vocabulary_in
from modelmedic.facts.strict_yaml import load

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(__file__).with_name("diff_cases")
BASE = load((FOLDER / "base.yaml").read_text("utf-8"), "base.yaml").data
CASES = load((FOLDER / "cases.yaml").read_text("utf-8"), "cases.yaml").data


def edited(edits):
    files = dict(BASE)
    for name, old, new in edits:
        assert old in files[name], f"{old!r} is not in {name}"
        files[name] = files[name].replace(old, new)
    return files


@pytest.fixture
def checkout(folder):
    """Writes self-contained knowledge, with the shipped vocabulary."""

    def write(name, files):
        place = folder(name, {f"knowledge/{path}": text for path, text in files.items()})
        for name, path in vocabulary_in(str(ROOT)):
            copy = place / name.replace("vocabulary/", "facts/vocabulary/")
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
        return place

    return write


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"].replace(" ", "-"))
def test_what_changed(diagnose, checkout, case):
    old, new = checkout("old", BASE), checkout("new", edited(case["edits"]))
    answer = diagnose("kb", "diff", old, new, "-f", "json")
    assert answer.code == 0, answer.err
    found = [[change["kind"], change["id"]] for change in answer.json["changes"]]
    assert sorted(found) == sorted(case["changes"])
    assert answer.json["bump"] == case["bump"]
    shown = {name.partition(" (")[0] for c in answer.json["changes"] for name in c["cases"]}
    if "shown" in case:
        assert shown == {case["shown"]}

    back = diagnose("kb", "diff", new, old, "-f", "json").json
    opposite = {"loosened": "tightened", "tightened": "loosened", "added": "removed"}
    opposite |= {"removed": "added"}
    turned = {(opposite.get(kind, kind)) for kind, _ in found}
    assert {change["kind"] for change in back["changes"]} == turned


def test_texts_and_changelog(diagnose, checkout):
    edits = [*CASES[2]["edits"], *CASES[9]["edits"], *CASES[1]["edits"]]
    old, new = checkout("old", BASE), checkout("new", edited(edits))
    said = " ".join(diagnose("kb", "diff", old, new).out.split())
    assert "acme.env.proxy -> acme.net.proxy" in said
    assert "in: two (knowledge/rules.test.yaml:4:5)" in said
    assert said.endswith("The major version must rise.")
    lines = diagnose("kb", "diff", old, new, "-f", "markdown").out.splitlines()
    assert "- Renamed: diagnosis `acme.env.proxy` to `acme.net.proxy` (The proxy is wrong)" in lines
    assert all(line.startswith("- ") for line in lines)
    assert diagnose("kb", "diff", old, new, "-f", "json").json["changelog"] == lines


def git(place, *arguments):
    identity = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *identity, *arguments], cwd=place, check=True, capture_output=True)


@pytest.fixture
def repository(checkout, monkeypatch):
    """A repository with two commits, the first one tagged v1; it is the working folder."""
    place = checkout("repository", BASE)
    git(place, "init", "-q")
    git(place, "add", ".")
    git(place, "commit", "-qm", "one")
    git(place, "tag", "v1")
    checkout("repository", edited(CASES[2]["edits"]))
    git(place, "commit", "-qam", "two")
    monkeypatch.chdir(place)
    return place


def test_revisions_of_git(diagnose, repository):
    for old, new in (("v1", "HEAD"), ("HEAD~1", repository), ("v1", ".")):
        changes = diagnose("kb", "diff", old, new, "-f", "json").json["changes"]
        assert {(c["kind"], c["id"]) for c in changes} == {
            ("loosened", "acme.env.disk"),
            ("loosened", "acme.rule.disk"),
        }
    assert git(repository, "diff", "--exit-code") is None  # nothing was written


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("v2", "HEAD"), "neither a folder nor a revision"),
        (("--", "--output=x", "HEAD"), "is not a revision"),
        (("v1", "HEAD", "--folder", "other"), "has no folder"),
        (("v1", "HEAD", "--folder", "../x"), "git says"),
    ],
)
def test_what_is_not_there_is_a_clear_error(diagnose, repository, arguments, said):
    answer = diagnose("kb", "diff", *arguments)
    assert answer.code == 2
    assert answer.err.startswith("MM343")
    assert said in " ".join(answer.err.split())
    assert not (repository / "x").exists()


def test_outside_of_a_repository(diagnose, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    answer = diagnose("kb", "diff", "v1", "v2")
    assert (answer.code, answer.err[:5]) == (2, "MM343")


def test_knowledge_that_does_not_load_is_named(diagnose, checkout):
    bad = checkout("bad", edited([["rules.yaml", "acme.env.disk", "acme.env.x"]]))
    answer = diagnose("kb", "diff", checkout("old", BASE), bad)
    assert answer.code == 3
    assert "MM240 knowledge/rules.yaml:9:28" in answer.err


def test_overlays_are_compared_upon_the_shipped_knowledge(on_small, folder):
    old, new = folder("old", BASE), folder("new", edited(CASES[2]["edits"]))
    answer = on_small("kb", "diff", old, new, "-f", "json").json
    assert {c["id"] for c in answer["changes"]} == {"acme.env.disk", "acme.rule.disk"}
    assert answer["cases"] > 6  # those of the small knowledge


def test_facts_that_one_side_does_not_know_are_left_out_and_counted(diagnose, checkout):
    new = checkout(
        "new",
        edited([["rules.test.yaml", "free_over_model: 2", "free_over_model: 2, colour: red"]]),
    )
    vocabulary = """
schema: modelmedic/vocabulary/1
extend: {disk_space: {attributes: {colour: {type: string, description: colour}}}}
"""
    (new / "facts/vocabulary/own.yaml").write_text(vocabulary)
    answer = diagnose("kb", "diff", checkout("old", BASE), new, "-f", "json").json
    assert (answer["unreadable"], answer["changes"]) == (1, [])
