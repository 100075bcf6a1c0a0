"""The escalation packet: one zip with all that somebody else needs to take over.

It is redacted as a whole: what is a secret in one part is hidden in all of them.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import starmap
from pathlib import Path
from typing import Any, NamedTuple

from ...engine.diagnosis.diagnoser import Diagnoser
from ...engine.diagnosis.report import Candidate, NextStep, Report
from ...facts import Fact, ModelMedicError, Problem
from ...facts.fact import canonical
from ...facts.problems import INTERRUPTED
from ...facts.redaction import Redacted
from ..inspection import gather
from ..intake import Intake
from ..output import json_text
from ..reports.formats import Document, render
from ..reports.formats.markdown import code, escaped, section
from ..reports.layout import Line
from ..reports.output_guard import redacted
from ..reports.recorded import is_report, read_recorded
from ..reports.view import redaction_note, view_of

SCHEMA = "modelmedic/packet/1"
_NEVER = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip can hold
_RW_R_R = 0o100644 << 16
_UNIX = 3


class GatherStep(NamedTuple):
    """How to gather something: a probe with its command, or a question to be answered."""

    type: str
    id: str
    text: str
    command: str = ""


class PacketItem(NamedTuple):
    """One thing to hand over, for these diagnoses. ``found`` names the facts that hold it, ``ways``
    what would gather it; with neither it has to be added by hand."""

    item: str
    diagnoses: tuple[str, ...]
    found: tuple[str, ...] = ()
    ways: tuple[GatherStep, ...] = ()

    def plain(self) -> dict[str, Any]:
        return self._asdict() | {"ways": [way._asdict() for way in self.ways]}


class Packet(NamedTuple):
    """The archive, and what to tell the user about it."""

    archive: bytes
    needs: tuple[PacketItem, ...]
    files: tuple[str, ...]


class _Contents(NamedTuple):
    document: Document
    facts: tuple[Fact, ...]
    needs: tuple[PacketItem, ...]


def packet(inputs: Sequence[Path], doctor: Diagnoser) -> Redacted[Packet]:
    """The packet for reports, facts files and artefacts. Raises :class:`ModelMedicError` if none of
    them can be read."""
    facts, problems, read = _gathered(inputs, doctor)
    if problems and not facts:
        raise ModelMedicError(problems)
    report = doctor.diagnose(facts, problems)
    document = Document(report, tuple(read), detail="all")
    whole = redacted(_Contents(document, canonical(facts), packet_items(report, doctor)))
    files = _files(whole)
    return whole.map(lambda c: Packet(_zipped(files), c.needs, tuple(sorted(files))))


def summary_lines(made: Packet, target: Path) -> Iterator[Line]:
    """The files written, and the evidence that is still missing."""
    yield Line(f"{target}: {', '.join(made.files)}", style="heading")
    missing = [need for need in made.needs if not need.found]
    if missing:
        yield Line("Still missing:", style="warning")
    for need in missing:
        yield Line(need.item, 2, mark="- ")
        yield from (Line(w.command or w.text, 4, "command", keep=True) for w in need.ways[:2])


def _gathered(
    inputs: Sequence[Path], doctor: Diagnoser
) -> tuple[list[Fact], list[Problem], list[tuple[str, str, int]]]:
    reports = [path for path in inputs if is_report(path)]
    others = [path for path in inputs if path not in reports]
    facts, problems, read = (
        gather(others, doctor.base.vocabulary, intake=Intake(doctor)) if others else ([], [], [])
    )
    if any(problem.code == INTERRUPTED for problem in problems):
        raise KeyboardInterrupt  # a packet is whole, or it is not made
    for path in reports:
        recorded = read_recorded(path, doctor)
        facts.extend(recorded.facts)
        read.append((str(path), "report", len(recorded.facts)))
    return facts, problems, read


def _files(whole: Redacted[_Contents]) -> dict[str, str]:
    """Names and texts."""
    document = whole.map(lambda c: c.document)
    plain = [fact.plain() for fact in whole.value.facts]
    files = {
        "README.md": "".join(f"{line}\n" for line in _readme(whole)),
        "facts.json": json_text({"schema": "modelmedic/facts/1", "facts": plain}),
        **{f"report.{end}": render(document, name).value for name, end in _FORMATS},
    }
    return files | {"manifest.json": json_text(_manifest(whole, files))}


_FORMATS = (("json", "json"), ("html", "html"), ("markdown", "md"))


def _manifest(whole: Redacted[_Contents], files: Mapping[str, str]) -> dict[str, Any]:
    report = whole.value.document.report
    return {
        "schema": SCHEMA,
        "tool": dict(report.tool),
        "knowledge": dict(report.knowledge),
        "redacted": dict(whole.counts),
        "needs": [need.plain() for need in whole.value.needs],
        "open": [
            candidate._asdict() | {"ways": [way._asdict() for way in _ways(step)]}
            for candidate, step in view_of(report).open
        ],
        "files": {
            name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            for name, text in sorted(files.items())
            for data in [text.encode()]
        },
    }


def _ways(cheapest: NextStep | None) -> list[GatherStep]:
    """How to settle an open diagnosis most cheaply, if that is known."""
    return [GatherStep(*cheapest[:4])] if cheapest else []


def _zipped(files: Mapping[str, str]) -> bytes:
    """Equal contents give equal bytes: no times, one order, one set of permissions."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, text in sorted(files.items()):
            entry = zipfile.ZipInfo(name, _NEVER)
            entry.create_system, entry.external_attr = _UNIX, _RW_R_R
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, text.encode(), compresslevel=9)
    return stream.getvalue()


