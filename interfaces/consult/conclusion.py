"""The conclusion of a consultation: verdict, evidence, what was ruled out, what to do, and what
would refute it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from ...engine.diagnosis import wording
from ...engine.diagnosis.dialogue.dialogue import UNKNOWN, Dialogue
from ...engine.diagnosis.report import Diagnosis, Report
from ..reports.formats.text import action_lines, unexplained_lines
from ..reports.layout import Line, problem_lines, section
from ..reports.unexplained import verdict as unexplained_verdict
from ..reports.view import overlay_lines, severity_style
from .phrasing import Phrasing

_CONFIDENCE = {
    "certain": "certain: a decisive test says so",
    "likely": "likely: strong evidence, though no decisive test",
    "possible": "possible: weak evidence only, do not act on it alone",
}
_MOST_FULL = 2
_MOST_EVIDENCE = 6
_MOST_LISTED = 4
_KEYS = ("F1 help", "F2 why", "F3 candidates", "Tab completes", "Ctrl-C aside")
_GAP = " | "
_LEAST_LEAD = 24


class Conclusion:
    """The conclusion of a dialogue as text."""

    def __init__(self, base: Any, phrasing: Phrasing) -> None:
        self._base = base
        self.phrasing = phrasing

    def lines(self, dialogue: Dialogue) -> Iterator[Line]:
        report = dialogue.report
        causes, leads = ranked(report)
        yield Line()
        yield Line(_verdict(causes, leads, dialogue), style="heading")
        if open_ := not_enough(dialogue):
            yield from self._deciding(dialogue)
            clear = (Line(d.title, 2, mark="- ") for d in causes[:_MOST_LISTED])
            yield from section("What is clear:", clear)
        for place, cause in enumerate(causes if not open_ else ()):
            yield Line()
            yield from self._cause(cause, report, full=place < _MOST_FULL)
        yield from self._leads(leads)
        yield from self._benign(report, alone=not causes and not leads)
        yield from section("Ruled out:", self._ruled_out(report))
        if not open_ and (not causes or all(c.kind == "symptom" for c in causes)):
            yield from self._missing(dialogue)
        yield from unexplained_lines(report.unexplained, report.messages)
        yield from problem_lines(report.errors)
        yield from overlay_lines(report)

    def short(self, dialogue: Dialogue) -> Iterator[Line]:
        """The findings so far, in at most three lines."""
        causes, leads = ranked(dialogue.report)
        for d in [*causes, *leads][:3]:
            yield Line(f"So far: {d.title} ({d.confidence})", style="heading")
        if not causes and not leads and dialogue.facts:
            yield Line("So far nothing is concluded.", style="heading")

    def _cause(self, d: Diagnosis, report: Report, *, full: bool) -> Iterator[Line]:
        yield Line(d.title, mark=f"[{d.severity}] ", style=severity_style(d))
        yield Line(f"{_CONFIDENCE[d.confidence]}  ({d.id})", 2)
        if d.conflicting:
            yield Line("Other evidence contradicts it; `how` shows both.", 2, "warning")
        yield Line(d.summary, 2)
        if d.explains:
            titles = {x.id: x.title for x in report.diagnoses}
            yield Line("; ".join(titles[e] for e in d.explains), 2, mark="It accounts for: ")
        yield from self._evidence(d, report)
        yield from action_lines(d.actions if full else d.actions[:1], d.packet)
        if full and d.kind != "symptom":
            yield from self._refutation(d)

    def _evidence(self, d: Diagnosis, report: Report) -> Iterator[Line]:
        yield Line("Why I think so:", 2, "heading")
        said = list(dict.fromkeys(s["message"] for s in d.explanation["how"] if s.get("message")))
        yield from (Line(message, 4, mark="- ") for message in said[:3])
        facts = {fact_id: fact for fact_id, fact, _ in report.facts}
        known = [(facts[e.fact], _source(e.source)) for e in d.evidence if e.fact in facts]
        known = [(f, source) for f, source in known if f.get("value") != UNKNOWN]
        texts = [(self.phrasing.said(f), source) for f, source in known]
        new = [
            (text, source) for text, source in texts if not any(m.startswith(text) for m in said)
        ]
        lines = list(dict.fromkeys(text + source for text, source in new))
        for text in lines[:_MOST_EVIDENCE]:
            yield Line(text, 6, "dim", mark="* ")
        if len(lines) > _MOST_EVIDENCE:
            yield Line(f"and {len(lines) - _MOST_EVIDENCE} more: how {d.id}", 6, "dim")

    def _refutation(self, d: Diagnosis) -> Iterator[Line]:
        """The conditions of the rules that would rule it out, else those that it rests on."""
        against = list(dict.fromkeys(self._against(d.id)))
        yield Line("What would refute it:", 2, "heading")
        for text in against[:3]:
            yield Line(text, 4, mark="- ")
        if not against:
            rests = [p["condition"] for s in d.explanation["how"][:1] for p in s["because"][:2]]
            shown = " and ".join(self.phrasing.plainly(c) for c in rests)
            yield Line(f"if this turned out wrong: {shown}", 4, mark="- ")

    def _against(self, diagnosis: str) -> Iterator[str]:
        program = self._base.program
        for rule in program.rules:
            if any(
                c.kind == "diagnosis" and dict(c.values) == {"name": diagnosis, "holds": False}
                for c in rule.conclusions
            ):
                parts = [wording.condition(program, lit, rule.guards) for lit in rule.literals]
                yield " and ".join(dict.fromkeys(self.phrasing.plainly(part) for part in parts))

    def _leads(self, leads: Sequence[Diagnosis]) -> Iterator[Line]:
        shown = (Line(f"{d.title}  ({d.id})", 2, mark="- ") for d in leads[:_MOST_LISTED])
        yield from section("Weak leads (do not act on these alone):", shown)

    def _benign(self, report: Report, *, alone: bool) -> Iterator[Line]:
        """Benign findings, or just the next step; in full if there is nothing else."""
        normal = [d for d in report.diagnoses if d.kind == "benign"]
        if normal and not alone:
            yield Line()
            yield Line("Normal:", style="heading")
        for d in normal[:_MOST_LISTED]:
            if alone:
                yield Line()
            yield Line(f"{d.title}  ({d.id})", 2, "heading" if alone else "", mark="- ")
            yield Line(d.summary, 4)
            if alone:
                yield from self._evidence(d, report)
                yield from action_lines(d.actions, d.packet)

    def _ruled_out(self, report: Report) -> Iterator[Line]:
        for item in report.ruled_out[:_MOST_LISTED]:
            said = next((s["message"] for s in item.because if s.get("message")), "")
            yield Line(f"{item.title}  ({item.id})", 2, mark="- ")
            if said:
                yield Line(said, 6, "dim", mark="because: ")
        if len(report.ruled_out) > _MOST_LISTED:
            yield Line(f"and {len(report.ruled_out) - _MOST_LISTED} more in the `report`", 2, "dim")

    def _deciding(self, dialogue: Dialogue) -> Iterator[Line]:
        """The deciding facts, and how to find them out."""
        for number, step in enumerate(dialogue.deciding, 1):
            yield Line(step.text, 2, "heading", mark=f"{number}. ")
            if step.type == "probe":
                yield Line(step.command, 5, "command", mark="$ ", keep=True)
            elif hint := self.phrasing.hint_of(step.id):
                yield Line(hint, 5, "dim", mark="How to tell: ")
        for text in dialogue.undecided[:_MOST_LISTED]:
            yield Line(text, 2, mark="- ")
        possible = [c.title for c in dialogue.possible()]
        if possible:
            more = f" and {len(possible) - 3} more" if len(possible) > 3 else ""
            yield Line("; ".join(possible[:3]) + more, 2, "dim", mark="Still possible: ")

    def _missing(self, dialogue: Dialogue) -> Iterator[Line]:
        """Without a cause: what is still possible, and what would show it."""
        possible = dialogue.possible()
        lines = [Line(f"{c.title}  ({c.id})", 2, mark="- ") for c in possible[:_MOST_LISTED]]
        if len(possible) > _MOST_LISTED:
            lines.append(Line(f"and {len(possible) - _MOST_LISTED} more: candidates", 2, "dim"))
        yield from section("Still possible:", lines)
        probes = [step for step in dialogue.report.next if step.type == "probe"][:3]
        commands = (Line(step.command, 6, "command", mark="$ ", keep=True) for step in probes)
        texts = (Line(step.text, 2, mark="- ") for step in probes)
        yield from section("What would help most:", chain(*zip(texts, commands, strict=True)))


def ranked(report: Report) -> tuple[list[Diagnosis], list[Diagnosis]]:
    """The problems without a cause of their own, and the weak leads."""
    problems = [d for d in report.diagnoses if d.kind != "benign"]
    ids = {d.id for d in problems if d.confidence != "possible"}
    alone = [d for d in problems if not ids & set(d.explained_by)]
    leads = [d for d in alone if d.confidence == "possible"]
    return [d for d in alone if d.confidence != "possible"], leads


def not_enough(dialogue: Dialogue) -> bool:
    """Whether there is nothing more to ask, no cause is found, and something would decide it."""
    if dialogue.next() is not None or not dialogue.facts:
        return False
    found = dialogue.report.diagnoses
    known = any(d.kind != "symptom" and d.confidence != "possible" for d in found)
    return not known and bool(dialogue.deciding)


def _verdict(causes: Sequence[Diagnosis], leads: Sequence[Diagnosis], dialogue: Dialogue) -> str:
    if not dialogue.facts:
        return "Nothing is known, so nothing is concluded."
    if not_enough(dialogue):
        few = "these two things" if len(dialogue.deciding) > 1 else "this"
        return f"Not enough is known; {few} would decide it:"
    if not causes:
        if leads or dialogue.possible():
            return "No cause is proven."
        if left := unexplained_verdict(dialogue.report):
            return left
        benign = any(d.kind == "benign" for d in dialogue.report.diagnoses)
        return "No fault is found. This applies:" if benign else "No problem is found."
    if all(c.kind == "symptom" for c in causes):
        return "The problem is clear, its cause is not proven."
    found = [c for c in causes if c.kind != "symptom"]
    return "Conclusion" if len(found) == 1 else f"Conclusion: {len(found)} causes"


def _source(source: str) -> str:
    return f"  [{source}]" if source and source != "answer" else ""


def status(dialogue: Dialogue, width: int) -> str:
    """The leading candidates, then as many keys as fit."""
    lead = _leading(dialogue)
    keys: list[str] = []
    for key in _KEYS:
        used = len(_GAP.join([*keys, key])) + len(_GAP)
        if used + min(len(lead), max(_LEAST_LEAD, width // 2)) <= width:
            keys.append(key)
    room = width - sum(len(_GAP) + len(key) for key in keys)
    shown = lead if len(lead) <= room else lead[: max(room - 1, 0)] + "…"
    return _GAP.join([shown, *keys])


def news(before: Dialogue, after: Dialogue) -> Iterator[Line]:
    """The changes after an answer."""
    old, new = _state(before.report if before.facts else None), _state(after.report)
    changes = [
        f"{state}: {title}"
        for name, (state, title) in new.items()
        if name not in old or old[name][0] != state
    ]
    changes += [f"no longer: {title}" for name, (_, title) in old.items() if name not in new]
    for text in changes[:_MOST_LISTED]:
        yield Line(text, 2, "good", mark="-> ")
    if len(changes) > _MOST_LISTED:
        yield Line(f"and {len(changes) - _MOST_LISTED} more: candidates", 5, "dim")
    yield from _opened(before, after)


def _opened(before: Dialogue, after: Dialogue) -> Iterator[Line]:
    """Why more is possible than before."""
    earlier = {c.id for c in before.possible()} if before.facts else set()
    now = after.possible()
    more = [c.title for c in now if c.id not in earlier]
    if not before.facts or len(now) <= len(earlier) or not more:
        return
    unknown = after.entries and after.entries[-1].answer == UNKNOWN
    why = "without that answer the search goes on elsewhere and" if unknown else "new evidence"
    yield Line(f"{why} opened {len(more)} more, {len(now)} in all: {more[0]} ...", 2, "dim")


def _leading(dialogue: Dialogue) -> str:
    if not dialogue.facts:
        return "nothing known yet"
    report = dialogue.report
    causes, leads = ranked(report)
    benign = [d for d in report.diagnoses if d.kind == "benign"]
    first = [f"{d.confidence}: {d.title}" for d in [*causes, *leads, *benign][:1]]
    open_ = [c.title for c in dialogue.possible()]
    count = [f"{len(open_)} possible"] if open_ else []
    if not first and open_:
        count = [f"{len(open_)} possible: {open_[0]}, ..."]
    return "; ".join([*first, *count]) or "nothing concluded yet"


def _state(report: Report | None) -> dict[str, tuple[str, str]]:
    """The state of each diagnosis in the report."""
    if report is None:
        return {}
    found = {r.id: ("ruled out", r.title) for r in report.ruled_out}
    return found | {d.id: (d.confidence, d.title) for d in report.diagnoses}
