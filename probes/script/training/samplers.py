"""Finds faults of sampling in a script: stale weights, missing stop sequences, and max_tokens
beyond the context."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..data_code import base_models, losses_of, sampled_models
from ..findings import Finding, Script
from ..reading.terms import Called
from ..reading.values import words
from ..sequences import is_call, peel
from .clients import common_loop, creation, saved_by, steps_between, together
from .examples import tokens_of

_FEW_TOKENS = 16
# The part of a model's name that states its context, and the longest that any has: the cookbook's
# model_info lists openai/gpt-oss-120b:peft:131072 and nvidia models with :peft:262144.
_CONTEXT = re.compile(r":peft:(\d{3,9})\Z")
_LONGEST = 262_144


def find_samplers(script: Script) -> Iterator[Finding]:
    """The patterns of sampling."""
    trace = script.machine.trace
    rl = bool(losses_of(script) & words("rl-losses"))
    made = {call.term: call for call in trace.calls if call.name == "SamplingParams"}
    for call in trace.calls:
        if call.name == "sample" and call.receiver.kind in ("sampling", "client-future"):
            yield from _stale(script, call, rl)
            params = call.given("sampling_params", 2)
            options = made.get(params.term) if params is not None and params.term else None
            if options is not None and _runs_on(script, call, options):
                yield Finding("stop-sequences-missing", call.node, other=options.node)
            if options is not None and _is_beyond(script, options):
                yield Finding("max-tokens-beyond-context", call.node, other=options.node)


def _stale(script: Script, call: Called, rl: bool) -> Iterator[Finding]:
    """A loop that samples and trains without ever getting new weights to sample with."""
    made = creation(script, call.receiver)
    saved = saved_by(script, made) if made is not None else None
    if made is None or saved is None or made.position > call.position:
        return
    for step in steps_between(script, saved.position, call.position):
        loop = common_loop(step.each, call.loops)
        if loop is None or loop in made.loops or not together(step, call.path):
            continue
        trained = rl and (_is_trained_on(script, call) or not _has_fresh(script, loop))
        assumed = "" if trained else "that it is to sample from the weights that are being trained"
        yield Finding("sampler-not-refreshed", call.node, assumed=assumed, other=step.node)


def _has_fresh(script: Script, loop: ast.AST) -> bool:
    """Whether a loop also samples with new weights: then it compares them with earlier ones."""
    calls = (c for c in script.machine.trace.calls if c.name == "sample" and loop in c.loops)
    made = (creation(script, call.receiver) for call in calls)
    return any(each is not None and loop in each.loops for each in made)


def _is_trained_on(script: Script, call: Called) -> bool:
    """Whether examples are made from samples."""
    trace = script.machine.trace
    given = (tokens_of(datum) for datum in trace.calls if datum.name == "Datum")
    parts = (part for tokens in given if tokens is not None for part in trace.walk(tokens))
    return any(is_call(part, "sample") and part.node is call.node for part in parts)


def _runs_on(script: Script, call: Called, options: Called) -> bool:
    """Whether a rendered chat is sampled without stop sequences."""
    prompt = call.given("prompt", 0)
    if prompt is None or prompt.term is None or {"stop", "**"} & {*options.named}:
        return False
    limit = options.named["max_tokens"].const if "max_tokens" in options.named else None
    if options.args or (isinstance(limit, int) and limit < _FEW_TOKENS):
        return False
    return is_call(peel(prompt.term), "build_generation_prompt")


def _is_beyond(script: Script, options: Called) -> bool:
    """Whether a request is for more new tokens than the model has room for, even without a
    prompt."""
    limit = options.named["max_tokens"].const if "max_tokens" in options.named else None
    models = {name for name, _ in script.kept(base_models)} | {*script.kept(sampled_models)}
    if type(limit) is not int or len(models) != 1:
        return False
    stated = _CONTEXT.search(models.pop())
    return limit >= (int(stated[1]) if stated else _LONGEST)
