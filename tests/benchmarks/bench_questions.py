"""How many questions a consultation needs, and how long it takes to find the next one.

Run with ``make bench`` or ``python -m tests.benchmarks.bench_questions``. A simulated person with
the facts of each whole-story case is asked as the plan would, in the authored order alone, and in
random order. All three have the same questions to choose from and stop when none can change the
outcome. Only cases in which more than one step was open at some moment are averaged.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from modelmedic.engine import Diagnoser
from modelmedic.engine.compiler.source.knowledge_source import parse
from modelmedic.engine.compiler.store.files import read_folder
from modelmedic.engine.diagnosis.dialogue.dialogue import Dialogue

from ..consultation.rehearsal import (
    Rehearsal,
    authored_order,
    random_order,
    rehearse,
    stories,
)

_ROOT = Path(__file__).resolve().parents[2]
_SEEDS = range(5)


class Figures(NamedTuple):
    """Numbers of questions by case: as planned, in authored order, in random order; and seconds
    for the next step of each state."""

    planned: list[int]
    authored: list[int]
    random: list[float]
    cases: int
    reached: int
    seconds: list[float]


def measure() -> Figures:
    """Play every story in each order."""
    doctor = Diagnoser.load()
    order = authored_order(doctor)
    figures = Figures([], [], [], *_reached(doctor), [])
    for story in stories(parse(read_folder(_ROOT / "knowledge")), doctor):
        planned = rehearse(doctor, story)
        figures.seconds.extend(_seconds(doctor, planned))
        authored = rehearse(doctor, story, order)
        if authored.had_choice:
            lengths = [len(rehearse(doctor, story, random_order(s)).turns) for s in _SEEDS]
            figures.planned.append(len(planned.turns))
            figures.authored.append(len(authored.turns))
            figures.random.append(statistics.mean(lengths))
    return figures


def _reached(doctor: Diagnoser) -> tuple[int, int]:
    every = list(stories(parse(read_folder(_ROOT / "knowledge")), doctor))
    return len(every), sum(rehearse(doctor, story).reached for story in every)


def _seconds(doctor: Diagnoser, done: Rehearsal) -> list[float]:
    """Seconds that a keypress would wait in each state: report, plan and next step, from
    nothing."""
    spent = []
    for number in range(1, len(done.dialogue.entries) + 1):
        probes = doctor.base.vocabulary.probes
        state = Dialogue(doctor, done.dialogue.entries[:number], (), probes)
        begin = time.perf_counter()
        state.next()
        _ = state.report
        spent.append(time.perf_counter() - begin)
    return spent


def report(figures: Figures) -> str:
    """The figures in words."""
    planned, authored = statistics.mean(figures.planned), statistics.mean(figures.authored)
    random = statistics.mean(figures.random)
    more = sum(a > b for a, b in zip(figures.planned, figures.authored, strict=True))
    ordered = sorted(1000 * s for s in figures.seconds)
    return (
        f"expected diagnosis reached: {figures.reached} of {figures.cases} stories\n"
        f"with a choice of steps: {len(figures.planned)} stories; questions on average: planned "
        f"{planned:.2f}, authored order {authored:.2f} ({100 * (1 - planned / authored):.0f} % "
        f"saved), random order {random:.2f} ({100 * (1 - planned / random):.0f} % saved)\n"
        f"stories with more questions than in authored order: {more}\n"
        f"next step: median {statistics.median(ordered):.1f} ms, "
        f"95 in 100 below {ordered[int(0.95 * len(ordered))]:.1f} ms, most {ordered[-1]:.1f} ms"
    )


@pytest.mark.bench
def test_questions_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    """Prints the figures; that they are good enough is checked by the consultation tests."""
    figures = measure()
    with capsys.disabled():
        print("\n" + report(figures))
    assert figures.planned


if __name__ == "__main__":
    print(report(measure()))
