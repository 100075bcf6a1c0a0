"""The port's conversion of the checkpoint: which tensors it loses, leaves empty, or turns round.

The conversion function is read with one symbolic tensor for each key of the checkpoint. If a
key, a test or a helper cannot be followed, nothing is said.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import NamedTuple

from ....reading.python.nodes import last_name
from .statements import TooLong
from .tree import Model
from .values import Config, Function, Term, Value, walk

_LAYER = re.compile(r"(?<=\.)\d+(?=\.)", re.ASCII)
_NO_WEIGHT = re.compile(r"(inv_freq|masked_bias|\.attn\.bias|rank_util\.rank)\Z", re.ASCII)
_FOLDS = frozenset({"add", "sub", "mul", "div"})
CONVERT = "convert_hf_to_neuron_state_dict"


class Fault(NamedTuple):
    """A tensor, with ``*`` for the layer, and its fate."""

    tensor: str
    fault: str
    node: ast.AST
    detail: str


class Mapping(NamedTuple):
    """The result of the checkpoint conversion: key of the port -> term of its weights."""

    tensors: dict[str, Value]
    derived: bool  # from the keys that the reference would save, not from a checkpoint
    node: ast.AST

    @property
    def folds(self) -> bool:
        """Whether it computes with weights, such as a scale that is multiplied into them."""
        return any(term.op in _FOLDS for term in walk(list(self.tensors.values())))


def read_mapping(reference: Model, port: Model, keys: Iterable[str] | None) -> Mapping | None:
    """The mapping of a port; None if it cannot be followed to its end. ``keys`` are those of a
    checkpoint; without them those that the reference would save."""
    if port.head is None or (keys is None and reference.open_parts):
        return None
    reader = port.reader
    names = list(reference.parameters) if keys is None else list(keys)
    prefix = _prefix(port.head)
    state: dict[str, Value] = {
        name.removeprefix(prefix): Term("weight", (), name) for name in names
    }
    convert = _convert(port)
    if convert is None:
        inside, outside = reader.lineage(port.head)
        return None if outside else Mapping(state, keys is None, inside[0])
    reader.plain = True
    try:
        found = reader.call_function(convert, [state, Config()], {})
    except TooLong:
        return None
    finally:
        reader.plain = False
    if not isinstance(found, dict) or reader.is_doubted(found) or reader.is_doubted(state):
        return None
    return Mapping(found, keys is None, convert.node)


def _convert(port: Model) -> Function | None:
    assert port.head is not None
    inside, _ = port.reader.lineage(port.head)
    for owner in inside:
        method = port.reader.code.methods(owner).get(CONVERT)
        if method is not None:
            return Function(method)
    return None


def _prefix(head: ast.ClassDef) -> str:
    for statement in head.body:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Constant):
            continue
        if last_name(statement.targets[0]) == "_STATE_DICT_MODEL_PREFIX":
            return str(statement.value.value)
    return "model."


def find_faults(reference: Model, port: Model, mapping: Mapping) -> list[Fault]:
    """The faults of the converted keys, each kind of tensor once."""
    left = [key for key in port.parameters if not _is_seen(key, port, mapping)]
    kinds = {starred(key) for key in port.parameters if not _is_open(key, port)}
    if 2 * len({starred(key) for key in left}) > len(kinds):
        return []  # another part of the port must load these
    unknown = {key: name for key, value in mapping.tensors.items()
               if (name := _untouched(value)) and _is_lost(key, port)}  # fmt: skip
    found: dict[str, Fault] = {}
    for key in left:
        fault = _unfilled(key, left, unknown, port, mapping)
        if fault is not None:
            found.setdefault(fault.tensor, fault)
    if not left:
        found |= _lost_biases(unknown, mapping)
    found |= _not_transposed(reference, port, mapping)
    return list(found.values())


def _unfilled(
    key: str, left: list[str], unknown: dict[str, str], port: Model, mapping: Mapping
) -> Fault | None:
    """Why a parameter is empty; None if the reference may hold more than was seen of it."""
    shape = starred(key)
    filled = [other for other in port.parameters
              if starred(other) == shape and other in mapping.tensors]  # fmt: skip
    if filled:
        layers = [each for each in left if starred(each) == shape]
        text = f"not filled: {', '.join(layers[:3])}; filled: {len(filled)} of the same name"
        return Fault(shape, "layer-left-out", mapping.node, text)
    remains = _remains(key, unknown)
    if not remains and mapping.derived:
        return None
    text = f"left over: {', '.join(remains[:4])}" if remains else "nothing goes there"
    what = "bias-lost" if key.endswith("bias") and remains else "not-filled"
    return Fault(shape, what, mapping.node, text)


def _lost_biases(unknown: dict[str, str], mapping: Mapping) -> dict[str, Fault]:
    """Biases of the checkpoint for which the port has no parameter at all."""
    return {shape: Fault(shape, "bias-lost", mapping.node, f"{key} has no place in the port")
            for key, name in reversed(unknown.items()) if name.endswith(".bias")
            for shape in [starred(key)]}  # fmt: skip


def starred(key: str) -> str:
    """A key with ``*`` for its numbers."""
    return _LAYER.sub("*", key)


def _is_seen(key: str, port: Model, mapping: Mapping) -> bool:
    parameter = port.parameters[key]
    if key in mapping.tensors or not parameter.sure or _is_open(key, port):
        return True
    tied = port.reader.settings.lookup("tie_word_embeddings") is not False
    return key.startswith("lm_head.") and tied


def _is_open(key: str, port: Model) -> bool:
    return any(part == "" or key.startswith(f"{part}.") for part in port.open_parts)


def _is_lost(key: str, port: Model) -> bool:
    return not (key in port.parameters or _is_open(key, port) or _NO_WEIGHT.search(key))


def _untouched(value: Value) -> str:
    return value.name if isinstance(value, Term) and value.op == "weight" else ""


def _remains(key: str, unknown: dict[str, str]) -> list[str]:
    """The tensors related to a parameter that were not placed."""
    parent = key.rpartition(".")[0].rpartition(".")[0]
    end = key.rpartition(".")[2]
    return [each for each in unknown if each.startswith(f"{parent}.") and each.endswith(end)]


def _not_transposed(reference: Model, port: Model, mapping: Mapping) -> dict[str, Fault]:
    found = {}
    for key, value in mapping.tensors.items():
        target, name = port.parameters.get(key), _untouched(value)
        source = reference.parameters.get(name)
        if target is None or source is None or not key.endswith(".weight"):
            continue
        if source.kind == "conv1d" and target.kind == "linear":
            text = f"{starred(name)} is a Conv1D (input x output)"
            shape = starred(key)
            found[shape] = Fault(shape, "not-transposed", mapping.node, text)
    return found
