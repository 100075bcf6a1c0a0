"""neuron_config.json and config.json -> settings and sizes, in bounds.

NxD Inference writes the sizes of the model and, below ``neuron_config``, its own settings into one
file. A configuration that was written by hand may hold the settings alone; then the sizes come from
the model's config.json.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ...facts.regular_files import read_regular

MAX_BYTES = 4 << 20
FILE = "neuron_config.json"
_LARGEST = 1 << 40
# Other names of the same sizes in configurations of the Hugging Face hub.
_NAMES = {
    "heads": ("num_attention_heads", "n_head", "n_heads"),
    "kv_heads": ("num_key_value_heads", "num_kv_heads", "n_kv_heads"),
    "head_dim": ("head_dim",),
    "hidden": ("hidden_size", "n_embd", "d_model"),
    "intermediate": ("intermediate_size", "n_inner", "ffn_dim"),
    "moe_intermediate": ("moe_intermediate_size",),
    "vocabulary": ("vocab_size",),
    "layers": ("num_hidden_layers", "n_layer", "n_layers"),
    "experts": ("num_local_experts", "num_experts", "n_routed_experts"),
    "positions": ("max_position_embeddings", "n_positions"),
    "chunk": ("attention_chunk_size",),
    "window": ("sliding_window",),
}


@dataclass(frozen=True, slots=True)
class Configuration:
    """Settings of NxD Inference, and the sizes of the model (absent: not known)."""

    settings: Mapping[str, Any]
    sizes: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    tied: bool = False

    def number(self, name: str, default: int | None = None) -> int | None:
        """A setting that is a whole number above 0, else ``default``."""
        return whole(self.settings.get(name), default)


def whole(value: object, default: int | None = None) -> int | None:
    """``value`` if it is a sensible whole number above 0."""
    return value if type(value) is int and 0 < value < _LARGEST else default


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object. Raises ``OSError``, and ``ValueError`` for anything else or too much."""
    raw = read_regular(path, MAX_BYTES)
    if len(raw) > MAX_BYTES:
        raise ValueError(f"more than {MAX_BYTES >> 20} MiB")
    try:
        found = json.loads(raw)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(found, dict):
        raise ValueError("no JSON object")
    return found


def configuration_of(found: Mapping[str, Any], model: Mapping[str, Any] | None) -> Configuration:
    """The configuration of a file, and of the model's own if that is given."""
    inner = found.get("neuron_config")
    settings = inner if isinstance(inner, dict) else found
    sizes: dict[str, int] = {}
    tied = False
    for source in (model or {}, found):
        text = source.get("text_config")
        for place in (source, text if isinstance(text, dict) else {}):
            sizes |= _sizes(place)
            tied = tied or place.get("tie_word_embeddings") is True
    if "kv_heads" not in sizes and "heads" in sizes:
        sizes["kv_heads"] = sizes["heads"]
    if "head_dim" not in sizes and {"hidden", "heads"} <= sizes.keys():
        sizes["head_dim"] = max(1, sizes["hidden"] // sizes["heads"])
    return Configuration(MappingProxyType(settings), MappingProxyType(sizes), tied)


def _sizes(place: Mapping[str, Any]) -> dict[str, int]:
    found = {}
    for name, keys in _NAMES.items():
        number = next((place[key] for key in keys if whole(place.get(key))), None)
        if number is not None:
            found[name] = number
    return found
