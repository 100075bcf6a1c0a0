"""Recognises modeling files of a port, or of the reference, by their first bytes."""

from __future__ import annotations

import re
from pathlib import Path

_PORT = re.compile(
    rb"^[ \t]{0,12}(?:from|import)[ \t]+(?:neuronx_distributed|neuronx_distributed_inference|"
    rb"neuronxcc|nkilib|nki|torch_neuronx|vllm_neuron|vllm\.neuron|optimum\.neuron)"
    rb"(?:[ \t.,;\r\n]|$)",
    re.MULTILINE,
)
_REFERENCE = re.compile(
    rb"^(?:from|import)[ \t]+(?:transformers|\.{2,}(?:modeling_utils|activations|cache_utils|"
    rb"configuration_utils)|torch)\b",
    re.MULTILINE,
)
_CLASS = re.compile(rb"^class \w+\(", re.MULTILINE)
_TRAINING = re.compile(rb"^(?:from|import)[ \t]+tinker", re.MULTILINE)


def looks_like_modeling(path: Path, head: bytes) -> bool:
    """Whether a Python file takes from the Neuron packages, or is named and built like the
    modeling file of a reference."""
    if path.suffix != ".py" or b"\0" in head or _TRAINING.search(head):
        return False
    if _PORT.search(head):
        return True
    named = path.name.startswith(("modeling_", "modular_"))
    return bool(named and _REFERENCE.search(head) and _CLASS.search(head))
