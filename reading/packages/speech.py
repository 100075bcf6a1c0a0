"""Calls with a message: those that log, warn or end the program, and their words."""

from __future__ import annotations

import ast
from typing import NamedTuple

from ..python.nodes import dotted, keyword
from ..python.parts import Parts, has_words, join, literal, placeholder
from ..python.scopes import Scope
from ..python.templates import Way, name_of, percent, templates

_LEVELS = {
    "debug": "DEBUG", "info": "INFO", "warning": "WARNING", "warn": "WARNING", "error": "ERROR",
    "exception": "ERROR", "critical": "CRITICAL", "fatal": "CRITICAL", "success": "INFO",
    "warning_once": "WARNING", "warn_once": "WARNING", "info_once": "INFO",
    "warning_advice": "WARNING",
}  # fmt: skip
_LEVEL_NAMES = {"DEBUG", "INFO", "WARNING", "WARN", "ERROR", "CRITICAL", "FATAL"}
_LOGGERS = ("logger", "logging", "log", "_log", "getlogger", "get_logger")
_EXITS = frozenset({"exit", "sys.exit", "os._exit", "quit"})
_WARNS = frozenset({"warn", "warnings.warn", "warn_explicit", "warnings.warn_explicit",
                    "warn_deprecated", "warn_once"})  # fmt: skip
_CHECKS = {"_check": "RuntimeError", "_check_value": "ValueError", "_check_index": "IndexError",
           "_check_type": "TypeError", "_check_not_implemented": "NotImplementedError",
           "kernel_assert": "AssertionError"}  # fmt: skip


class Said(NamedTuple):
    """The message of a call: the kind of its site, its level, an exception, and the templates."""

    kind: str
    level: str
    exception: str
    texts: list[Parts]


def said_by(call: ast.Call, scope: Scope) -> Said | None:
    """Return the message of a call that is a statement, None if it has none."""
    name, receiver = _called(call.func)
    if receiver is not None and name in _LEVELS and _is_logger(receiver):
        return Said("log", _LEVELS[name], "", _logged(call.args, scope))
    if receiver is not None and name == "log" and _is_logger(receiver) and len(call.args) > 1:
        level = name_of(call.args[0]).rpartition(".")[2].upper()
        return Said(
            "log", level if level in _LEVEL_NAMES else "", "", _logged(call.args[1:], scope)
        )
    return _ending(call, name, scope) if call.args else None


def _ending(call: ast.Call, name: str, scope: Scope) -> Said | None:
    path = dotted(call.func)
    if path in _WARNS:
        category = call.args[1] if len(call.args) > 1 else keyword(call, "category")
        shown = dotted(category) if category is not None else "UserWarning"
        return Said("warn", "WARNING", shown, templates(call.args[0], Way(scope)))
    if path in _EXITS:
        texts = [each for each in templates(call.args[0], Way(scope)) if has_words(each)]
        return Said("exit", "", "SystemExit", texts) if texts else None
    if name == "error" and "parser" in path.lower():
        return Said("exit", "", "SystemExit", templates(call.args[0], Way(scope)))
    if name in _CHECKS and len(call.args) == 2:
        return Said("raise", "", _CHECKS[name], templates(call.args[1], Way(scope)))
    if (path == "print" and _to_stderr(call, "file")) or (
        name in ("echo", "secho") and _to_stderr(call, "err")
    ):
        return Said("print", "", "", _spaced(call.args, scope))
    return None


def checked(call: ast.Call) -> ast.expr | None:
    """The test of a call that raises if the test fails, None for any other call."""
    return call.args[0] if _called(call.func)[0] in _CHECKS and len(call.args) == 2 else None


def message_of(arguments: list[ast.expr], scope: Scope) -> list[Parts]:
    """Return the messages of an exception with these arguments. Of several arguments, all but the
    one with the most words count as unknown: each class shows them in a way of its own."""
    if not arguments:
        return [literal("")]
    if len(arguments) == 1:
        return templates(arguments[0], Way(scope))
    choices = [templates(each, Way(scope)) for each in arguments[:6]]
    best = max(choices, key=lambda some: sum(len(text) for text in some[0][::2]))
    return [join(placeholder(""), each, placeholder("")) for each in best]


def _called(function: ast.expr) -> tuple[str, ast.expr | None]:
    if isinstance(function, ast.Attribute):
        return function.attr, function.value
    return (function.id, None) if isinstance(function, ast.Name) else ("", None)


def _is_logger(node: ast.expr) -> bool:
    while isinstance(node, ast.Call):
        node = node.func
    name = node.attr if isinstance(node, ast.Attribute) else (
        node.id if isinstance(node, ast.Name) else "")  # fmt: skip
    return name.lower().endswith(_LOGGERS)


def _logged(arguments: list[ast.expr], scope: Scope) -> list[Parts]:
    if not arguments:
        return [literal("")]
    texts = templates(arguments[0], Way(scope))
    if len(arguments) == 1:
        return texts
    return [percent(text[0], arguments[1:], Way(scope)) if len(text) == 1 else text
            for text in texts]  # fmt: skip


def _spaced(arguments: list[ast.expr], scope: Scope) -> list[Parts]:
    pieces = [templates(each, Way(scope))[0] for each in arguments[:20]]
    spaced = [piece for each in pieces for piece in (literal(" "), each)]
    return [join(*spaced[1:])]


def _to_stderr(call: ast.Call, name: str) -> bool:
    value = keyword(call, name)
    if isinstance(value, ast.Constant):
        return value.value is True
    return value is not None and dotted(value).endswith("stderr")
