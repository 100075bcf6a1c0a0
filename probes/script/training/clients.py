"""Finds the client that a call goes to, the time it was made, and the weights it holds."""

from __future__ import annotations

import ast

from ..findings import Script
from ..reading.terms import Called
from ..reading.values import Event, Value
from .sequences import is_call

_SAVES = ("save_weights_and_get_sampling_client", "save_weights_for_sampler")
MAKERS = ("save_weights_and_get_sampling_client", "create_sampling_client")


def creation(script: Script, client: Value) -> Called | None:
    """The call that made a sampling client, where it is known for certain."""
    if client.term is None or not is_call(client.term, *MAKERS):
        return None
    return script.givers.get(id(client.term))


def saved_by(script: Script, made: Called) -> Called | None:
    """The call that saved the weights which a sampling client was made for."""
    if made.name == _SAVES[0]:
        return made
    path = made.given("model_path", 0)
    if path is None or path.term is None:
        return None
    trace = script.machine.trace
    term = next((t for t in trace.walk(path.term) if is_call(t, _SAVES[1])), None)
    return script.givers.get(id(term)) if term is not None else None


def base_model_of(made: Called) -> bool:
    """Whether a sampling client was made for an untrained base model."""
    return "base_model" in made.named and "model_path" not in made.named


def steps_between(script: Script, first: int, last: int) -> list[Event]:
    """The optimizer steps between two positions in the order of events."""
    low, high = sorted((first, last))
    between = script.machine.events[low:high]
    if any(event.what == "break" for event in between):
        return []
    return [e for e in between if e.what == "submit" and e.op == "optim_step" and e.sure]


def together(event: Event, path: tuple[tuple[int, int], ...]) -> bool:
    """Whether an event and code under ``path`` may both happen."""
    arms = dict(event.path)
    return all(arms.get(branch, number) == number for branch, number in path)


def common_loop(first: tuple[ast.AST, ...], second: tuple[ast.AST, ...]) -> ast.AST | None:
    """The innermost loop around both."""
    shared = [loop for loop in first if loop in second]
    return shared[-1] if shared else None
