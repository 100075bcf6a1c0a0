"""The view of a report: sorted and worded once for all formats, which only render it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ...engine.diagnosis.report import Candidate, Diagnosis, Message, NextStep, Report
from ...facts import Fact
from ...facts.problems import UNREAD_FIGURES
from ...facts.records import NamedTuple
from .layout import Line, counted, section
from .safe_text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .port import Port

MAX_PREMISE_FACTS = 4
MAX_QUOTES = 3
NEXT = "Next: "
"""With this begin the titles of findings that say what comes next."""
NO_FACTS = "Give it something to read, `diagnose inspect FOLDER`, or answer questions: `diagnose`."
RETRY = {
    "never": "Retrying does not help.",
    "sdk-does-it": "The client retries by itself; do not add retries of your own.",
    "safe-once": "Retrying once is safe.",
    "after-backoff": "Retry after a pause that grows.",
}
RISKS = {"none": "no risk", "rerun": "costs a rerun", "data-loss": "can lose data"}
_ENVIRONMENT = ("python", "platform", "package", "env_var", "environment", "machine_difference")

_ABOUT = ("text_subject", "unread_figures")
"""Kinds that say what a text is about."""
_NOT_MEASURED = (*_ABOUT, *_ENVIRONMENT)


class MessageGroup(NamedTuple):
    """Messages of one meaning (``meaning`` has no text), and their different texts."""

    meaning: Message
    texts: tuple[str, ...]

    @property
    def quotes(self) -> tuple[str, ...]:
        return self.texts[:MAX_QUOTES]

    @property
    def more(self) -> tuple[str, ...]:
        return self.texts[MAX_QUOTES:]


class ReportView(NamedTuple):
    """The parts of a report.

    ``causes`` and ``leads`` (weak evidence only) stand by themselves, ``explained`` have a cause;
    ``orphans`` are those of them whose cause is not shown. ``facts`` and ``sources`` are texts by
    the name of the fact.
    """

    report: Report
    verdict: str
    causes: Sequence[Diagnosis]
    leads: Sequence[Diagnosis]
    explained: Sequence[Diagnosis]
    orphans: Sequence[Diagnosis]
    accepted: Sequence[Diagnosis]
    fine: Sequence[Diagnosis]
    port: Port | None
    titles: Mapping[str, str]
    facts: Mapping[str, str]
    sources: Mapping[str, str]

    @property
    def cited(self) -> dict[str, str]:
        """Each fact with its source, on one line."""
        return {
            name: f"{text}  [{one_line(self.sources[name])}]" if self.sources[name] else text
            for name, text in self.facts.items()
        }

    @property
    def messages(self) -> tuple[MessageGroup, ...]:
        """The error messages, each meaning once."""
        return by_meaning(self.report.messages)

    @property
    def open(self) -> list[tuple[Candidate, NextStep | None]]:
        """Partly supported diagnoses, each with the cheapest planned step that concerns it."""
        return [(c, self._cheapest(c)) for c in self.report.unknown]

    def _cheapest(self, candidate: Candidate) -> NextStep | None:
        fitting = [step for step in self.report.next if candidate.id in step.separates]
        return min(fitting, key=lambda step: step.seconds, default=None)

    @property
    def environment(self) -> tuple[tuple[str, Fact], ...]:
        """Versions, platform and settings that were given."""
        given = self.report.facts
        return tuple((i, f) for i, f, derived in given if f.kind in _ENVIRONMENT and not derived)

    @property
    def used(self) -> frozenset[str]:
        """The facts on which anything in the report rests."""
        derivations = [d.explanation["how"] for d in self.report.diagnoses]
        derivations += [item.because for item in self.report.ruled_out]
        return frozenset(f for how in derivations for s in how for f in leaves(s, self.facts))


def view_of(report: Report) -> ReportView:
    """The report in parts."""
    causes: list[Diagnosis] = []
    leads: list[Diagnosis] = []
    explained: list[Diagnosis] = []
    accepted: list[Diagnosis] = []
    fine: list[Diagnosis] = []
    for d in report.diagnoses:
        if d.kind == "benign":
            fine.append(d)
        elif d.accepted:
            accepted.append(d)
        elif d.explained_by:
            explained.append(d)
        else:
            (leads if d.confidence == "possible" else causes).append(d)
    facts: dict[str, str] = {}
    sources: dict[str, str] = {}
    port = None
    for name, fact, _ in report.facts:
        facts[name], sources[name] = str(fact), source_of(fact)
        if fact.kind == "stage_result" and port is None:
            from .port import port_of

            port = port_of(report)
    return ReportView(
        report,
        _verdict(report, len(causes), len(leads), len(accepted), port, fine),
        causes,
        leads,
        explained,
        _orphans(causes, explained),
        accepted,
        fine,
        port,
        {d.id: d.title for d in report.diagnoses},
        facts,
        sources,
    )


def _left(report: Report) -> str:
    from .unexplained import verdict

    return verdict(report)


def _verdict(
    report: Report,
    causes: int,
    leads: int,
    accepted: int,
    port: Port | None,
    fine: Sequence[Diagnosis],
) -> str:
    """The result in one sentence."""
    if not report.facts:
        return "No facts, so nothing to say."
    left = _left(report) if report.unexplained else ""
    besides = f" {accepted} accepted." * bool(accepted) + f" {left}" * bool(left)
    if causes == 0:
        where = " in what could be read" if report.errors else ""
        if leads:
            return f"No cause is proven{where}; {counted(leads, 'lead')}.{besides}"
        if left and not where:
            return besides.strip()
        failed = [str(row.stage) for row in port.rows if row.alarming] if port else []
        if failed:
            stages = f"Stage {failed[0]}" if len(failed) == 1 else f"Stages {', '.join(failed)}"
            named = any(d.actions and not d.title.startswith(NEXT) for d in fine)
            why = (
                "nothing known so far points to a fault in the port"
                if named
                else "nothing says why yet"
            )
            return f"{stages} failed; {why}.{besides}"
        if any(note.code == UNREAD_FIGURES for note in report.notes):
            return f"Not judged: some figures were not understood.{besides}"
        if not (accepted or where) and _is_undecided(report):
            return f"Not judged: no check decides on what the text states.{besides}"
        return f"No {'other ' * bool(accepted)}problem found{where}.{besides}"
    more = f", and {counted(leads, 'lead')}" if leads else ""
    order = ", most important first" if causes > 1 else ""
    return f"{counted(causes, 'problem')} found{order}{more}.{besides}"


def _is_undecided(report: Report) -> bool:
    """Whether all that is known beside versions and the machine are statements in a text, and
    nothing follows from them: neither a finding nor that one is ruled out. That something is sound
    has to follow from something that was measured."""
    given = {name: fact for name, fact, derived in report.facts if not derived}
    measured = {name: "" for name, fact in given.items() if fact.kind not in _NOT_MEASURED}
    stated = [name for name, fact in given.items() if _is_stated(fact)]
    is_decided = (leaves(step, measured) for out in report.ruled_out for step in out.because)
    return (
        bool(stated)
        and measured.keys() <= set(stated)
        and not (report.diagnoses or any(is_decided))
    )


def _is_stated(fact: Fact) -> bool:
    return any(p.source == "probe:statements" for p in fact.provenance)


def _orphans(causes: Sequence[Diagnosis], explained: Sequence[Diagnosis]) -> list[Diagnosis]:
    """The explained diagnoses to which no chain of explanations leads from a cause."""
    reached = {d.id for d in causes}
    rest = list(explained)
    while found := {d.id for d in rest if reached.intersection(d.explained_by)}:
        reached |= found
        rest = [d for d in rest if d.id not in found]
    return rest


def by_meaning(messages: Iterable[Message]) -> tuple[MessageGroup, ...]:
    """Messages grouped by meaning, in order of first appearance: logs repeat themselves."""
    groups: dict[Message, dict[str, None]] = {}
    first: dict[Message, Message] = {}
    for message in messages:
        key = message._replace(text="", decides=None)
        first.setdefault(key, message._replace(text=""))
        groups.setdefault(key, {})[message.text] = None
    return tuple(
        MessageGroup(first[key], tuple(filter(None, texts))) for key, texts in groups.items()
    )


def premise_facts(premise: Mapping[str, Any], known: Mapping[str, str]) -> tuple[list[str], int]:
    """The facts to show below a premise, and the number of those left out. A derived premise has
    none: its own derivation follows."""
    facts = [] if premise.get("how") else [f for f in premise["facts"] if f in known]
    return facts[:MAX_PREMISE_FACTS], max(0, len(facts) - MAX_PREMISE_FACTS)


def leaves(step: Mapping[str, Any], known: Mapping[str, str]) -> list[str]:
    """The facts at the bottom of a derivation, each once."""
    found: dict[str, None] = {}
    for premise in step["because"]:
        for inner in premise.get("how", ()):
            found.update(dict.fromkeys(leaves(inner, known)))
        if not premise.get("how"):
            found.update(dict.fromkeys(fact for fact in premise["facts"] if fact in known))
    return list(found)


def source_of(fact: Fact) -> str:
    """The origin of a fact."""
    return "; ".join(dict.fromkeys(p.location or p.source for p in fact.provenance if any(p[:2])))


def action_note(action: Mapping[str, str]) -> str:
    """Effort and risk of an action."""
    notes = (action.get("effort", ""), RISKS.get(action.get("risk", ""), ""))
    return ", ".join(filter(None, notes))


def accepted_text(d: Diagnosis) -> str:
    """Why a diagnosis is accepted, until when, and by whom."""
    if d.accepted is None:
        return ""
    if not d.accepted.until:
        return f"{d.accepted.reason} (in the code)"
    owner = f", {d.accepted.owner}" if d.accepted.owner else ""
    return f"{d.accepted.reason} (until {d.accepted.until}{owner})"


def redaction_note(counts: Mapping[str, int]) -> str:
    """How many secrets of each kind were hidden."""
    words = {"API_KEY": "API key", "HOME": "home folder", "EMAIL": "e-mail address"}
    parts = (
        f"{count} {words.get(kind, kind.lower().replace('_', ' '))}{'s' if count > 1 else ''}"
        for kind, count in counts.items()
    )
    return f"Hidden: {', '.join(parts)}."


def provenance_rows(report: Report) -> Iterator[tuple[str, str]]:
    """Provenance of the report itself: tool, knowledge, and the overlays that took part."""
    yield "Tool", f"{report.tool['name']} {report.tool['version']}"
    yield "Knowledge", f"version {report.knowledge['version']}"
    yield "Knowledge digest", str(report.knowledge["digest"])
    yield "Overlays", "; ".join(overlay_texts(report)) or "none"


def overlay_texts(report: Report) -> list[str]:
    """The changes that each overlay made to the knowledge."""
    overlays = report.knowledge.get("overlays") or ()
    texts = [f"{_name(o)}: {'; '.join(_effects(o)) or 'changes nothing'}" for o in overlays]
    return [*texts, *filter(None, [effect_text(report)])]


def _name(overlay: Mapping[str, Any]) -> str:
    name = " ".join(filter(None, (overlay.get("name"), overlay.get("version"))))
    place = f"{overlay['path']}, {overlay['digest'][:12]}"
    return f"{name} ({place})" if name else place


def _effects(overlay: Mapping[str, Any]) -> Iterator[str]:
    if count := overlay["added"]:
        yield f"adds {count} {'entry' if count == 1 else 'entries'}"
    for item in overlay["replaced"]:
        yield f"replaces {item['id']}" + (f" by {item['by']}" if item["by"] != item["id"] else "")
    for item in overlay.get("changed", ()):
        if item["how"] != "replaces":
            yield f"{_CHANGES[item['how']]} {item['id']} by {item['by']}{_until(item)}"
        else:
            yield f"which counts{_until(item)}"
    for item in overlay["tightened"]:
        yield f"tightens {item['id']}{_until(item)}"
    for item in overlay["silenced"]:
        yield f"silences {item['id']}{_until(item)}"
    for item in overlay["expired"]:
        how = _CHANGES[item.get("how", "silences")]
        yield f"no longer {how} {item['id']}, which ended on {item['until']}"
    for item in overlay.get("withheld", ()):
        yield f"is not trusted to change {item['id']} ({_CHANGES[item.get('how', 'silences')]} it)"


_CHANGES = {
    "silences": "silences",
    "tightens": "tightens",
    "replaces": "replaces",
    "rules_out": "rules out",
    "explains": "explains",
    "refines": "refines",
}


def _until(change: Mapping[str, Any]) -> str:
    """The last day and the reason of a change; those of older reports may lack the day."""
    day = f" until {change['until']}" if "until" in change else ""
    return f"{day} ({change['reason']})"


def effect_text(report: Report) -> str:
    """The effect of overlays on the findings and the exit code; empty without any."""
    effect = report.knowledge.get("effect")
    if not effect:
        return ""
    said = [
        f"{d['title']} ({d['id']}, {d['severity']}, {d['confidence']})" for d in effect["without"]
    ]
    more = [f"{d['id']} only with them" for d in effect["only_with"]]
    codes = effect.get("exit_code"), effect.get("exit_code_without")
    exits = f"exit {codes[1]} instead of {codes[0]}" if codes[0] != codes[1] else ""
    parts = filter(None, (exits, "; ".join(said), "; ".join(more)))
    return f"Without these changes: {': '.join(parts) or 'the same findings'}."


def changes_exit(report: Report) -> bool:
    """Whether the changes of overlays make the exit code another one."""
    effect = report.knowledge.get("effect") or {}
    return effect.get("exit_code") != effect.get("exit_code_without")


def severity_style(d: Diagnosis) -> str:
    """The style of a title."""
    return "error" if d.severity in ("error", "blocker") else "warning"


def overlay_lines(report: Report) -> Iterator[Line]:
    """The knowledge that was added, and what it did."""
    if not report.knowledge.get("overlays"):
        return
    effect = effect_text(report)
    texts = (
        Line(one_line(text), 2, mark="- ", style="warning")
        if text == effect and changes_exit(report)
        else Line(one_line(text), 2, mark="- ")
        for text in overlay_texts(report)
    )
    yield from section("Knowledge that was laid over the shipped one:", texts)
