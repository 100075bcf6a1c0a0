"""Arrows of the house: which module imports which, and where arrows run in circles.

An import inside a function is an arrow like any other; one that only the type checker reads is
counted apart.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CODE = ("facts", "reading", "probes", "engine", "authoring", "interfaces")
START, LATE, TYPES = "start", "late", "types"
RUN = frozenset({START, LATE})  # what runs imports

Arrows = Mapping[str, Mapping[str, frozenset[str]]]
"""For each module those it imports, and when."""


def modules(root: Path = ROOT) -> dict[str, Path]:
    """The modules of the library by their dotted names within it; a package by its own name."""
    found = {}
    for package in CODE:
        for path in sorted((root / package).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def arrows(root: Path = ROOT) -> Arrows:
    """The relative imports of each module."""
    known = modules(root)
    return {name: _of_module(name, path, known) for name, path in known.items()}


def _of_module(name: str, path: Path, known: Mapping[str, Path]) -> dict[str, frozenset[str]]:
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    found: dict[str, frozenset[str]] = {}
    for node, when in _imports_of(path.read_text(encoding="utf-8")):
        base = [*package[: len(package) - node.level + 1], *(node.module or "").split(".")]
        target = ".".join(part for part in base if part)
        for alias in node.names:
            inner = f"{target}.{alias.name}"
            reached = inner if inner in known else target
            if reached in known and reached != name:
                found[reached] = found.get(reached, frozenset()) | {when}
    return found


@cache
def _imports_of(text: str) -> list[tuple[ast.ImportFrom, str]]:
    return list(_imports(ast.parse(text), START))


def _imports(node: ast.AST, when: str) -> Iterator[tuple[ast.ImportFrom, str]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ImportFrom) and child.level:
            yield child, when
        inner = when
        if isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            inner = TYPES
        elif when == START and isinstance(
            child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
        ):
            inner = LATE
        yield from _imports(child, inner)


def cycles(root: Path = ROOT, when: Iterable[str] = RUN) -> list[list[str]]:
    """Groups of modules each of which imports, over others, itself."""
    wanted = frozenset(when)
    return circles(
        {
            name: {other for other, times in targets.items() if times & wanted}
            for name, targets in arrows(root).items()
        }
    )


def circles(edges: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """The strongly connected groups of two and more."""
    reach = {name: _reached(name, edges) for name in edges}
    groups = {
        tuple(sorted(b for b in reach[a] if a in reach.get(b, ()))) for a in edges if a in reach[a]
    }
    return sorted(map(list, groups))


def _reached(name: str, edges: Mapping[str, Iterable[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [*edges[name]]
    while waiting:
        if (here := waiting.pop()) not in found:
            found.add(here)
            waiting += edges.get(here, ())
    return found


def folders_in_circles(root: Path = ROOT) -> list[list[str]]:
    """Folders that point at each other, directly or over others, with the modules between them.

    Within each package, what lies in it (a module, or a folder with all below it) is one point. So
    the modules of a package may be above and below one of its folders, as ``probe.py`` and
    ``terms.py`` are, but no module is both, not even through others. The ``__init__`` of the
    package is not a point: it hands on names of what lies in it. Between the packages on top the
    contracts of ``pyproject.toml`` rule.
    """
    points = arrows(root)
    packages = {name for name, path in modules(root).items() if path.name == "__init__.py"}
    found = []
    for package in sorted(packages):
        edges: dict[str, set[str]] = {}
        for name, targets in points.items():
            for other, times in targets.items():
                source, target = _child(package, name), _child(package, other)
                if source and target and source != target and times & RUN:
                    edges.setdefault(source, set()).add(target)
        found += [group for group in circles(edges) if packages.intersection(group)]
    return found


def _child(package: str, name: str) -> str:
    """The direct child of a package that a module belongs to; "" for the package itself and for
    others."""
    rest = name.removeprefix(f"{package}.")
    return f"{package}.{rest.partition('.')[0]}" if rest != name else ""


def parents_in_circles(root: Path = ROOT) -> list[tuple[str, str]]:
    """Folders whose own modules import from a folder in them, from where others are imported."""
    known = modules(root)
    found = {
        (known[name].parent, known[other].parent)
        for name, targets in arrows(root).items()
        for other, times in targets.items()
        if times & RUN and known[name].name != "__init__.py"
    }
    return sorted(
        (a.relative_to(root).as_posix(), b.relative_to(root).as_posix())
        for a, b in found
        if (b, a) in found and a in b.parents
    )
