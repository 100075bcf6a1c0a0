"""Training examples and loss functions: inputs, targets, weights, rewards and log-probabilities."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....reading.python.nodes import dotted, keyword
from ..findings import Finding, Script
from ..reading.terms import NOTHING, Called, Term, Trace
from ..reading.values import BACKWARD, Value
from ..running import is_changed
from ..sequences import (
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
from .clients import base_model_of, creation, steps_between

_NEEDS = {
    "cross_entropy": frozenset({"target_tokens"}),
    "importance_sampling": frozenset({"target_tokens", "logprobs", "advantages"}),
    "ppo": frozenset({"target_tokens", "logprobs", "advantages"}),
    "cispo": frozenset({"target_tokens", "logprobs", "advantages"}),
    "dro": frozenset({"target_tokens", "logprobs", "advantages"}),
}
# Functions that may be applied to a score without comparing it with others.
_PLAIN = frozenset({
    "float", "int", "bool", "len", "decode", "parse_response", "strip", "lower", "upper", "split",
    "startswith", "endswith", "replace", "tensor", "array", "asarray", "from_numpy", "from_torch",
    "TensorData",
})  # fmt: skip


def find_losses(script: Script) -> Iterator[Finding]:
    """The patterns of losses and their inputs."""
    trace = script.machine.trace
    made = {datum.term: datum for datum in trace.calls if datum.name == "Datum" and is_datum(datum)}
    for call in trace.calls:
        if call.name in BACKWARD:
            yield from _missing(script, call, made)
    for datum in made.values():
        yield from _raw(trace, datum)
        yield from _foreign(script, datum)


def _missing(script: Script, call: Called, made: dict[Term, Called]) -> Iterator[Finding]:
    data, loss = call.given("data", 0), call.given("loss_fn", 1)
    needs = _NEEDS.get(loss.const) if loss is not None and isinstance(loss.const, str) else None
    if needs is None or data is None or loss is None or data.kind not in ("list", "tuple"):
        return
    for each in data.parts:
        datum = made.get(each.term) if each.term is not None else None
        inputs = inputs_of(datum) if datum is not None else {}
        if datum is None or _is_completed(script, datum):
            continue
        if inputs and needs - {*inputs}:
            yield Finding("loss-inputs-missing", call.node, assumed=loss.assumed,
                          other=datum.node)  # fmt: skip


def _is_completed(script: Script, datum: Called) -> bool:
    """Whether the dict of an example's inputs may get keys after it is written."""
    given = keyword(datum.node, "loss_fn_inputs")
    return isinstance(given, ast.Name) and is_changed(script, given)


def _raw(trace: Trace, datum: Called) -> Iterator[Finding]:
    """Advantages that are the scores of samples, compared with nothing."""
    given = inputs_of(datum).get("advantages")
    for part in segments(trace, given.term) or () if given is not None and given.term else ():
        repeated = repeat(part.base)
        value = repeated[0] if repeated is not None else part.base
        if _is_score(trace, value):
            yield Finding("rewards-not-centred", datum.node, other=part.base.node)


def _is_score(trace: Trace, value: Term) -> bool:
    waiting, sampled = [value], False
    while waiting:
        each = waiting.pop()
        if is_call(each, "sample", "decode"):
            sampled |= any(is_call(inner, "sample") for inner in trace.walk(each))
            continue
        compared = each.op == "binary" and each.const in ("Sub", "Div")
        if compared or each.op in ("grown", "member", "nothing"):
            return False
        if each.op == "call" and each.const[0] not in _PLAIN:
            if any(is_call(inner, "sample") for inner in trace.walk(each)):
                return False
            continue
        waiting.extend(arg for arg in each.args if arg is not NOTHING)
    return sampled


def _foreign(script: Script, datum: Called) -> Iterator[Finding]:
    """Log-probabilities of sampled tokens from other weights than those that sampled them."""
    inputs = inputs_of(datum)
    old, targets = inputs.get("logprobs"), inputs.get("target_tokens")
    asked, sampled = _first(script, old, "compute_logprobs"), _first(script, targets, "sample")
    if asked is None or sampled is None:
        return
    one, other = creation(script, asked.receiver), creation(script, sampled.receiver)
    if one is None or other is None or one is other:
        return
    models = base_model_of(one) != base_model_of(other)
    if models or steps_between(script, one.position, other.position):
        yield Finding("logprobs-of-other-sampler", asked.node, other=sampled.node)


def _first(script: Script, value: Value | None, name: str) -> Called | None:
    if value is None or value.term is None:
        return None
    term = next((t for t in script.machine.trace.walk(value.term) if is_call(t, name)), None)
    return script.givers.get(id(term)) if term is not None else None


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
    """The examples whose log-probabilities are requested, which is not training."""
    given = (call.given("data", 0) for call in trace.calls if call.name == "forward")
    return {part.term for data in given if data is not None for part in data.parts}


def is_datum(call: Called) -> bool:
    """Whether a call makes an example of Tinker."""
    return {"model_input", "loss_fn_inputs"} <= {*call.named} or len(call.args) == 2


def inputs_of(datum: Called) -> dict[str, Value]:
    """The loss inputs of an example by name; empty if some of them are unknown."""
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
    """The tokens of the model input, if it is made of a list of them."""
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
    # If whole parts follow, they have to be the same for the two to be one sequence.
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
