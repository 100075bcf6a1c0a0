"""Run folder, metrics or timing spans -> facts on times, courses of metrics, settings, progress."""

from __future__ import annotations

import os
from pathlib import Path

from ...facts.kinds import Vocabulary
from ...facts.problems import INTERRUPTED, Location, ModelMedicError
from ...facts.progress import UNWATCHED, Progress
from ...reading.text.files import read_lines
from ..checkpoint.probe import add_listed
from ..outcome import Collector, Outcome
from .config import RunConfig, add_config
from .courses import add_courses
from .recognition import METRICS, SPANS, looks_like_metrics, member
from .spans import Spans, looks_like_spans, read_spans, table_of
from .steps import Timing
from .tables import Table, read_table
from .timing import add_timing

CONFIG, CHECKPOINTS = "config.json", "checkpoints.jsonl"
# Iteration folders that are searched for kept samples.
MAX_ITERATIONS = 10_000


def gather_metrics(
    path: Path | str, vocabulary: Vocabulary, *, progress: Progress = UNWATCHED
) -> Outcome:
    """The facts of a cookbook log folder, or of one file: metrics.jsonl or other JSONL or CSV with
    one row a step, or timing_spans.jsonl.

    Gives ``step_timing``, ``timing_summary``, ``training_metric``; of a folder also
    ``hyperparameter``, ``renderer``, ``workload`` (config.json), ``checkpoint``, ``run_record`` and
    the ``code_pattern`` cookbook-train-loop, this one only if the loop is known to overlap its
    steps or its settings say. The meaning of the cookbook's keys is described in
    :mod:`.steps`, the course of a metric in :func:`.series_statistics.trend`.

    Problems: MM440 a file cannot be read, MM441 a line cannot be used, MM442 a file was cut, MM450
    single steps or operations and MM451 metrics were left out, MM452 config.json is not usable,
    MM453 there is nothing to read. Never raises over an input.
    """
    path = Path(path)
    collector = Collector(vocabulary, "probe:metrics")
    if path.is_dir():
        _add_folder(collector, path, progress)
    elif looks_like_spans(_head(path)):
        spans = collector.attempt(read_spans, path, progress)
        if spans:
            collector.extend(spans.problems)
            add_run(collector, table_of(spans), spans, RunConfig())
    else:
        table = collector.attempt(read_table, path, progress)
        if table:
            add_run(collector, table, None, RunConfig())
    return collector.outcome()


def _add_folder(collector: Collector, folder: Path, progress: Progress) -> None:
    if not looks_like_metrics(folder):
        hint = "name the log_path of a run"
        text = f"the folder has neither {METRICS} nor {SPANS}"
        collector.problem("MM453", text, Location(str(folder)), hint)
        return
    config = RunConfig()
    if os.path.isfile(folder / CONFIG):
        config = add_config(collector, folder / CONFIG)
    timed, measured = member(folder, SPANS), member(folder, METRICS)
    spans = collector.attempt(read_spans, timed, progress) if timed else None
    table = collector.attempt(read_table, measured, progress) if measured else None
    if spans:
        collector.extend(spans.problems)
    if not table and spans:
        table = table_of(spans)
    saves = None
    if os.path.isfile(folder / CHECKPOINTS):
        saves = collector.attempt(add_listed, collector, folder / CHECKPOINTS)
    elif os.path.isfile(folder / CONFIG):
        saves = 0
    told = add_run(collector, table, spans, config) if table else 0
    ended = table and any(problem.code == INTERRUPTED for problem in table.problems)
    if table and table.rows and not ended:
        _add_record(collector, folder, table, config, saves, told)


def add_run(collector: Collector, table: Table, spans: Spans | None, config: RunConfig) -> int:
    """Add the facts of one table; returns how many losses and rewards it has."""
    collector.extend(table.problems)
    if not any(row.values or row.calls for row in table.rows):
        text = "no row has a number" if table.rows else "there is no row to read"
        hint = "give metrics with one row a step"
        collector.problem("MM453", text, Location(table.name), hint)
        return 0
    told = add_courses(collector, table)
    timing = add_timing(collector, table, spans, config)
    if _is_known_loop(timing, config):
        collector.add("code_pattern", f"{table.name}:{table.rows[0].line}",
                      pattern="cookbook-train-loop")  # fmt: skip
    return told


def _is_known_loop(timing: Timing, config: RunConfig) -> bool:
    """Whether this is the cookbook's loop and it is known how it submits. The supervised loop can
    be set to wait for each batch, so its keys alone do not prove overlapping steps."""
    if timing.layout != "supervised":
        return timing.layout == "rl"
    ahead = config.submit_ahead
    if timing.overlaps is False:
        return ahead == 0
    swings = timing.swing is not None and timing.swing.alternates
    return ahead is not None or timing.overlaps is True or swings


def _add_record(
    collector: Collector, folder: Path, table: Table, config: RunConfig, saves: int | None,
    told: int,
) -> None:  # fmt: skip
    """Add the ``run_record``; unknown values are left out."""
    last = table.rows[-1].values
    epochs = last.get("epoch")
    if last.get("progress", 0.0) >= 1 and config.num_epochs is not None:
        epochs = config.num_epochs
    collector.add(
        "run_record", str(folder), steps=len(table.rows),
        epochs_done=int(epochs) if epochs is not None and 0 <= epochs < 2**53 else None,
        checkpoints=saves, metrics_logged=True if told else None, tracker=config.tracker,
        sample_checks=_sample_checks(folder) or None,
    )  # fmt: skip


def _sample_checks(folder: Path) -> int:
    """Count the iterations whose rollouts were kept."""
    found = 0
    try:
        with os.scandir(folder) as entries:
            names = sorted(e.name for e in entries if e.name.startswith("iteration_"))
        for name in names[:MAX_ITERATIONS]:
            found += any("rollout" in each for each in os.listdir(folder / name))
    except OSError:
        pass
    return found


def _head(path: Path) -> bytes:
    """The first line of a file; nothing if it cannot be read, which the reader reports."""
    try:
        line = next(iter(read_lines(path, 1_000_000)), None)
    except ModelMedicError:
        return b""
    return line.raw if line else b""
