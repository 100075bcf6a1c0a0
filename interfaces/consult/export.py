"""The files that a consultation saves: the facts, a report, the escalation packet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ...engine.diagnosis.dialogue.dialogue import Dialogue
from ...facts import Fact, ModelMedicError, Problem
from ...facts.problems import did_you_mean
from .. import output
from ..reports.formats import FORMATS, format_of
from ..reports.formats.markdown import section
from ..reports.formats.text import report_lines
from ..reports.layout import Line, text_of
from .conclusion import Conclusion, ranked
from .phrasing import fact_text

PACKET = "packet"
REPORT_FORMATS = (*FORMATS, PACKET)
_FACTS_FILE = "facts.json"


def save_facts(words: str, facts: Sequence[Fact]) -> Line:
    """Write a facts file; the default file is not overwritten."""
    path = _target(words or _FACTS_FILE)
    if not words:
        _refuse_existing(path, "save")
    output.emit_facts(facts, path)
    return Line(f"Saved {len(facts)} facts: diagnose --facts {path}", 2)


def report(words: str, dialogue: Dialogue, conclusion: Conclusion) -> list[Line]:
    """Show or write a report. ``words`` is a format, a file, or both; a file alone implies the
    format by its suffix."""
    name, file = _request(words)
    if name == PACKET and not file:
        file = f"{PACKET}.md"
        _refuse_existing(Path(file), "report packet")
    if not file and name == "text":
        return list(report_lines(dialogue.report))
    whole = packet(dialogue, conclusion) if name == PACKET else None
    text = whole or output.report_document(dialogue.report, name)
    if file:
        output.save(text, _target(file))
        return [Line(f"Saved {file}", 2)]
    shown = text if isinstance(text, str) else text.value
    return [Line(line, keep=True) for line in shown.splitlines()]


def packet(dialogue: Dialogue, conclusion: Conclusion) -> str:
    """The escalation packet, in Markdown."""
    return "".join(f"{line}\n" for line in _packet(dialogue, conclusion))


def _packet(dialogue: Dialogue, conclusion: Conclusion) -> Iterator[str]:
    report = dialogue.report
    causes, leads = ranked(report)
    yield "# Escalation packet"
    yield ""
    knowledge = f"{report.knowledge['version']} ({str(report.knowledge['digest'])[:12]})"
    yield f"ModelMedic {report.tool['version']}, knowledge {knowledge}"
    yield from section(
        "Found so far", (f"- {d.title} ({d.confidence}, `{d.id}`)" for d in [*causes, *leads])
    )
    wanted = dict.fromkeys(item for d in report.diagnoses for item in d.packet)
    yield from section("Please add", (f"- [ ] {item}" for item in wanted))
    said = (f"- {conclusion.phrasing.entry(entry)}" for entry in dialogue.entries)
    yield from section("Asked and answered", said)
    yield from section("Ruled out", (f"- {r.title} (`{r.id}`)" for r in report.ruled_out))
    yield from section("Still possible", (f"- {c.title} (`{c.id}`)" for c in report.unknown))
    kinds = dialogue.doctor.base.vocabulary.kinds
    given = (
        fact
        for _, fact, derived in report.facts
        if not derived
        and fact.kind != "answer"
        and fact.get(kinds[fact.kind].polarity) is not False
    )
    yield from section("Facts", (f"- `{fact_text(fact)}`" for fact in given))
    yield ""
    yield "## Conclusion in full"
    yield from text_of(conclusion.lines(dialogue)).splitlines()


def _request(words: str) -> tuple[str, str]:
    """Format and file."""
    first, _, rest = words.partition(" ")
    if first in REPORT_FORMATS:
        return first, rest.strip()
    if words and not Path(first).suffix:
        hint = did_you_mean(first, REPORT_FORMATS) or f"formats: {', '.join(REPORT_FORMATS)}"
        raise ModelMedicError(
            Problem("MM315", f"{first!r} is neither a format nor a file", None, hint)
        )
    return format_of(Path(words).suffix.lower()) or "text", words


def _refuse_existing(path: Path, command: str) -> None:
    if path.exists():
        hint = f"name another file, or `{command} {path}` to replace it"
        raise ModelMedicError(Problem("MM316", f"{path} is there already", None, hint))


def _target(words: str) -> Path:
    return Path(words.strip("'\"")).expanduser()
