"""Which tensor of the base model does an adapter's module belong to, and where in it?

Own mapping by names and shapes, for Qwen3, Qwen3-MoE, Qwen3-VL, Qwen3.5, GPT-OSS, DeepSeek, Kimi,
Nemotron, Llama and others that name their projections alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ...reading.tensors.safetensors_files import Tensor
from .adapters import Lora

_PREFIX = re.compile(
    r"(?:base_model\.model\.)?(?:model\.|language_model\.|backbone\.|base_layer\.)*"
)
_EXPERT = re.compile(r"(?P<head>.*\.experts)\.(?P<expert>\d{1,6})\.(?P<name>\w+)\Z")
_EXPERTS = re.compile(r"(?P<head>.*\.experts)\.(?P<name>\w+)\Z")
_EXPERT_PARTS = {"w1": "gate_proj", "w2": "down_proj", "w3": "up_proj"}
# Projections that an adapter has apart and a model fused, in the order of their rows.
_FUSED_ROWS = (
    ("in_proj_qkv", ("in_proj_q", "in_proj_k", "in_proj_v")),
    ("in_proj", ("gate_proj", "x_proj")),
)


class Piece(NamedTuple):
    """A module's share of a tensor: ``part`` is whole, gate, up or rows (from ``first`` on);
    ``expert`` is set if the module holds one expert of a fused tensor, ``source`` if the
    tensor is one expert of a module that holds them all."""

    lora: Lora
    part: str = "whole"
    first: int = 0
    expert: int | None = None
    source: int | None = None


class Target(NamedTuple):
    """A tensor of the base model and the updates that belong into it.

    ``axis`` says how fused or expert tensors lie: ``natural`` is (out, in) as in a linear layer,
    ``transposed`` is (in, out). ``interleaved``: gate and up alternate. ``sibling`` is the module
    whose update a swap of gate and up would write here.
    """

    name: str
    tensor: Tensor
    pieces: tuple[Piece, ...]
    axis: str = "natural"
    interleaved: bool = False
    sibling: Piece | None = None

    @property
    def magnitude(self) -> Tensor | None:
        """Lengths that the rows of base and update together have (DoRA); None without."""
        size = self.pieces[0].lora.magnitude
        plain = len(self.pieces) == 1 and self.pieces[0].part == "whole" and self.axis == "natural"
        return (
            size if plain and size is not None and size.size == self.pieces[0].lora.rows else None
        )

    @property
    def is_fused(self) -> bool:
        """Whether gate and up share the tensor."""
        return any(piece.part in ("gate", "up") for piece in self.pieces)


class Family(NamedTuple):
    """The form of the base model, by its configuration and names."""

    name: str
    moe: bool
    vision: bool
    interleaved: bool
    transposed: bool


class Plan(NamedTuple):
    """Targets by tensor name, modules that found none, and modules whose shape does not fit."""

    targets: Mapping[str, Target]
    homeless: tuple[str, ...]
    misfits: tuple[str, ...]


def canonical(name: str) -> str:
    """A tensor's name without the prefixes and endings in which writers differ."""
    match = _PREFIX.match(name)
    rest = name[match.end() :] if match else name
    return rest.removesuffix(".weight").replace(".base_layer", "")


def recognise_family(config: Mapping[str, Any], names: Iterable[str]) -> Family:
    """The family of a base model, from its configuration, else from tensor names."""
    model_type = str(config.get("model_type", "")).lower()
    known = list(names)
    family = next((family for start, family in _FAMILIES if model_type.startswith(start)), "")
    if not family and any(name.endswith(".self_attn.sinks") for name in known):
        family = "gpt-oss"
    if not family and any(".linear_attn.in_proj_qkv" in name for name in known):
        family = "qwen3.5"
    vision = any("language_model." in name for name in known)
    moe = any(".experts." in name for name in known)
    return Family(family or ("other" if model_type else ""), moe, vision,
                  family == "gpt-oss", family not in ("qwen3.5", ""))  # fmt: skip


_FAMILIES = (
    ("qwen3_vl", "qwen3-vl"), ("qwen3_5", "qwen3.5"), ("qwen3", "qwen3"), ("gpt_oss", "gpt-oss"),
    ("deepseek", "deepseek"), ("kimi", "kimi"), ("nemotron", "nemotron"), ("llama", "llama"),
)  # fmt: skip


def plan_targets(modules: Mapping[str, Lora], base: Mapping[str, Tensor], family: Family) -> Plan:
    """Find the tensor of each module."""
    by_name = {canonical(name): name for name in base}
    by_module = {canonical(name): lora for name, lora in modules.items()}
    pieces: dict[str, list[Piece]] = {}
    homeless: list[str] = []
    for name, lora in by_module.items():
        found = _places(name, lora, by_name, by_module, family)
        if not found:
            homeless.append(lora.module)
        for target, piece in found:
            pieces.setdefault(target, []).append(piece)
    targets: dict[str, Target] = {}
    misfits: list[str] = []
    for name in sorted(pieces):
        fitting = _target(name, base[name], tuple(pieces[name]), family)
        if fitting is None:
            misfits.append(pieces[name][0].lora.module)
        else:
            targets[name] = _with_sibling(fitting, by_name, pieces)
    return Plan(targets, tuple(homeless), tuple(misfits))


