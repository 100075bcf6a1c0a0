"""Decides whether a program may talk to another service than Tinker's."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....reading.python.nodes import FUNCTIONS, keyword, last_name
from ..findings import Script
from ..reading.values import ELSEWHERE

_READS = frozenset({"get", "getenv"})


def may_be_another(script: Script) -> bool:
    """Whether a client is given an unknown address. An address that stays unset unless a user sets
    it, such as ``base_url: str | None = None``, means the service of Tinker."""
    if not script.addresses:
        return False
    made = [call for call in script.calls() if script.machine.value(call).op == ELSEWHERE]
    given = [keyword(call, "base_url") for call in made if last_name(call.func) == "ServiceClient"]
    unset = _unset_names(script)
    return not given or not all(each is not None and _is_unset(each, unset) for each in given)


def _is_unset(node: ast.expr, unset: set[str]) -> bool:
    return _is_none(node) or last_name(node) in unset


def _unset_names(script: Script) -> set[str]:
    """Parameters, fields and options that are None by default, and names that are read out of the
    environment without another value."""
    found: set[str] = set()
    for node in script.all((*FUNCTIONS, ast.AnnAssign, ast.Assign, ast.Call)):
        found.update(_unset_of(node))
    return found


def _unset_of(node: ast.AST) -> Iterator[str]:
    if isinstance(node, FUNCTIONS):
        plain = [*node.args.posonlyargs, *node.args.args]
        defaults = [*node.args.defaults]
        named = zip(plain[len(plain) - len(defaults) :], defaults, strict=True)
        for parameter, default in (
            *named,
            *zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True),
        ):
            if default is not None and _is_none(default):
                yield parameter.arg
    elif isinstance(node, ast.AnnAssign) and node.value is not None and _is_none(node.value):
        yield last_name(node.target)
    elif isinstance(node, ast.Assign) and _is_none(node.value):
        yield from map(last_name, node.targets)
    elif isinstance(node, ast.Call) and last_name(node.func) == "add_argument":
        default = keyword(node, "default")
        if default is None or _is_none(default):
            texts = (str(a.value) for a in node.args if isinstance(a, ast.Constant))
            options = (text for text in texts if text.startswith("-") and not _is_asked(node))
            yield from (text.lstrip("-").replace("-", "_") for text in options)


def _is_asked(call: ast.Call) -> bool:
    return keyword(call, "required") is not None


def _is_none(node: ast.expr) -> bool:
    """None, or what the environment has, else None."""
    if isinstance(node, ast.Call):
        plain = len(node.args) == 1 and not node.keywords
        return plain and last_name(node.func) in _READS and "env" in ast.unparse(node.func)
    return isinstance(node, ast.Constant) and node.value is None
