"""The files of a project: which module an import names, and which files are its programs.

Files are read and parsed when something needs them. Nothing outside the project's own folders is
read, and no symbolic link is followed. A package in a folder of installed packages is a project of
its own: its neighbours are not part of it.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ...facts.problems import Location, Problem
from ...facts.regular_files import read_regular
from .nodes import Tree
from .sources import Place, Source, parse, read_source

MAX_MODULES = 2_000
MAX_KEPT = 400_000
"""Nodes that are kept of the modules of a project, for the next program."""
MAX_LEVELS = 5
MAX_FOLDERS = 50
MAX_BESIDE = 1_000
MAX_STEPS = 4
MAX_LOOKED_AT = 200_000
INSTALLED = frozenset({"site-packages", "dist-packages"})
PROJECT_MARKS = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", ".git")


class Module(NamedTuple):
    """A file of the project that was read; ``whole`` is false if a part of it was not."""

    key: str
    source: Source
    tree: ast.Module
    whole: bool
    problems: tuple[Problem, ...] = ()


class Project:
    """The modules that the files at ``paths`` are made of, by key: the path as it was given.
    Imports from the packages ``foreign`` are never looked for among its files."""

    def __init__(self, paths: Sequence[Path], foreign: frozenset[str] = frozenset()) -> None:
        self._foreign = foreign
        self.problems: list[Problem] = []
        self._modules: dict[str, Module | None] = {}
        self._imported: dict[str, tuple[str, ...]] = {}
        self._found: dict[tuple[str, str, int], str | None] = {}
        self._paths: dict[Path, list[Path]] = {}
        self._nodes: dict[str, Tree] = {}
        self._kept = 0
        self.given = [m for path in dict.fromkeys(paths) if (m := self._read(path, told=True))]

    def module(self, key: str) -> Module:
        """A module that was read."""
        module = self._modules[key]
        assert module is not None
        return module

    def nodes_of(self, key: str) -> Tree:
        """The nodes of a module that was read; those of many programs are read once."""
        found = self._nodes.get(key)
        if found is None:
            found = Tree(self.module(key).tree)
            self._kept += found.size
            if self._kept <= MAX_KEPT:
                self._nodes[key] = found
        return found

    def find(self, importer: str, name: str, level: int) -> tuple[str, ast.Module] | None:
        """The module that an import in ``importer`` names; None if it is not of the project."""
        asked = (importer, name, level)
        if asked not in self._found:
            self._found[asked] = self._located(Path(importer), name, level)
        key = self._found[asked]
        module = self._read(Path(key)) if key is not None else None
        return (module.key, module.tree) if module is not None else None

    def carries(self, importer: str, package: str) -> bool:
        """Whether the project that a file belongs to contains a package itself."""
        folders = self._search_path(Path(importer))
        within = package in Path(importer).parent.parts[-MAX_LEVELS:]
        return within or any(os.path.isdir(folder / package) for folder in folders)

    def programs(self) -> list[Module]:
        """Return the programs among the given files and their neighbours that import them: files
        that no other one imports, and those with code for being run. Tests count only if there is
        nothing else."""
        known = [*self.given, *self._users()]
        known = [m for m in known if not _is_test(Path(m.key))] or known
        imported = self._reached(known)
        found = [m for m in known if m.key not in imported or _is_run(m.tree)]
        covered = {m.key for m in found} | self._reached(found)
        for module in known:  # of modules that import each other, the first stands for all
            if module.key not in covered:
                found.append(module)
                covered |= {module.key} | self._reached([module])
        return found

    def _users(self) -> list[Module]:
        """The files next to the given ones that import them, directly or through each other."""
        given = {module.key for module in self.given}
        beside = [key for key in self._beside() if key not in given]
        users: dict[str, Module] = {}
        names = {_name_of(key) for key in given}
        for _ in range(MAX_STEPS):
            mentioned = re.compile(rb"\b(?:" + b"|".join(map(re.escape, sorted(names))) + rb")\b")
            new = [key for key in beside if key not in users and _mentions(key, mentioned)]
            found = [m for key in new if (m := self._read(Path(key)))]
            found = [m for m in found if given.union(users) & set(self._imports(m))]
            if not found:
                break
            users.update((module.key, module) for module in found)
            names = {_name_of(module.key) for module in found}
        return [users[key] for key in sorted(users)]

    def _beside(self) -> list[str]:
        """The Python files in the folders of the given ones, and above their packages."""
        folders: dict[Path, None] = {}
        for module in self.given:
            folder = Path(module.key).parent
            folders.setdefault(folder)
            if os.path.isfile(folder / "__init__.py") and folder.parent.name not in INSTALLED:
                folders.setdefault(folder.parent)
        found: list[str] = []
        for folder in [*folders][:MAX_FOLDERS]:
            try:
                entries = [e for e in os.scandir(folder) if e.name.endswith(".py")]
            except OSError:
                continue
            names = sorted(e.name for e in entries if not e.is_symlink())
            found += [str(folder / name) for name in names]
        return found[:MAX_BESIDE]

    def _reached(self, modules: Sequence[Module]) -> set[str]:
        """Return the modules of the project that the modules import, directly or through each
        other."""
        found: set[str] = set()
        waiting = [*modules]
        while waiting:
            module = waiting.pop()
            for key in self._imports(module):
                if key not in found and key != module.key:
                    found.add(key)
                    waiting.append(self.module(key))
        return found

    def _imports(self, module: Module) -> tuple[str, ...]:
        if module.key not in self._imported:
            self._imported[module.key] = tuple(dict.fromkeys(self._named(module)))
        return self._imported[module.key]

    def _named(self, module: Module) -> Iterator[str]:
        for node in self.nodes_of(module.key).imports:
            names = []
            if isinstance(node, ast.ImportFrom):
                base = node.module or ""
                names = [(base, node.level)]
                names += [(".".join(filter(None, (base, a.name))), node.level) for a in node.names]
            elif isinstance(node, ast.Import):
                names = [(alias.name, 0) for alias in node.names]
            for name, level in names:
                found = self.find(module.key, name, level) if name or level else None
                if found is not None:
                    yield found[0]

    def _read(self, path: Path, *, told: bool = False) -> Module | None:
        key = str(path)
        if key in self._modules:
            return self._modules[key]
        module = None
        if len(self._modules) == MAX_MODULES:
            message = f"only {MAX_MODULES:,} modules of the project are read"
            self.problems.append(Problem("MM467", message, Location(key), "name fewer files"))
        if len(self._modules) < MAX_MODULES:
            source, problems = read_source(path)
            if source is None and not told and _is_empty(path):  # as __init__.py often is
                source, problems = Source(key, ("",), (Place(1),)), []
            if source is not None:
                tree, broken, whole = parse(source)
                problems = [*problems, *broken]
                module = Module(key, source, tree, whole and not problems, tuple(problems))
            if told or module is not None:
                self.problems += problems
        self._modules[key] = module
        return module

    def _located(self, importer: Path, name: str, level: int) -> str | None:
        parts = tuple(part for part in name.split(".") if part)
        if level:
            folder = importer.parent
            for _ in range(level - 1):
                folder = folder.parent
            return _file_of(folder, parts)
        root = parts[0] if parts else ""
        if not root or root in self._foreign:
            return None
        package = _installed(importer)
        for folder in self._search_path(importer):
            found = _file_of(folder, parts)
            if found is not None and package is not None and package not in Path(found).parents:
                return None
            if found is not None and found != str(importer):
                return found
            if root in sys.stdlib_module_names:
                return None  # only what lies beside the program hides the standard library
        return None

    def _search_path(self, importer: Path) -> list[Path]:
        folder = importer.parent
        if folder not in self._paths:
            self._paths[folder] = [*_search_path(folder)]
        return self._paths[folder]


def _installed(path: Path) -> Path | None:
    """The folder of the installed package that a file belongs to."""
    return next((folder for folder in path.parents if folder.parent.name in INSTALLED), None)


def _search_path(beside: Path) -> Iterator[Path]:
    """Yield the folders in which the imports of a file are looked for: its own, above its package,
    and in the folders above up to that of the project."""
    yield beside
    folder = beside
    above = [folder]
    for _ in range(MAX_LEVELS):
        if any(os.path.exists(folder / mark) for mark in PROJECT_MARKS):
            break
        if folder.parent == folder:
            break
        folder = folder.parent
        above.append(folder)
    else:
        above = above[:1]  # no project is marked as one
    package = beside
    while os.path.isfile(package / "__init__.py") and package.parent != package:
        package = package.parent
    yield from dict.fromkeys((package, *above[1:], above[-1] / "src"))


def _file_of(folder: Path, parts: tuple[str, ...]) -> str | None:
    """The file of a module below a folder, or of the package."""
    place = folder.joinpath(*parts)
    files = [place.with_name(place.name + ".py")] if parts else []
    for path in (*files, place / "__init__.py"):
        if os.path.isfile(path) and not os.path.islink(path) and not os.path.islink(path.parent):
            return str(path)
    return None


def _is_empty(path: Path) -> bool:
    try:
        return os.stat(path).st_size == 0
    except OSError:
        return False


def _is_run(tree: ast.Module) -> bool:
    """Whether a file checks if it is run as a program."""
    tests = (node.test for node in tree.body if isinstance(node, ast.If))
    return any(isinstance(n, ast.Name) and n.id == "__name__" for t in tests for n in ast.walk(t))


def _is_test(path: Path) -> bool:
    return is_test_name(path.stem) or "tests" in path.parent.parts


def is_test_name(stem: str) -> bool:
    """Whether a file is a test by its name, as pytest finds it."""
    return stem.startswith("test_") or stem.endswith("_test") or stem == "conftest"


def _name_of(key: str) -> bytes:
    """The name under which a module is imported."""
    path = Path(key)
    return (path.parent.name if path.stem == "__init__" else path.stem).encode()


def _mentions(key: str, names: re.Pattern[bytes]) -> bool:
    try:
        return names.search(read_regular(Path(key), MAX_LOOKED_AT)) is not None
    except (OSError, ValueError):
        return False