def _places(
    name: str, lora: Lora, by_name: Mapping[str, str], by_module: Mapping[str, Lora], family: Family
) -> list[tuple[str, Piece]]:
    """Pairs of a tensor's name and the module's piece of it."""
    for attempt in (name, name.replace(".attn.", ".self_attn.")):
        if attempt in by_name and not lora.is_3d:
            return [(by_name[attempt], Piece(lora))]
    if name.endswith("unembed_tokens") or name == "lm_head":
        tied = by_name.get("lm_head") or by_name.get("embed_tokens")
        return [(tied, Piece(lora))] if tied else []
    single = _EXPERT.fullmatch(name)
    if single:
        return _in_fused(single["head"], single["name"], lora, int(single["expert"]), by_name)
    group = _EXPERTS.fullmatch(name)
    if group and lora.is_3d:
        part = _expert_part(group["name"], family)
        fused = _in_fused(group["head"], part, lora, None, by_name)
        return fused or _separate(group["head"], part, lora, by_name)
    return _in_rows(name, lora, by_name, by_module)


def _expert_part(name: str, family: Family) -> str:
    if family.name == "nemotron" and name == "w1":
        return "up_proj"  # its experts have no gate
    return _EXPERT_PARTS.get(name, name)


def _in_fused(
    head: str, part: str, lora: Lora, expert: int | None, by_name: Mapping[str, str]
) -> list[tuple[str, Piece]]:
    place = {"gate_proj": "gate", "up_proj": "up", "down_proj": "whole"}.get(part)
    fused = by_name.get(f"{head}.{'down_proj' if place == 'whole' else 'gate_up_proj'}")
    return [(fused, Piece(lora, place, 0, expert))] if fused and place else []


def _separate(
    head: str, part: str, lora: Lora, by_name: Mapping[str, str]
) -> list[tuple[str, Piece]]:
    return [(by_name[each], Piece(lora, source=expert)) for expert in range(lora.experts)
            if (each := f"{head}.{expert}.{part}") in by_name]  # fmt: skip


def _in_rows(
    name: str, lora: Lora, by_name: Mapping[str, str], by_module: Mapping[str, Lora]
) -> list[tuple[str, Piece]]:
    head, _, leaf = name.rpartition(".")
    for fused, parts in _FUSED_ROWS:
        target = by_name.get(f"{head}.{fused}")
        if leaf not in parts or not target:
            continue
        before = [by_module.get(f"{head}.{part}") for part in parts[: parts.index(leaf)]]
        if all(before):
            first = sum(each.rows for each in before if each)
            return [(target, Piece(lora, "rows", first))]
    return []


def _target(name: str, tensor: Tensor, pieces: tuple[Piece, ...], family: Family) -> Target | None:
    """The target if the shapes fit, with the way in which its matrices lie."""
    _, height, width = tensor.matrices
    factor = 2 if any(piece.part in ("gate", "up") for piece in pieces) else 1
    rows, columns = pieces[0].lora.rows * factor, pieces[0].lora.columns
    if pieces[0].part == "rows":
        fits = all(p.first + p.lora.rows <= height and p.lora.columns == width for p in pieces)
        return Target(name, tensor, pieces) if fits else None
    same = {(piece.lora.rows, piece.lora.columns) for piece in pieces}
    if len(same) != 1 or len(tensor.shape) > 3 or not _experts_fit(tensor, pieces):
        return None
    natural, transposed = (height, width) == (rows, columns), (height, width) == (columns, rows)
    # Only expert tensors are ever stored as (in, out).
    transposed = transposed and len(tensor.shape) == 3
    if not natural and not transposed:
        return None
    if natural and transposed:
        natural = not family.transposed
    axis = "natural" if natural else "transposed"
    return Target(name, tensor, pieces, axis, factor == 2 and family.interleaved)


def _experts_fit(tensor: Tensor, pieces: tuple[Piece, ...]) -> bool:
    count = tensor.matrices[0]
    return all(
        piece.expert < count if piece.expert is not None
        else piece.source is not None or piece.lora.experts in (1, count)
        for piece in pieces
    )  # fmt: skip


def _with_sibling(
    target: Target, by_name: Mapping[str, str], pieces: Mapping[str, list[Piece]]
) -> Target:
    """Add the update of the other of gate and up, if the two are tensors of their own."""
    name = canonical(target.name)
    for one, other in (("gate_proj", "up_proj"), ("up_proj", "gate_proj")):
        if name.endswith("." + one):
            sibling = by_name.get(name.removesuffix(one) + other, "")
            found = pieces.get(sibling, [])
            mine = target.pieces[0].lora
            if len(found) == 1 and (found[0].lora.rows, found[0].lora.columns) == (
                mine.rows, mine.columns,
            ):  # fmt: skip
                return target._replace(sibling=found[0])
    return target
