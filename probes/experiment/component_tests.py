"""Reads which modules the component tests compare, and whether they cover the entries of the
mapping.

Values that the source of a test leaves open are left out.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Any

from ...reading.python.nodes import assignments, last_name
from ...reading.python.sources import Code, read_code
from ..modeling.component_tests import test_facts as what_source_shows
from .components import Component, family_of, normal_name, plain_pattern
from .mapping import PathMapping
from .reading import Folder
from .tests_folder import TEST_FAMILIES, FoundTests
from .trees import Tree, pattern

_ROLES = (
    ("reference_class", re.compile(r"(hf|ref|reference|golden|source)(_|\d|\Z)")),
    ("target_class", re.compile(r"(target|neuron|port|nxd|device)(_|\d|\Z)")),
)
_CLASS = re.compile(r"_*[A-Z]\w*[a-z]")
_METHODS = {"compare_3tensors": "3-tensor", "compare_2tensors": "2-tensor"}
# Tests of these may have other names: a projection is tested with the module around it.
_NOT_ASKED_FOR = frozenset({"linear", "decoder-layer"})


def add_tests(
    folder: Folder, rows: Sequence[Component], tests: FoundTests, target: Tree | None
) -> None:
    """Add a ``component_test`` fact for each tested component that has a test file."""
    for row in rows:
        name = normal_name(row.name)
        found: dict[str, Any] = {"device_test": True if name in tests.device else None}
        path = tests.paths.get(name)
        if path is not None:
            code = read_code(folder.text(path) or "", folder.place(path))
            if code is not None:
                found |= {"file": path, **what_source_shows(code), **_compared(code, row, target)}
        if any(value is not None for value in found.values()):
            folder.collector.add("component_test", folder.place(path or "tests"),
                                 component=row.name, **found)  # fmt: skip


def _compared(code: Code, row: Component, target: Tree | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    methods = {_METHODS.get(last_name(call.func)) for call in code.all(ast.Call)} - {None}
    if len(methods) == 1:
        found["method"] = methods.pop()
    for role, expression in _ROLES:
        classes = _classes(code, expression)
        if len(classes) == 1:
            found[role] = classes.pop()
    if len(found.keys() & {"reference_class", "target_class"}) == 2:
        found["target_is_reference"] = found["reference_class"] == found["target_class"]
    in_port = _class_in_port(row, target)
    if in_port is not None and "target_class" in found:
        found |= {"port_class": in_port, "port_uses_other": in_port != found["target_class"]}
    return found


def _classes(code: Code, expression: re.Pattern[str]) -> set[str]:
    """Classes that a test instantiates for variables whose names match ``expression``, by their
    original names (``NeuronMLP`` for ``import NeuronMLP as TargetClass``)."""
    return {code.imports.get(name, name).rpartition(".")[2]
            for node in code.nodes for place, value in assignments(node)
            if isinstance(value, ast.Call) and _CLASS.match(name := last_name(value.func))
            if expression.match(last_name(place).lower())}  # fmt: skip


def _class_in_port(row: Component, target: Tree | None) -> str | None:
    """The class of the mapped modules in the target tree, if they share one."""
    if target is None:
        return None
    paths = {plain_pattern(path) for path in row.target}
    kinds = {kind for path, kind in target.types.items() if pattern(path) in paths}
    return kinds.pop() if len(kinds) == 1 else None


def add_coverage(
    folder: Folder, rows: Sequence[Component], tests: FoundTests, mapping: PathMapping | None
) -> None:
    """Add ``test_file`` facts for what is mapped and not tested, and whether all is covered."""
    if mapping is None or mapping.complete is None or not tests.names:
        return
    paths = (path for pair in mapping.entries for path in pair.target)
    mapped = {TEST_FAMILIES.get(family_of(path)) for path in paths}
    tested = tests.families | {TEST_FAMILIES.get(row.family) for row in rows}
    missing = sorted({f for f in mapped - tested if f is not None} - _NOT_ASKED_FOR)
    for family in missing:
        folder.collector.add("test_file", folder.place("tests"), family=family, present=False)
    folder.collector.add("e2e_check", folder.place("component_mapping.json"),
                         check="mapping-complete", ok=mapping.complete and not missing)  # fmt: skip
