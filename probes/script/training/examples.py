"""Training examples: inputs, targets and weights against each other."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....reading.python.nodes import dotted
from ..findings import Finding, Script
from ..reading.terms import Called, Term, Trace
from ..reading.values import Value
from .sequences import (
    Segment,
    Size,
    filled_with,
    is_call,
    length,
    padding,
    peel,
    repeat,
    segments,
    subject,
)

_ALL = frozenset({"ALL_TOKENS", "ALL_MESSAGES", "ALL_USER_AND_SYSTEM_MESSAGES"})
_PER_TOKEN = ("target_tokens", "weights", "logprobs", "advantages")


def find_examples(script: Script) -> Iterator[Finding]:
    """The patterns of single examples."""
    trace = script.machine.trace
    scored = _scored(trace)
    for datum in trace.calls:
        if datum.name == "Datum" and is_datum(datum):
            yield from _shift(trace, datum)
            yield from _lengths(trace, datum)
            if datum.term not in scored:
                yield from _prompt(trace, datum)
    yield from _trained_on(script)


def _scored(trace: Trace) -> set[Term | None]:
    """The examples whose log-probabilities are asked for, which are not training."""
    given = (call.given("data", 0) for call in trace.calls if call.name == "forward")
    return {part.term for data in given if data is not None for part in data.parts}


def is_datum(call: Called) -> bool:
    """Whether a call makes an example of Tinker."""
    return {"model_input", "loss_fn_inputs"} <= {*call.named} or len(call.args) == 2


def inputs_of(datum: Called) -> dict[str, Value]:
    """The loss inputs of an example by name; empty if they are not all seen."""
    given = datum.given("loss_fn_inputs", 1)
    if given is None:
        return {}
    if given.kind == "dict" and isinstance(given.const, tuple):
        if len(given.const) == len(given.parts) and all(isinstance(k, str) for k in given.const):
            return dict(zip(given.const, given.parts, strict=True))
        return {}
    term = given.term
    if term is None or not is_call(term, "dict") or len(term.args) != len(term.const):
        return {}
    keys = term.const[1:]
    return {k: Value(term=t) for k, t in zip(keys, term.args[1:], strict=True) if k != "**"}


def tokens_of(datum: Called) -> Term | None:
    """The tokens of the model input, where it is made of a list of them."""
    given = datum.given("model_input", 0)
    if given is None or given.term is None:
        return None
    made = peel(given.term)
    return subject(made) if is_call(made, "from_ints") else None


def _term(datum: Called, name: str) -> Term | None:
    value = inputs_of(datum).get(name)
    return value.term if value is not None else None


def _shift(trace: Trace, datum: Called) -> Iterator[Finding]:
    """The target of a position is the token after it."""
    tokens, targets = tokens_of(datum), _term(datum, "target_tokens")
    if tokens is None or targets is None:
        return
    given, wanted = segments(trace, tokens), segments(trace, targets)
    if not given or not wanted or given[0].base is not wanted[0].base:
        return
    base = given[0].base
    filled = repeat(base) is not None or base.op in ("list", "choice", "nothing")
    # Where whole parts follow, they have to be the same for the two to be one sequence.
    if not filled and wanted[0].start - given[0].start != 1 and _one(given, wanted):
        yield Finding("targets-not-shifted", datum.node, other=_place(trace, tokens))


def _one(given: list[Segment], wanted: list[Segment]) -> bool:
    return all(a.base is b.base for a, b in zip(given, wanted, strict=False))


def _lengths(trace: Trace, datum: Called) -> Iterator[Finding]:
    """All inputs of a loss have one element for each token of the input."""
    tokens = tokens_of(datum)
    whole = length(trace, tokens) if tokens is not None else None
    if tokens is None or whole is None:
        return
    padded = any(padding(trace, tokens))
    for name in _PER_TOKEN:
        term = _term(datum, name)
        size = length(trace, term) if term is not None else None
        if term is None or size is None:
            continue
        rest = Size.of(whole).minus(size)
        if rest is None or (not rest.parts and not rest.fixed):
            continue
        filled = next(padding(trace, term), None)
        if not rest.parts:
            yield Finding("loss-inputs-of-other-length", datum.node, other=_place(trace, term))
        elif filled is not None and not padded:
            yield Finding("loss-inputs-of-other-length", datum.node, other=filled.node)


def _place(trace: Trace, term: Term) -> ast.AST | None:
    """The node that makes a sequence, rather than cuts it."""
    term = peel(term)
    while term.op == "slice":
        term = peel(term.args[0])
    return term.node


def _prompt(trace: Trace, datum: Called) -> Iterator[Finding]:
    """Weights of one on all that was joined from two texts."""
    tokens, weights = tokens_of(datum), _term(datum, "weights")
    if tokens is None or weights is None:
        return
    parts = [part.base for part in segments(trace, tokens) or ()]
    texts = [part for part in parts if repeat(part) is None and part.op not in ("list", "const")]
    values = {filled_with(part.base) for part in segments(trace, weights) or ()}
    covers = Size.of(length(trace, tokens)).minus(length(trace, weights)) == Size(0)
    if covers and len({id(part) for part in texts}) >= 2 and values and values <= {1}:
        assumed = "that the first part of the tokens is a prompt, which is not to be learned"
        place = _place(trace, weights)
        yield Finding("loss-over-prompt", datum.node, assumed=assumed, other=place)


def _trained_on(script: Script) -> Iterator[Finding]:
    """``TrainOnWhat`` with the prompt in it."""
    for call in script.calls():
        for given in (*call.args, *(k.value for k in call.keywords)):
            if not isinstance(given, ast.Attribute) or given.attr not in _ALL:
                continue
            if dotted(given.value).rpartition(".")[2] == "TrainOnWhat":
                assumed = "that the prompt is not to be learned"
                yield Finding("loss-over-prompt", call, assumed=assumed, other=given)
