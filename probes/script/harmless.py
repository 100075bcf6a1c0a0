"""Recognises code that is not a real use of the SDK: it runs only without Tinker installed, in a
branch that a test of the value leads to, as one of two alternatives that are tried, or is wrong on
purpose."""

from __future__ import annotations

import ast
import re

from ...reading.python.nodes import FUNCTIONS, last_name
from .findings import Finding, Script
from .interface.guards import reads_interface
from .reading.guards import absent_arm
from .reading.values import OPERATIONS
from .running import may_fail, never_runs

_NO_IMPORT = frozenset({"ImportError", "ModuleNotFoundError"})
_ASKS = frozenset({"isinstance", "hasattr", "getattr", "callable", "issubclass", "type",
                   "isawaitable", "iscoroutine", "isfuture"})  # fmt: skip
_LOOKS = frozenset({"startswith", "endswith", "match", "search", "fullmatch"})
_VERSION = re.compile(r"version|signature|inspect\.", re.IGNORECASE)
_ON_PURPOSE = re.compile(
    r"#.{0,80}?(?:on purpose|intentional|deliberate|should (?:fail|raise)|must (?:fail|raise)"
    r"|expected to (?:fail|raise)|will (?:fail|raise)|negative test|is refused)", re.IGNORECASE,
)  # fmt: skip
_STAND_INS = frozenset({"Mock", "MagicMock", "AsyncMock", "monkeypatch", "create_autospec",
                        "mocker"})  # fmt: skip
_OF_SDK = frozenset({"training", "sampling", "service", "rest", "client-future", "import"})
_REPLACED = "that nothing else takes the place of the SDK"


def is_harmless(script: Script, finding: Finding, of_api: bool) -> bool:
    """Whether a finding is harmless at its place; ``of_api`` means that it is about a call of the
    SDK or about its result."""
    node = finding.node
    if node is None:
        return False
    if of_api:
        return is_apart(script, node)
    return never_runs(script, node) or _is_without_sdk(script, node)


def is_apart(script: Script, node: ast.AST) -> bool:
    """Whether code at a place is apart from the program's real work with Tinker."""
    return (
        never_runs(script, node)
        or _is_without_sdk(script, node)
        or _is_second_way(script, node)
        or reads_interface(script, getattr(node, "of", node))
        or may_fail(script, node)
        or _is_narrowed(script, node)
        or _is_tried(script, node)
        or _is_tolerated(script, node)
        or _is_on_purpose(script, node)
    )


class Doubts:
    """The common assumption of findings about calls of the SDK: that the SDK is not replaced."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._patched = _is_patched(script)
        stands_in = bool(_STAND_INS & script.words)
        named = script.all((ast.Name, ast.arg, ast.alias)) if stands_in else ()
        named = (node for node in named if _names(node) in _STAND_INS)
        self._modules = {script.module_of(node).key for node in named}

    def of(self, node: ast.AST | None) -> str:
        """The assumption at a place; empty if there is none."""
        if self._patched:
            return _REPLACED
        beside = self._modules and node is not None
        return (
            _REPLACED
            if beside and self._script.module_of(node or self._script.tree).key in self._modules
            else ""
        )


def _names(node: ast.AST) -> str:
    return str(next((v for f in ("id", "arg", "name") if (v := getattr(node, f, ""))), ""))


def _is_without_sdk(script: Script, node: ast.AST) -> bool:
    """Whether code runs only without Tinker installed."""
    below = getattr(node, "of", node)
    for above in script.above(below):
        if isinstance(above, ast.ExceptHandler) and _catches_import(above):
            return True
        if isinstance(above, (ast.If, ast.IfExp)):
            arms = above.body, above.orelse
            arm = absent_arm(above.test)
            held = arms[arm] if arm is not None else ()
            if below is held or (isinstance(held, list) and below in held):
                return True
        if isinstance(below, ast.stmt) and _is_left_over(above, below):
            return True
        below = above
    return False


def _catches_import(handler: ast.ExceptHandler) -> bool:
    types = ast.walk(handler.type) if handler.type is not None else ()
    return any(last_name(each) in _NO_IMPORT for each in types)


def _is_left_over(above: ast.AST, below: ast.stmt) -> bool:
    """Whether a branch for Tinker returned before this statement."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(above, name, None)
        if isinstance(block, list) and below in block:
            return any(
                isinstance(each, ast.If) and absent_arm(each.test) == 1
                and isinstance(each.body[-1], ast.Return)
                for each in block[: block.index(below)]
            )  # fmt: skip
    return False


