"""The baseline file: read strictly, written as a template to fill in."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from ..engine.diagnosis.baseline import BaselineEntry, accept
from ..engine.diagnosis.report import Accepted, Diagnosis, Report
from ..facts import Fact, Location, ModelMedicError, Problem, Vocabulary
from ..facts.fact_file import read_text
from ..facts.problems import did_you_mean, excerpt
from ..facts.strict_models import Strict, check
from ..facts.strict_yaml import Document, load
from .reports.output_guard import redacted
from .reports.safe_text import one_line

SCHEMA = "modelmedic/baseline/1"
MAX_BYTES = 1_000_000
DAYS = 90
_FORM = "a baseline is YAML; `diagnose baseline write` makes one"
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)


def _day(text: str) -> str:
    try:
        if _DAY.fullmatch(text):
            return datetime.date.fromisoformat(text).isoformat()
    except ValueError:
        pass
    raise ValueError("a day is written like 2027-01-31")


def _said(text: str) -> str:
    if not text.strip():
        raise ValueError("say why this is accepted")
    return text


Day = Annotated[str, AfterValidator(_day)]


class _Entry(Strict):
    id: str = Field(min_length=1, max_length=200)
    reason: Annotated[str, AfterValidator(_said)] = Field(max_length=2000)
    until: Day
    owner: str = Field("", max_length=200)
    facts: list[dict[str, str | bool | int | float]] = Field([], max_length=50)


class _Baseline(Strict):
    schema_: Literal["modelmedic/baseline/1"] = Field(alias="schema")
    accepted: list[_Entry] = Field(max_length=1000)


def with_baseline(report: Report, path: Path, vocabulary: Vocabulary, today: str) -> Report:
    """The report with what the baseline accepts today. Raises :class:`ModelMedicError` (MM341)."""
    return accept(report, read_baseline(path, vocabulary), today, redacted(report).value)


def read_baseline(path: Path, vocabulary: Vocabulary) -> list[BaselineEntry]:
    """The entries of a baseline file. Raises with every problem in it (MM10x, MM341)."""
    text = read_text(path, MAX_BYTES, _FORM)
    try:
        document = load(text, str(path))
    except ModelMedicError as error:  # not knowledge, though read by the same reader
        raise ModelMedicError([p._replace(code="MM341") for p in error.problems]) from None
    baseline, problems = check(document, _Baseline, "MM341")
    if baseline is None:
        raise ModelMedicError(problems)
    for number, entry in enumerate(baseline.accepted):
        for place, wanted in enumerate(entry.facts):
            where = document.where(("accepted", number, "facts", place))
            problems += _fact_problems(wanted, where, vocabulary)
    if problems:
        raise ModelMedicError(problems)
    return [_entry(number, e, document) for number, e in enumerate(baseline.accepted)]


def _entry(number: int, entry: _Entry, document: Document) -> BaselineEntry:
    facts = tuple(
        (str(wanted["kind"]), {name: v for name, v in wanted.items() if name != "kind"})
        for wanted in entry.facts
    )
    accepted = Accepted(entry.reason.strip(), entry.until, entry.owner)
    return BaselineEntry(entry.id, accepted, facts, document.where(("accepted", number)))


def _fact_problems(
    wanted: dict[str, Any], where: Location, vocabulary: Vocabulary
) -> Iterator[Problem]:
    kind = vocabulary.kinds.get(str(wanted.get("kind", "")))
    if kind is None:
        hint = did_you_mean(str(wanted.get("kind", "")), vocabulary.kinds)
        message = f"unknown fact kind {excerpt(wanted.get('kind', ''))}"
        yield Problem("MM341", message, where, hint or "`diagnose facts` lists the kinds")
        return
    for name, value in wanted.items():
        attribute = kind.attributes.get(name)
        if name == "kind":
            continue
        if attribute is None:
            hint = did_you_mean(name, kind.attributes) or f"`diagnose facts {kind.name}` lists them"
            message = f"{kind.name} has no attribute {excerpt(name)}"
            yield Problem("MM341", message, where, hint)
        elif wrong := attribute.problem(value, wanted):
            yield Problem("MM341", f"{kind.name}: {wrong[0]}", where, wrong[1])


def baseline_text(report: Report, today: str) -> str:
    """A baseline of the findings of a report; the reasons are left to fill in."""
    until = datetime.date.fromisoformat(today) + datetime.timedelta(days=DAYS)
    found = sorted(
        (d for d in report.diagnoses if d.kind != "benign" and not _in_code(d)), key=lambda d: d.id
    )
    facts = {name: fact for name, fact, _ in report.facts}
    return "".join(f"{line}\n" for line in _lines(found, until.isoformat(), facts))


def _in_code(d: Diagnosis) -> bool:
    """Whether a comment accepts a finding already."""
    return d.accepted is not None and not d.accepted.until


def _lines(found: list[Diagnosis], until: str, facts: Mapping[str, Fact]) -> Iterator[str]:
    yield "# Findings that are known and accepted. They stay in the report and do not count for the"
    yield "# exit code up to the day `until`. Each needs a reason. With `facts`, an entry is for"
    yield "# these cases alone: [{kind: package, name: pydantic, version: 2.13.0b2}]"
    yield f"schema: {SCHEMA}"
    yield "accepted:" if found else "accepted: []"
    for d in found:
        yield f"  # {d.severity}, {d.confidence}: {one_line(d.title)}"
        yield f"  - id: {json.dumps(d.id)}"
        yield '    reason: ""'
        yield f'    until: "{until}"'
        yield '    owner: ""'
        code = _code(d, facts)
        if code:
            yield "    facts:"
            yield from code


def _code(d: Diagnosis, facts: Mapping[str, Fact]) -> list[str]:
    """The identity of a finding in code, whatever its line."""
    evidence = dict.fromkeys(facts[e.fact] for e in d.evidence if e.fact in facts)
    marked = [fact for fact in evidence if fact.get("fingerprint")]
    if len(marked) != sum(fact.kind == "code_pattern" for fact in evidence):
        return []
    return [f"      - {_entry_of(fact)}" for fact in marked]


def _entry_of(fact: Fact) -> str:
    names = ("pattern", "file", "fingerprint")
    values = (f"{name}: {json.dumps(fact.get(name))}" for name in names)
    return f"{{kind: {fact.kind}, {', '.join(values)}}}"
