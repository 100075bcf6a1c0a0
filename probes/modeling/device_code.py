"""Code that works on the CPU and not in a traced graph of the device."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...reading.python.nodes import FunctionNode, assignments, dotted, keywords, last_name
from ...reading.python.sources import Code
from .call_rows import on_cpu
from .port_code import Finding, words

_VALUE_CALLS = frozenset({"item", "tolist"})
_TENSOR_MAKERS = frozenset({"tensor", "zeros", "ones", "full", "arange", "empty", "randn", "eye"})
_REGISTERS = frozenset({"register_buffer", "register_parameter", "Parameter", "Buffer"})


def find_device_code(code: Code) -> Iterator[Finding]:
    """The findings of every check here."""
    for method in code.forwards:
        yield from _value_branches(code, method)
        yield from _mask_writes(code, method)
    for owner in code.all(ast.ClassDef):
        yield from _indexed_outputs(code, owner)
        yield from _free_tensors(code, owner)


def _value_branches(code: Code, method: FunctionNode) -> Iterator[Finding]:
    """``if x.item() == 1``: the branch of the tracing run is frozen into the graph."""
    for node in code.below(method):
        if isinstance(node, (ast.If, ast.IfExp, ast.While)):
            calls = code.all(ast.Call, node.test)
            reads = any(last_name(c.func) in _VALUE_CALLS and not c.args for c in calls)
            if reads and not on_cpu(code, node):
                yield Finding("value-branch-in-forward", node.test)


def _mask_writes(code: Code, method: FunctionNode) -> Iterator[Finding]:
    """``mask[:n, :m] = 0`` with bounds that are computed."""
    for node in code.below(method):
        for target, value in assignments(node):
            if not isinstance(target, ast.Subscript) or "mask" not in last_name(target.value):
                continue
            bounds = [each for part in code.all(ast.Slice, target.slice)
                      for each in (part.lower, part.upper)
                      if each is not None and not _is_fixed(code, each)]  # fmt: skip
            if bounds and isinstance(value, (ast.Constant, ast.UnaryOp)):
                yield Finding("mask-slice-assigned", node)


def _is_fixed(code: Code, node: ast.expr) -> bool:
    """A bound that is not a tensor: a literal, a shape, a length, a setting."""
    for each in code.below(node):
        if isinstance(each, ast.Attribute) and (
            each.attr in ("shape", "size") or dotted(each).startswith(("self.", "config."))
        ):
            return True
        if isinstance(each, ast.Call) and last_name(each.func) in ("size", "len"):
            return True
    return not any(isinstance(each, (ast.BinOp, ast.Call)) for each in code.below(node))


def _indexed_outputs(code: Code, owner: ast.ClassDef) -> Iterator[Finding]:
    """``self.o_proj(x)[0]``: parallel layers give a tuple only with skip_bias_add."""
    layers: dict[str, ast.Call] = {}
    others: set[str] = set()
    for node in code.below(owner):
        for target, value in assignments(node):
            name = dotted(target)
            if isinstance(value, ast.Call) and last_name(value.func) in words("parallel-linears"):
                layers.setdefault(name, value)
            elif name:
                others.add(name)
    for node in code.all(ast.Subscript, owner):
        called = node.value
        if not isinstance(called, ast.Call) or not isinstance(node.slice, ast.Constant):
            continue
        layer = layers.get(dotted(called.func))
        if layer is None or dotted(called.func) in others or node.slice.value != 0:
            continue
        given = keywords(layer)
        if "skip_bias_add" not in given and not any(k.arg is None for k in layer.keywords):
            yield Finding("parallel-output-indexed", node)


def _free_tensors(code: Code, owner: ast.ClassDef) -> Iterator[Finding]:
    """A tensor set in ``__init__`` that is neither parameter nor buffer, and forward reads it."""
    init = code.methods(owner).get("__init__")
    forwards = code.forward_methods(owner)
    if init is None or not forwards:
        return
    read = {node.attr for method in forwards for node in code.all(ast.Attribute, method)
            if isinstance(node.ctx, ast.Load) and dotted(node).startswith("self.")}  # fmt: skip
    for node in code.below(init):
        for target, value in assignments(node):
            if not isinstance(target, ast.Attribute) or target.attr not in read:
                continue
            if dotted(target) == f"self.{target.attr}" and _makes_tensor(code, value):
                yield Finding("tensor-not-registered", node)
                return


def _makes_tensor(code: Code, value: ast.expr) -> bool:
    if not isinstance(value, ast.Call) or last_name(value.func) not in _TENSOR_MAKERS:
        return False
    root = dotted(value.func).partition(".")[0]
    return root == "torch" and not any(
        last_name(call.func) in _REGISTERS for call in code.all(ast.Call, value)
    )
