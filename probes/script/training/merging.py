"""The arithmetic of merging an adapter: B @ A, times alpha / r, in float32, gate before up."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from ....reading.python.nodes import constant, last_name
from ..findings import Finding, Script
from ..reading.terms import NOTHING, Term, Trace

_PRODUCTS = frozenset({"matmul", "mm", "bmm"})
_LOW = frozenset({"bfloat16", "half", "float16"})
_CASTS = frozenset({"to", "float", "double", "type", *_LOW})
_JOINS = frozenset({"cat", "concat", "concatenate"})
_KEEPS = frozenset({"contiguous", "cuda", "cpu", "clone", "detach"})
_A, _B = re.compile(r"lora_a\b", re.I), re.compile(r"lora_b\b", re.I)
_GATE, _UP = re.compile(r"\b(w1|gate_proj|gate)\b"), re.compile(r"\b(w3|up_proj|up)\b")
_MAX_TEXTS = 40


class Product(NamedTuple):
    """A product of two matrices of an adapter."""

    node: ast.AST
    left: Term
    right: Term
    term: Term


def find_merging(script: Script) -> Iterator[Finding]:
    """The patterns of merging."""
    if not any("lora_" in word.lower() for word in script.words):
        return
    trace = script.machine.trace
    products = [*_products(script)]
    for product in products:
        yield from _order(trace, product)
        yield from _precision(trace, product)
    yield from _scale(script, {p.term: p for p in products})
    yield from _swapped(script)


def _products(script: Script) -> Iterator[Product]:
    trace = script.machine.trace
    for node in script.all((ast.BinOp, ast.Call)):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            sides = [node.left, node.right]
        elif isinstance(node, ast.Call) and last_name(node.func) in _PRODUCTS:
            owner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
            sides = [*node.args] if len(node.args) == 2 else [*owner, *node.args]
        else:
            continue
        if len(sides) == 2:
            left, right = (trace.of(side) for side in sides)
            yield Product(node, left, right, trace.of(node))


def _which(trace: Trace, term: Term) -> str:
    """Name the matrix of an adapter that a term is: A, B, or "" if unclear."""
    names = " ".join(texts(trace, term))
    a, b = bool(_A.search(names)), bool(_B.search(names))
    return "" if a == b else "A" if a else "B"


def texts(trace: Trace, term: Term) -> Iterator[str]:
    """The texts in a term, with those that are joined in one."""
    for count, each in enumerate(trace.walk(term)):
        if count > _MAX_TEXTS:
            return
        if each.op == "text" or (each.op == "binary" and each.const == "Add"):
            yield _joined(each)
        elif each.op == "const" and isinstance(each.const, str):
            yield each.const


def _joined(term: Term) -> str:
    if term.op == "const":
        return str(term.const)
    return "".join(map(_joined, term.args)) if term.op in ("text", "binary") else "{}"


def _is_turned(trace: Trace, term: Term) -> bool:
    return any((t.op == "attr" and t.const in ("T", "mT")) or (t.op == "call" and t.const[0] in (
        "t", "transpose", "permute", "swapaxes")) for t in trace.walk(term))  # fmt: skip


def _order(trace: Trace, product: Product) -> Iterator[Finding]:
    sides = (product.left, product.right)
    if [_which(trace, side) for side in sides] == ["A", "B"]:
        if any(_is_turned(trace, side) for side in sides):
            return
        yield Finding("merge-order", product.node, other=_source(product.left))


def _source(term: Term) -> ast.AST | None:
    while term.op == "call" and term.const[0] in (*_CASTS, *_KEEPS) and term.args[0] is not NOTHING:
        term = term.args[0]
    return term.node


def _cast(trace: Trace, term: Term) -> Term | None:
    """The last change of the type of a matrix."""
    while term.op == "call" and term.args:
        if term.const[0] in _CASTS:
            given = [t for arg in term.args[1:] for t in trace.walk(arg)]
            types = [t.const for t in given if t.op in ("attr", "name")]
            if term.const[0] not in ("to", "type") or any(_is_type(name) for name in types):
                return term
        elif term.const[0] not in _KEEPS:
            return None
        term = term.args[0]
    return None


def _is_type(name: object) -> bool:
    return isinstance(name, str) and name in (*_LOW, "float32", "float64", "float")


def _precision(trace: Trace, product: Product) -> Iterator[Finding]:
    if {_which(trace, product.left), _which(trace, product.right)} != {"A", "B"}:
        return
    cast = _cast(trace, product.left)
    if cast is None:
        return
    given = (t.const for arg in cast.args[1:] for t in trace.walk(arg) if t.op == "attr")
    names = {cast.const[0], *(name for name in given if isinstance(name, str))}
    if names & _LOW:
        yield Finding("merge-low-precision", product.node, other=cast.node)


def _scale(script: Script, products: dict[Term, Product]) -> Iterator[Finding]:
    """A product that is added to a weight without a factor."""
    trace = script.machine.trace
    for node in script.all((ast.BinOp, ast.AugAssign)):
        if not (isinstance(node, (ast.BinOp, ast.AugAssign)) and isinstance(node.op, ast.Add)):
            continue
        sides = [node.left, node.right] if isinstance(node, ast.BinOp) else [node.value]
        for side in sides:
            product = products.get(_bare(trace.of(side)))
            if product is None or {_which(trace, product.left), _which(trace, product.right)} != {
                "A", "B"
            }:  # fmt: skip
                continue
            inner = [*trace.walk(product.left), *trace.walk(product.right)]
            if not any(_scales(term) for term in inner):
                assumed = "that lora_alpha is not equal to r"
                yield Finding("merge-scale-missing", node, assumed=assumed, other=product.node)


def _scales(term: Term) -> bool:
    if term.op == "binary":
        return term.const in ("Mult", "Div")
    return term.op in ("choice", "grown", "nothing") and term is not NOTHING


def _bare(term: Term) -> Term:
    """A term without changes of its type and place."""
    while term.op == "call" and term.const[0] in (*_CASTS, *_KEEPS) and term.args:
        term = term.args[0]
    return term


def _swapped(script: Script) -> Iterator[Finding]:
    trace = script.machine.trace
    for node in script.all((ast.Dict, ast.Call)):
        if isinstance(node, ast.Dict):
            pairs = {constant(k): constant(v) for k, v in zip(node.keys, node.values, strict=True)}
            one, three = str(pairs.get("w1", "")), str(pairs.get("w3", ""))
            if _side([one]) == "up" and _side([three]) == "gate":
                yield Finding("merge-gate-up-swapped", node)
        elif isinstance(node, ast.Call) and last_name(node.func) in _JOINS:
            parts = trace.of(node.args[0]).args if node.args else ()
            if [_side([*texts(trace, part)]) for part in parts] == ["up", "gate"]:
                yield Finding("merge-gate-up-swapped", node, other=_source(parts[0]))


def _side(names: list[str]) -> str:
    text = " ".join(names).replace(".", " ")
    gate, up = bool(_GATE.search(text)), bool(_UP.search(text))
    return "" if gate == up else "gate" if gate else "up"
