"""Finds the service and the client that a call goes to, and the weights the client holds."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....reading.python.nodes import FUNCTIONS, keyword, last_name
from ..findings import Script
from ..reading.terms import Called
from ..reading.values import ELSEWHERE, Event, Value
from ..sequences import is_call

_READS = frozenset({"get", "getenv"})


def may_be_another(script: Script) -> bool:
    """Whether a client is given an unknown address. An address that stays unset unless a user sets
    it, such as ``base_url: str | None = None``, means the service of Tinker."""
    if not script.addresses:
        return False
    made = [call for call in script.calls() if script.machine.value(call).op == ELSEWHERE]
    given = [keyword(call, "base_url") for call in made if last_name(call.func) == "ServiceClient"]
    unset = _unset_names(script)
    return not given or not all(each is not None and _is_unset(each, unset) for each in given)


def _is_unset(node: ast.expr, unset: set[str]) -> bool:
    return _is_none(node) or last_name(node) in unset


def _unset_names(script: Script) -> set[str]:
    """Parameters, fields and options that are None by default, and names that are read out of the
    environment without another value."""
    found: set[str] = set()
    for node in script.all((*FUNCTIONS, ast.AnnAssign, ast.Assign, ast.Call)):
        found.update(_unset_of(node))
    return found


def _unset_of(node: ast.AST) -> Iterator[str]:
    if isinstance(node, FUNCTIONS):
        plain = [*node.args.posonlyargs, *node.args.args]
        defaults = [*node.args.defaults]
        named = zip(plain[len(plain) - len(defaults) :], defaults, strict=True)
        for parameter, default in (
            *named,
            *zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True),
        ):
            if default is not None and _is_none(default):
                yield parameter.arg
    elif isinstance(node, ast.AnnAssign) and node.value is not None and _is_none(node.value):
        yield last_name(node.target)
    elif isinstance(node, ast.Assign) and _is_none(node.value):
        yield from map(last_name, node.targets)
    elif isinstance(node, ast.Call) and last_name(node.func) == "add_argument":
        default = keyword(node, "default")
        if default is None or _is_none(default):
            texts = (str(a.value) for a in node.args if isinstance(a, ast.Constant))
            options = (text for text in texts if text.startswith("-") and not _is_asked(node))
            yield from (text.lstrip("-").replace("-", "_") for text in options)


def _is_asked(call: ast.Call) -> bool:
    return keyword(call, "required") is not None


def _is_none(node: ast.expr) -> bool:
    """Whether an expression is None, or a variable of the environment with the default None."""
    if isinstance(node, ast.Call):
        plain = len(node.args) == 1 and not node.keywords
        return plain and last_name(node.func) in _READS and "env" in ast.unparse(node.func)
    return isinstance(node, ast.Constant) and node.value is None


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