def _is_second_way(script: Script, node: ast.AST) -> bool:
    """Whether a statement does the same as an earlier alternative that is used if available: ``if
    made is not None: return made(...)``."""
    below = getattr(node, "of", node)
    for above in script.above(below):
        for name in ("body", "orelse"):
            block = getattr(above, name, None)
            if isinstance(block, list) and below in block:
                before = block[: block.index(below)]
                if any(isinstance(each, ast.If) and _uses_what_it_asks(each) for each in before):
                    return True
        below = above
    return False


def _uses_what_it_asks(arm: ast.If) -> bool:
    """Whether an arm tests whether a value exists, and returns its result."""
    end = arm.body[-1]
    if not (isinstance(end, ast.Return) and isinstance(end.value, ast.Call)):
        return False
    test = arm.test.left if isinstance(arm.test, ast.Compare) else arm.test
    asked = test.args[0] if isinstance(test, ast.Call) and test.args else test
    return isinstance(asked, ast.Name) and asked.id == ast.unparse(end.value.func)


def _is_narrowed(script: Script, node: ast.AST) -> bool:
    """Whether a test around checks the type of a value that the code uses, or a version."""
    below = getattr(node, "of", node)
    used = {n.id for n in script.below(below) if isinstance(n, ast.Name)}
    for above in script.above(below):
        test = getattr(above, "test", None)
        if test is not None and test is not below and _asks(test, used):
            return True
        if isinstance(above, ast.BoolOp) and any(
            _asks(each, used) for each in above.values if each is not below
        ):
            return True
        below = above
    return False


def _asks(test: ast.expr, used: set[str]) -> bool:
    for node in ast.walk(test):
        asks = isinstance(node, ast.Call) and last_name(node.func) in _ASKS
        given = node.args[:1] if asks and isinstance(node, ast.Call) else []
        if used & {last_name(n) for each in given for n in ast.walk(each)}:
            return True
        if isinstance(node, ast.Compare) and _VERSION.search(ast.unparse(node)):
            return True
        looks = isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn))
        looks = looks or (isinstance(node, ast.Call) and last_name(node.func) in _LOOKS)
        if looks and used & {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}:
            return True
    return False


def _is_tried(script: Script, node: ast.AST) -> bool:
    """Whether a handler around does the same in another way."""
    below = getattr(node, "of", node)
    calls = [n for n in (below, *script.above(below)) if isinstance(n, ast.Call)]
    names = {last_name(call.func).removesuffix("_async") for call in calls} & OPERATIONS.keys()
    for above in script.above(below):
        if isinstance(above, ast.Try) and below in above.body and names:
            again = (c for h in above.handlers for s in h.body for c in script.all(ast.Call, s))
            if any(last_name(c.func).removesuffix("_async") in names for c in again):
                return True
        below = above
    return False


def _is_tolerated(script: Script, node: ast.AST) -> bool:
    """Whether a context manager of the program around handles the raised error."""
    for above in script.above(getattr(node, "of", node)):
        for item in getattr(above, "items", ()):
            called = getattr(item.context_expr, "func", None)
            made = script.machine.value(called).node
            tries = script.all(ast.Try, made) if isinstance(made, FUNCTIONS) else ()
            if any(each.handlers and any(
                isinstance(n, ast.Yield) for s in each.body for n in script.below(s)
            ) for each in tries):  # fmt: skip
                return True
    return False


def _is_on_purpose(script: Script, node: ast.AST) -> bool:
    """Whether a comment on the lines of a statement, or above it, marks it as intended."""
    node = getattr(node, "of", node)
    source = script.module_of(node).source
    statement = next((a for a in (node, *script.above(node)) if isinstance(a, ast.stmt)), node)
    first = getattr(statement, "lineno", 1)
    last = min(getattr(statement, "end_lineno", None) or first, first + 10)
    return any(_ON_PURPOSE.search(line) for line in source.lines[max(first - 2, 0) : last])


def _is_patched(script: Script) -> bool:
    """Whether a method or class of the SDK is replaced: ``client.sample = mine``."""
    targets: list[ast.AST] = []
    for node in script.all(ast.Assign):
        targets += [t.value for t in node.targets if isinstance(t, ast.Attribute)]
    for call in script.calls_of({"setattr"}):
        targets += call.args[:1]
    owners = map(script.machine.value, targets)
    return any(
        owner.kind in _OF_SDK and (owner.kind != "import" or owner.op.partition(".")[0] == "tinker")
        for owner in owners
    )
