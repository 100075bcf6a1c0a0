"""Compares names of models. Mirrors, folders and quantized copies keep the last part of a name."""

from __future__ import annotations

import re

from ....reading.tensors.safetensors_files import WeightFiles

_CACHED = re.compile(r"models--([^/\\]+?)--([^/\\]+)\Z")
_HUB = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
# Words that makers of mirrors and quantized copies add to a name of the same model.
_ADDED = {"unsloth", "bnb", "4bit", "8bit", "int4", "int8", "fp8", "fp16", "bf16", "bfloat16",
          "float16", "awq", "gptq", "gguf", "mlx", "hf", "dynamic", "quantized", "dequantized",
          "safetensors", "copy", "mirror", "nvfp4", "mxfp4"}  # fmt: skip


def base_names(base: WeightFiles, adapter_base: str) -> dict[str, str | bool | None]:
    """The name of the base model (from the folder of a download cache, else config.json), and
    whether it is the name in the adapter's file; None if either is not a name of a hub."""
    own = _own_name(base)
    known = bool(own) and _HUB.fullmatch(own) and _HUB.fullmatch(adapter_base)
    alike = _plain(own) == _plain(adapter_base) if known else None
    return {"base_named": own or None, "base_names_alike": alike}


def _own_name(base: WeightFiles) -> str:
    for part in (*base.path.parts[::-1],):
        match = _CACHED.fullmatch(part)
        if match:
            return f"{match[1]}/{match[2]}"
    name = base.config.get("_name_or_path")
    return name if isinstance(name, str) else ""


def _plain(name: str) -> str:
    words = re.split(r"[-_]", name.rpartition("/")[2].lower())
    return "-".join(word for word in words if word not in _ADDED)
