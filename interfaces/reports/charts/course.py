"""The courses of a run (loss, reward, KL, step time) with the place of the finding on each."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from ....engine.diagnosis.report import Diagnosis, Report
from ....facts import Fact
from ....facts.records import NamedTuple
from ..safe_text import one_line
from .figures import number

STEP_TIME = "step-time"
_ROLES = {
    "train-loss": "loss", "eval-loss": "held-out loss", "reward": "reward", "kl": "KL",
    STEP_TIME: "step time",
}  # fmt: skip
_FEWEST = 3
MAX_POINTS = 400
_DIGITS = 15
# A test in the words of a condition: attribute, how it compares, number.
_NUMBER = r"-?[0-9]{1,20}(?:\.[0-9]{1,20})?(?:e[+-]?[0-9]{1,3})?"
_TEST = re.compile(rf"\b([a-z_0-9]{{1,40}}) (>=|>|<=|<) ({_NUMBER})\b")
_VALUE = re.compile(rf"(?:{_NUMBER}|nan|-?inf)\Z")
_AT_ONCE = ("max", "min", "mean", "first")
_LASTING = ("last", "drop", "rise")

Point = tuple[int, float]


class Mark(NamedTuple):
    """A finding about a curve: its title, the first bad step and the limit, if any; ``rank`` is the
    place of the finding and of its evidence."""

    rank: tuple[int, int]
    title: str
    severity: str
    step: int | None
    limit: float | None


class Change(NamedTuple):
    """A change during a run: the step from which ``what`` is different."""

    step: int
    what: str


class Course(NamedTuple):
    """One series; ``points`` are in the order of the steps."""

    role: str
    name: str
    points: tuple[Point, ...]
    change: Change | None
    mark: Mark | None

    @property
    def label(self) -> str:
        """The title with the metric's own name."""
        said = _ROLES[self.role]
        return said if said == self.name else f"{said} ({self.name})"


class _Test(NamedTuple):
    attribute: str
    above: bool
    bound: float


def courses_of(report: Report) -> list[Course]:
    """At most one for each role, that with the most important finding; step time is the last."""
    facts = {name: fact for name, fact, _ in report.facts}
    tested = _tested(report.diagnoses) if _is_drawn(facts.values()) else []
    chosen: dict[str, Course] = {}
    for course in (*_metrics(facts, tested), *_step_times(facts, tested)):
        known = chosen.get(course.role)
        if known is None or _rank(course) < _rank(known):
            chosen[course.role] = course
    return [chosen[role] for role in _ROLES if role in chosen]


def course_of_verdict(report: Report) -> Course | None:
    """The course with the most important finding on it; None without one."""
    marked = [course for course in courses_of(report) if course.mark]
    return min(marked, key=_rank, default=None)


def _is_drawn(facts: Any) -> bool:
    return any(fact.kind in ("metric_series", "step_timing") for fact in facts)


def _rank(course: Course) -> tuple[float, int]:
    return course.mark.rank if course.mark else (math.inf, 0)


_Tested = Sequence[tuple[int, Diagnosis, Mapping[str, Sequence[_Test]]]]


def _tested(diagnoses: Sequence[Diagnosis]) -> _Tested:
    """Each finding with the facts that it rests on, and their tests."""
    found = []
    for rank, d in enumerate(diagnoses):
        if d.kind == "benign" or d.accepted:
            continue
        tests: dict[str, list[_Test]] = {}
        for condition, names in _premises(d.explanation["how"]):
            asked = [_Test(a, op[0] == ">", float(n)) for a, op, n in _TEST.findall(condition)]
            for name in names:
                tests.setdefault(name, []).extend(asked)
        found.append((rank, d, tests))
    # A cause comes first in the verdict; effects and leads follow.
    return sorted(found, key=lambda f: (bool(f[1].explained_by), f[1].confidence == "possible"))


def _premises(how: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Sequence[str]]]:
    for step in how:
        for premise in step["because"]:
            yield premise["condition"], premise["facts"]
            yield from _premises(premise.get("how", ()))


