"""Failures of the SDK that the code hides."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ....reading.python.nodes import last_name
from ..findings import Finding, Script
from ..reading.values import TRAINING_STEPS
from ..running import callers, following, reaches

_COMMENT = re.compile(r"(?:^|\s)#\s*(\S.*)")
_FOR_TOOLS = re.compile(r"noqa|type:|pragma|pylint|fmt:|nosec|ruff|TODO|FIXME|XXX")
_LAST = frozenset({"__del__", "__exit__", "__aexit__", "close", "aclose", "shutdown", "cleanup"})
_WIDE = frozenset({"", "Exception", "BaseException", "TinkerError", "APIError"})
_MATTERS = TRAINING_STEPS | {
    "forward", "sample", "compute_logprobs", "save_state", "save_weights_for_sampler",
    "save_weights_and_get_sampling_client", "load_state", "load_state_with_optimizer",
}  # fmt: skip


def find_failures(script: Script) -> Iterator[Finding]:
    """Handlers that catch everything around SDK calls, and do nothing."""
    tries = [node for node in script.all(ast.Try) if any(map(_is_silent, node.handlers))]
    if not tries:
        return
    calls = {id(e.node) for e in script.machine.events if e.op in _MATTERS}
    calling = callers(script, calls)
    for node in tries:
        inside = (n for statement in node.body for n in script.below(statement))
        call = next((n for n in inside if reaches(script, n, calls, calling)), None)
        handler = next(h for h in node.handlers if _is_silent(h))
        if call is not None and not _is_retried(script, node):
            yield Finding("exceptions-swallowed", handler, assumed=_assumption(script, handler),
                          other=call)  # fmt: skip


def _assumption(script: Script, handler: ast.ExceptHandler) -> str:
    """The assumption under which silence is a fault; empty if there is none."""
    if _is_commented(script, handler):
        return "that the failure matters, although a comment mentions it"
    function = script.function_of(handler)
    if function is None:
        return ""
    if function.name in _LAST:
        return "that the failure matters at the end of the program"
    given = [n.value for n in script.below(function) if isinstance(n, ast.Return)]
    told = any(n.value in given and _is_none(n.value) for n in handler.body
               if isinstance(n, ast.Return))  # fmt: skip
    if told and not all(map(_is_none, given)):
        return f"that callers of {function.name}() take a failure for an answer"
    return ""


def _is_none(node: ast.expr | None) -> bool:
    return node is None or (
        isinstance(node, ast.Constant) and (node.value is None or node.value is False)
    )


def _is_retried(script: Script, node: ast.Try) -> bool:
    """Whether a loop tries again until it succeeds, and the code after the loop raises."""
    tried = (part for statement in (*node.body, *node.orelse) for part in script.below(statement))
    if not any(isinstance(part, (ast.Return, ast.Break)) for part in tried):
        return False
    above = script.above(node)
    loop = next((a for a in above if isinstance(a, (ast.For, ast.AsyncFor, ast.While))), None)
    behind = [*following(script, loop), *getattr(loop, "orelse", ())] if loop is not None else []
    return any(isinstance(part, ast.Raise) for each in behind for part in script.below(each))


def _is_commented(script: Script, handler: ast.ExceptHandler) -> bool:
    """Whether a handler holds a comment, apart from those for tools."""
    lines = script.module_of(handler).source.lines[handler.lineno - 1 : handler.end_lineno]
    said = [comment[1] for line in lines if (comment := _COMMENT.search(line))]
    return any(not _FOR_TOOLS.match(text) for text in said)


def _is_silent(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(last_name(kind) in _WIDE for kind in kinds) and all(map(_says_nothing, handler.body))


def _says_nothing(node: ast.stmt) -> bool:
    if isinstance(node, ast.Return):
        return node.value is None or isinstance(node.value, ast.Constant)
    plain = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return plain or isinstance(node, (ast.Pass, ast.Continue))
