"""The outputs of a notebook's cells, read as a log with the cell as place."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...facts.kinds import Vocabulary
from ...facts.problems import Location, Problem
from ...facts.progress import UNWATCHED, Progress
from ..logs.files import Piece
from ..logs.tally import Tally
from ..messages.probe import add_messages
from ..metrics.config import RunConfig
from ..metrics.printed import MIN_ROWS, printed_metrics
from ..metrics.probe import add_run
from ..metrics.tables import table_of_values
from ..outcome import Collector, Outcome
from .outputs import Outputs, read_outputs

SOURCE = "probe:notebook"


def gather_notebook(
    path: Path | str, vocabulary: Vocabulary, *, progress: Progress = UNWATCHED
) -> Outcome:
    """The ``error_message``, ``http_response`` and ``log_event`` facts of what the cells of a
    notebook have printed, standard error and tracebacks included, and the ``training_metric`` facts
    of the longest course of metrics that a cell has printed.

    Problems: MM440 cannot be read, MM441 broken, MM442 a part was left out, MM407 interrupted.
    Never raises over an input.
    """
    path = Path(path)
    collector = Collector(vocabulary, SOURCE)
    problems = collector.attempt(_gather, collector, path, progress)
    collector.extend(problems or [])
    return collector.outcome()


def gather_outputs(
    paths: Sequence[Path | str], vocabulary: Vocabulary, progress: Progress
) -> Outcome:
    """The facts of those paths that are notebooks, for a probe that reads their code."""
    notebooks = [Path(path) for path in paths if Path(path).suffix == ".ipynb"]
    return Outcome.joined(
        *(gather_notebook(path, vocabulary, progress=progress) for path in notebooks)
    )


def _gather(collector: Collector, path: Path, progress: Progress) -> list[Problem]:
    problems: list[Problem] = []
    outputs = read_outputs(path, problems, progress)
    if outputs.lines:
        tally = Tally()
        data = "".join(f"{line}\n" for line in outputs.lines).encode("utf-8", "replace")
        tally.feed(Piece(data, 1, len(outputs.lines)))
        add_messages(collector, tally.finish(), outputs.place, Location(str(path)))
        _add_metrics(collector, outputs)
    return problems


def _add_metrics(collector: Collector, outputs: Outputs) -> None:
    """The longest course, and the last one of equally long ones: cells are run again and again."""
    found = [(cell, printed_metrics(lines)) for cell, lines in outputs.cells]
    cell, rows = max(reversed(found), key=lambda each: len(each[1]))
    if len(rows) >= MIN_ROWS:
        name = f"{outputs.name}#cell {cell} output"
        add_run(collector, table_of_values(name, iter(rows), []), None, RunConfig())
