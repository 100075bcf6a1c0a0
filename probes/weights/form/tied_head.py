"""Output head and input embedding that are one tensor: files may hold it under either name, or
both, and config.json states whether readers treat the two as one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ....reading.tensors.safetensors_files import Tensor, WeightFiles
from ..targets import canonical
from ..untouched import compare_untouched

_ELEMENTS = 2**20


class Head(NamedTuple):
    """Both models without a second copy of a tied head. ``tied`` is the setting of the base,
    ``copy`` the second copy of the merged model if it differs from the first (``alike``: it does
    not), ``name`` the name of the first copy in the base."""

    base: Mapping[str, Tensor]
    merged: Mapping[str, Tensor]
    tied: bool = False
    name: str = ""
    copy: Tensor | None = None
    alike: bool = False


def one_head(base: WeightFiles, merged: WeightFiles) -> Head:
    """Let the two models have the head and the embedding under the same names."""
    head, embedding = _find(base.tensors, "lm_head"), _find(base.tensors, "embed_tokens")
    told = _told(base)
    if not embedding or told is False or (head and not told):
        return Head(base.tensors, merged.tensors)
    ours, other = _find(merged.tensors, "lm_head"), _find(merged.tensors, "embed_tokens")
    if _told(merged) is False:
        # The head was given numbers of its own: it began as the embedding.
        alone = {ours: base.tensors[embedding]} if ours and not head else {}
        return Head({**base.tensors, **alone}, merged.tensors, True, embedding)
    if ours and not other:
        renamed = {embedding: merged.tensors[ours]}
        return Head(_without(base, head), {**_without(merged, ours), **renamed}, True, embedding)
    copy = merged.tensors[ours] if ours and _differ(merged, other, ours) else None
    alike = bool(ours) and copy is None
    return Head(_without(base, head), _without(merged, ours), True, embedding, copy, alike)


def _find(tensors: Mapping[str, Tensor], name: str) -> str:
    return next((each for each in tensors if each.endswith(f"{name}.weight")
                 and canonical(each) == name), "")  # fmt: skip


def _told(model: WeightFiles) -> bool | None:
    """The value of ``tie_word_embeddings`` in config.json, or None."""
    text = model.config.get("text_config")
    inner = text.get("tie_word_embeddings") if isinstance(text, dict) else None
    value = model.config.get("tie_word_embeddings", inner)
    return value if isinstance(value, bool) else None


def _without(model: WeightFiles, name: str) -> dict[str, Tensor]:
    return {each: tensor for each, tensor in model.tensors.items() if each != name}


def _differ(model: WeightFiles, one: str, other: str) -> bool:
    left, right = model.tensors[one], model.tensors[other]
    if left.shape != right.shape:
        return True
    try:
        seen = compare_untouched(left, right, _ELEMENTS)
    except (OSError, ValueError):
        return False
    return seen is not None and not seen.same