def _metrics(facts: Mapping[str, Fact], tested: _Tested) -> Iterator[Course]:
    summaries = {f.get("name"): (n, f) for n, f in facts.items() if f.kind == "training_metric"}
    for fact in facts.values():
        role, name = str(fact.get("role")), str(fact.get("name"))
        points = _points(str(fact.get("points"))) if fact.kind == "metric_series" else ()
        if role not in _ROLES or len(points) < _FEWEST:
            continue
        at = number(fact, "changed_at")
        change = None if at is None else Change(int(at), "another level")
        mark = None
        if fact.get("name") in summaries:
            known, _ = summaries[fact.get("name")]
            mark = _mark(tested, {known: fact}, points, change)
        yield Course(role, one_line(name)[:60], points, change, mark)


def _points(text: str) -> tuple[Point, ...]:
    """The points of a fact; malformed ones are left out."""
    found = []
    for part in text.split():
        step, _, value = part.partition(":")
        if step.isascii() and step.isdecimal() and len(step) <= _DIGITS and _VALUE.match(value):
            found.append((int(step), float(value)))
    return _few(sorted(found, key=lambda point: point[0]))


def _few(points: Sequence[Point]) -> tuple[Point, ...]:
    """Not more points than can be distinguished; probes give fewer."""
    return tuple(points[:: -(-len(points) // MAX_POINTS) or 1])


def _step_times(facts: Mapping[str, Fact], tested: _Tested) -> Iterator[Course]:
    timed = [f for f in facts.values() if f.kind == "step_timing" and f.get("total_s") is not None]
    points = _few(sorted((int(str(f.get("step"))), float(str(f.get("total_s")))) for f in timed))
    if len(points) < _FEWEST:
        return
    summed = {n: f for n, f in facts.items() if f.kind == "timing_summary"}
    slower = [f for f in summed.values() if f.get("changed_at") is not None]
    change = None
    if slower:
        most = max(slower, key=lambda f: (number(f, "share") or 0.0, str(f.get("operation"))))
        what = f"{one_line(str(most.get('operation')))[:40]} slower"
        change = Change(int(str(most.get("changed_at"))), what)
    mark = _mark(tested, summed, points, change)
    yield Course(STEP_TIME, "step time", points, change, mark)


def _mark(
    tested: _Tested, facts: Mapping[str, Fact], points: Sequence[Point], change: Change | None
) -> Mark | None:
    """The most important finding that rests on one of the facts, for these points."""
    for place, (_, d, tests) in enumerate(tested):
        about = [(facts[name], test) for name in tests if name in facts for test in tests[name]]
        if not any(name in facts for name in tests):
            continue
        places = [_place(fact, test, points, change) for fact, test in about]
        step, limit = next((p for p in places if p[0] is not None), (None, None))
        first = next(at for at, name in enumerate(tests) if name in facts)
        return Mark((place, first), d.title, d.severity, step, limit)
    return None


def _place(
    fact: Fact, test: _Test, points: Sequence[Point], change: Change | None
) -> tuple[int | None, float | None]:
    """The first bad step, and the limit as a value of the series."""
    limit = _limit(fact, test)
    if test.attribute == "non_finite":
        return next((step for step, value in points if not math.isfinite(value)), None), None
    if test.attribute == "spikes":
        return max(_finite(points), key=lambda point: point[1], default=(None, 0))[0], None
    if test.attribute == "slowdown":
        return (change.step if change else None), None
    if test.attribute in ("step0", "first_over_rest"):
        return points[0][0], limit
    if limit is None:
        return None, None
    above = test.above if test.attribute != "drop" else False
    bad = [value >= limit if above else value <= limit for _, value in points]
    if test.attribute in _LASTING and fact.kind == "metric_series":
        bad = [*accumulate(reversed(bad), min)][::-1]
    return next((step for (step, _), out in zip(points, bad, strict=True) if out), None), limit


def _limit(fact: Fact, test: _Test) -> float | None:
    """The limit of a test as a value of the series, None if it is not one."""
    if test.attribute in (*_AT_ONCE, *_LASTING[:1], "step0"):
        return test.bound if fact.kind == "metric_series" else None
    if test.attribute in ("drop", "rise"):
        level = number(fact, "highest" if test.attribute == "drop" else "lowest")
        part = -test.bound if test.attribute == "drop" else test.bound
        return None if level is None else level + part * abs(level)
    if test.attribute == "over_expected" and fact.get("operation") == "step":
        expected = number(fact, "expected_s")
        return None if expected is None else expected * test.bound
    return None


def _finite(points: Sequence[Point]) -> list[Point]:
    return [point for point in points if math.isfinite(point[1])]
