"""The facts that probes can give, read from their code: a probe that nowhere names an attribute, or
one of the fixed values of an attribute, cannot give it.

The code of a probe is that of its folder and of what it imports from this package, with the tables
(JSON) next to it. A name in the code does not prove that facts with it are made; the tests of a
probe show this. ``gives`` in a declaration names what the code puts together. A probe whose code is
not here may give everything that it declares.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

from ...engine.inference.program import Test
from ...facts import Kind, Vocabulary

_PACKAGE = Path(__file__).resolve().parents[2]
_PROBES = _PACKAGE / "probes"
_CODE = ("probes", "reading", "facts")
_RELATIVE = re.compile(
    r"^[ \t]*from (\.+)((?:\w[\w.]*)?) import (?:\(([^)]*)\)|(.*))$", re.MULTILINE
)
_NAME = re.compile(r"\w+")


class Given:
    """The probes of a vocabulary by what they can give."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._gathering: dict[str, list[str]] = {}
        self._names: dict[str, frozenset[str]] = {}
        self._foreign = {name for name in vocabulary.probes if not (_PROBES / name).is_dir()}
        for probe in vocabulary.probes.values():
            self._names[probe.name] = names_of(probe.name).union(probe.gives)
            for kind in probe.gathers:
                self._gathering.setdefault(kind, []).append(probe.name)
        for kind_ in vocabulary.kinds.values():
            known = self._gathering.setdefault(kind_.name, [])
            known += [probe for probe in kind_.probes if probe not in known]

    def probes(self, kind: str, *names: str) -> tuple[str, ...]:
        """The probes that gather facts of a kind and name all ``names`` (attributes, values)."""
        every = self._gathering.get(kind, ())
        return tuple(p for p in every if p in self._foreign or self._names[p].issuperset(names))

    def passing(
        self, kind: Kind, tests: Sequence[Test], joined: Sequence[str] = ()
    ) -> tuple[str, ...]:
        """The probes that can give a fact which has the attributes ``joined`` and passes ``tests``,
        as far as is known."""
        tested = [t for t in tests if t.attribute]
        named = self.probes(kind.name, *{t.attribute for t in tested}, *joined)
        return tuple(
            probe
            for probe in named
            if probe in self._foreign or all(_can_say(kind, t, self._names[probe]) for t in tested)
        )


def _can_say(kind: Kind, test: Test, names: frozenset[str]) -> bool:
    """Whether one of the fixed values that pass a test is among ``names``."""
    if not kind.attributes[test.attribute].values or test.op not in ("eq", "in"):
        return True
    wanted = test.operand if test.op == "in" else (test.operand,)
    return any(value in names for value in wanted)


@cache
def names_of(probe: str) -> frozenset[str]:
    """The texts and names in the code and the tables of a probe; none if it has no folder."""
    folder = _PROBES / probe
    modules = _with_imports(folder)
    found = {name for module in modules for name in _read(module).names}
    for place in {folder, *(m.parent for m in modules if m.parent.parent.name in _CODE[:2])}:
        for table in sorted(place.rglob("*.json")):
            found |= _table_names(table)
    return frozenset(found)


class _Module(NamedTuple):
    names: frozenset[str]
    imports: frozenset[Path]


def _with_imports(folder: Path) -> set[Path]:
    seen: set[Path] = set()
    ahead = sorted(folder.rglob("*.py"))
    while ahead:
        module = ahead.pop()
        if module not in seen:
            seen.add(module)
            ahead += _read(module).imports
    return seen


@cache
def _read(path: Path) -> _Module:
    """From compiled code, which Python keeps: parsing all probes again would take seconds."""
    code = SourceFileLoader(path.stem, str(path)).get_code(path.stem)
    names = frozenset(_names(code)) if code else frozenset()
    return _Module(names, frozenset(_imports(path.read_text("utf-8"), path)))


def _names(code: CodeType) -> Iterator[str]:
    """The texts, and the names of parameters, arguments and annotated attributes."""
    yield from code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    ahead: list[object] = [*code.co_consts]
    while ahead:
        value = ahead.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, tuple | frozenset):
            ahead += value
        elif isinstance(value, CodeType):
            yield from _names(value)


def _imports(text: str, path: Path) -> Iterator[Path]:
    for dots, module, listed, names in _RELATIVE.findall(text):
        base = path.parents[len(dots) - 1].joinpath(*module.split("."))
        if base.relative_to(_PACKAGE).parts[:1] not in {(name,) for name in _CODE}:
            continue
        for place in (base, *(base / name for name in _NAME.findall(listed or names))):
            for file in (place.with_suffix(".py"), place / "__init__.py"):
                if file.is_file():
                    yield file


@cache
def _table_names(path: Path) -> frozenset[str]:
    return frozenset(_texts(json.loads(path.read_text("utf-8"))))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield str(name)
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
