"""Pairs the tensors of the merged model with those of the base, whatever their names and form."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from ....reading.tensors.safetensors_files import Tensor
from ..adapters import PAIR
from ..targets import canonical
from .fused_tensors import take_apart

# Prefixes that wrappers put before every name, or into it; a loaded model has none of these.
_WRAPPER = re.compile(r"(?:base_model\.model\.|_orig_mod\.|module\.)+")
# Tensors that are computed again on loading: to have them saved does no harm.
_BUFFER = re.compile(r"\.(?:rotary_emb\.\w+|inv_freq|masked_bias|position_ids|attn\.bias|"
                     r"num_batches_tracked|_extra_state)\Z")  # fmt: skip


class Unwrapped(NamedTuple):
    """Tensors without the additions of wrappers. ``wrapper`` is the prefix of most names that are
    not the base's, ``lora_left`` are the names of matrices of LoRA among them."""

    tensors: Mapping[str, Tensor]
    wrapper: str
    lora_left: tuple[str, ...]


class Aligned(NamedTuple):
    """``base`` and ``merged`` have their tensors in the same parts; ``names`` leads from those of
    the base to those of the merged model. ``whole`` are names of tensors that are fused in a way
    that cannot be taken apart; ``renamed`` is the prefix of the base and that of the merged model
    if they differ."""

    base: Mapping[str, Tensor]
    merged: Mapping[str, Tensor]
    names: Mapping[str, str]
    whole: frozenset[str]
    renamed: tuple[str, str] | None

    @property
    def missing(self) -> list[str]:
        """Tensors of the base that the merged model does not have, but for buffers."""
        taken = self.whole | set(self.names)
        return [name for name in self.base if name not in taken and not _BUFFER.search(name)]

    @property
    def extra(self) -> list[str]:
        """Tensors that only the merged model has, but for buffers."""
        taken = self.whole | set(self.names.values())
        return [name for name in self.merged if name not in taken and not _BUFFER.search(name)]


def align(base: Mapping[str, Tensor], merged: Mapping[str, Tensor]) -> Aligned:
    """Pair the tensors of two models."""
    ours = take_apart(merged, base)
    theirs = take_apart(base, ours.tensors)
    names = _counterparts(theirs.tensors, ours.tensors)
    whole = ours.whole | theirs.whole
    return Aligned(theirs.tensors, ours.tensors, names, whole, _renamed(names))


def unwrap(tensors: Mapping[str, Tensor], base: Mapping[str, Tensor]) -> Unwrapped:
    """Take off what wrappers add to the names of a model."""
    prefixes: Counter[str] = Counter()
    left: list[str] = []
    result: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        if name in base:
            result[name] = tensor
        elif PAIR.fullmatch(name) or ".lora_magnitude_vector" in name:
            left.append(name)
        else:
            match = _WRAPPER.match(name)
            prefixes[match[0] if match else ""] += 1
            rest = name[match.end() :] if match else name
            result[rest.replace(".base_layer.", ".")] = tensor
    most = max(sorted(prefixes), key=prefixes.__getitem__, default="")
    return Unwrapped(result, most, tuple(left))


def _counterparts(base: Mapping[str, Tensor], merged: Mapping[str, Tensor]) -> dict[str, str]:
    """Tensors of the base -> those of the merged model: by name, else by name without prefix."""
    by_short: dict[str, list[str]] = {}
    for name in merged:
        if name not in base:
            by_short.setdefault(canonical(name), []).append(name)
    names: dict[str, str] = {}
    for name in base:
        if name in merged:
            names[name] = name
        elif len(others := by_short.get(canonical(name), [])) == 1:
            names[name] = others[0]
    return names


def _renamed(names: Mapping[str, str]) -> tuple[str, str] | None:
    """The prefixes of most layers' names in the base and in the merged model; None if they
    agree."""
    pairs: Counter[tuple[str, str]] = Counter()
    for name, other in names.items():
        if ".layers." in name and ".layers." in other:
            pairs[name.partition("layers.")[0], other.partition("layers.")[0]] += 1
    if not pairs:
        return None
    most = max(sorted(pairs), key=pairs.__getitem__)
    return most if most[0] != most[1] else None
