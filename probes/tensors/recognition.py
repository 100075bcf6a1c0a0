"""Recognises folders of captured tensors by the names of their files."""

from __future__ import annotations

from pathlib import Path

from .roles import find_roles


def looks_like_tensors(path: Path, head: bytes = b"") -> bool:
    """Whether ``path`` is a folder with at least two of the runs FP32 reference, BF16 reference and
    target. If a perturbed reference replaces the FP32 one, all three runs are needed. Folders have
    no ``head``. Never raises."""
    if head:
        return False
    roles = find_roles(path)
    if roles.falls_back:
        return roles.three is not None
    runs = (roles.ref_fp32, roles.ref_bf16, roles.target)
    return sum(run is not None for run in runs) >= 2
