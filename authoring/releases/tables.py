"""Tables in source: dicts, lists and sets of constants, as entries that can be compared."""

from __future__ import annotations

import ast

from .logic import shown

MIN_ENTRIES = 3
Entries = tuple[tuple[str, str], ...]
"""The entries of a table: key and value; the value is "" in a list or set."""


def entries_of(node: ast.expr | None) -> Entries:
    """The entries of a table; none if it is not a table of constants."""
    if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        node = node.args[0]  # frozenset({...}), OrderedDict([...])
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        found = tuple((_key(key), shown(value)) for key, value in pairs if key)
    elif isinstance(node, ast.List | ast.Tuple | ast.Set):
        found = tuple(map(_of_element, node.elts))
    else:
        return ()
    named = [key for key, _ in found if key]
    return tuple((k, v) for k, v in found if k) if len(named) >= MIN_ENTRIES else ()


def _of_element(node: ast.expr) -> tuple[str, str]:
    if isinstance(node, ast.Tuple) and len(node.elts) > 1 and (key := _key(node.elts[0])):
        return key, shown(ast.Tuple(node.elts[1:], ast.Load()) if node.elts[2:] else node.elts[1])
    return _key(node), ""


def _key(node: ast.expr) -> str:
    """A constant of one word; "" for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float):
        text = str(node.value)
        return text if 0 < len(text) <= 200 and not any(map(str.isspace, text)) else ""
    return ""
