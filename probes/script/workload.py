"""Determines the workload of a script, by its losses and the loop of the cookbook that it runs."""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

from .blueprints import blueprints
from .data_code import losses_of
from .findings import Script
from .reading.values import BACKWARD, words

# Purposes whose loop is that of SFT or RL but whose usual settings differ.
_OTHER = re.compile(r"distil|teacher|rlhf|dpo|preference|reward_?model|self_?play|prompt_context")
_REWARDED = re.compile(r"reward|advantage|rollout")
_LOOPS = {"supervised.train.Config": "sft", "rl.train.Config": "rl"}


class Workload(NamedTuple):
    """A kind of training (``sft`` or ``rl``) and the call that shows it."""

    type: str
    node: ast.AST


def workload_of(script: Script) -> Workload | None:
    """The workload, if the code proves one: all of its losses are known, and no word points to a
    purpose with settings of its own."""
    if any(_OTHER.search(word.lower()) for word in script.words):
        return None
    return _of_losses(script) or _of_cookbook(script)


def _of_losses(script: Script) -> Workload | None:
    events = [e for e in script.machine.events if e.what == "submit" and e.op in BACKWARD]
    if not events or any(e.assumed or e.op != "forward_backward" for e in events):
        return None
    losses = losses_of(script)
    if losses and losses <= words("rl-losses"):
        return Workload("rl", events[0].node)
    rewarded = any(_REWARDED.search(word.lower()) for word in script.words)
    if losses == {"cross_entropy"} and not rewarded and script.complete:
        return Workload("sft", events[0].node)
    return None


def _of_cookbook(script: Script) -> Workload | None:
    made = [(script.machine.value(call.func), call) for call in script.calls()]
    named = [(target.op, call) for target, call in made if target.kind == "import"]
    for config, node in (*named, *((b.config, b.node) for b in script.kept(blueprints))):
        package, _, loop = config.partition(".")
        if package == "tinker_cookbook" and loop in _LOOPS:
            return Workload(_LOOPS[loop], node)
    return None
