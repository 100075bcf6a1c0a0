"""Finds the run that each entry of a folder holds, by name: ``ref_fp32``, ``ref_bf16``, ``target``;
without a reference in FP32 ``ref_bf16``, ``ref_perturbed``, ``target``."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from ...reading.tensors.stored import PICKLES, SUFFIXES, TORCH

_MAX_ENTRIES = 4_096
_SEPARATOR = re.compile(r"[^a-z0-9]+")
_NAMES = {
    "ref_fp32": ("ref_fp32", "reference_fp32", "hf_fp32", "fp32_reference", "golden_fp32"),
    "ref_bf16": ("ref_bf16", "reference_bf16", "hf_bf16", "bf16_reference", "golden_bf16"),
    "perturbed": ("ref_perturbed", "reference_perturbed", "perturbed"),
    "target": ("target", "device", "port", "neuron"),
}


class Roles(NamedTuple):
    """The file or folder of each run; None if there is none."""

    ref_fp32: Path | None = None
    ref_bf16: Path | None = None
    target: Path | None = None
    perturbed: Path | None = None

    @property
    def three(self) -> tuple[Path, Path, Path] | None:
        """The folders that serve as FP32 reference, low-precision reference and target; None if one
        is missing. A reference that cannot run in FP32 serves as the first itself, and its run on a
        perturbed input as the second."""
        first, second = self.ref_fp32, self.ref_bf16
        if self.falls_back:
            first, second = self.ref_bf16, self.perturbed
        if first is None or second is None or self.target is None:
            return None
        return first, second, self.target

    @property
    def falls_back(self) -> bool:
        """Whether the effect of a perturbed input is the baseline."""
        return self.ref_fp32 is None and self.perturbed is not None


def find_roles(folder: Path) -> Roles:
    """The three runs below ``folder``; a folder is preferred to a file, and other forms to files of
    torch.save. Never raises."""
    found: dict[str, Path] = {}
    try:
        entries = sorted(folder.iterdir())[:_MAX_ENTRIES] if os.path.isdir(folder) else []
    except (OSError, ValueError):
        return Roles()
    entries.sort(
        key=lambda e: (not os.path.isdir(e), e.suffix.lower() in (*TORCH, *PICKLES), e.name)
    )
    for entry in entries:
        has_tensors = entry.suffix.lower() in (*SUFFIXES, *PICKLES)
        if not has_tensors and not os.path.isdir(entry):
            continue
        stem = entry.stem if has_tensors else entry.name
        name = _SEPARATOR.sub("_", stem.lower()).strip("_")
        for role, names in _NAMES.items():
            if name in names:
                found.setdefault(role, entry)
    return Roles(**found)
