"""Writes the data of the reference that a replay needs: configuration, weights, and
``capture.json``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ...reading.tensors.captures import NAME, SCHEMA
from .writing import Writer

WEIGHTS = "reference"
_PACKAGES = ("torch", "transformers", "safetensors", "numpy", "modelmedic")


def write_reference(
    model: Any, folder: Path, runs: Mapping[str, Mapping[str, Any]], *, seed: int = 0,
    decode_from: int | None = None, weights: str = "",
) -> Path:  # fmt: skip
    """Write ``capture.json`` with the configuration of ``model``, the ``runs`` (results of
    :func:`capture_run` by role), hashes and versions. Write the weights too, unless ``weights``
    names a folder that holds them."""
    hashes: dict[str, str] = {}
    if not weights:
        with Writer(folder / WEIGHTS, "weights") as writer:
            for name, value in model.state_dict().items():
                writer.add(name, value.detach().float().cpu().contiguous().clone())
        hashes = {f"{WEIGHTS}/{name}": found for name, found in writer.hashes.items()}
    for role, run in runs.items():
        hashes |= {f"{role}/{name}": found for name, found in run.get("hashes", {}).items()}
    document = {
        "schema": SCHEMA, "seed": seed, "decode_from": decode_from,
        "weights": weights or WEIGHTS, "config": json.loads(model.config.to_json_string(False)),
        "runs": {role: {key: value for key, value in run.items() if key != "hashes"}
                 for role, run in runs.items()},
        "versions": _versions(), "sha256": dict(sorted(hashes.items())),
    }  # fmt: skip
    file = folder / NAME
    file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return file


def _versions() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
