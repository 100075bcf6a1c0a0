"""Finds code with numerical pitfalls: casts, scaling, variance, buffers, routing, activations."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...reading.python.nodes import FunctionNode, assignments, dotted, keywords, last_name
from ...reading.python.sources import Code
from .port_code import Finding, words

_NORM = re.compile(r"(RMS|Layer)?Norm", re.ASCII)
_ROTARY = re.compile(r"rotary|rope|_?pos_?emb|position_?emb", re.IGNORECASE | re.ASCII)
_ANGLES = re.compile(r"(^|_)(cos|sin)(_|$)", re.ASCII)
_EXPERTS = re.compile(r"expert|moe", re.IGNORECASE | re.ASCII)


def find_patterns(code: Code) -> Iterator[Finding]:
    """The findings of every check here, in the order of the checks."""
    for owner in code.all(ast.ClassDef):
        yield from _norm_variance(code, owner)
        yield from _stored_scaling(code, owner)
        yield from _unused_routing(code, owner)
    yield from _late_scaling(code)
    yield from _copied_weights(code)
    yield from _activation(code)


def upcasts(code: Code, below: ast.AST) -> list[ast.AST]:
    """The places that convert values to FP32: ``float()``, ``to(torch.float32)``, ``dtype=...``."""
    found: list[ast.AST] = []
    for call in code.all(ast.Call, below):
        if isinstance(call.func, ast.Attribute) and call.func.attr == "float" and not call.args:
            found.append(call)
            continue
        given = [*call.args, keywords(call).get("dtype")]
        if any(last_name(each) in ("float32", "float64") for each in given):
            found.append(call)
    return found


def is_low_cast(node: ast.AST) -> bool:
    """A call that takes a value out of FP32, or to the type of another."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    name = node.func.attr
    if name in words("low-precision-casts"):
        return True
    if name not in ("to", "type"):
        return False
    given = [*node.args[:1], keywords(node).get("dtype")]
    low = {"dtype", "bfloat16", "float16", "half", "input_dtype", "torch_dtype"}
    return any(last_name(each) in low for each in given)


def _norm_variance(code: Code, owner: ast.ClassDef) -> Iterator[Finding]:
    """A norm that squares and averages, and nothing in its class goes up to FP32."""
    if not _NORM.search(owner.name) or upcasts(code, owner):
        return
    methods = code.forward_methods(owner)
    if any(_goes_elsewhere(code, method) for method in methods):
        return
    for method in methods:
        for call in code.all(ast.Call, method):
            if last_name(call.func) == "mean" and _squares(code, call):
                yield Finding("norm-variance-without-upcast", call)
                return


def _goes_elsewhere(code: Code, method: FunctionNode) -> bool:
    """Whether a function of the file or the framework computes the norm."""
    return any(
        "norm" in last_name(call.func).lower() and dotted(call.func) not in ("torch.norm",)
        and not dotted(call.func).startswith("self.")
        for call in code.all(ast.Call, method)
    )  # fmt: skip


def _squares(code: Code, call: ast.Call) -> bool:
    for node in code.below(call):
        if isinstance(node, ast.Call) and last_name(node.func) in ("pow", "square"):
            return True
        if not isinstance(node, ast.BinOp):
            continue
        same = dotted(node.left) != "" and dotted(node.left) == dotted(node.right)
        if isinstance(node.op, ast.Pow) or (isinstance(node.op, ast.Mult) and same):
            return True
    return False


def _late_scaling(code: Code) -> Iterator[Finding]:
    """cos and sin that are multiplied by their factor after they left FP32."""
    for function in code.all(ast.FunctionDef):
        owner = code.class_of(function)
        if not _ROTARY.search(function.name) and not (owner and _ROTARY.search(owner.name)):
            continue
        cast: set[str] = set()
        for node in code.below(function):
            for target, value in assignments(node):
                name = dotted(target)
                if _ANGLES.search(name) and is_low_cast(value):
                    cast.add(name)
                elif name in cast and all(dotted(each) not in cast for each in code.below(value)):
                    cast.discard(name)
            if _scales_late(code, node, cast):
                yield Finding("rotary-scaled-after-cast", node)
                break


