"""Recognises folders and files with weights, and their kind. Reads names and one header."""

from __future__ import annotations

import json
from pathlib import Path

from ...facts.regular_files import open_regular

ADAPTER = "adapter_config.json"
_HEADER_LIMIT = 4 * 2**20
_MAX_ENTRIES = 4_096


def looks_like_weights(path: Path, head: bytes = b"") -> bool:
    """Whether ``path`` is a safetensors file, a sharded model's index, the description of an
    adapter, or a folder with one of them. ``head`` is the start of a file. Never raises."""
    if head:
        return _is_header(head) or _is_index(head) or _is_adapter(path, head)
    try:
        return path.is_dir() and any(_names(path))
    except OSError:
        return False


def role_of_weights(path: Path) -> str:
    """``adapter`` for LoRA matrices, ``model`` for whole weights, empty for neither."""
    try:
        if path.is_dir():
            names = list(_names(path))
            if any(name.startswith("adapter_") for name in names):
                return "adapter"
            first = next((name for name in names if name.endswith(".safetensors")), "")
            return _role_of_file(path / first) if first else ("model" if names else "")
        return _role_of_file(path)
    except OSError:
        return ""


def _names(folder: Path) -> list[str]:
    """The files of a folder that belong to weights, sorted."""
    found = []
    for number, entry in enumerate(folder.iterdir()):
        if number >= _MAX_ENTRIES:
            break
        name = entry.name
        is_weights = name.endswith((".safetensors", ".safetensors.index.json"))
        if is_weights or name == ADAPTER:
            found.append(name)
    return sorted(found)


def _is_adapter(path: Path, head: bytes) -> bool:
    """The description of an adapter, which stands for its folder."""
    return path.name == ADAPTER and (b'"peft_type"' in head or b'"lora_alpha"' in head)


def _role_of_file(path: Path) -> str:
    with open_regular(path) as file:
        head = file.read(_HEADER_LIMIT)
    if _is_adapter(path, head):
        return "adapter"
    if not _is_header(head):
        return "model" if _is_index(head) else ""
    return "adapter" if b".lora_A" in head else "model"


def _is_header(head: bytes) -> bool:
    if head[8:9] != b"{":
        return False
    # Imported for what may be one: every file that is inspected comes here.
    from ...reading.tensors.safetensors_files import is_safetensors

    return is_safetensors(head)


def _is_index(head: bytes) -> bool:
    if b'"weight_map"' not in head:
        return False
    try:
        return isinstance(json.loads(head), dict)
    except ValueError:
        return head.lstrip()[:1] == b"{"  # longer than what was read
    except RecursionError:
        return False
