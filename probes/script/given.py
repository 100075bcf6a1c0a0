"""Checks the values that a program gives to Tinker: prompts, examples and renderers."""

from __future__ import annotations

import ast
import re

from ...reading.python.nodes import constant, keyword, last_name
from .findings import Script
from .reading.terms import NOTHING, Term
from .reading.values import BACKWARD
from .sequences import is_call

_KEEP = frozenset({"list", "tuple", "sorted", "reversed", "chain", "from_iterable", "sample"})
_CONTAINERS = frozenset({"list", "part", "item", "grown", "choice", "index", "slice", "other",
                         "name", "member"})  # fmt: skip
_STRIPS = re.compile(
    r"_?(?:remove|strip|drop|without|exclude|del|pop)_?\w{0,40}(?:mask|key|input|field|extra)"
    r"\w{0,10}", re.IGNORECASE,
)  # fmt: skip
_BUILT_IN = frozenset({"forward_backward", "forward"})
MAX_STEPS = 200


def stays_as_built(script: Script, inputs: ast.AST) -> bool:
    """Whether the example whose inputs a dict holds is trained on unchanged: it is seen to be
    passed on, or nothing in the program makes an example from another one."""
    if all(event.op not in _BUILT_IN for event in script.machine.events):
        return False  # a custom loss reads any inputs
    made = next((a for a in script.above(inputs) if _makes_datum(a, inputs)), None)
    if made is not None and _is_given(script, made):
        return True
    return not any(_STRIPS.fullmatch(word) for word in script.words) and not any(
        _is_taken_apart(script, node) for node in script.all(ast.Attribute)
    )


def _makes_datum(node: ast.AST, inputs: ast.AST) -> bool:
    return isinstance(node, ast.Call) and keyword(node, "loss_fn_inputs") is inputs


def _is_given(script: Script, made: ast.AST) -> bool:
    trace = script.machine.trace
    terms = {id(call.term) for call in trace.calls if call.node is made}
    for call in trace.calls:
        data = call.given("data", 0) if call.name in (*BACKWARD, "forward") else None
        if data is not None and data.term is not None:
            parts = (part.term for part in data.parts)
            if any(_holds(script, term, terms) for term in (data.term, *parts) if term):
                return True
    return False


def _holds(script: Script, term: Term, wanted: set[int]) -> bool:
    """Whether a value contains one of several unchanged: through lists, not through functions."""
    waiting, seen = [term], set[int]()
    while waiting and len(seen) < MAX_STEPS:
        each = waiting.pop()
        if id(each) in seen or each is NOTHING:
            continue
        seen.add(id(each))
        if id(each) in wanted:
            return True
        if each.op == "map":
            waiting.append(each.args[0])
        elif each.op in _CONTAINERS or is_call(each, *_KEEP):
            waiting += each.args
            waiting += script.machine.trace.fed.get(each, ())
    return False


def _is_taken_apart(script: Script, node: ast.Attribute) -> bool:
    """Whether the inputs of an example are used for more than reading one of them."""
    if node.attr != "loss_fn_inputs":
        return False
    above = script.parents.get(id(node))
    reads = isinstance(above, ast.Subscript) and isinstance(above.ctx, ast.Load) and (
        above.value is node and constant(above.slice) is not None)  # fmt: skip
    gets = isinstance(above, ast.Attribute) and above.attr in ("get", "keys")
    return not (reads or gets) or any(
        isinstance(each, ast.Dict)
        or (isinstance(each, ast.Call) and last_name(each.func) in ("Datum", "dict"))
        for each in script.above(node)
    )


_TAKES = frozenset({
    "from_ints", "ModelInput", "EncodedTextChunk", "Datum", "get_renderer", "sample",
    "compute_logprobs", "forward", "forward_backward", "forward_backward_custom",
})  # fmt: skip


def is_given(script: Script, term: Term) -> bool:
    """Whether a value is known to be a part of Tinker's input."""
    if term is NOTHING:
        return False
    trace = script.machine.trace
    for call in trace.calls:
        if call.name in _TAKES:
            values = (*call.args, *call.named.values())
            given = (value.term for value in values if value.term is not None)
            if any(part is term for each in given for part in trace.walk(each, fed=True)):
                return True
    return False
