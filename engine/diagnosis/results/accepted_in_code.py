"""Findings in code that a comment beside the code accepts, with its reason."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple

from ....facts import Fact, Location, Problem, Vocabulary
from ..report import Accepted, Diagnosis, Report

if TYPE_CHECKING:
    from ...compiler.knowledge_base import KnowledgeBase

KIND, CODE = "code_acceptance", "code_pattern"


class _Comment(NamedTuple):
    """A comment that accepts a finding: the id of the finding, the place, and the reason."""

    id: str
    path: str
    line: int
    reason: str


def with_accepted_code(report: Report, base: KnowledgeBase) -> Report:
    """The report with the findings marked whose code is accepted wherever it is seen, and notes on
    comments that name nothing known (MM349) or have no effect (MM343). Evidence of other kinds
    ends an acceptance, except what describes the surroundings."""
    comments = [_comment(fact) for _, fact, _ in report.facts if fact.kind == KIND]
    if not comments:
        return report
    vocabulary = base.vocabulary
    facts = {name: fact for name, fact, _ in report.facts}
    used: set[_Comment] = set()
    marked = []
    for d in report.diagnoses:
        accepted = None if d.kind == "benign" else _accepted(d, facts, vocabulary, comments, used)
        marked.append(d._replace(accepted=accepted) if accepted else d)
    patterns = vocabulary.kinds[CODE].attributes["pattern"].values or ()
    known = {*base.catalogue["diagnoses"], *patterns}
    notes = [_note(each, known) for each in dict.fromkeys(comments) if each not in used]
    return report._replace(diagnoses=tuple(marked), notes=(*report.notes, *notes))


def _comment(fact: Fact) -> _Comment:
    return _Comment(
        str(fact.get("id")), _path(fact), int(fact.get("line") or 0), str(fact.get("reason"))
    )


def _path(fact: Fact) -> str:
    """The file that a fact of code comes from."""
    place = fact.provenance[0].location if fact.provenance else ""
    return place.removesuffix(f":{fact.get('line')}") or str(fact.get("file") or "")


def _accepted(
    d: Diagnosis, facts: Mapping[str, Fact], vocabulary: Vocabulary, comments: list[_Comment],
    used: set[_Comment],
) -> Accepted | None:  # fmt: skip
    evidence = [facts[e.fact] for e in d.evidence if e.fact in facts]
    evidence = [f for f in evidence if not vocabulary.kinds[f.kind].context]
    if not evidence or any(fact.kind != CODE for fact in evidence):
        return None
    found = [next((c for c in comments if _covers(c, fact, d.id)), None) for fact in evidence]
    chosen = [c for c in found if c is not None]
    used.update(chosen)
    if len(chosen) < len(found):
        return None
    return Accepted("; ".join(dict.fromkeys(c.reason for c in chosen)), "")


def _covers(comment: _Comment, fact: Fact, diagnosis: str) -> bool:
    line = int(fact.get("line") or 0)
    inside = line <= comment.line <= max(int(fact.get("end_line") or 0), line)
    return comment.id in (fact.get("pattern"), diagnosis) and inside and comment.path == _path(fact)


def _note(comment: _Comment, known: Collection[str]) -> Problem:
    where = Location(comment.path, comment.line)
    if comment.id not in known:
        message = (f"a 'modelmedic: ignore[...]' comment names {comment.id}, which is not the id "
                   "of a diagnosis or pattern")  # fmt: skip
        return Problem("MM349", message, where, "the report shows the ids of its findings")
    message = f"the acceptance of {comment.id} in a comment has no effect: no such finding here"
    return Problem("MM343", message, where, "remove the comment if this is mended")
