"""The ``export_form`` fact: what the files of a merged model are like beside their numbers."""

from __future__ import annotations

from typing import Any

from ....reading.tensors.safetensors_files import WeightFiles
from ...outcome import Collector
from ..comparison import compare
from ..comparison_facts import Found
from ..targets import Target
from .alignment import Aligned, Unwrapped
from .tied_head import Head

_RIGHT = ("correct", "low-precision", "scaled", "misplaced", "wrong-adapter")


def add_form(
    collector: Collector, base: WeightFiles, merged: WeightFiles, plain: Unwrapped,
    aligned: Aligned, copies: str,
) -> None:  # fmt: skip
    """Add the fact, if there is anything to say."""
    old, new = aligned.renamed or (None, None)
    values: dict[str, str | int | bool | None] = {
        "wrapper": plain.wrapper or None, "lora_left": len(plain.lora_left) or None,
        "lora_name": plain.lora_left[0] if plain.lora_left else None,
        "prefix_base": old, "prefix_merged": new,
        "same_class": _same_class(base, merged) if aligned.renamed else None,
        "lost_shards": len(merged.lost) or None,
        "lost_shard": merged.lost[0] if merged.lost else None,
        "missing_tensors": len(aligned.missing) or None, "tied_head": copies or None,
    }  # fmt: skip
    if any(value is not None for value in values.values()):
        collector.add("export_form", str(merged.path), **values)


def _same_class(base: WeightFiles, merged: WeightFiles) -> bool | None:
    """Whether both are read by the same class, whose names the new ones then are not; None if
    that is unknown, or the class reads pictures too: their classes accept several nestings."""
    one, other = _class(base.config), _class(merged.config)
    if not one or not other:
        return None
    return one == other if one != other or _has_text_names_only(base, one) else None


def _class(config: Any) -> str:
    found = config.get("architectures")
    name = found[0] if isinstance(found, list) and found else None
    return name if isinstance(name, str) else ""


def _has_text_names_only(base: WeightFiles, name: str) -> bool:
    """Whether no names but those of the layers could have been brought in line."""
    pictures = any("visual." in each or "vision" in each for each in base.tensors)
    return name.endswith("ForCausalLM") or not pictures


def tied_head(head: Head, target: Target | None, found: list[Found], elements: int) -> str:
    """The copy of a tied head that received the update, if two copies differ."""
    if head.copy is None:
        return "alike" if head.alike else ""
    if target is None or head.copy.shape != target.tensor.shape or not head.copy.comparable:
        return "differ"
    first = next((each.signature for each in found if each.tensor == head.name), "")
    try:
        second = compare(target, head.copy, elements, False).signature
    except (OSError, ValueError, MemoryError):
        second = ""
    if first in _RIGHT and second == "unchanged":
        return "embedding-only"
    return "head-only" if second in _RIGHT and first == "unchanged" else "differ"
