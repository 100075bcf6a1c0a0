"""One release as a flat table: the names in modules, the attributes of classes, and signatures."""

from __future__ import annotations

import ast
from functools import partial

from ...reading.packages.modules import Meant, Modules, Names
from .classes import Classes, Made
from .signatures import merged, signature

Flat = dict[tuple[str, str, str], str]
"""``(table, owner, name)`` -> its short form; the tables are modules, classes, functions."""
# Modules that few import: their names are listed without parameters.
_BRIEFLY = ("tinker_cookbook.recipes.", "tinker.resources.", "tinker.cli.", "tinker.proto.")


def list_interface(release: Modules) -> Flat:
    """The public interface of a release."""
    return _Listing(release).flat


class _Listing:
    def __init__(self, release: Modules) -> None:
        self._release = release
        self._paths = _public_paths(release)
        self.flat: Flat = {}
        self._classes = Classes(release, self.canon)
        self._listed: set[str] = set()
        for name, module in sorted(release.modules.items()):
            if _is_public(name):
                self._list_module(name, module)

    def canon(self, meant: Meant) -> str:
        """The preferred path of a class or function with several paths."""
        return self._paths.get(meant.path, meant.path)

    def _list_module(self, name: str, module: Names) -> None:
        found, open_ = self._release.names(name)
        self.flat["modules", name, ""] = "open" if open_ else "closed"
        for each in sorted(found):
            if each.startswith("_"):
                continue
            meant = self._release.meaning(name, each)
            said = {"class": "=", "def": "=", "module": "@"}.get(meant.form, "")
            path = self.canon(meant) if said == "=" else meant.path
            self.flat["modules", name, each] = f"{said}{path}" if said else ""
            if meant.form == "class":
                self._list_class(meant, path)
            elif meant.form == "def":
                self._list_function(meant, path)

    def _list_class(self, meant: Meant, path: str) -> None:
        if path in self._listed or _is_outside(meant) or path.startswith(_BRIEFLY):
            return
        self._listed.add(path)
        made = self._classes.made(meant)
        self.flat["classes", path, ""] = _said(made)
        for name, said in made.members.items():
            if not name.startswith("_"):
                self.flat["classes", path, name] = said
                self._list_used(said)
        self._list_used(made.call or "")

    def _list_used(self, said: str) -> None:
        """Classes that annotations name, wherever they are defined."""
        for part in said.replace("|", " ").replace(":", " ").replace(")", " ").split():
            path = part.strip("()@^[]=!&")
            owner, _, _ = path.rpartition(".")
            if owner in self._release.modules and path not in self._listed:
                meant = self._release.at(path)
                if meant.form == "class":
                    self._list_class(meant, path)

    def _list_function(self, meant: Meant, path: str) -> None:
        if path.startswith(_BRIEFLY):
            return
        name = partial(self._release.named, meant.module)
        bound = self._release.modules[meant.module].bound[meant.path.rpartition(".")[2]]
        nodes = [
            b.node for b in bound if isinstance(b.node, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        said = merged([signature(node, name, self.canon) for node in nodes])
        self.flat["functions", path, ""] = said
        self._list_used(said)


def _said(made: Made) -> str:
    """``kind extra open of | call``."""
    state = "open" if made.open or made.extra == "allow" else "closed"
    call = made.call if made.call is not None else ""
    return f"{made.kind} {made.extra} {state} {made.of or '-'} {call}".rstrip()


def _is_public(module: str) -> bool:
    return not any(part.startswith("_") for part in module.split("."))


def _is_outside(meant: Meant) -> bool:
    return not isinstance(meant.node, ast.ClassDef)


def _public_paths(release: Modules) -> dict[str, str]:
    """Map private paths to the best known public path of the same definition."""
    found: dict[str, list[str]] = {}
    for name in release.modules:
        if not _is_public(name):
            continue
        for each in release.names(name)[0]:
            meant = release.meaning(name, each)
            own = meant.path.rpartition(".")[2]
            if meant.form in ("class", "def") and not each.startswith("_") and own == each:
                found.setdefault(meant.path, []).append(f"{name}.{each}")
    return {path: min(names, key=_rank) for path, names in found.items() if _is_sdk(path)}


def _is_sdk(path: str) -> bool:
    return path.partition(".")[0] == "tinker"


def _rank(path: str) -> tuple[bool, int, str]:
    return not path.startswith("tinker.types."), path.count("."), path
