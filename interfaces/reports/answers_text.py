"""Answers other than a report, as text and as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...engine.compiler.knowledge_base import KnowledgeBase
from ...engine.diagnosis.comparison import Comparison, ProblemChange, ReportedProblem
from ...engine.diagnosis.replay import ReplayDifference
from ...engine.diagnosis.report import SEVERITIES, Diagnosis, Report, Unexplained
from ...facts import ModelMedicError, Problem, Vocabulary
from ...facts.problems import did_you_mean, excerpt
from ...facts.records import lazy
from .formats.text import action_lines, how_lines, message_lines, next_lines, unexplained_lines
from .layout import Line, problem_lines, section
from .unexplained import OWN, foreign
from .verdict.repairs import first_action
from .view import overlay_lines, severity_style

DIFF, REPLAY = "modelmedic/diff/1", "modelmedic/replay/1"
_CALLED = lazy(
    r"(?i)\b(?:[45]\d\d|for url|retries|connect\w*|timed? ?out|resolve|denied|refused)\b"
)
"""Words of a call that an address is of."""
_NOTICES = "What follows is about notices in the text, not about this."
_HEADINGS = {
    "new": ("New:", "error"),
    "lost_visibility": ("Out of sight, not fixed (the evidence is missing now):", "warning"),
    "changed_by_knowledge": ("Changed by other knowledge, not by the run:", "warning"),
    "persisting": ("Still there:", ""),
    "fixed": ("Fixed:", "good"),
}


def decode_lines(report: Report) -> Iterator[Line]:
    """The meaning of the messages, the causes with their fixes, and the facts that distinguish
    them."""
    total = sum(1 for _, fact, _ in report.facts if fact.kind == "error_message")
    unexplained = [_of_sure_owner(each, report) for each in report.unexplained]
    strangers = [e.owner_title for e in unexplained if foreign(e)]
    if strangers and not report.messages:
        whose = " and ".join(dict.fromkeys(strangers))
        yield Line(f"This comes from {whose}, not from Tinker or Neuron.", style="heading")
    elif report.facts:
        yield from message_lines(report.messages, total)
    left = [u for u in unexplained if not u.row]
    notices = bool(left and report.diagnoses) and all(map(_is_notice, report.diagnoses))
    if notices:  # the error comes before what is said of other lines
        yield from (*unexplained_lines(left, ()), Line(_NOTICES, 2), Line())
    for number, d in enumerate(report.diagnoses):
        if number:
            yield Line()
        yield Line(f"{d.headline}  ({d.confidence}, {d.severity})", style=severity_style(d))
        yield Line(d.id, 2, "dim")
        if not d.meaning:  # it is shown above
            yield Line(d.summary, 2)
            yield from (Line(text, 2) for text, repair in d.reasons[:1] if text or repair)
        told = {message.fix for message in report.messages}
        wanted = [a for a in d.actions if a["do"] not in told]
        yield from action_lines([*(_repair(d) or wanted[:1]), *wanted[1:]], d.packet)
    if len(report.diagnoses) > 1:
        yield from next_lines([s for s in report.next if s.type == "probe" or s.choices][:4])
    if not notices:
        yield from unexplained_lines(left, ())
    yield from problem_lines(report.errors)
    yield from overlay_lines(report)


def _is_notice(d: Diagnosis) -> bool:
    """Whether a finding is about a line that is not a failure: harmless, or a warning for certain.
    A finding that is only possible counts as a warning, whatever its severity."""
    return d.kind == "benign" or (d.severity in ("info", "warning") and d.confidence != "possible")


def _of_sure_owner(error: Unexplained, report: Report) -> Unexplained:
    """The error, without an owner that is not a lead: another's if the text is about Neuron, or one
    known only by an address in the message."""
    elsewhere = foreign(error) and any(
        fact.kind == "text_subject" and str(fact.get("owner")).startswith(OWN)
        for _, fact, _ in report.facts
    )
    mentioned = error.owner_evidence.startswith("the address") and not _CALLED.search(error.text)
    return error._replace(owner="", owner_next="") if elsewhere or mentioned else error


def _repair(d: Diagnosis) -> Sequence[Mapping[str, Any]]:
    """The first action, if the first rule behind a finding has a repair for these facts."""
    if d.meaning:
        return ()
    return [a for _, repair in d.reasons[:1] if repair for a in first_action(d, repair, "")]


def why_not_lines(plain: Mapping[str, Any], facts: Mapping[str, str]) -> Iterator[Line]:
    """The reasons why a diagnosis is absent."""
    name = plain["id"]
    if plain["concluded"]:
        yield Line(f"{plain['title']} ({name}) is concluded from these facts.", style="heading")
    else:
        yield Line(f"{plain['title']} ({name}) is not concluded.", style="heading")
    if plain["ruled_out"]:
        yield Line("It is ruled out:", 0, "heading")
        yield from how_lines(plain["ruled_out"], facts, 2)
    for number, way in enumerate(plain["ways"], 1):
        yield Line()
        yield Line(f"by {way['rule']}", mark=f"{number}. ", style="heading")
        for held in way["holds"]:
            yield Line(held, 4, "good", mark="holds: ")
        for gap in way["missing"]:
            yield Line(gap["condition"], 4, "warning", mark="not known: ")
            yield from (Line(need, 8, "dim", mark="needs: ") for need in gap.get("needs", ())[:4])
        for gap in way["contradicted"]:
            yield Line(gap["condition"], 4, "error", mark="contradicted: ")
            for fact in gap.get("facts", ())[:3]:
                yield Line(facts.get(fact, ""), 8, "dim", mark=f"{fact}: ")
    if not plain["ways"] and not plain["concluded"]:
        yield Line("No rule concludes it.")


def what_if_lines(plain: Mapping[str, Any], base: KnowledgeBase) -> Iterator[Line]:
    """The changes that other facts would make."""
    words = (("gained", "New:"), ("lost", "Gone:"), ("newly_ruled_out", "Newly ruled out:"))
    changed = False
    for part, heading in words:
        if plain[part]:
            changed = True
            yield Line(heading, style="heading")
            for name in plain[part]:
                yield Line(f"{base.summary(name).title}  ({name})", 2, mark="- ")
    for name, (before, after) in plain["confidence"].items():
        changed = True
        yield Line(f"{base.summary(name).title}: {before} -> {after}  ({name})")
    if not changed:
        yield Line("Nothing would change.")
    if plain["unchanged"]:
        yield Line(f"Unchanged: {', '.join(plain['unchanged'])}", style="dim")


def entry_plain(base: KnowledgeBase, entry: str) -> dict[str, Any]:
    """The catalogue's data on an entry."""
    plain = {"id": entry, **base.catalogue["entries"].get(entry, {})}
    plain |= base.catalogue["diagnoses"].get(entry, {})
    rules: dict[str, set[str]] = {"concluded_by": set(), "ruled_out_by": set()}
    for rule in base.program.rules:
        for conclusion in rule.conclusions:
            if conclusion.kind == "diagnosis" and dict(conclusion.values).get("name") == entry:
                rules["concluded_by" if conclusion.strength else "ruled_out_by"].add(rule.entry)
    return plain | {part: sorted(names) for part, names in rules.items() if names}


