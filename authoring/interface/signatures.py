"""How a function is called: a text such as ``self path user=:str * timeout= -> @tinker.X``.

Words are parameters: ``=`` after the name of an optional one, then ``:`` and its annotation. ``*``
begins those that are given by name only, ``*name`` and ``**name`` take any. ``?`` stands for a
signature that is not known. ``-> `` precedes the result; ``async`` before it means a coroutine of
that.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ...reading.python.nodes import FunctionNode
from ...reading.python.parsing import STARS, signature_of
from .annotations import Canon, Namer, told

# Decorators that leave the parameters, and what comes back, as they are written.
SAME = frozenset({
    "sync_only", "capture_exceptions", "deprecated", "abstractmethod", "override", "cache",
    "lru_cache", "classmethod", "staticmethod", "wraps", "scope", "final",
    "without_sdk_method_telemetry", "_cancellation_as_terminated", "handle_api_errors",
    "scope_header_decorator", "experimental",
})  # fmt: skip
# Those that keep the parameters but give something else back.
_SAME_PARAMETERS = frozenset({"contextmanager", "asynccontextmanager", "required_args"})
READ = frozenset({"property", "cached_property", "init_property"})


def decorators(node: ast.AST) -> list[str]:
    """The last names of the decorators of a function or class."""
    found = []
    for each in getattr(node, "decorator_list", ()):
        inner = each.func if isinstance(each, ast.Call) else each
        found.append(getattr(inner, "attr", "") or getattr(inner, "id", ""))
    return found


def signature(
    node: FunctionNode, name: Namer, canon: Canon, own: str = "", bound: bool = False
) -> str:
    """The signature of a function; of a ``bound`` method without its first parameter."""
    marks = set(decorators(node))
    if not marks <= SAME | _SAME_PARAMETERS:
        return "?"
    skip = bound and "staticmethod" not in marks
    words = list(_parameters(node, name, canon, own, skip))
    if marks & _SAME_PARAMETERS:
        return " ".join(words)
    back = told(node.returns, name, canon, own)
    awaited = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    if any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in _own(node)):
        return " ".join(words)
    return " ".join([*words, "->", f"{awaited}{back}"]) if awaited or back else " ".join(words)


def _own(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            yield child
            yield from _own(child)


def _parameters(
    node: FunctionNode, name: Namer, canon: Canon, own: str, skip: bool
) -> Iterator[str]:
    before = ""
    for at, each in enumerate(signature_of(node)):
        if at == 0 and skip and each.kind in ("positional", "any"):
            continue
        if before == "positional" != each.kind:
            yield "/"
        if each.kind == "keyword" and before not in ("keyword", "*"):
            yield "*"
        starred = f"{each.kind}{each.name}" if each.kind in STARS else ""
        kind = told(each.annotation, name, canon, own)
        yield starred or word(each.name, each.default is not None, kind)
        before = each.kind
    if before == "positional":
        yield "/"


def word(name: str, optional: bool, kind: str) -> str:
    """A parameter."""
    return f"{name}{'=' if optional else ''}{f':{kind}' if kind else ''}"


def merged(signatures: Sequence[str]) -> str:
    """One signature for several definitions under the same name."""
    return signatures[0] if len(set(signatures)) == 1 else "?"
