"""Every leaf of the debug guides' decision trees: named from facts, and from a folder of artefacts.

``leaves.yaml`` has the leaves. The conclusion is named before any other cause, no other leaf of the
tree is firm beside it, and without the deciding facts or artefacts it is not drawn."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from modelmedic.interfaces.cli.main import main

from .folders import Story, build
from .writers import KEPT

Leaf = Mapping[str, Any]
Run = Callable[..., list[dict[str, Any]]]

HERE = Path(__file__).parent
TREES: dict[str, dict[str, Leaf]] = yaml.safe_load((HERE / "leaves.yaml").read_text("utf-8"))
LEAVES = {name: leaf for leaves in TREES.values() for name, leaf in leaves.items()}
IN_FOLDERS = [name for name, leaf in LEAVES.items() if "without" not in leaf]
LEAST_FROM_ARTEFACTS = 24


@pytest.fixture
def diagnoses(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], compiled: Path
) -> Run:
    """The conclusions of the command line, the most important first."""
    monkeypatch.setenv("MODELMEDIC_CACHE", str(compiled))

    def run(*words: str) -> list[dict[str, Any]]:
        with pytest.raises(SystemExit):
            main([*words, "--format", "json"])
        report = json.loads(capsys.readouterr().out)
        assert not report["errors"]
        return list(report["diagnoses"])

    return run


def part(leaf: Leaf, name: str, *, whole: bool) -> Any:
    """Facts, copies or texts of a leaf; without the deciding ones unless ``whole``."""
    empty: Any = [] if name == "facts" else {}
    around = leaf["around"].get(name, empty)
    deciding = leaf["deciding"].get(name, empty) if whole else empty
    return [*around, *deciding] if name == "facts" else {**around, **deciding}


def named(found: list[dict[str, Any]], name: str, way: str) -> None:
    """The conclusion of the leaf is there, no other cause is named before it, and none that
    another leaf of its tree concludes is firm."""
    leaf = LEAVES[name]
    ids = [each["id"] for each in found]
    assert leaf["concludes"] in ids
    at = ids.index(leaf["concludes"])
    assert not [each["id"] for each in found[:at] if each["kind"] not in ("symptom", "benign")]
    assert (found[at]["confidence"] == "possible") == (way in leaf.get("lead", ()))
    causes = [each for each in found if each["kind"] != "symptom"]
    assert not {each["id"] for each in causes if each["confidence"] != "possible"} & rivals(name)


def rivals(name: str) -> set[str]:
    """The conclusions of the other leaves of a leaf's tree."""
    tree = next(leaves for leaves in TREES.values() if name in leaves)
    return {each["concludes"] for each in tree.values()} - {tree[name]["concludes"]}


@pytest.mark.parametrize("name", LEAVES)
def test_a_leaf_from_facts(name: str, diagnoses: Run, tmp_path: Path) -> None:
    leaf = LEAVES[name]
    path = tmp_path / "facts.json"
    path.write_text(json.dumps(part(leaf, "facts", whole=True)))
    named(diagnoses("--facts", str(path)), name, "facts")
    path.write_text(json.dumps(part(leaf, "facts", whole=False)))
    assert leaf["concludes"] not in {each["id"] for each in diagnoses("--facts", str(path))}


@pytest.mark.parametrize("name", IN_FOLDERS)
def test_a_leaf_from_a_folder(name: str, diagnoses: Run, tmp_path: Path) -> None:
    leaf = LEAVES[name]
    said = [leaf["said"]] if "said" in leaf else []
    whole = folder(leaf, tmp_path / "all", whole=True)
    named(diagnoses(str(whole), *said), name, "folder")
    less = diagnoses(str(folder(leaf, tmp_path / "less", whole=False)), *said)
    assert leaf["concludes"] not in {each["id"] for each in less}


def folder(leaf: Leaf, path: Path, *, whole: bool) -> Path:
    """The artefacts of a leaf; of what probes keep, only what they wrote themselves."""
    path.mkdir()
    more = {name: part(leaf, name, whole=whole) for name in ("copies", "texts")}
    build(Story("", tuple(part(leaf, "facts", whole=whole)), "", {"without": KEPT, **more}), path)
    return path


def test_the_page_counts_the_leaves(root: Path) -> None:
    page = (root / "docs/quality.md").read_text("utf-8")
    for tree, leaves in TREES.items():
        told = sum("without" not in leaf for leaf in leaves.values())
        facts, folders = (sum(way in leaf.get("lead", ()) for leaf in leaves.values())
                          for way in ("facts", "folder"))  # fmt: skip
        row = f"| {tree} | {len(leaves)} | {len(leaves)} ({facts}) | {told} ({folders}) |"
        assert row in page, row
    assert len(LEAVES) == 27
    assert len(IN_FOLDERS) >= LEAST_FROM_ARTEFACTS
