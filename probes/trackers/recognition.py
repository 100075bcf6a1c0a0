"""Recognises the files of an experiment tracker."""

from __future__ import annotations

from pathlib import Path

from .mlflow_folders import looks_like_mlflow
from .tensorboard import looks_like_events
from .wandb_files import looks_like_wandb


def looks_like_trackers(path: Path, head: bytes) -> bool:
    """Whether ``path`` is the folder of an MLflow run, or ``head`` the start of an event file of
    TensorBoard or of a wandb run."""
    if path.is_dir():
        return looks_like_mlflow(path)
    return looks_like_events(head) or looks_like_wandb(head)
