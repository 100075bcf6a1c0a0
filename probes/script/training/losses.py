"""Loss functions against their inputs: what is missing, rewards, log-probabilities of whom."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....reading.python.nodes import keyword
from ..findings import Finding, Script
from ..reading.terms import NOTHING, Called, Term, Trace
from ..reading.values import BACKWARD, Value
from ..running import is_changed
from .clients import base_model_of, creation, steps_between
from .examples import inputs_of, is_datum
from .sequences import is_call, repeat, segments

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
