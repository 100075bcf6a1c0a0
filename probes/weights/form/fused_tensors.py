"""Tensors that one model has fused and the other apart: q, k and v, gate and up, the experts.

A part is a run of whole rows, so it is a tensor of its own at another offset of the same file.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

from ....reading.tensors.number_formats import SIZES
from ....reading.tensors.safetensors_files import Tensor
from ..targets import canonical

_PARTS = {
    "qkv_proj": ("q_proj", "k_proj", "v_proj"), "W_pack": ("q_proj", "k_proj", "v_proj"),
    "gate_up_proj": ("gate_proj", "up_proj"),
}  # fmt: skip
_NAME = re.compile(r"(?P<head>.+)\.(?P<leaf>qkv_proj|W_pack|gate_up_proj|down_proj)"
                   r"(?P<end>\.weight|\.bias|)\Z")  # fmt: skip


class Apart(NamedTuple):
    """The tensors with all that could be taken apart; ``whole`` names those of the other model
    whose counterpart is fused in a way in which its rows do not lie together, and these."""

    tensors: Mapping[str, Tensor]
    whole: frozenset[str]


def take_apart(tensors: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> Apart:
    """Take fused tensors apart if the other model has their parts."""
    wanted = {canonical(name): name for name in other}
    result: dict[str, Tensor] = {}
    whole: set[str] = set()
    for name, tensor in tensors.items():
        match = _NAME.fullmatch(name)
        if match is None or canonical(name) in wanted:
            result[name] = tensor
            continue
        names = _names(match, tensor, wanted)
        parts = _rows(tensor, [[other[wanted[canonical(each)]] for each in row] for row in names])
        if names and parts:
            flat = [each for row in names for each in row]
            result |= dict(zip(flat, parts, strict=True))
        else:
            result[name] = tensor
            if names:
                whole |= {name, *(wanted[canonical(each)] for row in names for each in row)}
    return Apart({name: result[name] for name in sorted(result)}, frozenset(whole))


def _names(match: re.Match[str], tensor: Tensor, wanted: Collection[str]) -> list[list[str]]:
    """Names of the parts, one list for each matrix; empty if the other model lacks one."""
    head, leaf, end = match["head"], match["leaf"], match["end"]
    parts = _PARTS.get(leaf, (leaf,))
    if len(tensor.shape) == 3 and tensor.shape[0] > len(wanted):
        return []  # more experts than the other model has tensors
    if len(tensor.shape) == 3:
        ends = ".weight"
        rows = [[f"{head}.{expert}.{part}{ends}" for part in parts]
                for expert in range(tensor.shape[0])]  # fmt: skip
    else:
        rows = [[f"{head}.{part}{end}" for part in parts]] if len(parts) > 1 else []
    found = all(canonical(each) in wanted for row in rows for each in row)
    return rows if found else []


def _rows(tensor: Tensor, likes: list[list[Tensor]]) -> list[Tensor]:
    """The parts in the shapes of the other model's; none if they do not fill the tensor."""
    size = SIZES.get(tensor.dtype, 0)
    inner = tensor.shape[1:] if len(tensor.shape) == 3 else tensor.shape
    parts: list[Tensor] = []
    offset = tensor.offset
    for row in likes:
        heights = [like.shape[0] for like in row if like.shape and like.shape[1:] == inner[1:]]
        if not size or len(heights) != len(row) or sum(heights) != inner[0]:
            return []
        for like in row:
            parts.append(Tensor(tensor.file, tensor.dtype, like.shape, offset))
            offset += math.prod(like.shape) * size
    return parts
