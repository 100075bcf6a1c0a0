"""Configuration values that the reference reads, and whether the port knows them.

A value counts as missing only if the reference's config.json sets it to something that changes
the computation, and nothing in the port names it, one of its other names, or a class that reads it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ...reading.python.nodes import dotted, last_name
from ...reading.python.sources import Code
from .port_code import words

_CONFIG = re.compile(r"(^|_)config\Z", re.ASCII)
_OTHER_CONFIGS = frozenset({"neuron_config", "generation_config", "quantization_config",
                            "router_config", "vision_config", "audio_config"})  # fmt: skip
_NOT_INFERENCE = re.compile(r"_?init_weights|prepare_inputs|compute_loss|_?tp_|ForSequence|"
                            r"ForToken|ForQuestion|ForMultipleChoice", re.ASCII)  # fmt: skip
_FACTORS = re.compile(r"scal|multiplier|factor|temperature|alpha", re.ASCII)
_SCALED_ROTARY = re.compile(r"yarn|llama3_?rot|scaled_?rot|long_?rope|su_?rot|rope_init",
                            re.IGNORECASE | re.ASCII)  # fmt: skip
_ROPE = ("rope_scaling", "rope_parameters")


class Parameter(NamedTuple):
    """``known`` is true if the port names it; None if unclear."""

    name: str
    node: ast.AST
    known: bool | None


def compare_parameters(
    reference: Code, port: Code, config: Mapping[str, Any] | None
) -> list[Parameter]:
    """The values that the reference reads, in the order of its text."""
    mentioned = _mentioned(port)
    if _shares_classes(port):
        mentioned |= words("shared-parameters")
    found = []
    for name, node in read_parameters(reference).items():
        if name in _ROPE:
            known = _knows_rope(mentioned, config)
        else:
            known = True if _is_known(name, mentioned) else None
            if known is None and config is not None and _matters(name, config.get(name)):
                known = False
        found.append(Parameter(name, node, known))
    return found


def read_parameters(code: Code) -> dict[str, ast.AST]:
    """Name -> first place that reads a value of the configuration for inference."""
    found: dict[str, ast.AST] = {}
    for node in code.nodes:
        name = _read(code, node)
        if not name or name in found or name[0] == "_" or name in words("training-parameters"):
            continue
        around = (code.function_of(node), code.class_of(node))
        if not any(each and _NOT_INFERENCE.search(each.name) for each in around):
            found[name] = node
    return found


def _read(code: Code, node: ast.AST) -> str:
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        parent = code.parents.get(id(node))
        called = isinstance(parent, ast.Call) and parent.func is node
        is_value = _is_config(node.value) and not node.attr.endswith("config")
        return node.attr if is_value and not called else ""
    if isinstance(node, ast.Call) and last_name(node.func) == "getattr" and len(node.args) >= 2:
        key = node.args[1]
        if _is_config(node.args[0]) and isinstance(key, ast.Constant):
            return key.value if isinstance(key.value, str) else ""
    return ""


def _is_config(node: ast.expr) -> bool:
    name = dotted(node).rpartition(".")[2]
    return bool(_CONFIG.search(name)) and name not in _OTHER_CONFIGS


def _mentioned(code: Code) -> set[str]:
    """Every identifier and short text of the port: prefer a miss to a false alarm."""
    found: set[str] = set()
    for node in code.nodes:
        for field in ("id", "attr", "arg", "name"):
            value = getattr(node, field, None)
            if isinstance(value, str):
                found.add(value.rpartition(".")[2])
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 80:
            found.add(node.value)
    return found


def _shares_classes(port: Code) -> bool:
    """Whether classes of other ports or of the framework do a part of the work, unseen here."""
    for full in port.imports.values():
        module, _, name = full.rpartition(".")
        if name.startswith("Neuron") or name in words("activation-framework"):
            return True
        if ".modeling_" in f".{module}" and not module.startswith("transformers"):
            return True
    return False


def _is_known(name: str, mentioned: set[str]) -> bool:
    if name in mentioned or name in words("framework-parameters"):
        return True
    groups = (set(group.split("/")) for group in words("parameter-synonyms"))
    return any(name in group and group & mentioned for group in groups)


def _matters(name: str, value: object) -> bool:
    """Whether a value changes the computation; a factor of 1 does not."""
    if value is None or value is False or value in (0, "", [], {}):
        return False
    return not (value == 1 and value is not True and _FACTORS.search(name))


def _knows_rope(mentioned: set[str], config: Mapping[str, Any] | None) -> bool | None:
    if mentioned & set(_ROPE) or any(_SCALED_ROTARY.search(name) for name in mentioned):
        return True
    if config is None:
        return None
    scaling: Mapping[str, Any] = next(
        (config[key] for key in _ROPE if isinstance(config.get(key), dict)), {}
    )
    kind = scaling.get("rope_type", scaling.get("type"))
    # Without scaling the base frequency is all there is, and that has its own name.
    return not (isinstance(kind, str) and kind != "default")
