"""The texts of a module, with ``{}`` for placeholders, and its definitions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from ..python.parts import Parts
from ..python.scopes import Scope
from ..python.templates import Way, templates

MIN_TEXT = 6
_HOLE = "{}"
_PERCENT = re.compile(r"%(?:\([^)]{0,200}\))?[-+ #0]*+[\d*]*+(?:\.[\d*]+)?[a-zA-Z]")
_FORMAT = re.compile(r"\{[^{}\s]*\}")


class Text(NamedTuple):
    """A text and its line."""

    line: int
    text: str


def texts_in(tree: ast.Module) -> list[Text]:
    """The texts of a module. Neighbouring literals and sums are one text; a class or function
    counts as ``class Name`` or ``def name``."""
    return [text for text in _texts(tree) if len(text.text) >= MIN_TEXT]


def _texts(tree: ast.Module) -> Iterator[Text]:
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            word = "class" if isinstance(node, ast.ClassDef) else "def"
            yield Text(node.lineno, f"{word} {node.name}")
        found = list(filter(_says, _written(node)))
        for parts in found:
            yield Text(getattr(node, "lineno", 0), normal(with_holes(parts)))
        # The expression in a placeholder may contain texts, too.
        inner = (each for each in ast.walk(node) if isinstance(each, ast.FormattedValue))
        waiting += inner if found else ast.iter_child_nodes(node)


def _written(node: ast.AST) -> list[Parts]:
    """The texts that an expression writes out."""
    if isinstance(node, ast.Constant) and not isinstance(node.value, str):
        return []
    sums = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)
    if isinstance(node, ast.Constant | ast.JoinedStr) or sums:
        assert isinstance(node, ast.expr)
        return templates(node, Way(Scope()))
    return []


def _says(parts: Parts) -> bool:
    return any(part.strip() for part in parts[::2])


def with_holes(parts: Parts) -> str:
    """A template with ``{}`` for each placeholder."""
    return _HOLE.join(parts[::2])


def normal(text: str) -> str:
    """A text as it is compared: any placeholder is ``{}``, white space is one space."""
    text = _FORMAT.sub(_HOLE, text.replace("{{", "\1").replace("}}", "\2"))
    text = _PERCENT.sub(_HOLE, text).replace("\1", "{").replace("\2", "}")
    return " ".join(text.split())
