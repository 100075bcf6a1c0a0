"""The output of ``diagnose kb mutate``: the faults that no case notices, and the score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ... import output
from ...reports.layout import Line

if TYPE_CHECKING:
    from ....authoring.mutation import Acceptances, Score, Verdict
    from ....engine.compiler.source.knowledge_source import KnowledgeSource
    from ....facts import Problem
    from ...context import Context


def report(
    verdicts: Sequence[Verdict],
    source: KnowledgeSource,
    whole: Collection[str],
    at_least: float | None,
    context: Context,
) -> int:
    """Print the results and return the exit code. ``whole``: entries whose faults were all
    tried."""
    from ....authoring.mutation import Acceptances, Score

    score = Score.of(verdicts)
    accepted = Acceptances(source)
    stale = list(accepted.stale(whole, verdicts))
    context.emit(_plain(verdicts, score, accepted, stale), _lines(verdicts, score, accepted, stale))
    low = at_least is not None and score.percent < at_least
    return output.BAD_KNOWLEDGE if low or stale else output.OK


def _plain(
    verdicts: Sequence[Verdict], score: Score, accepted: Acceptances, stale: Sequence[Problem]
) -> Mapping[str, Any]:
    counts = {name: getattr(score, name) for name in score._fields}
    return {
        "schema": "modelmedic/mutation/1",
        **counts,
        "accepted": sum(bool(accepted.reason(v)) for v in _survivors(verdicts)),
        "score": score.percent,
        "operators": {op: dict(found) for op, found in sorted(_by_operator(verdicts).items())},
        "mutants": [
            _plain_mutant(v, accepted) for v in verdicts if v.outcome in ("survived", "equivalent")
        ],
        "stale": [str(problem) for problem in stale],
    }


def _plain_mutant(verdict: Verdict, accepted: Acceptances) -> Mapping[str, Any]:
    plain = {
        "entry": verdict.entry,
        "where": str(verdict.where),
        "operator": verdict.operator,
        "fault": verdict.what,
        "outcome": verdict.outcome,
    }
    reason = accepted.reason(verdict) if verdict.outcome == "survived" else ""
    if reason:
        return plain | {"accepted": reason}
    return plain | ({"missing": verdict.missing} if verdict.missing else {})


def _lines(
    verdicts: Sequence[Verdict], score: Score, accepted: Acceptances, stale: Sequence[Problem]
) -> Iterator[Line]:
    reasons = 0
    for v in _survivors(verdicts):
        reason = accepted.reason(v)
        reasons += bool(reason)
        style, mark = ("dim", "ACCEPTED ") if reason else ("error", "SURVIVED ")
        yield Line(f"{v.where}: {v.fault}", mark=mark, style=style)
        yield Line(reason or v.missing, 4, mark="because: " if reason else "missing: ")
    for problem in stale:
        yield Line(str(problem), mark="STALE ", style="error")
    for operator, found in sorted(_by_operator(verdicts).items()):
        tried = found["killed"] + found["survived"]
        yield Line(f"{operator:<20} {found['killed']:>6} of {tried:>6} noticed", keep=True)
    tried = score.killed + score.survived
    yield Line(
        f"{score.killed:,} of {tried:,} faults noticed ({score.percent:.2f} %); of the"
        f" {score.survived:,} others {reasons:,} are accepted with a reason; besides,"
        f" {score.equivalent:,} change nothing and {score.invalid:,} do not compile"
    )


def _survivors(verdicts: Iterable[Verdict]) -> Iterator[Verdict]:
    return (verdict for verdict in verdicts if verdict.outcome == "survived")


def _by_operator(verdicts: Iterable[Verdict]) -> Mapping[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for v in verdicts:
        found.setdefault(v.operator, Counter())[v.outcome] += 1
    return found
