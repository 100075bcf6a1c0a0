"""Expressions of the symbolic reading that need no class of the file: operators, containers."""

from __future__ import annotations

import ast

from .operators import OPERATORS, compare
from .statements import Frame, Statements
from .values import (
    UNKNOWN,
    UNRESOLVED,
    Foreign,
    Function,
    Term,
    Value,
    concrete,
    either,
    folded,
)  # fmt: skip


class Expressions(Statements):
    """Evaluates operators, containers, subscripts and comprehensions."""

    def _of_binop(self, node: ast.BinOp, frame: Frame) -> Value:
        left, right = self.evaluate(node.left, frame), self.evaluate(node.right, frame)
        return self.operate(OPERATORS.get(type(node.op), "unknown"), left, right, node)

    def operate(self, op: str, left: Value, right: Value, node: ast.AST) -> Value:
        """An operation on two values; at once if both are plain Python."""
        plain = not isinstance(left, Term) and not isinstance(right, Term)
        if plain and op == "add" and isinstance(left, list) and isinstance(right, list):
            return [*left, *right]
        found = folded(op, [left, right]) if plain else UNRESOLVED
        return Term(op, (left, right), "", node, self.code) if found is UNRESOLVED else found

    def _of_unaryop(self, node: ast.UnaryOp, frame: Frame) -> Value:
        value = self.evaluate(node.operand, frame)
        if isinstance(node.op, ast.Not):
            truth = self.truth(value)
            return UNKNOWN if truth is None else not truth
        if isinstance(node.op, ast.USub):
            found = folded("neg", [value])
            return Term("neg", (value,), "", node, self.code) if found is UNRESOLVED else found
        return value

    def _of_boolop(self, node: ast.BoolOp, frame: Frame) -> Value:
        wanted, kept = isinstance(node.op, ast.Or), list[Value]()
        for each in node.values:
            value = self.evaluate(each, frame)
            truth = self.truth(value)
            kept.append(value)
            if truth is wanted:
                break
            if truth is not None:
                kept.pop()
        return either(kept) if kept else not wanted

    def _of_compare(self, node: ast.Compare, frame: Frame) -> Value:
        if len(node.ops) != 1:
            return UNKNOWN
        left = self.evaluate(node.left, frame)
        right = self.evaluate(node.comparators[0], frame)
        return compare(node.ops[0], left, right, self.settings)

    def _of_ifexp(self, node: ast.IfExp, frame: Frame) -> Value:
        truth = self.truth(self.evaluate(node.test, frame))
        if truth is not None:
            return self.evaluate(node.body if truth else node.orelse, frame)
        return either([self.evaluate(each, frame) for each in (node.body, node.orelse)])

    def _of_tuple(self, node: ast.Tuple | ast.List, frame: Frame) -> Value:
        found: list[Value] = []
        for each in node.elts:
            value = self.evaluate(each.value if isinstance(each, ast.Starred) else each, frame)
            if isinstance(each, ast.Starred) and isinstance(value, (list, tuple)):
                found.extend(value)
            else:
                found.append(value)
        return tuple(found) if isinstance(node, ast.Tuple) else found

    _of_list = _of_tuple
    _of_set = _of_tuple

    def _of_dict(self, node: ast.Dict, frame: Frame) -> Value:
        found = {}
        for key, value in zip(node.keys, node.values, strict=True):
            name = concrete(self.evaluate(key, frame), self.settings) if key else UNRESOLVED
            if name is UNRESOLVED:
                return UNKNOWN
            found[name] = self.evaluate(value, frame)
        return found

    def _of_subscript(self, node: ast.Subscript, frame: Frame) -> Value:
        return self.item(self.evaluate(node.value, frame), self.index(node.slice, frame), node)

    def item(self, value: Value, key: Value, node: ast.AST) -> Value:
        """An element of a value; a slice of a tensor is the tensor."""
        if isinstance(value, Foreign) and value.short in ("ACT2FN", "ACT2CLS"):
            return Term("activation", (key,), "", node, self.code)
        known = concrete(key, self.settings)
        if isinstance(value, dict) and known is not UNRESOLVED:
            return value.get(known, UNKNOWN)
        if isinstance(value, (str, list, tuple)) and isinstance(key, slice):
            return value[key]
        if isinstance(value, (str, list, tuple)) and isinstance(known, int):
            return value[known] if -len(value) <= known < len(value) else UNKNOWN
        if isinstance(value, Term) and (isinstance(known, (int, str))):
            return Term("item", (value, known), "", node, self.code)
        return value if isinstance(value, Term) else UNKNOWN

    def index(self, node: ast.expr, frame: Frame) -> Value:
        """The index expression inside brackets."""
        if not isinstance(node, ast.Slice):
            return self.evaluate(node, frame)
        ends = [concrete(self.evaluate(each, frame), self.settings)
                for each in (node.lower, node.upper, node.step)]  # fmt: skip
        return UNKNOWN if UNRESOLVED in ends else slice(*ends)

    def _of_joinedstr(self, node: ast.JoinedStr, frame: Frame) -> Value:
        parts = []
        for each in node.values:
            inner = each.value if isinstance(each, ast.FormattedValue) else each
            value = concrete(self.evaluate(inner, frame), self.settings)
            if value is UNRESOLVED:
                return UNKNOWN
            parts.append(str(value))
        return "".join(parts)

    def _of_lambda(self, node: ast.Lambda, frame: Frame) -> Value:
        return Function(node, names=frame.names)

    def _of_namedexpr(self, node: ast.NamedExpr, frame: Frame) -> Value:
        value = self.evaluate(node.value, frame)
        self.assign(node.target, value, frame)
        return value

    def _of_listcomp(self, node: ast.ListComp | ast.GeneratorExp, frame: Frame) -> Value:
        return [value for _, value in self.comprehend(node.generators, None, node.elt, frame)]

    _of_generatorexp = _of_listcomp
    _of_setcomp = _of_listcomp

    def _of_dictcomp(self, node: ast.DictComp, frame: Frame) -> Value:
        pairs = self.comprehend(node.generators, node.key, node.value, frame)
        keys = [concrete(key, self.settings) for key, _ in pairs]
        if UNRESOLVED in keys:
            return UNKNOWN
        return dict(zip(keys, (value for _, value in pairs), strict=True))
