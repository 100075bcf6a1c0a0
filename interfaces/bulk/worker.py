"""The work of every worker, wherever it runs: a chunk of records in, lines of results out.

The lines depend only on the records, not on the worker, its machine or other records.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ...engine.compiler.knowledge_base import VERSION, KnowledgeBase
from ...engine.compiler.store import cache
from ...engine.diagnosis.diagnoser import Diagnoser
from ...engine.diagnosis.report import Report, problems_plain
from ...facts import Fact, ModelMedicError, Problem, Provenance, Vocabulary
from ...facts.fact import canonical
from ...facts.redaction import Redactor
from ..reports.formats import Document
from ..reports.output_guard import Machine, redacted, redactor_for
from .records import Chunk, Record, Result, open_record, packages, placed
from .tally import Seen, Tally
from .trouble import failure

if TYPE_CHECKING:
    from ...engine.inference.engine import Choice


BROKEN_INPUT = "MM335"


class Knowledge(NamedTuple):
    """Compiled knowledge for other processes and machines, so that all workers use the same: the
    content of its cache file, and what is not in the file."""

    content: bytes
    digest: str
    overlays: tuple[Mapping[str, Any], ...]

    def unpacked(self) -> KnowledgeBase:
        """The knowledge base. Raises :class:`ModelMedicError` (MM338) where it cannot be used."""
        compiled = cache.unpacked(self.content, self.digest)
        if compiled is None:
            what = "a worker cannot use the knowledge that it was given"
            raise failure("MM338", what, "install the same version of modelmedic on all machines")
        return KnowledgeBase.of(compiled, self.digest, self.overlays)


def packed(base: KnowledgeBase) -> Knowledge:
    """A loaded knowledge base, for others."""
    return Knowledge(cache.packed(base.compiled, base.digest), base.digest, base.overlays)


class Setup(NamedTuple):
    """The setup of a worker; can be pickled."""

    knowledge: Knowledge
    machine: Machine
    engine: Choice = "auto"
    full: bool = False
    runs: bool = False
    version: str = VERSION


class _Told(NamedTuple):
    """Values from the input, to be redacted."""

    source: str
    id: str | int | None = None
    time: str = ""
    packages: Sequence[tuple[str, str]] = ()


class _Answer(NamedTuple):
    """The result of one record. ``body`` is added to its line and already redacted."""

    told: _Told
    body: Mapping[str, Any]
    seen: Seen
    problems: Sequence[Problem] = ()


class Worker:
    """Diagnoses chunks."""

    def __init__(self, setup: Setup) -> None:
        """Raises :class:`ModelMedicError` (MM338) in an installation of another version."""
        if setup.version != VERSION:
            what = f"a worker has modelmedic {VERSION}, this job runs {setup.version}"
            raise failure("MM338", what, "install the same version on all machines")
        self._setup = setup
        self._doctor = Diagnoser.of(setup.knowledge.unpacked(), setup.engine)
        self._redactor: Redactor = redactor_for(setup.machine)

    def work(self, chunk: Chunk) -> Result:
        tally = Tally()
        answers: list[tuple[Record, _Answer]] = []
        errors: list[bytes] = []
        for record in chunk.records:
            try:
                answer = self._answer(record)
            except ModelMedicError as error:
                problems = error.problems
            except Exception as error:  # noqa: BLE001 - one record must not end a job of many
                what = f"internal error: {type(error).__name__}"
                hint = "this is a bug of ModelMedic; report it with the record"
                problems = (Problem("MM399", what, None, hint),)
            else:
                answers.append((record, answer))
                if answer.problems:
                    errors.append(self.refusal(record, answer.problems))
                continue
            broken = problems[0].code == BROKEN_INPUT
            tally.broken_inputs += broken
            tally.refused += not broken
            errors.append(self.refusal(record, problems))
        if not self._is_safe([answer.told for _, answer in answers]):
            answers = [(record, self._without_secrets(answer)) for record, answer in answers]
        for _, answer in answers:
            tally.add(answer.seen)
        output = b"".join(_line(record, answer) for record, answer in answers)
        return Result(output, b"".join(errors), tally)

    def _is_safe(self, told: Sequence[_Told]) -> bool:
        """Whether redaction would change nothing; one check for all is fast."""
        return redacted(told, self._redactor).value is told

    def _without_secrets(self, answer: _Answer) -> _Answer:
        """Redacted by itself, so that a line depends only on its own record."""
        told = redacted(answer.told, self._redactor).value
        return answer._replace(told=told, seen=answer.seen._replace(packages=told.packages))

    def refusal(self, record: Record, problems: Sequence[Problem]) -> bytes:
        """The error line of a record that could not be diagnosed."""
        problems = placed(problems, record)
        plain = {**_place(record), "problems": problems_plain(problems)}
        return _encoded(redacted(plain, self._redactor).value)

    def _answer(self, record: Record) -> _Answer:
        if record.problem is not None:
            raise ModelMedicError(record.problem)
        if self._setup.runs:
            return self._inspected(record)
        opened = open_record(record)
        if self._setup.full:
            facts = self._doctor.base.vocabulary.read_all(opened.facts, Provenance("file"))
            report = self._doctor.diagnose(facts)
            told = _Told(record.source, opened.id, opened.time, packages(opened.facts))
            seen = Seen(report.diagnoses, told.packages, opened.day)
            return _Answer(told, {"report": self._clean(report)}, seen)
        findings = self._doctor.screen(opened.facts)
        told = _Told(record.source, opened.id, opened.time, packages(opened.facts))
        seen = Seen(findings, told.packages, opened.day)
        return _Answer(told, {"findings": [finding._asdict() for finding in findings]}, seen)

    def _inspected(self, record: Record) -> _Answer:
        facts, problems = _inspect(record.source, self._doctor.base.vocabulary)
        flats = [{"kind": fact.kind, **dict(fact.values)} for fact in facts]
        told = _Told(record.source, packages=packages(flats))
        if self._setup.full:
            report = self._doctor.diagnose(facts, problems)
            seen = Seen(report.diagnoses, told.packages)
            return _Answer(told, {"report": self._clean(report)}, seen, problems)
        findings = self._doctor.screen(flats)
        seen = Seen(findings, told.packages)
        used = sorted({place for finding in findings for place in finding.evidence})
        places = {place: number for number, place in enumerate(used)}
        evidence = redacted([facts[place] for place in used], self._redactor).value
        body = {
            "findings": [
                f._asdict() | {"evidence": [places[p] for p in f.evidence]} for f in findings
            ],
            "facts": [fact.plain() for fact in evidence],
        }
        return _Answer(told, body, seen, problems)

    def _clean(self, report: Report) -> dict[str, Any]:
        """A report in its JSON form, redacted."""
        safe = redacted(Document(report), self._redactor)
        return safe.value.report.plain() | {"redacted": dict(safe.counts)}


def _inspect(folder: str, vocabulary: Vocabulary) -> tuple[tuple[Fact, ...], list[Problem]]:
    """The facts about a run, in canonical order, and what could not be read."""
    from ..inspection import gather
    from ..waiting import Watch

    # Only the job itself shows progress, and only it takes Ctrl-C.
    facts, problems, _ = gather([Path(folder)], vocabulary, Watch())
    return canonical(facts), problems


def _line(record: Record, answer: _Answer) -> bytes:
    source, id_, time, _ = answer.told
    head: dict[str, Any] = {"source": source}
    if record.line:
        head["line"] = record.line
    if id_ is not None:
        head["id"] = id_
    if time:
        head["time"] = time
    return _encoded({**head, **answer.body})


def _place(record: Record) -> dict[str, Any]:
    return {"source": record.source} | ({"line": record.line} if record.line else {})


_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode


def _encoded(plain: Any) -> bytes:
    return _encode(plain).encode("ascii") + b"\n"
