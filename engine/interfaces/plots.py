"""``--plots DIR``: pictures beside the answer; what was written goes to stderr."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from ...facts import Fact
from .layout import Line, write
from .report_text import problem_lines


def plot(facts: Sequence[Fact], paths: Sequence[Path], folder: Path) -> None:
    """Plot the component results among ``facts``, and the errors of captured tensors that lie at
    ``paths`` or below."""
    from ...probes.artefacts import find_units
    from .charts.png import write_plots

    units, _ = find_units(list(paths))
    captures = [path for unit in units if unit.artefact.name == "tensors" for path in unit.paths]
    written = write_plots(facts, captures, folder)
    count = "1 plot" if len(written.files) == 1 else f"{len(written.files)} plots"
    lines = [Line(f"{count} written to {folder}")] if written.files else []
    if not written.files and not written.problems:
        lines = [Line("nothing to plot: there are no R-ratios of components")]
    write([*lines, *problem_lines(written.problems)], sys.stderr)
