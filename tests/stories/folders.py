"""Folders of artefacts, one for each story, and the command that is given with them.

A folder holds what the writers make of the facts, and what ``artefacts.yaml`` adds by the name of
the story: ``copies`` of files of other tests, ``texts``, ``parts`` of experiment
folders, ``said`` (a complaint in the command, where the story hangs on it), ``asked`` (questions
with the answer that the story gives), ``newer`` (files written after all others), and ``without``
for files that are left out.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from .port_writers import port_files
from .writers import Fact, all_files

HERE = Path(__file__).parent
TESTS = HERE.parent
HOUR = 3_600
EXTRA: dict[str, dict[str, Any]] = yaml.safe_load((HERE / "artefacts.yaml").read_text("utf-8"))
UNREACHED: dict[str, str] = yaml.safe_load((HERE / "unreached.yaml").read_text("utf-8"))


WRITTEN = (
    ("model_tree", "component_mapping", "class_divergence", "modeling_", "config.json"),
    ("results/stage1",), ("tests",), ("results/stage2",), ("results/stage3",), ("patches",),
    ("results/teacher_forced",), ("results/stage7",),
)  # fmt: skip


class Story(NamedTuple):
    """A whole-story case of the knowledge: its facts unchanged, and the diagnosis that comes first
    (empty: none)."""

    name: str
    facts: tuple[Fact, ...]
    first: str
    more: dict[str, Any]


def stories(root: Path) -> Iterator[Story]:
    """All stories of the knowledge."""
    for path in sorted((root / "knowledge").rglob("*.test.yaml")):
        text = path.read_text("utf-8")
        if "kind: story" not in text:
            continue
        for case in yaml.load(text, yaml.CSafeLoader)["cases"]:
            if case["kind"] == "story":
                name = case["name"]
                first = case["expect"].get("first", "")
                yield Story(name, tuple(case["facts"]), first, EXTRA.get(name) or {})


def build(story: Story, folder: Path) -> None:
    """Write the artefacts of a story."""
    known = all_files(story.facts) | port_files(story.facts)
    texts = {
        name: text for name, text in known.items() if name not in story.more.get("without", ())
    }
    texts |= story.more.get("texts", {})
    parts = story.more.get("parts", ())
    for part in parts:
        _part(TESTS / "inspection_neuron/parts" / part, folder)
    for name, text in texts.items():
        _write(folder / name, text)
    for name, source in story.more.get("copies", {}).items():
        _copy(TESTS / source, folder / name)
    for name in story.more.get("removed", ()):
        (folder / name).unlink()
    for path in folder.rglob("*"):
        _dated(path, path.relative_to(folder).as_posix(), story.more.get("newer", ()))


def _part(source: Path, folder: Path) -> None:
    for path in sorted(source.rglob("*")):
        if path.is_file():
            _copy(path, folder / str(path.relative_to(source)).replace(".py.txt", ".py"))


def _dated(path: Path, name: str, newer: Collection[str]) -> None:
    """Make a file as old as the stage of a port check that writes it; files that no stage writes
    are newer, and files that were written again are the newest."""
    stages = (number for number, names in enumerate(WRITTEN) if name.startswith(names))
    last = len(WRITTEN)
    time = 1_700_000_000 + (last + 1 if name in newer else next(stages, last)) * HOUR
    os.utime(path, (time, time))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copyfile(source, target)
