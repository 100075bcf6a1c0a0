"""The syntax tree of a source file, and the parts of its nodes. Nothing of a file is run."""

from __future__ import annotations

import ast
import io
import tokenize
import warnings
from collections.abc import Iterator
from typing import NamedTuple

from .nodes import FunctionNode


class Unreadable(Exception):
    """A file that is not Python source that this interpreter can parse; the text says why."""


UNPARSABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


def parse_text(text: str) -> ast.Module:
    """The tree of a whole text, without warnings. Raises one of UNPARSABLE."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes are the author's business
        return ast.parse(text)


def parse(raw: bytes) -> tuple[ast.Module, str]:
    """The tree and the text of a source file. Raises :class:`Unreadable`."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
        text = raw.decode(encoding).replace("\r\n", "\n").replace("\r", "\n")
        return parse_text(text), text
    except SyntaxError as error:
        at = f", line {error.lineno}" if error.lineno else ""
        raise Unreadable(f"a syntax error: {str(error.msg)[:80]}{at}") from None
    except (ValueError, LookupError) as error:
        raise Unreadable(f"no text of Python: {str(error)[:80]}") from None
    except (RecursionError, MemoryError):
        raise Unreadable("nested too deep") from None


def blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The blocks of statements in a statement or module."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            yield block
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part.body


class Parameter(NamedTuple):
    """A parameter as it is written. ``kind``: ``positional``, ``any``, ``keyword``, ``*`` or
    ``**``."""

    name: str
    kind: str
    annotation: ast.expr | None = None
    default: ast.expr | None = None


STARS = ("*", "**")


def signature_of(node: FunctionNode) -> Iterator[Parameter]:
    """The parameters of a function in their order."""
    given = node.args
    plain = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(plain) - len(given.defaults)) + given.defaults
    for at, (each, value) in enumerate(zip(plain, defaults, strict=True)):
        kind = "positional" if at < len(given.posonlyargs) else "any"
        yield Parameter(each.arg, kind, each.annotation, value)
    if given.vararg:
        yield Parameter(given.vararg.arg, "*", given.vararg.annotation)
    for each, value in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        yield Parameter(each.arg, "keyword", each.annotation, value)
    if given.kwarg:
        yield Parameter(given.kwarg.arg, "**", given.kwarg.annotation)


def parameters(node: FunctionNode) -> tuple[str, ...]:
    """The names of the parameters, without the receiver of a method."""
    found = sorted(signature_of(node), key=lambda each: each.kind in STARS)
    names = [each.name for each in found]
    return tuple(names[1:] if names[:1] in (["self"], ["cls"]) else names)
