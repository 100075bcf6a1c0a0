"""Recognises experiment folders of the equivalence workflow by the names of their files, and files
of stage results by a key."""

from __future__ import annotations

import os
from pathlib import Path

from .stage_file import is_stage_file

# One of these names is enough: nothing else writes them.
_OWN_NAMES = (
    "component_mapping.json", "class_divergence_report.json", "model_tree/model_tree_source.json",
    "model_tree/model_tree_target.json", "model_tree/model_tree_source_full.json",
    "model_tree/model_tree_target_full.json", "results/stage7/stage7_summary.json",
)  # fmt: skip
# Other tools could write these, so two are required.
_COMMON_NAMES = (
    "results/stage1.json", "results/stage2.json", "results/stage3.json",
    "results/teacher_forced.json", "tests/tensor_compare.py",
    "bench_config.yaml", "calibrated_thresholds.json", "EQUIVALENCE_REPORT.md",
)  # fmt: skip

# The folders of an experiment that has just been set up.
_FOLDERS = ("results", "tests", "patches")


def looks_like_experiment(path: Path, head: bytes = b"") -> bool:
    """Whether ``path`` is a folder with files of the workflow, or one that has the results of a
    stage. Never raises."""
    if head:
        return is_stage_file(path, head)
    # os.path, not Path: below an unreadable folder it returns False instead of raising.
    if not os.path.isdir(path):
        return False
    if any(os.path.isfile(path / name) for name in _OWN_NAMES):
        return True
    if os.path.isdir(path / "model_tree") and any(os.path.isdir(path / name) for name in _FOLDERS):
        return True
    return sum(os.path.isfile(path / name) for name in _COMMON_NAMES) >= 2