def explain_lines(plain: Mapping[str, Any]) -> Iterator[Line]:
    """An entry for people."""
    yield Line(plain["title"], style="heading")
    facts = [plain.get("form", ""), plain.get("severity", ""), plain.get("status", "")]
    yield Line(f"{plain['id']}  ({', '.join(filter(None, facts))})", style="dim")
    for part in ("summary", "meaning", "details", "note"):
        if plain.get(part):
            yield Line()
            yield Line(plain[part].strip())
    if plain.get("fix"):
        yield Line(plain["fix"], mark="Fix: ")
    if plain.get("explains"):
        yield Line(", ".join(plain["explains"]), mark="Accounts for: ")
    yield from action_lines(plain.get("actions", ()), plain.get("packet", ()))
    for part, heading in (("concluded_by", "Concluded by:"), ("ruled_out_by", "Ruled out by:")):
        if plain.get(part):
            yield Line(heading, 2, "heading")
            yield from (Line(rule, 4, mark="- ") for rule in plain[part])
    for conflict in plain.get("conflicts", ()):
        yield Line(
            f"{' / '.join(conflict['between'])}: {conflict['resolution']} ({conflict['reason']})",
            2,
            mark="Sources disagree: ",
        )
    for source in plain.get("sources", ()):
        section = f", {source['section']}" if source.get("section") else ""
        note = f": {source['note']}" if source.get("note") else ""
        yield Line(f"{source['ref']}{section}{note}", 2, "dim", mark="Source: ")


def kinds_lines(vocabulary: Vocabulary) -> Iterator[Line]:
    """All fact kinds."""
    for kind in sorted(vocabulary.kinds.values(), key=lambda k: k.name):
        if not kind.derived:
            yield Line(f"{kind.name}: {kind.description}", mark="- ")


