"""Plots as PNG files: the R-ratio over components, and the errors of the worst ones.

The errors are target - ref_fp32 and ref_bf16 - ref_fp32 of the first rows of a tensor: a histogram
of both, and the quantiles of one over those of the other (on the diagonal for a sound port).
matplotlib and numpy are imported here alone, when a plot is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from ....facts import Fact, Location, Problem
from ..port import component_order
from ..safe_text import one_line

MAX_COMPONENTS = 12
"""Components with a plot of their errors: the failing ones in their order, then those with the
largest ratio."""
PROFILE = "r_profile.png"
QUANTILES = 10_000
BINS = 256
_LIMIT = 1.2
_FILE = re.compile(r"[^A-Za-z0-9._-]+")
_GOOD, _BAD, _GREY = "#2e7d4f", "#b3261e", "#6b6b6b"


class Plots(NamedTuple):
    """The files written, with a caption each, and the problems."""

    files: tuple[Path, ...] = ()
    captions: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


def write_plots(facts: Sequence[Fact], captures: Sequence[Path], folder: Path) -> Plots:
    """Write ``r_profile.png`` and ``errors_PLACE_NAME.png`` into ``folder`` (made if need be).
    ``captures`` are folders with the tensors of the three runs. Never raises over its input."""
    if find_spec("matplotlib") is None or find_spec("numpy") is None:
        hint = "install it: pip install 'modelmedic[plots]'"
        problem = Problem("MM403", "no plots: matplotlib is not installed", None, hint)
        return Plots(problems=(problem,))
    files: list[Path] = []
    captions: list[str] = []
    problems: list[Problem] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, caption, figure in _figures(_ratios(facts), captures):
            figure.savefig(folder / name, dpi=110, metadata={"Software": None})
            files.append(folder / name)
            captions.append(caption)
    except OSError as error:
        text = f"the plots cannot be written: {error.strerror or error}"
        problems.append(Problem("MM320", text, Location(str(folder))))
    return Plots(tuple(files), tuple(captions), tuple(problems))


class _Ratio(NamedTuple):
    place: int
    name: str
    value: float


def _ratios(facts: Sequence[Fact]) -> list[_Ratio]:
    rows = [f for f in facts if f.kind == "component_result" and f.get("r_ratio") is not None]
    return [_Ratio(place, str(f.get("component")), float(str(f.get("r_ratio"))))
            for place, f in enumerate(sorted(rows, key=component_order))]  # fmt: skip


def _figures(ratios: Sequence[_Ratio], captures: Sequence[Path]) -> Iterator[tuple[str, str, Any]]:
    """File name, caption and figure of each plot."""
    if len(ratios) > 1:
        yield PROFILE, f"R-ratio of {len(ratios)} components", _profile(ratios)
    failing = [ratio for ratio in ratios if ratio.value >= _LIMIT]
    others = sorted((r for r in ratios if r.value < _LIMIT), key=lambda r: (-r.value, r.place))
    for ratio in (failing + others)[:MAX_COMPONENTS]:
        for capture in captures:
            errors = _errors(capture, ratio.name)
            if errors is not None:
                name = _FILE.sub("_", ratio.name)[-80:]
                caption = f"Errors of {one_line(ratio.name)}: histogram and QQ plot"
                figure = _error_figure(ratio, *errors)
                yield f"errors_{ratio.place:03}_{name}.png", caption, figure
                break


def _figure(width: float, height: float) -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _profile(ratios: Sequence[_Ratio]) -> Any:
    figure = _figure(10, 4.2)
    axes = figure.add_subplot()
    values = [max(ratio.value, 1e-3) for ratio in ratios]
    colours = [_BAD if value >= _LIMIT else _GOOD for value in values]
    axes.vlines(range(len(values)), 1, values, colors=colours, linewidth=1)
    axes.scatter(range(len(values)), values, c=colours, s=max(4, min(30, 1500 / len(values))),
                 zorder=3)  # fmt: skip
    axes.axhline(_LIMIT, color=_BAD, linestyle="--", linewidth=1)
    axes.axhspan(0.9, 1.05, color=_GOOD, alpha=0.12)
    axes.set_yscale("log")
    axes.set_ylabel("R-ratio")
    if len(ratios) <= 24:
        axes.set_xticks(range(len(ratios)))
        labels = axes.set_xticklabels([_shown(r.name) for r in ratios], rotation=28, ha="right")
        for label in labels:
            label.set_parse_math(False)
    else:
        axes.set_xlabel("component, in the order of the model")
    named = len(ratios) > 24  # else the axis names them
    worst = sorted((r for r in ratios if r.value >= _LIMIT), key=lambda r: -r.value)
    for row, ratio in enumerate(worst[:3] if named else worst):
        name = f"{_shown(ratio.name)} " if named else ""
        text = axes.annotate(
            f"{name}{ratio.value:.3g}", (ratio.place, ratio.value), ha="center", fontsize=8,
            xytext=(0, 6 + 11 * row * named), textcoords="offset points", color=_BAD,
        )  # fmt: skip
        text.set_parse_math(False)
    axes.set_title(f"R-ratio of {len(ratios)} components")
    axes.margins(y=0.25 if named else 0.15)
    return figure


def _errors(capture: Path, component: str) -> tuple[Any, Any] | None:
    """The sorted errors of reference and target; None if this capture has no such module."""
    import numpy as np

    from ....probes.tensors.roles import find_roles
    from ....probes.tensors.samples import Samples
    from ....reading.tensors.captures import name_all
    from ....reading.tensors.stored import list_stored

    runs = [name_all(list_stored(path, [])) for path in find_roles(capture).three or ()]
    name = next((n for n in runs[0] if n.shown == component), None) if runs else None
    if name is None or any(name not in run for run in runs):
        return None
    sample = Samples(runs, [name]).get(name)
    if sample is None:
        return None
    both = [np.sort((run - sample.fp32).ravel()) for run in (sample.bf16, sample.target)]
    return (both[0], both[1]) if all(b.size and np.isfinite(b).all() for b in both) else None


def _error_figure(ratio: _Ratio, baseline: Any, target: Any) -> Any:
    import numpy as np

    figure = _figure(10, 4.2)
    histogram, quantiles = figure.subplots(1, 2)
    # The tails are cut so that one outlier does not squeeze everything into a bin.
    widest = max(float(np.percentile(np.abs(errors), 99.9)) for errors in (baseline, target))
    edges = np.linspace(-widest or -1, widest or 1, BINS + 1)
    for errors, colour, name in ((baseline, _GREY, "ref_bf16 - ref_fp32"),
                                 (target, _BAD, "target - ref_fp32")):  # fmt: skip
        histogram.hist(errors, bins=edges, histtype="step", color=colour, label=name)
    histogram.set_yscale("log")
    histogram.set_xlabel("error")
    histogram.set_ylabel("numbers")
    histogram.legend(fontsize=8)
    at = np.linspace(0, 1, min(QUANTILES, baseline.size, target.size))
    x, y = np.quantile(baseline, at), np.quantile(target, at)
    quantiles.plot(x, y, ".", color=_BAD, markersize=3)
    ends = [min(x[0], y[0]), max(x[-1], y[-1])]
    quantiles.plot(ends, ends, color=_GREY, linewidth=1)
    quantiles.set_xlabel("quantiles of ref_bf16 - ref_fp32")
    quantiles.set_ylabel("quantiles of target - ref_fp32")
    for axes in (histogram, quantiles):
        axes.locator_params(axis="x", nbins=5)
    title = figure.suptitle(f"{_shown(ratio.name)}: R {ratio.value:.4g}")
    title.set_parse_math(False)
    return figure


def _shown(name: str) -> str:
    return one_line(name if len(name) <= 44 else f"...{name[-41:]}")
