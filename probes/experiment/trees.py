"""Module trees of Stage 0 in their three written forms -> path and class of every module."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from .reading import Folder

MAX_MODULES = 200_000
MAX_DEPTH = 60
_DIGITS = re.compile(r"(?<![^.])\d+(?![^.])")


class Tree(NamedTuple):
    """Paths without the root's ``model.`` -> class ("" if the form lacks it). ``raw`` maps the
    paths as written to the stripped ones."""

    name: str
    types: Mapping[str, str]
    raw: Mapping[str, str]

    def children(self, path: str) -> list[str]:
        """Names of the modules directly below a path."""
        start = f"{path}." if path else ""
        rest = (p[len(start) :] for p in self.types if p.startswith(start))
        return [name for name in rest if name and "." not in name]

    def layers(self) -> int | None:
        """Number of children of the list of decoder layers (the longest numbered list)."""
        counts: dict[str, int] = {}
        for path in self.types:
            parent, _, last = path.rpartition(".")
            if last.isdigit() and not _DIGITS.search(parent):
                counts[parent] = counts.get(parent, 0) + 1
        named = [n for parent, n in counts.items() if parent.rsplit(".")[-1] == "layers"]
        return max(named) if named else max(counts.values(), default=None)


def read_tree(folder: Folder, side: str) -> Tree | None:
    """The tree of ``source`` or ``target``: the full one, else the compressed one, else the flat
    list of paths. None if none of them is usable."""
    base = f"model_tree/model_tree_{side}"
    for name in (f"{base}_full.json", f"{base}.json", f"{base}_flat_paths.txt"):
        tree = tree_in(folder, name)
        if tree is not None:
            return tree
    return None


def tree_in(folder: Folder, name: str) -> Tree | None:
    """The tree in one file: JSON, or a flat list of paths. None if there is none."""
    if name.endswith(".json"):
        root = folder.json(name)
        return None if root is None else tree_of(folder, name, root)
    text = folder.text(name)
    lines = [line.strip() for line in text.splitlines()] if text else []
    paths = {line: "" for line in lines[:MAX_MODULES] if line}
    return _tree(folder, name, paths) if len(paths) > 1 else None


def tree_of(folder: Folder, name: str, root: Any) -> Tree | None:
    """The tree below a JSON node; None, with a problem, if the node is not a tree."""
    found = dict(itertools.islice(_walk(root, "", 0), MAX_MODULES))
    if len(found) > 1:
        return _tree(folder, name, found)
    folder.form(name, "there should be a tree of name (or names), type and children")
    return None


def aligned(one: Tree, other: Tree) -> tuple[Tree, Tree]:
    """Both trees with their decoder layers below the same path: a model with several parts has a
    wrapper around the part that the other tree shows alone (``language_model.layers``)."""
    first, second = _above_layers(one), _above_layers(other)
    if first == second or first is None or second is None:
        return one, other
    if first.endswith(second):
        return _without(one, first[: len(first) - len(second)]), other
    if second.endswith(first):
        return one, _without(other, second[: len(second) - len(first)])
    return one, other


def _above_layers(tree: Tree) -> str | None:
    """Path above the first list of layers, with the dot; None if there is no such list."""
    found = sorted({
        parent.rpartition(".")[0]
        for path in tree.types
        if (parent := path.rpartition(".")[0]).rpartition(".")[2] == "layers"
        and path.rpartition(".")[2].isdigit() and not _DIGITS.search(parent)
    })  # fmt: skip
    decoders = [each for each in found if "vision" not in each and "audio" not in each] or found
    return f"{decoders[0]}." if decoders and decoders[0] else "" if decoders else None


def _without(tree: Tree, prefix: str) -> Tree:
    short = {path: path.removeprefix(prefix) for path in tree.types}
    types = {short[path]: kind for path, kind in tree.types.items() if path + "." != prefix}
    raw = {path: short.get(each, each) for path, each in tree.raw.items()}
    return Tree(tree.name, types, raw)


def _tree(folder: Folder, name: str, found: dict[str, str]) -> Tree:
    if len(found) >= MAX_MODULES:
        folder.problem("MM503", f"more than {MAX_MODULES:,} modules; the rest is left out", name)
    raw = {path: strip(path) for path in found}
    types = {short: found[path] for path, short in raw.items() if short}
    return Tree(name, types, raw)


def _walk(node: Any, parent: str, depth: int) -> Iterator[tuple[str, str]]:
    """(path, class) of a node and of everything below it, for both JSON forms."""
    if not isinstance(node, dict) or depth > MAX_DEPTH:
        return
    kind, children = node.get("type"), node.get("children")
    many = node.get("names")
    names = many if isinstance(many, list) else [node.get("name")]
    for name in names:
        if not isinstance(name, str) or not name:
            continue
        path = f"{parent}.{name}" if parent else name
        yield path, kind if isinstance(kind, str) else ""
        for child in children if isinstance(children, list) else ():
            yield from _walk(child, path, depth + 1)


def strip(path: str) -> str:
    """A path without its root: ``model.model.layers.0`` and ``model.layers.0`` are
    ``layers.0``; the root itself and the inner model are empty."""
    while path == "model" or path.startswith("model."):
        path = path[6:]
    return path


def pattern(path: str) -> str:
    """A path with N for the numbers of layers and experts."""
    return _DIGITS.sub("N", path)


def add_layers(folder: Folder, source: Tree | None, target: Tree | None) -> None:
    """Add a ``layer_count`` fact for each tree."""
    for side, tree in (("source", source), ("target", target)):
        if tree is not None:
            place = folder.place(tree.name)
            folder.collector.add("layer_count", place, side=side, count=tree.layers())
