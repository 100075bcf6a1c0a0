"""The lines of a script that make one input of a call: read from its text, nothing is run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from ...facts.regular_files import read_regular

_MOST_BYTES = 2_000_000
_MOST_LINES = 4
_DEPTH = 2  # assignments that an input is followed through


@lru_cache(256)
def origins(file: str, line: int, field: str) -> tuple[int, ...]:
    """The line that gives ``field`` to the call at ``line``, and the last ones of the same function
    that assign the names in it; none where the text does not say."""
    try:
        tree = ast.parse(read_regular(Path(file), _MOST_BYTES))
    except (OSError, ValueError, SyntaxError, RecursionError):
        return ()
    scopes = [
        n for n in ast.walk(tree) if isinstance(n, (ast.Module, *_FUNCTIONS)) and _in(n, line)
    ]
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and _in(n, line)]
    values = [v for call in calls for name, v in _inputs(call) if name == field]
    if not values:
        return ()
    names, found = _names(values[-1]), set[int]()
    for _ in range(_DEPTH):
        for node in ast.walk(scopes[-1]):
            for targets, value in _assigned(node):
                if value.lineno <= line and names & set().union(*map(_names, targets)):
                    found.add(targets[0].lineno)
                    names = names | _names(value)
    return tuple(sorted({*sorted(found)[1 - _MOST_LINES :], values[-1].lineno}))


def _names(node: ast.expr) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _in(node: ast.AST, line: int) -> bool:
    first = getattr(node, "lineno", 0)
    return first <= line <= (getattr(node, "end_lineno", None) or 1 << 30)


def _inputs(call: ast.Call) -> Iterator[tuple[object, ast.expr]]:
    for keyword in call.keywords:
        yield keyword.arg, keyword.value
        if isinstance(keyword.value, ast.Dict):
            for key, value in zip(keyword.value.keys, keyword.value.values, strict=True):
                yield getattr(key, "value", None), value


def _assigned(node: ast.AST) -> Iterator[tuple[list[ast.expr], ast.expr]]:
    if isinstance(node, ast.Assign):
        yield node.targets, node.value
    elif isinstance(node, ast.AugAssign):
        yield [node.target], node.value
    elif isinstance(node, ast.For):
        yield [node.target], node.iter
