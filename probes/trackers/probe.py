"""Reads the files of experiment trackers into the same facts as those of a run folder."""

from __future__ import annotations

import os
from pathlib import Path

from ...facts.kinds import Vocabulary
from ...facts.problems import Location, Problem
from ...facts.progress import UNWATCHED, Progress
from ...facts.regular_files import open_regular
from ..metrics.config import RunConfig, add_settings
from ..metrics.probe import add_run
from ..outcome import Collector, Outcome
from .mlflow_folders import looks_like_mlflow, read_mlflow
from .series import Series
from .tensorboard import looks_like_events, read_events
from .wandb_files import looks_like_wandb, read_wandb

_HEAD = 64


def gather_trackers(
    path: Path | str, vocabulary: Vocabulary, *, progress: Progress = UNWATCHED
) -> Outcome:
    """The facts of a TensorBoard event file, of a wandb run that was not sent, or of the folder of
    an MLflow run: ``training_metric``, ``step_timing``, ``timing_summary``; of the latter two also
    ``hyperparameter``.

    Problems: MM440 cannot be read, MM441 a part is broken, MM442 a part was left out, MM453 there
    is nothing to read. Never raises over an input.
    """
    path = Path(path)
    collector = Collector(vocabulary, "probe:trackers")
    series = _read(path, collector, progress)
    if series is not None:
        add_settings(collector, series.name, series.settings)
        add_run(collector, series.table(), None, RunConfig(tracker=True))
    return collector.outcome()


def _read(path: Path, collector: Collector, progress: Progress) -> Series | None:
    if path.is_dir():
        if looks_like_mlflow(path):
            return read_mlflow(path, progress)
        hint = "name the folder of one run, with meta.yaml and metrics/"
        collector.problem(
            "MM453", "this is not a folder of an MLflow run", Location(str(path)), hint
        )
        return None
    try:
        with open_regular(path) as file:
            head = file.read(_HEAD)
            file.seek(0)
            size = os.fstat(file.fileno()).st_size
            if looks_like_events(head):
                return read_events(path, file, size, progress)
            if looks_like_wandb(head):
                return read_wandb(path, file, size, progress)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        hint = "check the path and its permissions"
        collector.extend([Problem("MM440", f"cannot read the file: {reason}", Location(str(path)),
                                  hint)])  # fmt: skip
        return None
    hint = "give an event file of TensorBoard, run-ID.wandb, or the folder of an MLflow run"
    collector.problem("MM453", "this is nothing that a tracker writes", Location(str(path)), hint)
    return None
