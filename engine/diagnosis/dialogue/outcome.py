"""The outcome of a consultation, as values: verdict, causes with evidence, actions and refuting
facts, ruled-out causes, and the packet to hand over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from ...inference.program import Program
from ...inference.rule_index import goal
from .. import wording
from ..report import Candidate, Diagnosis, Report, RuledOut

Outcome = Literal["cause", "symptom", "leads", "healthy", "nothing"]

_VERDICTS: Mapping[Outcome, str] = {
    "symptom": "The problem is clear, its cause is not proven.",
    "leads": "No cause is proven; there are leads.",
    "healthy": "This is not a fault.",
    "nothing": "No problem is found.",
}
_CONFIDENCE = {
    "certain": "certain: a decisive test says so",
    "likely": "likely: strong evidence, though no decisive test",
    "possible": "possible: weak evidence only, do not act on it alone",
}


class AdvisedAction(NamedTuple):
    """One thing to do; ``verify`` says how to see that it worked."""

    do: str
    command: str
    effort: str
    risk: str
    verify: str


class StandingProblem(NamedTuple):
    """A proven problem that no other one explains. ``because`` gives the reasons in words,
    ``evidence`` the facts behind them with their sources, ``refuted_by`` what would refute it."""

    diagnosis: Diagnosis
    confidence: str
    because: tuple[str, ...]
    evidence: tuple[str, ...]
    accounts_for: tuple[str, ...]
    actions: tuple[AdvisedAction, ...]
    refuted_by: tuple[str, ...]


class HandoverPacket(NamedTuple):
    """The packet to hand over: needed, known and excluded items."""

    diagnosis: str
    wanted: tuple[str, ...]
    known: tuple[str, ...]
    excluded: tuple[str, ...]


class ConsultationResult(NamedTuple):
    """The end of a consultation, most important first. ``leads`` rest on weak evidence; ``open``
    lists what could still be shown."""

    outcome: Outcome
    verdict: str
    causes: tuple[StandingProblem, ...]
    leads: tuple[Diagnosis, ...]
    healthy: tuple[Diagnosis, ...]
    ruled_out: tuple[RuledOut, ...]
    open: tuple[Candidate, ...]
    packets: tuple[HandoverPacket, ...]


def conclude(report: Report, open_: Iterable[Candidate], program: Program) -> ConsultationResult:
    """The conclusion of a report."""
    problems = [d for d in report.diagnoses if d.kind != "benign"]
    proven = {d.id for d in problems if d.confidence != "possible"}
    alone = [d for d in problems if not proven & set(d.explained_by)]
    standing = [d for d in alone if d.id in proven]
    leads = tuple(d for d in alone if d.id not in proven)
    healthy = tuple(d for d in report.diagnoses if d.kind == "benign")
    outcome = _outcome(standing, leads, healthy)
    titles = {d.id: d.title for d in report.diagnoses}
    return ConsultationResult(
        outcome,
        _VERDICTS.get(outcome) or "; ".join(d.title for d in standing if d.kind != "symptom") + ".",
        tuple(_cause(d, titles, program) for d in standing),
        leads,
        healthy,
        report.ruled_out,
        tuple(open_),
        tuple(_packet(d, report) for d in standing if d.packet),
    )


def _outcome(
    standing: Sequence[Diagnosis], leads: Sequence[Diagnosis], healthy: Sequence[Diagnosis]
) -> Outcome:
    if any(d.kind != "symptom" for d in standing):
        return "cause"
    if standing:
        return "symptom"
    if leads:
        return "leads"
    return "healthy" if healthy else "nothing"


def _cause(d: Diagnosis, titles: Mapping[str, str], program: Program) -> StandingProblem:
    how: Sequence[Mapping[str, Any]] = d.explanation["how"]
    return StandingProblem(
        d,
        _CONFIDENCE[d.confidence],
        tuple(dict.fromkeys(step["message"] for step in how if step.get("message"))),
        tuple(f"{e.text}  [{e.source}]" if e.source else e.text for e in d.evidence),
        tuple(titles[name] for name in d.explains),
        tuple(
            AdvisedAction(*(str(a.get(part, "")) for part in AdvisedAction._fields))
            for a in d.actions
        ),
        refutations(d, program),
    )


def _action(plain: Mapping[str, Any]) -> AdvisedAction:
    return AdvisedAction(*(str(plain.get(part, "")) for part in AdvisedAction._fields))


def refutations(d: Diagnosis, program: Program) -> tuple[str, ...]:
    """The conditions under which a rule rules it out; without such a rule, that its own conditions
    fail."""
    found = []
    for number in program.network.concluding.get(goal("diagnosis", _absent(d.id)), ()):
        rule = program.rules[number]
        literals = [x for x in rule.literals if x.mode in ("match", "aggregate")]
        found.append(" and ".join(wording.condition(program, x, rule.guards) for x in literals))
    if not found:
        rests = [p["condition"] for step in d.explanation["how"][:1] for p in step["because"]]
        found = [f"this turns out wrong: {' and '.join(rests)}"] if rests else []
    return tuple(dict.fromkeys(found))


def _absent(name: str) -> dict[str, Any]:
    return {"name": name, "holds": False}


def _packet(d: Diagnosis, report: Report) -> HandoverPacket:
    known = tuple(str(fact) for _, fact, derived in report.facts if not derived)
    return HandoverPacket(d.id, d.packet, known, tuple(item.title for item in report.ruled_out))