def _scales_late(code: Code, node: ast.AST, cast: set[str]) -> bool:
    """A product of a scaling factor and an angle that has left FP32."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
        return False
    for factor, other in ((node.left, node.right), (node.right, node.left)):
        late = is_low_cast(other) or dotted(other) in cast
        if late and _is_scale(factor) and _is_angle(code, other):
            return True
    return False


def _is_scale(node: ast.expr) -> bool:
    name = last_name(node)
    return any(name == word or name.endswith(f"_{word}") for word in words("scale-words"))


def _is_angle(code: Code, node: ast.expr) -> bool:
    names = {last_name(each) for each in code.below(node)}
    return any(_ANGLES.search(name) for name in names if name)


def _stored_scaling(code: Code, owner: ast.ClassDef) -> Iterator[Finding]:
    """A rotary class that keeps rope_scaling and builds the plain embedding without it."""
    if not _ROTARY.search(owner.name):
        return
    stored = {
        target.attr: node
        for node in code.below(owner)
        for target, value in assignments(node)
        if isinstance(target, ast.Attribute) and target.attr in ("rope_scaling", "rope_parameters")
    }
    plain = [call for call in code.all(ast.Call, owner)
             if last_name(call.func) in ("RotaryEmbedding", "default_rope")]  # fmt: skip
    given = {last_name(each) for call in plain for each in code.below(call)}
    read = {dotted(each) for each in code.all(ast.Attribute, owner)
            if isinstance(each.ctx, ast.Load)}  # fmt: skip
    for name, node in stored.items():
        if plain and f"self.{name}" not in read and name not in given:
            yield Finding("rope-scaling-stored-unused", node)


def _unused_routing(code: Code, owner: ast.ClassDef) -> Iterator[Finding]:
    """Experts whose forward takes the router's choice and never looks at any of it."""
    if not _EXPERTS.search(owner.name):
        return
    forward = code.methods(owner).get("forward")
    # A stub that only raises or passes has nothing to route.
    if forward is None or not any(code.all((ast.Return, ast.BinOp), forward)):
        return
    arguments = {each.arg for each in (*forward.args.args, *forward.args.kwonlyargs)}
    routing = arguments & words("routing-arguments")
    read = {each.id for each in code.all(ast.Name, forward) if isinstance(each.ctx, ast.Load)}
    if routing and not read & (routing | {"locals"}):
        yield Finding("routing-unused", forward)


def _copied_weights(code: Code) -> Iterator[Finding]:
    """``layer.weight.copy_(...)`` on a parallel layer keeps the layer's own dtype."""
    linears = words("parallel-linears")
    layers = {name for name, value in code.values.items()
              if isinstance(value, ast.Call) and last_name(value.func) in linears}  # fmt: skip
    for call in code.all(ast.Call):
        if last_name(call.func) != "copy_":
            continue
        target = dotted(call.func).removesuffix(".copy_").removesuffix(".data")
        layer, _, part = target.rpartition(".")
        if part in ("weight", "bias") and layer in layers:
            yield Finding("copy-into-parallel-weight", call)


def _activation(code: Code) -> Iterator[Finding]:
    """Whether an activation is applied at all; a framework class may do it, so that counts."""
    known = words("activation-framework")
    for call in code.all(ast.Call):
        func = call.func.value if isinstance(call.func, ast.Subscript) else call.func
        name = last_name(func)
        if name in known or any(part in name.lower() for part in words("activation-parts")):
            yield Finding("functional-activation", call)
            return
    has_mlp = any("MLP" in name or "FeedForward" in name for name in code.classes)
    if code.whole and has_mlp and not _elsewhere(code):
        yield Finding("functional-activation", None)


def _elsewhere(code: Code) -> bool:
    """Whether an MLP of another file is used: its activation cannot be seen here."""
    bases = (last_name(base) for owner in code.classes.values() for base in owner.bases)
    acts = any("act" in name.lower() for name in code.imports)
    return acts or any("MLP" in name for name in (*bases, *code.imports))