def _readme(whole: Redacted[_Contents]) -> Iterator[str]:
    """The first page: what is found, what the team needs, what is missing."""
    report = whole.value.document.report
    view = view_of(report)
    yield f"# Escalation packet: {escaped(view.verdict)}"
    yield ""
    yield f"Made by {escaped(report.tool['name'])} {code(report.tool['version'])}, knowledge " + (
        code(str(report.knowledge["digest"])[:12])
    )
    yield from section("Found", (
        f"- {escaped(d.headline)} ({d.severity}, {d.confidence}, {code(d.id)})"
        for d in (*view.causes, *view.explained, *view.leads)
    ))  # fmt: skip
    yield from _needs(whole.value.needs)
    yield from section("Versions and machine", ("- " + code(str(f)) for _, f in view.environment))
    yield from section("What the messages say", (
        f"- {code(m.text)}: {escaped(m.title)}. {escaped(m.meaning)}" for m in report.messages
    ))  # fmt: skip
    yield from section("Not explained", (f"- {code(u.text)}" for u in report.unexplained))
    yield from section(
        "Ruled out", (f"- {escaped(r.title)} ({code(r.id)})" for r in report.ruled_out)
    )
    yield from section("Still open", starmap(_open, view.open))
    yield from ("", "## In this archive", "")
    yield "- `report.html`, `report.md`, `report.json`: the whole report"
    yield "- `facts.json`: what it rests on; `diagnose --facts facts.json` derives it again"
    yield "- `manifest.json`: checksums, and this page for programs"
    if whole.counts:
        yield from ("", escaped(redaction_note(whole.counts)))


def _needs(wanted: Sequence[PacketItem]) -> Iterator[str]:
    yield from ("", "## What the support team needs", "")
    if not wanted:
        yield "No diagnosis asks for more than is in this archive."
    for need in wanted:
        if need.found:
            shown = ", ".join(code(fact) for fact in need.found[:8])
            yield f"- [x] {escaped(need.item)}: facts {shown}"
            continue
        yield f"- [ ] {escaped(need.item)}" + ("" if need.ways else ": to be added by hand")
        yield from (f"  - {_way(way)}" for way in need.ways)


def _open(candidate: Candidate, cheapest: NextStep | None) -> str:
    missing = ", ".join(code(text) for text in candidate.missing)
    way = "".join(f"; {_way(way)}" for way in _ways(cheapest))
    return f"- {escaped(candidate.title)} ({code(candidate.id)}): not known: {missing}{way}"


def _way(way: GatherStep) -> str:
    if way.type == "question":
        return f"to answer: {escaped(way.text)}"
    return f"{escaped(way.text)}: {code(way.command)}" if way.command else escaped(way.text)


def packet_items(report: Report, doctor: Diagnoser) -> tuple[PacketItem, ...]:
    """The needs of the diagnoses of a report, each once, in order of importance."""
    wanted: dict[str, list[str]] = {}
    places: dict[str, list[Any]] = {}
    for d in report.diagnoses:
        known: Mapping[str, list[Any]] = doctor.base.diagnosis(d.id).get("packet_found_in", {})
        for item in d.packet:
            wanted.setdefault(item, []).append(d.id)
            places.setdefault(item, []).extend(known.get(item, ()))
    given = [(fact_id, fact) for fact_id, fact, derived in report.facts if not derived]
    return tuple(
        PacketItem(
            item,
            tuple(ids),
            found := tuple(i for i, f in given if any(_is(f, *place) for place in places[item])),
            () if found else tuple(_steps(places[item], doctor)),
        )
        for item, ids in wanted.items()
    )


def _is(fact: Fact, kind: str, where: Mapping[str, Any]) -> bool:
    return fact.kind == kind and all(fact.get(name) == value for name, value in where.items())


def _steps(places: list[Any], doctor: Diagnoser) -> Iterator[GatherStep]:
    """The probes and questions that gather facts of these kinds, each once."""
    vocabulary = doctor.base.vocabulary
    steps: dict[str, GatherStep] = {}
    for kind, where in places:
        known = vocabulary.kinds.get(kind)
        for name in known.probes if known else ():
            probe = vocabulary.probes.get(name)
            if probe:
                steps.setdefault(name, GatherStep("probe", name, probe.title, probe.command))
        for question in vocabulary.questions.values():
            if question.kind == kind and set(where.items()) <= set(question.where):
                steps.setdefault(question.id, GatherStep("question", question.id, question.text))
    yield from steps.values()
