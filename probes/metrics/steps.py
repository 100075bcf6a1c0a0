"""The steps of a run: how long each took and what belongs to it.

The meaning of the cookbook's keys decides how they are summed up:

- Supervised loop (``submit_batch``, ``finish_batch``): a step takes the sum of both.
  ``forward_backward*`` and ``optim_step*`` time the submission only; ``time/step`` is the wait for
  both results. Server, network and a slow submission on the SDK's thread all end up in that wait:
  these metrics cannot tell them apart. Cookbook 0.1 writes ``get_batch`` and ``step`` alone; its
  ``total`` runs over two steps that overlap and is not used. A row of 0.2 and 0.3 holds the end of
  its own batch and the submission of the next one, and the last row no submission.
- RL loop (``total``): a step takes ``time/total``; waiting is inside ``sampling`` and
  ``train_step``. Cookbook 0.1 does not time its sampling, so gaps are not reported.
- Evaluations and periodic checkpoints are taken out of the step (``aside``): they come every n
  steps and would look like warm-up or unevenness.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ..shared.series_statistics import Levels, length, levels, median, union
from .spans import Span, Spans
from .tables import MetricRow, Table

HANDED_OVER = ("forward_backward_async", "forward_backward", "optim_step_async", "optim_step")
_SUBMIT, _FINISH = "submit_batch", "finish_batch"
_OLD_SUPERVISED = ("get_batch", "step")
# Parts of a supervised step; evaluations and checkpoints are never inside.
PARTS = (*_OLD_SUPERVISED, *HANDED_OVER)
_EVALUATIONS = (("evals",), ("infrequent_evals",), ("run_evals", "run_evaluations_parallel"))
_SAVES = ("save_checkpoint_async", "save_checkpoint")
_RL_PARTS = ("sampling", "do_train_step_and_get_sampling_client",
             "do_train_step_streaming_and_get_sampling_client")  # fmt: skip
# Cookbook 0.1: its train step has another name, and what samples has none.
_OLD_RL = {"total", "train", "assemble_training_data", "compute_kl_sample_train"}
_DATA = ("get_batch", "assemble_training_data")
_SAMPLING = ("sampling", "sampling_time")
# A batch was submitted in between if at least so much of its submission fits.
_FITS = 0.5
# Share of the steps that must agree before the loop counts as overlapping or sequential.
_AGREE = 0.9
# A metric that releases before 0.5 do not write.
_SINCE_05 = "train_mean_bpb"


@dataclass(slots=True)
class Step:
    """The times of one step in seconds; ``total`` without ``aside``, None if unknown."""

    row: MetricRow
    total: float
    aside: float
    parts: float | None
    data: float | None
    sampling: float | None


@dataclass(slots=True)
class Timing:
    """The times of a run's steps according to its metrics; ``layout`` is supervised, rl or
    other."""

    layout: str
    steps: list[Step]
    swing: Levels | None
    period: int
    overlaps: bool | None


def read_timing(table: Table, spans: Spans | None, submit_ahead: float | None) -> Timing:
    """The steps of a run from its metrics, with the spans of the same run if there are any;
    ``submit_ahead`` as its settings say, which they do from 0.4 on."""
    layout = _layout(table.rows)
    found = (_step(row, layout, spans.steps.get(row.step) if spans else None)
             for row in table.rows)  # fmt: skip
    steps = [step for step in found if step]
    swing = levels([step.total for step in steps])
    period = _period([step.total for step in steps], swing) if swing and swing.alternates else 1
    apart = submit_ahead is not None or any(_SINCE_05 in row.values for row in table.rows)
    overlaps = _overlaps(spans, apart) if spans and layout == "supervised" else None
    return Timing(layout, steps, swing, period, overlaps)


def _layout(rows: Sequence[MetricRow]) -> str:
    if any(_SUBMIT in row.calls and _FINISH in row.calls for row in rows):
        return "supervised"
    if any(row.calls.keys() >= set(_OLD_SUPERVISED) and "train_mean_nll" in row.values
           for row in rows):  # fmt: skip
        return "supervised"
    # Sampling alone is any loop's; only with the cookbook's train step do its parts make a step.
    return "rl" if any(set(_RL_PARTS[1:]) & row.calls.keys() for row in rows) else "other"


def _step(row: MetricRow, layout: str, spans: list[Span] | None) -> Step | None:
    def seconds(*names: str) -> float | None:
        return next((row.calls[name].total for name in names if name in row.calls), None)

    evaluations = sum(seconds(*names) or 0.0 for names in _EVALUATIONS)
    # In RL, save_checkpoint also covers getting the next sampler, a part of every step.
    aside = evaluations + (seconds(*(_SAVES[:1] if layout == "rl" else _SAVES)) or 0.0)
    gross = seconds("total", "step")
    if layout == "supervised":
        submit, finish = seconds(_SUBMIT), seconds(_FINISH)
        if submit is not None and finish is not None:
            gross = submit + finish
        else:
            gross = (seconds("get_batch") or 0.0) + (seconds("step") or 0.0) + aside
    if not gross:
        return None
    aside = min(aside, gross)
    return Step(row, gross - aside, aside, _parts(row, layout, gross, aside, spans),
                seconds(*_DATA), seconds(*_SAMPLING))  # fmt: skip


def _parts(
    row: MetricRow, layout: str, gross: float, aside: float, spans: list[Span] | None
) -> float | None:
    """The measured part of a step, without the time ``aside``, at most the step itself."""
    calls = row.calls
    if layout == "supervised" and _SUBMIT not in calls:
        return None
    if layout == "supervised":
        known = sum(calls[n].total for n in PARTS if n in calls)
    elif spans:
        known = length(union([span.at for span in spans])) - aside
    elif layout == "rl":
        known = sum(calls[name].total for name in _RL_PARTS if name in calls) - aside
    elif calls.keys() >= _OLD_RL:
        return None
    else:
        whole = "total" if "total" in calls else "step"
        known = sum(c.total for n, c in calls.items() if n != whole) - aside
        if known > gross - aside:  # they nest or run at the same time: no sum of parts
            return None
    return max(0.0, min(known, gross - aside)) if known > 0 else None


def _period(values: Sequence[float], swing: Levels) -> int:
    border = swing.high / 2
    high = [i for i, value in enumerate(values) if value > border]
    return max(int(median([b - a for a, b in pairwise(high)] or [1])), 1)


def _overlaps(spans: Spans, apart: bool) -> bool | None:
    """Whether the next batch was submitted before the last one was finished; None if the spans do
    not show it. Between the end of a submission and the start of its finish, a loop that works
    ahead submits the next batch; a sequential one does nothing.

    ``apart``: each row is known to hold one batch. Else it may be a loop of 0.2 or 0.3, which
    works ahead and looks as if it did not; the row without submission at its end gives it away.
    """
    last = {span.name for span in spans.steps[max(spans.steps)]} if spans.steps else set()
    if _FINISH in last and _SUBMIT not in last:
        return True
    verdicts: list[bool] = []
    for step, row in spans.steps.items():
        this = {span.name: span.at for span in row}
        after = {span.name: span.at for span in spans.steps.get(step + 1, [])}
        if _SUBMIT not in this or _FINISH not in this or _SUBMIT not in after:
            continue
        between = this[_FINISH].start - this[_SUBMIT].end
        verdicts.append(between >= _FITS * (after[_SUBMIT].end - after[_SUBMIT].start))
    if len(verdicts) < 2:
        return None
    share = sum(verdicts) / len(verdicts)
    if share >= _AGREE:
        return True
    return False if apart and share <= 1 - _AGREE else None
