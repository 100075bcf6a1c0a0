"""The module tree of a reference from its config.json: built without weights, by the installed
transformers, in a process of its own with a time limit."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from ...facts.problems import Location, ModelMedicError, Problem, excerpt
from ...reading.text.files import read_text

# Named, not imported: it is a script for other interpreters.
WORKER = os.path.join(os.path.dirname(__file__), "tree_worker.py")
MARK = "modelmedic-tree:"
TIMEOUT_S = 180.0
MAX_CONFIG_BYTES = 5_000_000
MAX_LAYERS = 1_000
MAX_EXPERTS = 10_000
_LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
_EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts")


class ConfigTree(NamedTuple):
    """The tree as a JSON node, and the layers that the configuration states."""

    root: dict[str, Any]
    layers: int | None


def config_of(path: Path) -> Path:
    """config.json of a folder, or the file itself."""
    return path / "config.json" if path.is_dir() else path


def read_config(path: Path) -> dict[str, Any]:
    """The configuration at a folder or file. Raises :class:`ModelMedicError`: MM440 it cannot be
    read, MM524 it is malformed, or describes a model of unreasonable size."""
    file = config_of(path)
    text, cut = read_text(file, MAX_CONFIG_BYTES)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _error("MM524", f"not valid JSON: {str(error)[:120]}", file) from None
    if cut or not isinstance(value, dict) or not isinstance(value.get("model_type"), str):
        raise _error("MM524", "this is not a configuration of a model (no model_type)", file)
    for part in (value, *(each for each in value.values() if isinstance(each, dict))):
        for names, limit in ((_LAYERS, MAX_LAYERS), (_EXPERTS, MAX_EXPERTS)):
            if any(isinstance(part.get(n), (int, float)) and part[n] > limit for n in names):
                raise _error("MM524", f"the model has more than {limit:,} layers or experts", file)
    return value


def stated_layers(config: dict[str, Any]) -> int | None:
    """``num_hidden_layers`` of the configuration, or of its text part."""
    for part in (config, config.get("text_config"), config.get("llm_config")):
        if not isinstance(part, dict):
            continue
        for name in _LAYERS:
            value = part.get(name)
            if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
                return value
    return None


def build_tree(
    path: Path, *, python: Path | None = None, timeout_s: float = TIMEOUT_S
) -> ConfigTree:
    """Build the tree of the configuration at ``path``.

    Code that comes with the model is never run: a type that the installed transformers does not
    know is a problem. Raises :class:`ModelMedicError`: those of :func:`read_config`, MM403
    transformers or torch is not installed, MM420 and MM421 no such interpreter, MM525 it took too
    long, MM526 the model cannot be built.
    """
    config = read_config(path)
    file = config_of(path)
    answer = _ask(config, file, python, timeout_s)
    step, reason = answer.get("step"), excerpt(answer.get("reason") or "no answer", 400)
    if step == "done" and isinstance(answer.get("tree"), dict):
        return ConfigTree(answer["tree"], stated_layers(config))
    if step == "missing":
        hint = "install it (pip install 'modelmedic[tensors]'), or name another python"
        problem = Problem("MM403", f"not available: {reason}", Location(str(file)), hint)
        raise ModelMedicError(problem)
    hint = "a tree file of Stage 0 can be given instead"
    raise _error("MM526", f"the model cannot be built from its configuration: {reason}", file, hint)


def _ask(
    config: dict[str, Any], file: Path, python: Path | None, timeout_s: float
) -> dict[str, Any]:
    from ...reading.packages.environments import find_interpreter
    from ..shared.child_processes import run_limited

    executable = str(find_interpreter(python)) if python is not None else sys.executable
    with tempfile.TemporaryDirectory(prefix="modelmedic-") as folder:
        # A copy of the checked file: the worker sees nothing else of the model's folder.
        copy = os.path.join(folder, "config.json")
        with open(copy, "w", encoding="utf-8") as out:
            json.dump(config, out)
        ran = run_limited([executable, "-I", WORKER, copy], timeout_s)
    if ran.timed_out:
        raise _error("MM525", f"the model was not built within {timeout_s:g} s", file)
    said = ran.out.rpartition(MARK)[2] if MARK in ran.out else ""
    try:
        answer = json.loads(said.partition("\n")[0]) if said else {}
    except (ValueError, RecursionError):
        answer = {}
    if not answer:
        return {"reason": ran.reason}
    return answer if isinstance(answer, dict) else {}


def _error(code: str, message: str, file: Path, hint: str = "") -> ModelMedicError:
    hint = hint or "give the config.json of a reference in HuggingFace format"
    return ModelMedicError(Problem(code, message, Location(str(file)), hint))
