"""Expressions that build a text -> message templates. Nothing is evaluated but constants."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from string import Formatter

from .parts import Parts, has_words, join, literal, placeholder
from .scopes import Scope

MAX_ALTERNATIVES = 6
MAX_TEMPLATE = 4_000
MAX_NAME = 80
MAX_DEPTH = 12
MAX_STEPS = 400
_PERCENT = re.compile(
    r"%(?:\((?P<key>[^()]{0,80})\))?[-#0 +]{0,5}(?:\d{1,9}|\*)?(?:\.(?:\d{1,9}|\*))?[hlL]?"
    r"(?P<form>[diouxXeEfFgGcrsa%])"
)
_SAME_TEXT = frozenset({"str", "_", "gettext", "dedent", "cleandoc", "fill", "indent", "strip",
                        "rstrip", "lstrip", "rmsg"})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Way:
    """The scope and limits of a lookup of names: nesting and steps are bounded, since names may
    stand for expressions with names in them."""

    scope: Scope
    depth: int = MAX_DEPTH
    steps: list[None] = field(default_factory=list)

    def deeper(self) -> Way:
        """The way to a part of the expression."""
        return Way(self.scope, self.depth - 1, self.steps)

    def ends(self) -> bool:
        """Take one step; return whether the limit is reached."""
        self.steps.append(None)
        return self.depth <= 0 or len(self.steps) > MAX_STEPS


def templates(node: ast.expr, way: Way) -> list[Parts]:
    """The texts that an expression may give, at most MAX_ALTERNATIVES; never none."""
    found = [] if way.ends() else _alternatives(node, way)
    unique = list(dict.fromkeys(_cut(each) for each in found))
    return unique[:MAX_ALTERNATIVES] or [placeholder(name_of(node))]


def template(node: ast.expr, way: Way) -> Parts:
    """The one text that an expression gives, a placeholder if it may give several."""
    found = templates(node, way)
    return found[0] if len(found) == 1 else placeholder(name_of(node))


def percent(text: str, arguments: Sequence[ast.expr], way: Way) -> Parts:
    """The template of ``text % arguments``, as logging and the operator fill it in."""
    named = _named_arguments(arguments)
    waiting = iter(arguments)
    parts, at = literal(""), 0
    for mark in _PERCENT.finditer(text):
        parts = join(parts, literal(text[at : mark.start()]))
        at = mark.end()
        if mark["form"] == "%":
            parts = join(parts, literal("%"))
        elif mark["key"] is not None:
            value = named.get(mark["key"])
            parts = join(parts, _filled(value, way) or placeholder(mark["key"]))
        else:
            for _ in range(mark[0].count("*")):
                next(waiting, None)
            parts = join(parts, _filled(next(waiting, None), way) or placeholder(""))
    return join(parts, literal(text[at:]))


def braces(text: str, call: ast.Call, way: Way) -> Parts:
    """The template of ``text.format(...)``."""
    named = {each.arg: each.value for each in call.keywords if each.arg}
    waiting = iter(call.args)
    parts = literal("")
    try:
        pieces = list(Formatter().parse(text))
    except ValueError:
        return literal(text)
    for constant, key, _, _ in pieces:
        parts = join(parts, literal(constant))
        if key is None:
            continue
        plain = re.split(r"[.\[]", key, maxsplit=1)[0]
        if not plain:
            value = next(waiting, None)
        elif plain.isdigit():
            value = call.args[int(plain)] if int(plain[:4]) < len(call.args) else None
        else:
            value = named.get(plain)
        exact = value is not None and plain == key
        filled = _filled(value, way) if exact or not key else None
        parts = join(parts, filled or placeholder(key))
    return parts


def name_of(node: ast.expr) -> str:
    """An expression as its source writes it, on one line."""
    if isinstance(node, ast.Name):
        return node.id
    try:
        text = " ".join(ast.unparse(node).split())
    except (ValueError, RecursionError, AttributeError):
        return ""
    return text if len(text) <= MAX_NAME else text[: MAX_NAME - 4] + " ..."


def _alternatives(node: ast.expr, way: Way) -> list[Parts]:
    if isinstance(node, ast.Constant):
        return [literal(node.value if isinstance(node.value, str) else str(node.value))]
    if isinstance(node, ast.JoinedStr):
        return [_f_string(node, way)]
    if isinstance(node, ast.BinOp):
        return _operator(node, way)
    if isinstance(node, ast.IfExp):
        return [*templates(node.body, way.deeper()), *templates(node.orelse, way.deeper())]
    if isinstance(node, ast.BoolOp):
        return [each for value in node.values for each in templates(value, way.deeper())]
    if isinstance(node, ast.Lambda):
        return templates(node.body, way.deeper())
    if isinstance(node, ast.Call):
        return _call(node, way)
    return _named(node, way)


def _f_string(node: ast.JoinedStr, way: Way) -> Parts:
    parts = literal("")
    for value in node.values:
        if isinstance(value, ast.FormattedValue):
            parts = join(parts, _filled(value.value, way) or placeholder(""))
        elif isinstance(value, ast.Constant):
            parts = join(parts, literal(str(value.value)))
    return parts


def _filled(node: ast.expr | None, way: Way) -> Parts | None:
    """Return the text of a placeholder if it is constant, else its name."""
    if node is None:
        return None
    if isinstance(node, ast.Constant | ast.Name | ast.Attribute | ast.JoinedStr):
        found = template(node, way.deeper())
        if isinstance(node, ast.JoinedStr) or len(found) == 1:
            return found
    return placeholder(name_of(node))


def _operator(node: ast.BinOp, way: Way) -> list[Parts]:
    if isinstance(node.op, ast.Add):
        # A chain of additions nests to the left, as deep as it is long.
        operands = [node.right]
        left: ast.expr = node.left
        while isinstance(left, ast.BinOp) and isinstance(left.op, ast.Add):
            operands.append(left.right)
            left = left.left
        operands.append(left)
        if any(isinstance(each, ast.Constant) and not isinstance(each.value, str)
               for each in operands):  # fmt: skip
            return []  # a sum of numbers
        choices = [templates(each, way.deeper()) for each in reversed(operands)]
        found = [join(*chosen) for chosen in islice(product(*choices), MAX_ALTERNATIVES)]
        return found if any(map(any, (each[::2] for each in found))) else []
    if isinstance(node.op, ast.Mod):
        texts = templates(node.left, way.deeper())
        values = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
        return [percent(text[0], values, way.deeper()) if len(text) == 1 else text
                for text in texts if any(text[::2])]  # fmt: skip
    return []


def _call(node: ast.Call, way: Way) -> list[Parts]:
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else (
        function.id if isinstance(function, ast.Name) else "")  # fmt: skip
    if isinstance(function, ast.Attribute):
        if name == "format":
            return [braces(text[0], node, way.deeper()) if len(text) == 1 else text
                    for text in templates(function.value, way.deeper())]  # fmt: skip
        if name == "join" and len(node.args) == 1:
            return _joined(function.value, node.args[0], way)
        if name in _SAME_TEXT and not node.args:
            return templates(function.value, way.deeper())
    if name in _SAME_TEXT and node.args:
        return templates(node.args[0], way.deeper())
    return []


def _joined(separator: ast.expr, values: ast.expr, way: Way) -> list[Parts]:
    """The templates of ``", ".join(...)`` over the elements of a list, appended ones included."""
    between = template(separator, way.deeper())
    if isinstance(values, ast.List | ast.Tuple):
        pieces = [template(each, way.deeper()) for each in values.elts]
        spaced = [piece for each in pieces for piece in (between, each)]
        return [join(*spaced[1:])]
    if isinstance(values, ast.Name):
        some = [each for value in way.scope.find_added(values.id)
                for each in templates(value, way.deeper())]  # fmt: skip
        return [join(placeholder(""), each, placeholder("")) for each in some if has_words(each)]
    return []


def _named(node: ast.expr, way: Way) -> list[Parts]:
    if isinstance(node, ast.Name):
        known = way.scope.find(node.id)
        found = [each for value in known for each in templates(value, way.deeper())]
        more = [each for value in way.scope.find_added(node.id)
                for each in templates(value, way.deeper())]  # fmt: skip
        if more and found:
            found += [join(first, each) for first in found[:1] for each in more]
        return found
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        known = way.scope.find_attribute(node.attr)
        return [each for value in known for each in templates(value, way.deeper())]
    return []


def _named_arguments(arguments: Sequence[ast.expr]) -> Mapping[str, ast.expr]:
    if len(arguments) == 1 and isinstance(arguments[0], ast.Dict):
        table = arguments[0]
        return {key.value: value for key, value in zip(table.keys, table.values, strict=True)
                if isinstance(key, ast.Constant) and isinstance(key.value, str)}  # fmt: skip
    return {}


def _cut(parts: Parts) -> Parts:
    """``parts`` without what is beyond the bound on their length, placeholders merged."""
    if sum(map(len, parts)) <= MAX_TEMPLATE:
        return parts
    kept: list[str] = []
    room = MAX_TEMPLATE
    for text, *name in zip(parts[::2], (*parts[1::2], ""), strict=True):
        if len(text) > room:
            return (*kept, text[:room], "", "")
        kept += [text, *name]
        room -= len(text)
    return (*kept[:-1], "") if len(kept) % 2 == 0 else tuple(kept)
