"""The test files of Stage 2: what they test, constants left open, caught exceptions.

Files are parsed, never imported.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import NamedTuple

from ...reading.python.parsing import UNPARSABLE, parse_text
from .components import family_of, normal_name
from .reading import Folder

_TEST = re.compile(r"test_(?:\d+_)?(.+)\.py\Z", re.ASCII)
_DEVICE = "_device_algo"
_PLACEHOLDER = re.compile(r"\{[A-Z][A-Z0-9_]*\}")
_CONSTANT = re.compile(r"[A-Z][A-Z0-9_]{2,}\Z")
# Zero is a valid value of these.
_MAY_BE_ZERO = re.compile(r"(^|_)(IDX?|INDEX|RANK|SEED|OFFSET|START|DROPOUT|ATOL|RTOL)(_|\Z)")
# Families of component_result -> families of test_file.
TEST_FAMILIES = {
    "norm": "rmsnorm", "embedding": "embedding", "linear": "linear", "rotary": "rotary",
    "mlp": "mlp", "experts": "mlp", "router": "mlp", "attention": "attention",
    "lm-head": "lm-head", "layer": "decoder-layer",
}  # fmt: skip


class FoundTests(NamedTuple):
    """Normalised names of the tested components with the paths of their tests; ``device`` of
    those with a device test; ``families`` of ``test_file`` facts."""

    paths: Mapping[str, str]
    device: frozenset[str]
    families: frozenset[str]

    @property
    def names(self) -> frozenset[str]:
        """The tested components."""
        return frozenset(self.paths)

    def dual(self, component: str) -> bool:
        """Whether a component has a test and a device-algorithm test."""
        return component in self.names and component in self.device


def read_tests(folder: Folder) -> FoundTests:
    """Read ``tests/`` and add ``test_file``, ``conftest_state`` and ``conduct_breach`` facts."""
    names: dict[str, str] = {}
    device: set[str] = set()
    families: dict[str, str] = {}
    caught: list[str] = []
    for path in folder.names("tests", ".py"):
        match = _TEST.fullmatch(path.rpartition("/")[2])
        if match is None:
            continue
        name = normal_name(match[1])
        if name.endswith(_DEVICE):
            name = name.removesuffix(_DEVICE)
            device.add(name)
        else:
            names[name] = path
        family = TEST_FAMILIES.get(family_of(name))
        if family is not None:
            families.setdefault(family, path)
        tree = _parse(folder, path)
        if tree is not None and any(isinstance(node, ast.Try) for node in ast.walk(tree)):
            caught.append(path)
    for family, path in families.items():
        folder.collector.add("test_file", folder.place(path), family=family, present=True,
                             file=path)  # fmt: skip
    for path in caught:
        folder.collector.add("conduct_breach", folder.place(path), rule="try-except-in-test",
                             present=True, file=path)  # fmt: skip
    _add_conftest(folder)
    return FoundTests(names, frozenset(device), frozenset(families))


def _add_conftest(folder: Folder) -> None:
    """Constants of conftest.py at module level that are 0, empty or a placeholder."""
    name = "tests/conftest.py"
    text = folder.text(name)
    if text is None:
        return
    tree = _parse(folder, name)
    if tree is None:
        # With placeholders in braces it may not be valid Python.
        found = sorted(set(_PLACEHOLDER.findall(text)))
        if not found:
            return
    else:
        found = [target for target, value in _constants(tree) if _is_open(value)]
    folder.collector.add("conftest_state", folder.place(name), unfilled=len(found),
                         names=", ".join(found[:20]) or None)  # fmt: skip


def _constants(tree: ast.Module) -> list[tuple[str, ast.expr]]:
    return [(target.id, node.value) for node in tree.body if isinstance(node, ast.Assign)
            for target in node.targets if isinstance(target, ast.Name)
            and _CONSTANT.match(target.id) and not _MAY_BE_ZERO.search(target.id)]  # fmt: skip


def _is_open(value: ast.expr) -> bool:
    if isinstance(value, ast.Constant):
        if isinstance(value.value, str):
            return not value.value or bool(_PLACEHOLDER.search(value.value))
        return type(value.value) is int and value.value == 0
    if isinstance(value, ast.Set):
        return all(isinstance(each, ast.Name) for each in value.elts)
    return False


def _parse(folder: Folder, name: str) -> ast.Module | None:
    text = folder.text(name)
    if text is None:
        return None
    try:
        return parse_text(text)
    except UNPARSABLE:
        folder.problem("MM501", "is not valid Python; it was not looked into", name)
        return None