def kind_lines(vocabulary: Vocabulary, name: str) -> Iterator[Line]:
    """One fact kind with its attributes."""
    kind = vocabulary.kinds.get(name)
    if kind is None:
        hint = did_you_mean(name, vocabulary.kinds) or "`diagnose facts` lists the kinds"
        raise ModelMedicError(Problem("MM112", f"unknown fact kind {excerpt(name)}", None, hint))
    yield Line(f"{kind.name}: {kind.description}", style="heading")
    for attribute in kind.attributes.values():
        notes = [attribute.type + (f" in {attribute.unit}" if attribute.unit else "")]
        notes += ["required"] if attribute.required else []
        notes += ["key"] if attribute.name in kind.key else []
        yield Line(f"{attribute.name} ({', '.join(notes)}): {attribute.description}", 2, mark="- ")
        for value, meaning in (attribute.values or {}).items():
            yield Line(f"{value}: {meaning}" if meaning else value, 6, "dim", mark="= ")
    if kind.probes:
        yield Line(", ".join(kind.probes), 2, mark="Gathered by: ")


def comparison_plain(found: Comparison, sides: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON form; ``sides`` names the reports compared and the knowledge used."""
    lists = {part: [_change(c) for c in getattr(found, part)] for part in Comparison._fields}
    return {"schema": DIFF, **sides, **lists}


def comparison_lines(found: Comparison, sides: Mapping[str, Any]) -> Iterator[Line]:
    """The changes, the worst first."""
    counts = ", ".join(
        f"{len(getattr(found, part))} {part.replace('_', ' ')}" for part in Comparison._fields
    )
    yield Line(f"{counts}.", style="heading")
    if sides["before"]["digest"] != sides["after"]["digest"]:
        yield Line(
            "The two were made with different knowledge; both are derived again with this one "
            f"({sides['knowledge'][:12]}).",
            style="dim",
        )
    for part, (heading, style) in _HEADINGS.items():
        changes: Sequence[ProblemChange] = getattr(found, part)
        lines = (line for change in changes for line in _change_lines(change, style))
        yield from section(heading, lines)


def worst_change(found: Comparison) -> str | None:
    """The highest severity of the findings that are new or out of sight, and not accepted."""
    news = [c.after for c in found.new] + [c.before for c in found.lost_visibility]
    severities = [f.severity for f in news if f is not None and not f.accepted]
    return max(severities, key=SEVERITIES.index, default=None)


def replay_plain(path: str, found: Sequence[ReplayDifference]) -> dict[str, Any]:
    """The JSON form of a replay."""
    return {
        "schema": REPLAY,
        "report": path,
        "holds": not any(d.counts for d in found),
        "differences": [d._asdict() for d in found],
    }


def replay_lines(plain: Mapping[str, Any]) -> Iterator[Line]:
    """Whether a report holds, and what differs."""
    found: Iterable[Mapping[str, Any]] = plain["differences"]
    if plain["holds"]:
        yield Line("The report holds: its own facts lead to the same conclusions.", style="good")
    else:
        yield Line("The report does not hold: its own facts lead elsewhere.", style="error")
    yield from section("What differs:", _differences(found, counts=True))
    yield from section("Differs, but for no conclusion:", _differences(found, counts=False))


def _differences(found: Iterable[Mapping[str, Any]], *, counts: bool) -> Iterator[Line]:
    for d in found:
        if d["counts"] == counts:
            text = f"{d['was'] or 'nothing'} in the report, {d['now'] or 'nothing'} now"
            yield Line(text, 2, mark=f"- {d['part']} {d['id']}: ")


def _change(change: ProblemChange) -> dict[str, Any]:
    known = change.after or change.before
    plain: dict[str, Any] = {"id": change.id, "title": known.title if known else ""}
    plain |= {"before": _found(change.before), "after": _found(change.after)}
    return plain | ({"because": change.because} if change.because else {})


def _found(found: ReportedProblem | None) -> dict[str, Any] | None:
    if found is None:
        return None
    plain: dict[str, Any] = {"severity": found.severity, "confidence": found.confidence}
    return plain | ({"accepted": True} if found.accepted else {})


def _change_lines(change: ProblemChange, style: str) -> Iterator[Line]:
    found = change.after or change.before
    if found is None:
        return
    moved = ""
    if change.before and change.after:
        before, after = change.before, change.after
        pairs = ((before.severity, after.severity), (before.confidence, after.confidence))
        moved = "".join(f", {a} -> {b}" for a, b in pairs if a != b)
    accepted = ", accepted" if found.accepted else ""
    text = f"{found.title}  ({change.id}{moved}{accepted})"
    yield Line(text, 2, style, mark=f"[{found.severity}] ")
    if change.because:
        yield Line(change.because, 4, "dim")
