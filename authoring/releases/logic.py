"""The logic of a piece of code, apart from its wording: a digest, and the names that it uses."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator, Sequence

MAX_WORD = 80
_SHOWN = 200
_UNSEEN = frozenset({"annotation", "returns", "type_comment", "type_params", "ctx", "kind"})


def logic_of(body: Sequence[ast.stmt]) -> str:
    """A digest of statements that does not see messages, docstrings and annotations."""
    digest = hashlib.blake2b(digest_size=12)
    for statement in body:
        if not _is_text(statement):
            for token in _tokens(statement):
                digest.update(token.encode("utf-8", "replace"))
    return digest.hexdigest()


def _tokens(node: ast.AST) -> Iterator[str]:
    pending: list[object] = [node]
    while pending:
        item = pending.pop()
        if isinstance(item, ast.Constant):
            yield f"={_plain(item.value)};"
        elif isinstance(item, ast.AST):
            yield f"({type(item).__name__}"
            for name in reversed(item._fields):
                if name not in _UNSEEN:
                    pending.append(getattr(item, name, None))
        elif isinstance(item, list):
            yield f"[{len(item)}"
            pending.extend(x for x in reversed(item) if not _is_text(x))
        else:
            yield f"={item!r};"


def _plain(value: object) -> str:
    """A constant; a text of several words is a message, whose wording does not count."""
    return "..." if isinstance(value, str) and any(map(str.isspace, value)) else repr(value)


def _is_text(node: object) -> bool:
    return (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str))  # fmt: skip


def words_of(body: Iterable[ast.stmt]) -> frozenset[str]:
    """The names that code compares with or writes: compared values and keys."""
    found: set[str] = set()
    for statement in body:
        for node in ast.walk(statement):
            found.update(filter(_is_word, map(_value, _told(node))))
    return frozenset(found)


def _told(node: ast.AST) -> Iterator[ast.expr | None]:
    if isinstance(node, ast.Compare):
        for side in (node.left, *node.comparators):
            yield from side.elts if isinstance(side, ast.Tuple | ast.List | ast.Set) else [side]
    elif isinstance(node, ast.MatchValue):
        yield node.value
    elif isinstance(node, ast.Dict):
        yield from node.keys
    elif isinstance(node, ast.Subscript):
        yield node.slice


def _value(node: ast.expr | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _is_word(text: str) -> bool:
    return 2 < len(text) <= MAX_WORD and not any(map(str.isspace, text))


def shown(node: ast.AST | None) -> str:
    """An expression on one line, cut if it is long."""
    if node is None:
        return ""
    try:
        text = " ".join(ast.unparse(node).split())
    except (RecursionError, ValueError):
        return "..."
    if len(text) <= _SHOWN:
        return text
    mark = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=3).hexdigest()
    return f"{text[:_SHOWN]} ... [{mark}]"
