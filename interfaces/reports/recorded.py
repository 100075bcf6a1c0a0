"""Reads a report in JSON, or a facts file, as something to compare with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from ...engine.diagnosis.comparison import ReportedProblem, Snapshot
from ...engine.diagnosis.diagnoser import Diagnoser
from ...engine.diagnosis.report import SCHEMA
from ...facts import Fact, Location, ModelMedicError, Problem, Provenance
from ...facts.fact_file import MAX_FACTS, MAX_PROBLEMS, parse_facts, read_text, strict_json

MAX_BYTES = 64_000_000
_FORM = "name a report (`diagnose --format json`) or a facts file"
_PUBLISHED = Path(__file__).parents[2] / "knowledge" / "schemas" / "report-1.json"
_MARK, _HEAD = f'"{SCHEMA}"', 4096  # reports name their schema near their start


class Recorded(NamedTuple):
    """The content of a file. ``report`` is None for a facts file."""

    path: str
    report: dict[str, Any] | None
    facts: tuple[Fact, ...]

    def snapshot(self, doctor: Diagnoser) -> Snapshot:
        """The conclusions of the recording; for a facts file, those that follow from its facts
        now."""
        if self.report is None:
            return Snapshot.of(doctor.diagnose(self.facts))
        given = (f for f in self.report["facts"] if not f.get("derived"))
        facts = dict(zip((f["id"] for f in given), self.facts, strict=True))
        problems = {
            d["id"]: ReportedProblem(
                d["title"],
                d["severity"],
                d["confidence"],
                tuple(facts[e["fact"]] for e in d["evidence"] if e["fact"] in facts),
                "accepted" in d,
            )
            for d in self.report["diagnoses"]
            if d["kind"] != "benign"
        }
        out = frozenset(r["id"] for r in self.report["ruled_out"]) - problems.keys()
        digest = str(self.report["knowledge"].get("digest", ""))
        return Snapshot(digest, self.facts, problems, out)


def read_recorded(path: Path, doctor: Diagnoser) -> Recorded:
    """A report or a facts file. Raises :class:`ModelMedicError` (MM10x, MM11x, MM344)."""
    text = read_text(path, MAX_BYTES, _FORM)
    if _MARK not in text[:_HEAD]:
        return Recorded(str(path), None, parse_facts(text, str(path), doctor.base.vocabulary))
    plain = strict_json(text, str(path))
    _check(plain, str(path))
    return Recorded(str(path), plain, _facts(plain, str(path), doctor))


def recorded_facts(text: str, name: str, doctor: Diagnoser) -> tuple[Fact, ...]:
    """The given facts of a report in JSON. Raises what :func:`read_report` does."""
    plain = strict_json(text, name)
    _check(plain, name)
    return _facts(plain, name, doctor)


def is_report(path: Path) -> bool:
    """Whether a path looks like a report in JSON."""
    try:
        if path.suffix != ".json" or not path.is_file():
            return False
        with path.open("rb") as file:
            return _MARK.encode() in file.read(_HEAD)
    except OSError:
        return False


def read_report(path: Path, doctor: Diagnoser) -> Recorded:
    """A report. Raises :class:`ModelMedicError` (MM10x, MM11x, MM344)."""
    recorded = read_recorded(path, doctor)
    if recorded.report is None:
        raise _no_report("this is a facts file: it concludes nothing that could hold", str(path))
    if recorded.report["status"] == "error":
        raise _no_report("this report says that nothing could be diagnosed", str(path))
    return recorded


def _check(plain: Any, path: str) -> None:
    """Refuse what does not match the published schema of reports."""
    from jsonschema import Draft202012Validator

    schema = json.loads(_PUBLISHED.read_text(encoding="utf-8"))
    wrong = next(iter(Draft202012Validator(schema).iter_errors(plain)), None)
    if wrong is not None:
        place = "/".join(str(part)[:60] for part in wrong.absolute_path) or "the whole"
        raise _no_report(f"not a report as its schema has it: {place} ({wrong.validator})", path)
    if len(plain["facts"]) > MAX_FACTS:
        raise _no_report(f"more than {MAX_FACTS:,} facts", path)


def _facts(plain: dict[str, Any], path: str, doctor: Diagnoser) -> tuple[Fact, ...]:
    """The given facts, without the derived ones."""
    given = [f for f in plain["facts"] if not f.get("derived")]
    items = [{n: v for n, v in f.items() if n not in ("id", "derived")} for f in given]
    vocabulary = doctor.base.vocabulary
    problems: list[Problem] = []
    for fact, item in zip(given, items, strict=True):
        found = vocabulary.problems(item, Location(path))
        problems += (p._replace(message=f"fact {fact['id']}: {p.message}") for p in found)
        if len(problems) >= MAX_PROBLEMS:
            break
    if problems:
        raise ModelMedicError(problems)
    return tuple(vocabulary.trusted(item, Provenance()) for item in items)


def _no_report(message: str, path: str) -> ModelMedicError:
    hint = "`diagnose --facts FILE --format json -o report.json` writes one"
    return ModelMedicError(Problem("MM344", message, Location(path), hint))
