"""Recognises code that allows for another release, or for a substitute for the SDK."""

from __future__ import annotations

import ast
import re

from ....reading.python.nodes import constant, last_name
from ..findings import Script

_REFUSALS = frozenset({"AttributeError", "TypeError", "ValidationError"})
_NO_IMPORT = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})
_STAND_INS = frozenset({
    "Mock", "MagicMock", "AsyncMock", "monkeypatch", "create_autospec", "mocker", "pytest",
})  # fmt: skip
_ASKS = frozenset({"hasattr", "getattr", "setattr", "delattr", "attrgetter", "methodcaller"})
_INTERFACE = ("__annotations__", "model_fields", "__fields__")
_VERSION = re.compile(r"version|signature|parameters|hasattr|inspect", re.I)
_EXTENDS = re.compile(r"(?:^|[._])(?:sdk|tinker\w*|patch\w*|train(?:er|ers|ing)?)(?:[._]|$)")
_MARK = re.compile(r"#.{0,80}?(?:type:\s?ignore|pyright:\s?ignore|pylint:\s?disable|noqa)")


def has_stand_ins(script: Script) -> bool:
    """Whether the SDK may be replaced: by a test, a mock, or a module put in its place."""
    return script.rehearses or script.replaces_sdk or bool(_STAND_INS & script.words)


def brings_path(script: Script) -> bool:
    """Whether the program puts a folder of Tinker code of its own on the path."""
    return any(
        ast.unparse(call.func).startswith("sys.path") and "tinker" in ast.unparse(call).lower()
        for call in script.calls() if isinstance(call.func, ast.Attribute)
        and call.func.attr in ("insert", "append", "extend")
    )  # fmt: skip


def extended_by(script: Script) -> str:
    """A package that was not read and is named like one that works with the SDK: it may add names
    that no release has."""
    for node in script.all((ast.Import, ast.ImportFrom)):
        if isinstance(node, ast.ImportFrom):
            names = [] if node.level else [node.module or ""]
        else:
            names = [alias.name for alias in getattr(node, "names", ())]
        for name in names:
            if _EXTENDS.search(name) and script.is_unread(node, name):
                return name
    return ""


def asked_names(script: Script) -> set[str]:
    """Names whose existence the code tests, or that it sets, before it uses them."""
    found = set()
    for call in script.calls():
        if last_name(call.func) in _ASKS:
            found |= {a for a in map(constant, call.args) if isinstance(a, str)}
    return found


def is_guarded(script: Script, node: ast.AST) -> bool:
    """Whether the code around deals with a refusal, or asks for a version first."""
    if reads_interface(script, node):
        return True
    below = node
    for above in script.above(node):
        if isinstance(above, ast.Try) and below in above.body and _catches(above, _REFUSALS):
            return True
        test = getattr(above, "test", None)
        if (
            test is not None
            and test is not below
            and (_VERSION.search(ast.unparse(test)) or _asks_class(test, node))
        ):
            return True
        if isinstance(above, (ast.With, ast.AsyncWith)) and any(
            last_name(getattr(i.context_expr, "func", None))
            in ("suppress", "raises", "assertRaises")
            for i in above.items
        ):
            return True
        below = above
    return False


def reads_interface(script: Script, node: ast.AST) -> bool:
    """Whether the function around reads which fields or parameters a class has."""
    function = script.function_of(node)
    if function is None:
        return False
    named = (*script.all(ast.Attribute, function), *script.all(ast.Constant, function))
    return any(
        getattr(each, "attr", None) in _INTERFACE or getattr(each, "value", None) in _INTERFACE
        for each in named
    ) or any(last_name(call.func) == "signature" for call in script.all(ast.Call, function))


def _asks_class(test: ast.AST, node: ast.AST) -> bool:
    """Whether a test checks the class of the receiver."""
    receiver = getattr(node, "value", None)
    return isinstance(receiver, ast.expr) and any(
        isinstance(n, ast.Call) and last_name(n.func) == "isinstance" and n.args
        and ast.unparse(n.args[0]) == ast.unparse(receiver)
        for n in ast.walk(test)
    )  # fmt: skip


def is_doubted(script: Script, node: ast.AST) -> bool:
    """Whether an import has something to fall back to, or a comment silences another checker."""
    source = script.module_of(node).source
    first = getattr(node, "lineno", 1)
    last = getattr(node, "end_lineno", None) or first
    if any(_MARK.search(line) for line in source.lines[first - 1 : min(last, first + 20)]):
        return True
    below = node
    for above in script.above(node):
        tried = isinstance(above, ast.Try) and below in above.body
        if tried and isinstance(node, (ast.Import, ast.ImportFrom)) and _catches(above, _NO_IMPORT):
            return True
        below = above
    return False


def _catches(node: ast.AST, names: frozenset[str]) -> bool:
    for handler in getattr(node, "handlers", ()):
        types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        if any(each is None and names is _NO_IMPORT for each in types):
            return True
        if any(last_name(each) in names for each in types):
            return True
    return False
