"""The inputs of the workflow that the folder itself names: its own path, the settings of the run,
and the model block of the benchmark configuration."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from . import benchmarks
from .reading import Folder, part, text_of

MAX_CANDIDATES = 20
# A JSON file in the folder with at least two of these holds the settings of a run.
_SIGNS = ("target_stack", "model_path", "compiled_model_path", "model_class", "config_class",
          "port_inner_class", "num_tokens_to_check")  # fmt: skip
_SETTINGS = {
    "model_path": "SOURCE_MODEL_PATH", "compiled_model_path": "COMPILED_MODEL_PATH",
    "port_inner_class": "TARGET_INNER_CLASS",
}  # fmt: skip
# "file.py:Class" or a class alone.
_CLASSES = {"model_class": "TARGET_CAUSAL_CLASS", "config_class": "TARGET_CONFIG_CLASS"}
_STACKS = ("nxdi", "vllm-neuron")
_NO_INPUTS = frozenset({"component_mapping.json", "class_divergence_report.json",
                        "calibrated_thresholds.json"})  # fmt: skip


def add_inputs(folder: Folder) -> dict[str, Any]:
    """Add the ``workflow_input`` facts; returns the settings of the run (empty without any).

    A path that is missing on this machine is not a finding: folders are copied between machines.
    """
    settings, name = _settings(folder)
    folder.collector.add("workflow_input", str(folder.root), name="EXP_DIR", value=str(folder.root),
                         exists=True)  # fmt: skip
    seen = {"EXP_DIR"}
    bench = part(folder.yaml(benchmarks.CONFIG), "model")
    for block, file in ((settings, name), (bench, benchmarks.CONFIG)):
        for parameter, value in _inputs(block):
            if parameter not in seen:
                seen.add(parameter)
                folder.collector.add("workflow_input", folder.place(file), name=parameter,
                                     value=value, exists=_exists(parameter, value))  # fmt: skip
    return settings


def stack_of(settings: dict[str, Any]) -> str | None:
    """``target_stack`` of the settings as the vocabulary names it."""
    stack = (text_of(settings.get("target_stack")) or "").replace("_", "-").lower()
    return stack if stack in _STACKS else None


def degree_of(settings: dict[str, Any]) -> int | None:
    """``tp_degree`` of the settings."""
    degree = settings.get("tp_degree")
    return degree if type(degree) is int and 1 <= degree <= 1_000_000 else None


def _settings(folder: Folder) -> tuple[dict[str, Any], str]:
    names = [name.removeprefix("./") for name in folder.names(".", ".json")]
    for name in [name for name in names if name not in _NO_INPUTS][:MAX_CANDIDATES]:
        text = folder.text(name) or ""
        if sum(f'"{sign}"' in text for sign in _SIGNS) >= 2:
            return folder.json(name) or {}, name
    return {}, ""


def _inputs(block: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for key, parameter in _SETTINGS.items():
        if (value := text_of(block.get(key))) is not None:
            yield parameter, value
    for key, parameter in _CLASSES.items():
        file, colon, name = (text_of(block.get(key)) or "").rpartition(":")
        if colon and file:
            yield "TARGET_MODELING_FILE", file
        if name:
            yield parameter, name


def _exists(parameter: str, value: str) -> bool | None:
    if not parameter.endswith(("_PATH", "_FILE")):
        return None
    try:
        return True if os.path.isabs(value) and os.path.exists(value) else None
    except (OSError, ValueError):
        return None
