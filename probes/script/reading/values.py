"""Abstract values of the expressions of a training script."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ....reading.python.nodes import Tree
from ....reading.text.values import word_list

if TYPE_CHECKING:
    from .terms import Term

# The names that the reading of scripts knows.
words = partial(word_list, __file__, "script_words.json")


@dataclass(frozen=True, slots=True)
class Value:
    """An abstract value.

    ``kind`` is one of: unknown, const, text, list, tuple, dict; import (``op`` is the dotted name
    of what lies outside the project); module, function, class, object, method (of the project);
    options (of a command line), file (``const`` is its name); service, training, sampling, rest;
    client-future (``op``: training or sampling), coroutine, task, future, result, result-field;
    sequence, sampled-tokens, sampled-text, reencoded-ids, ids, array, template; tokenizer,
    renderer, model-input, datum, request, capabilities.

    ``op`` names the SDK operation (or class) it belongs to, ``uid`` tells futures apart, ``parts``
    are the elements of a container or the bound arguments, ``const`` holds a constant or the keys
    of a dict. ``assumed`` says what was taken for granted, if the code does not prove it.
    ``term`` says where it comes from.
    """

    kind: str = "unknown"
    op: str = ""
    uid: int = 0
    parts: tuple[Value, ...] = ()
    const: Any = field(default=None, compare=False)
    node: ast.AST | None = field(default=None, compare=False)
    assumed: str = field(default="", compare=False)
    term: Term | None = field(default=None, compare=False)


UNKNOWN = Value()


class Event(NamedTuple):
    """An SDK event, in the order of execution.

    ``what`` is submit or wait; ``style`` is plain, async-call, result, await or gather; ``path``
    names the arms of the branches that lead here; ``sure`` is false in error handlers and
    under tests of a queue's length, if the order is unknown. ``loops`` are the statements
    that repeat it, outermost first, also through calls; ``each`` are those and comprehensions.
    ``assumed`` is that of the receiver.
    """

    what: str
    op: str
    uid: int
    node: ast.AST
    style: str
    path: tuple[tuple[int, int], ...]
    sure: bool
    in_async: bool
    detached: bool
    loops: tuple[ast.AST, ...]
    assumed: str = ""
    each: tuple[ast.AST, ...] = ()


class Operation(NamedTuple):
    """An SDK method: the kinds of receivers that have it, and the kind of its result."""

    receivers: frozenset[str]
    gives: str
    of: str = ""


def _on(receivers: str, gives: str, of: str = "") -> Operation:
    return Operation(frozenset(receivers.split()), gives, of)


# A receiver "any" marks a name that no other library has: the receiver may be unknown.
OPERATIONS = {
    "forward": _on("training", "future"),
    "forward_backward": _on("training any", "future"),
    "forward_backward_custom": _on("training any", "future"),
    "optim_step": _on("training any", "future"),
    "save_state": _on("training", "future"),
    "load_state": _on("training", "future"),
    "load_state_with_optimizer": _on("training any", "future"),
    "save_weights_for_sampler": _on("training any", "future"),
    "save_weights_external": _on("training any", "future"),
    "save_weights_and_get_sampling_client": _on("training any", "client-future", "sampling"),
    "create_lora_training_client": _on("service any", "client-future", "training"),
    "create_training_client_from_state": _on("service any", "client-future", "training"),
    "create_training_client_from_state_with_optimizer": _on(
        "service any", "client-future", "training"
    ),
    "create_sampling_client": _on("service training any", "client-future", "sampling"),
    "sample": _on("sampling", "future"),
    "compute_logprobs": _on("sampling any", "future"),
    "get_server_capabilities": _on("service rest any", "future"),
    "get_info": _on("training", "result"),
    "get_tokenizer": _on("training sampling any", "tokenizer"),
    "create_rest_client": _on("service any", "rest"),
    "get_checkpoint_archive_url_from_tinker_path": _on("rest any", "future"),
}
# The parameters of methods whose names other trainers have, too.
PARAMETERS = {
    "forward_backward": ("data", "loss_fn", "loss_fn_config"), "optim_step": ("adam_params",),
}  # fmt: skip
TRAINING_STEPS = frozenset({"forward_backward", "forward_backward_custom", "optim_step"})
BACKWARD = frozenset({"forward_backward", "forward_backward_custom"})

# Values of parameters or unassigned names, guessed from the name: no more than an assumption.
NAMED = {
    "training_client": "training", "train_client": "training", "trainer_client": "training",
    "tc": "training", "sampling_client": "sampling", "sample_client": "sampling",
    "sampler": "sampling", "sampler_client": "sampling", "service_client": "service",
    "rest_client": "rest", "tokenizer": "tokenizer", "tok": "tokenizer", "renderer": "renderer",
}  # fmt: skip
_CLIENTS = frozenset({"training", "sampling", "service", "rest"})
# The ``op`` of a service client that was given an address of its own.
ELSEWHERE = "elsewhere"
_CHOICE = "that nothing else sets "
# The variable of the environment that holds the address.
ADDRESS = "TINKER_BASE_URL"
TITLES = {
    "training": "a training client of Tinker", "sampling": "a sampling client of Tinker",
    "service": "a service client of Tinker", "rest": "a REST client of Tinker",
    "future": "a future of Tinker", "tokenizer": "a tokenizer", "renderer": "a renderer",
}  # fmt: skip
# The packages whose names MAKERS holds. A name of another package is something else.
SDK_PACKAGES = frozenset({"tinker", "tinker_cookbook", "tml_renderers"})
_ADAPTING = SDK_PACKAGES | {"peft"}
_HELPERS = frozenset({"transformers", "numpy", "np", "torch", "jax", "tokenizers"})
# Classes and functions of tinker and the cookbook, by their last name -> kind of their result.
MAKERS = {
    "ServiceClient": "service", "TrainingClient": "training", "SamplingClient": "sampling",
    "RestClient": "rest", "get_renderer": "renderer", "get_tokenizer": "tokenizer",
    "AutoTokenizer": "tokenizer", "AutoProcessor": "tokenizer", "ModelInput": "model-input",
    "Datum": "datum", "ForwardBackwardInput": "request", "ForwardBackwardRequest": "request",
    "asarray": "array", "from_numpy": "array", "APIFuture": "future",
}  # fmt: skip


_GIVEN = frozenset({"const", "text", "list", "tuple", "dict", "ids", "array", "template",
                    "sampled-tokens", "sampled-text", "reencoded-ids"})  # fmt: skip
PLAIN = frozenset({"const", "text", "unknown"})
"""Kinds of values that may be one of two values without being an object."""


def joined(
    before: Mapping[str, Value], one: Mapping[str, Value], other: Mapping[str, Value]
) -> dict[str, Value]:
    """The values of names after a branch: those that an arm set or knows; of two different
    constants one is chosen and marked as an assumption."""
    names = {**one, **other}
    for name in one.keys() & other.keys():
        if one[name] is not other[name]:
            changed = other[name] is not before.get(name)
            pair = (one[name], other[name]) if changed else (other[name], one[name])
            names[name] = either(*pair, name)
    return names


def either(one: Value, other: Value, name: str = "it") -> Value:
    """One of two values: a text or number that only one of them is known to have is only assumed.
    None means not set."""
    first = _is_none(one)
    if first or _is_none(other):
        known = other if first else one
        differs = (one if first else other).kind == "unknown"
    else:
        known = other
        differs = known.const is not None and one.const != other.const
    plain = known.kind in ("const", "text") and not _is_none(known)
    rival = one if known is other else other
    none = rival.kind == "const" and rival.const is None
    other_kind = known.kind in _GIVEN and not none and one.kind != other.kind
    if ((plain and differs) or other_kind) and not known.assumed:
        return replace(known, assumed=f"{_CHOICE}{name}")
    return known


def chosen(value: Value) -> str:
    """The assumption behind a constant that the program also sets to another value; otherwise
    empty. The default of a parameter is not such a choice: the program uses it unless the user
    overrides it."""
    return value.assumed if value.assumed.startswith(_CHOICE) else ""


def _is_none(value: Value) -> bool:
    return value.kind == "unknown" or (value.kind == "const" and value.const is None)


def annotated_name(annotation: ast.AST | None) -> ast.AST | None:
    """The part of a type annotation that names a class of the SDK; a text if it is quoted."""
    for node in ast.walk(annotation) if annotation is not None else ():
        name = getattr(node, "attr", "") or getattr(node, "id", "")
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            name = node.value.rpartition(".")[2].strip()
        if name in words("types"):
            return node
    return None


def mentions_sdk(tree: Tree) -> bool:
    """Whether a module imports something of the SDK, or has a name of the SDK or of one of its
    clients."""
    for node in tree.imports:
        told = [getattr(node, "module", None) or "", *(a.name for a in getattr(node, "names", ()))]
        if any(name.partition(".")[0] in _ADAPTING for name in told):
            return True
    for name in tree.names:
        plain = name.removesuffix("_async").lstrip("_")
        if plain in OPERATIONS or NAMED.get(plain) in _CLIENTS or name in MAKERS:
            return True
    return False


def made_by(path: str) -> str:
    """The kind of the objects made by a class or function that is imported under a dotted name."""
    root, _, _ = path.partition(".")
    if root not in SDK_PACKAGES and root not in _HELPERS:
        return ""
    made = (MAKERS[part] for part in reversed(path.split(".")[-2:]) if part in MAKERS)
    kind = next(made, "")
    own = kind in ("tokenizer", "array")
    return kind if own or root in SDK_PACKAGES else ""
