"""The time of API calls: until the call is submitted, and then waiting for its result. A long
submission is work of the client, a long wait is network or service.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ....facts import Fact
from ..safe_text import one_line
from .chart import Chart, chart
from .figures import number, seconds
from .svg import SERIES, described, label, picture, rect, title

WIDTH = 800
MAX_CALLS = 8
_LEAST = 0.1
"""Seconds below which no call is worth a chart."""
_LEFT, _RIGHT, _TOP, _BAR = 240, 190, 30, 24


class _Call(NamedTuple):
    name: str
    submit: float
    wait: float

    @property
    def total(self) -> float:
        return self.submit + self.wait


def call_time(facts: Sequence[Fact]) -> Chart | None:
    """The chart of call times; None if no known call takes a noticeable time."""
    calls = _calls(facts)
    if not calls or calls[0].total < _LEAST:
        return None
    shown = calls[:MAX_CALLS]
    first = calls[0]
    text = (
        f"{first.name}: {seconds(first.submit)} until it is handed over, "
        f"{seconds(first.wait)} waiting for the result."
    )
    names, labelled = described("call-time", "Time of API calls", text)
    svg = picture(
        WIDTH, _TOP + len(shown) * _BAR + 6, [*names, *_legend(), *_bars(shown)],
        aria_labelledby=labelled,
    )  # fmt: skip
    rows = [(call.name, seconds(call.submit), seconds(call.wait)) for call in calls]
    head = ("Call", "Handing over", "Waiting for the result")
    return chart("call-time", "Time of API calls", text, svg, head, rows)


def _calls(facts: Sequence[Fact]) -> list[_Call]:
    """The calls, longest first; of one operation the summary of the run, or else its longest
    call."""
    summaries: dict[str, _Call] = {}
    single: dict[str, _Call] = {}
    for fact in facts:
        submit, wait = number(fact, "submit_s"), number(fact, "wait_s")
        if fact.kind not in ("timing_summary", "call_timing") or (submit is None and wait is None):
            continue
        call = _Call(one_line(str(fact.get("operation")))[:60], submit or 0.0, wait or 0.0)
        found = summaries if fact.kind == "timing_summary" else single
        found[call.name] = max(call, found.get(call.name, call), key=lambda c: (c.total, c.submit))
    return sorted((single | summaries).values(), key=lambda call: (-call.total, call.name))


def _legend() -> Iterator[str]:
    for x, colour, name in ((_LEFT, SERIES[1], "handing over"),
                            (_LEFT + 130, SERIES[0], "waiting for the result")):  # fmt: skip
        yield rect(x, 6, 12, 12, fill=colour)
        yield label(x + 17, 16, name)


def _bars(calls: Sequence[_Call]) -> Iterator[str]:
    room = WIDTH - _LEFT - _RIGHT
    for place, call in enumerate(calls):
        y = _TOP + place * _BAR
        name = call.name if len(call.name) <= 34 else f"...{call.name[-31:]}"
        yield label(_LEFT - 8, y + 14, name, anchor="end")
        x = float(_LEFT)
        for value, colour, what in ((call.submit, SERIES[1], "handing over"),
                                    (call.wait, SERIES[0], "waiting")):  # fmt: skip
            wide = room * value / calls[0].total
            said = title(f"{call.name}: {what} {seconds(value)}")
            yield rect(x, y + 2, wide, _BAR - 8, said, fill=colour)
            x += wide
        yield label(x + 6, y + 14, f"{seconds(call.submit)} + {seconds(call.wait)}")
