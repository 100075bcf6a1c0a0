"""The syntax tree of a source file, and the parts of its nodes. Nothing of a file is run."""

from __future__ import annotations

import ast
import io
import tokenize
import warnings


class Unreadable(Exception):
    """A file that is no Python source that this interpreter can parse; the text says why."""


def parse(raw: bytes) -> tuple[ast.Module, str]:
    """The tree and the text of a source file. Raises :class:`Unreadable`."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
        text = raw.decode(encoding).replace("\r\n", "\n").replace("\r", "\n")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of invalid escapes in other people's files
            return ast.parse(text), text
    except SyntaxError as error:
        at = f", line {error.lineno}" if error.lineno else ""
        raise Unreadable(f"a syntax error: {str(error.msg)[:80]}{at}") from None
    except (ValueError, LookupError) as error:
        raise Unreadable(f"no text of Python: {str(error)[:80]}") from None
    except (RecursionError, MemoryError):
        raise Unreadable("nested too deep") from None


def parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[str, ...]:
    """The names of the parameters, without the receiver of a method."""
    given = node.args
    names = [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    names += [each.arg for each in (given.vararg, given.kwarg) if each is not None]
    return tuple(names[1:] if names[:1] in (["self"], ["cls"]) else names)
