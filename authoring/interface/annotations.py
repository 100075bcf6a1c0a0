"""Type annotations, as far as a reader of scripts can use them.

Written as alternatives joined by ``|``: ``int``, ``str``, ``float``, ``bool``, ``'literal'``, the
path of a class of the package, followed by ``[]`` for a list of such, with ``@`` before it for an
``APIFuture`` of it and ``^`` for a plain future; ``~`` stands for what a generic class is made of.
An empty text means unknown.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from ...reading.packages.modules import Meant

Namer = Callable[[ast.AST], Meant]
Canon = Callable[[Meant], str]
_PLAIN = frozenset({"int", "str", "float", "bool"})
_LISTS = frozenset({"List", "list", "Sequence"})
_WRAPS = frozenset({"Annotated", "Final", "Required", "NotRequired", "ClassVar", "InitVar"})
_SELF = frozenset({"Self"})
MAX_LITERAL = 40


def told(node: ast.AST | None, name: Namer, canon: Canon, own: str = "") -> str:
    """Convert an annotation to its short form; ``own`` is the class that contains it."""
    if node is None:
        return ""
    found = list(dict.fromkeys(_alternatives(node, name, canon, own)))
    return "" if "" in found or not found else "|".join(found)


def _alternatives(node: ast.AST, name: Namer, canon: Canon, own: str) -> Iterator[str]:
    if isinstance(node, ast.Constant):
        if node.value is None:
            return
        yield from _quoted(node.value, name, canon, own)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        yield from _alternatives(node.left, name, canon, own)
        yield from _alternatives(node.right, name, canon, own)
    elif isinstance(node, ast.Subscript):
        yield from _subscript(node, name, canon, own)
    else:
        yield _single(node, name, canon, own)


def _quoted(text: object, name: Namer, canon: Canon, own: str) -> Iterator[str]:
    try:
        inner = ast.parse(str(text).strip(), mode="eval").body
    except (SyntaxError, ValueError):
        yield ""
        return
    yield from _alternatives(inner, name, canon, own)


def _single(node: ast.AST, name: Namer, canon: Canon, own: str) -> str:
    last = getattr(node, "attr", "") or getattr(node, "id", "")
    if last in _PLAIN:
        return last
    if last in _SELF:
        return own
    meant = name(node)
    if meant.form == "class":
        return canon(meant)
    is_variable = isinstance(node, ast.Name) and meant.form in ("value", "outside")
    return "~" if is_variable and len(last) <= 2 else ""


def _subscript(node: ast.Subscript, name: Namer, canon: Canon, own: str) -> Iterator[str]:
    last = getattr(node.value, "attr", "") or getattr(node.value, "id", "")
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if last in ("Optional", "Union"):
        for part in parts:
            yield from _alternatives(part, name, canon, own)
    elif last in _WRAPS:
        yield from _alternatives(parts[0], name, canon, own)
    elif last == "Literal":
        for part in parts:
            value = getattr(part, "value", None)
            plain = isinstance(value, str) and len(value) <= MAX_LITERAL and value.isidentifier()
            yield f"'{value}'" if plain else ""
    else:
        inner = told(parts[0], name, canon, own)
        one = inner if "|" not in inner and inner not in _PLAIN and "'" not in inner else ""
        if last in _LISTS:
            yield f"{one}[]" if one else ""
        elif last == "APIFuture":
            yield f"@{one}" if one else canon(name(node.value))
        elif last in ("Future", "ConcurrentFuture"):
            yield f"^{one}" if one else ""
        else:
            yield ""
