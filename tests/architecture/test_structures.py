"""The declarations of the compiled modules agree with the Python: the modules exist, and a ``.pxd``
file declares what its class has. Only the compiled build would notice a difference."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DECLARATIONS = sorted([*ROOT.glob("engine/**/*.pxd"), *ROOT.glob("facts/**/*.pxd")])
_CLASS = re.compile(r"^cdef class (\w+):\n((?:[ ]{4}.*\n|\n)*)", re.MULTILINE)
_ATTRIBUTE = re.compile(r"^    cdef (?:readonly |public )?[\w.]+ (\w+)$", re.MULTILINE)
_METHOD = re.compile(r"^    (?:cdef|cpdef)(?: \w+)? (\w+)\(", re.MULTILINE)


def declared(path: Path) -> dict[str, tuple[set[str], set[str]]]:
    """The attributes and the methods of each class."""
    return {
        name: (set(_ATTRIBUTE.findall(body)), set(_METHOD.findall(body)))
        for name, body in _CLASS.findall(path.read_text("utf-8"))
    }


def written(path: Path) -> dict[str, tuple[set[str], set[str]]]:
    """The same, as the Python has it."""
    tree = ast.parse(path.with_suffix(".py").read_text("utf-8"))
    found = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            methods = {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
            found[node.name] = _attributes(node), methods
    return found


def _attributes(node: ast.ClassDef) -> set[str]:
    """The names that are assigned to ``self`` and those in ``__slots__``."""
    names = {
        target.attr
        for part in ast.walk(node)
        if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store)
        for target in [part]
        if isinstance(target.value, ast.Name) and target.value.id == "self"
    }
    for part in node.body:
        if isinstance(part, ast.Assign) and getattr(part.targets[0], "id", "") == "__slots__":
            names |= {str(each) for each in ast.literal_eval(part.value)}
    return names


def test_there_are_some() -> None:
    assert sum(len(declared(path)) for path in DECLARATIONS) >= 1


def test_every_module_to_compile_is_there() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    hook = config["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["custom"]
    assert all(any(ROOT.glob(pattern)) for pattern in hook["modules"]), hook["modules"]


@pytest.mark.parametrize("path", DECLARATIONS, ids=lambda path: path.stem)
def test_attributes_and_methods_are_those_of_the_class(path: Path) -> None:
    classes = written(path)
    for name, (attributes, methods) in declared(path).items():
        assert attributes == classes[name][0], name
        assert methods <= classes[name][1], name
