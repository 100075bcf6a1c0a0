"""Finds how the time of a step is spent: facts from the ``time/`` metrics and the timing spans of a
run.

How steps are read is described in :mod:`.steps`. In a supervised loop ``time/step`` becomes the
operation ``result-wait``; ``step`` always means whole steps. A loop that submits k batches ahead
waits in every (k+1)-th row: such rows are averaged over one period before a typical step is judged,
and single steps are not reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from ...facts.problems import Location
from ..outcome import Collector
from ..shared.series_statistics import (
    correlation,
    known,
    length,
    levels,
    mean,
    median,
    rounded,
    union,
    variation,
)  # fmt: skip
from .config import RunConfig
from .expected_times import Expectation, Expected, sampled_tokens, trained_tokens
from .slowdowns import slowdown_of
from .spans import Spans
from .steps import HANDED_OVER, PARTS, Step, Timing, read_timing
from .tables import MetricRow, Table

# Single steps are for series; beyond this the first ones and evenly spaced others are kept.
MAX_STEPS = 200
KEPT_AT_START = 20
MAX_OPERATIONS = 100
# With fewer rows the first is not compared with the rest.
MIN_WARMUP = 4
RESULT_WAIT = "result-wait"
# Operations that wait for the service within a step of the RL loop.
_REMOTE = ("train_step",)
_SAMPLING, _TURN = "sampling", "policy_sample"
_TOKENS = ("num_tokens", "tokens/trained", "env/all/total_ac_tokens")


def add_timing(
    collector: Collector, table: Table, spans: Spans | None, config: RunConfig
) -> Timing:
    """Add ``step_timing`` facts of at most :data:`MAX_STEPS` steps, and the ``timing_summary``
    facts of all; MM450 if operations are left out."""
    timing = read_timing(table, spans, config.submit_ahead)
    expectation = Expectation(timing.layout, config)
    expected = {id(row): expectation.of(row) for row in table.rows}
    if timing.steps and not (timing.swing and timing.swing.alternates):
        _add_steps(collector, table, timing)
    if timing.steps:
        _add_whole(collector, table, timing, expected)
    _add_operations(collector, table, timing, spans, expected)
    return timing


def _add_steps(collector: Collector, table: Table, timing: Timing) -> None:
    kept = timing.steps
    if len(kept) > MAX_STEPS:
        rest, wanted = kept[KEPT_AT_START:], MAX_STEPS - KEPT_AT_START
        chosen = [rest[i * (len(rest) - 1) // (wanted - 1)] for i in range(wanted)]
        kept = [*kept[:KEPT_AT_START], *chosen]  # nothing is lost: the summaries use all
    for step in kept:
        gap = None if step.parts is None else step.total - step.parts
        collector.add(
            "step_timing", f"{table.name}:{step.row.line}", step=step.row.step,
            total_s=rounded(step.total), aside_s=known(step.aside or None),
            parts_s=known(step.parts), gap_s=known(gap), data_s=known(step.data),
            sampling_s=known(step.sampling),
        )  # fmt: skip


def _add_whole(
    collector: Collector, table: Table, timing: Timing, expected: Mapping[int, Expected]
) -> None:
    """The summary of whole steps."""
    totals = [step.total for step in timing.steps]
    typical = _averaged(totals, timing.period)
    gaps = [(step.total - step.parts, step.total) for step in timing.steps
            if step.parts is not None]  # fmt: skip
    whole = sum(total for _, total in gaps)
    swings = timing.swing.alternates if timing.swing else None
    collector.add(
        "timing_summary",
        f"{table.name}:{timing.steps[0].row.line}",
        operation="step",
        count=len(totals),
        mean_s=rounded(mean(totals)),
        median_s=rounded(median(typical)),
        max_s=rounded(max(totals)),
        **_first_against_rest(typical),
        variation=known(variation(totals)),
        rest_variation=_rest_variation(timing, expected),
        alternates=swings,
        pipelined=timing.overlaps,
        gap_share=rounded(sum(gap for gap, _ in gaps) / whole) if whole > 0 else None,
        tokens_per_s=_speed((step.row, step.total) for step in timing.steps),
        tokens=_typical(trained_tokens, [step.row for step in timing.steps]),
        **_against((step.total, expected[id(step.row)].step) for step in timing.steps),
        correlation_data=None if swings else _linked(timing.steps, lambda step: step.data, True),
        correlation_tokens=None
        if swings
        else _linked(timing.steps, lambda step: _tokens(step.row), False),
    )


def _rest_variation(timing: Timing, expected: Mapping[int, Expected]) -> float | None:
    """The variation after the first step, relative to the expected time for the tokens of each step
    if these are known; for a loop that works ahead, only whole periods are compared."""
    normal = [expected[id(step.row)].step for step in timing.steps]
    scaled = [step.total / may for step, may in zip(timing.steps, normal, strict=True) if may]
    values = scaled if len(scaled) == len(normal) else [step.total for step in timing.steps]
    blocks = _averaged(values, timing.period)[1:]
    return known(variation(blocks)) if len(blocks) >= MIN_WARMUP else None


def _averaged(values: Sequence[float], period: int) -> list[float]:
    """Means over whole periods; the values themselves if one is longer than they are."""
    groups = [values[i : i + period] for i in range(0, len(values) - period + 1, period)]
    return [mean(group) for group in groups] or list(values)


def _first_against_rest(values: Sequence[float]) -> dict[str, float | None]:
    if len(values) < MIN_WARMUP:
        return {"first_s": rounded(values[0])}
    rest = median(values[1:])
    ratio = rounded(values[0] / rest) if rest > 0 else None
    return {"first_s": rounded(values[0]), "rest_median_s": rounded(rest), "first_over_rest": ratio}


def _linked(
    steps: Sequence[Step], other: Callable[[Step], float | None], without: bool
) -> float | None:
    """Correlation of the step time with another figure of the step; ``without``: of what is left
    of the step when that figure is taken out, since a part is always linked with the whole."""
    pairs = [(step.total, value) for step in steps if (value := other(step)) is not None]
    left = [max(total - value, 0.0) if without else total for total, value in pairs]
    return known(correlation(left, [value for _, value in pairs]))


def _tokens(row: MetricRow) -> float | None:
    return next((row.values[name] for name in _TOKENS if name in row.values), None)


def _add_operations(
    collector: Collector, table: Table, timing: Timing, spans: Spans | None,
    expected: Mapping[int, Expected],
) -> None:  # fmt: skip
    rows = {id(step.row): step for step in timing.steps}
    names = list(dict.fromkeys(name for row in table.rows for name in row.calls))
    names = [n for n in names if n != "total" and (n != "step" or timing.layout == "supervised")]
    if len(names) > MAX_OPERATIONS:
        text = f"{len(names):,} operations are timed; {MAX_OPERATIONS} are summed up"
        collector.problem("MM450", text, Location(table.name))
    for name in names[:MAX_OPERATIONS]:
        having = [row for row in table.rows if name in row.calls]
        calls = [row.calls[name] for row in having]
        values = [call.total / call.times for call in calls]
        steps = [rows[id(row)] for row in having if id(row) in rows]
        is_wait = timing.layout == "supervised" and name == "step"
        handed_over = timing.layout != "other" and name in HANDED_OVER
        normal = _normal(name, is_wait, having, expected)
        collector.add(
            "timing_summary",
            f"{table.name}:{having[0].line}",
            operation=RESULT_WAIT if is_wait else name,
            count=sum(call.times for call in calls),
            mean_s=rounded(sum(call.total for call in calls) / sum(call.times for call in calls)),
            median_s=rounded(median(values)),
            max_s=rounded(max(call.longest for call in calls)),
            **_first_against_rest(values),
            variation=known(variation(values)),
            share=_share(name, timing, steps, spans),
            submit_s=rounded(median(values)) if handed_over else None,
            wait_s=_result_wait(table, timing) if name.startswith("forward_backward") else None,
            correlation_tokens=_call_tokens(having, values) if handed_over else None,
            **_token_figures(name, is_wait, having),
            **_against(zip(values, normal, strict=True)),
            **slowdown_of(name, having, values, normal, timing),
        )


def _normal(
    name: str, is_wait: bool, rows: Sequence[MetricRow], expected: Mapping[int, Expected]
) -> list[float | None]:
    """The normal time of each call of an operation."""
    if is_wait or name in _REMOTE:
        return [expected[id(row)].training for row in rows]
    return [expected[id(row)].turn if name == _TURN else None for row in rows]


def _against(pairs: Iterable[tuple[float, float | None]]) -> dict[str, float]:
    """``expected_s`` and ``over_expected``; empty if nothing is expected."""
    known_pairs = [(seen, normal) for seen, normal in pairs if normal]
    if not known_pairs:
        return {}
    over = median([seen / normal for seen, normal in known_pairs])
    middle = median([normal for _, normal in known_pairs])
    return {"expected_s": rounded(middle), "over_expected": rounded(over)}


def _token_figures(name: str, is_wait: bool, rows: Sequence[MetricRow]) -> dict[str, float | None]:
    times = [(row, row.calls[name].total) for row in rows]
    if is_wait or name in _REMOTE:
        return {"tokens_per_s": _speed(times), "tokens": _typical(trained_tokens, rows)}
    if name in (_SAMPLING, _TURN):
        return {"tokens_per_s": _speed(times, sampled_tokens),
                "tokens": _typical(sampled_tokens, rows)}  # fmt: skip
    return {}


def _typical(of: Callable[[MetricRow], float | None], rows: Sequence[MetricRow]) -> float | None:
    found = [value for row in rows if (value := of(row)) is not None]
    return rounded(median(found)) if found else None


def _result_wait(table: Table, timing: Timing) -> float | None:
    """The time that the supervised loop waits for results in rows that wait: in a loop that works
    ahead, only the rows of the higher level wait."""
    if timing.layout != "supervised":
        return None
    waits = [row.calls["step"].total for row in table.rows if "step" in row.calls]
    if not waits:
        return None
    found = levels(waits)
    return rounded(found.high if found and found.alternates else median(waits))


def _call_tokens(rows: Sequence[MetricRow], values: Sequence[float]) -> float | None:
    pairs = [(value, row.values[name]) for row, value in zip(rows, values, strict=True)
             for name in _TOKENS[:1] if name in row.values]  # fmt: skip
    return known(correlation([a for a, _ in pairs], [b for _, b in pairs]))


def _share(name: str, timing: Timing, steps: Sequence[Step], spans: Spans | None) -> float | None:
    """Share of the time of the steps. Known parts of a step are measured against the step alone,
    other operations against everything, evaluations and checkpoints included.

    Calls that may run at the same time count by their spans, once for each moment; a step without
    spans is left out then.
    """
    is_part = timing.layout != "other" and name in PARTS
    whole = sum(_size(step, is_part) for step in timing.steps)
    own, unseen = 0.0, 0
    for step in steps:
        call = step.row.calls[name]
        if call.times == 1:
            own += call.total
        elif spans and step.row.step in spans.steps:
            own += length(union([at for n, at in spans.steps[step.row.step] if n == name]))
        else:
            whole -= _size(step, is_part)
            unseen += 1
    if whole <= 0 or unseen == len(steps):
        return None
    # Work that runs in parallel with the step (asynchronous sampling) has no share of it.
    return rounded(min(own / whole, 1.0)) if own <= 1.01 * whole else None


def _size(step: Step, is_part: bool) -> float:
    return step.total if is_part else step.total + step.aside


def _speed(
    times: Iterable[tuple[MetricRow, float]],
    of: Callable[[MetricRow], float | None] = _tokens,
) -> float | None:
    """Tokens of the rows over the seconds spent on them; None if a row does not state its
    tokens."""
    tokens = seconds = 0.0
    for row, time in times:
        here = of(row)
        if here is None:
            return None
        tokens, seconds = tokens + here, seconds + time
    return rounded(tokens / seconds) if tokens > 0 and seconds > 0 else None
