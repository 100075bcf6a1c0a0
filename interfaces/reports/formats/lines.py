"""One line a problem, as compilers write them: for editors, problem matchers and grep.

``train.py:12:5: error: Title (certain): reason [id]``, with as much of the place as is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ....engine.diagnosis.report import Diagnosis
from ....facts import Problem
from ....facts.redaction import Redacted
from ..locations import Files, Place, is_inside
from ..safe_text import one_line
from ..view import overlay_texts, view_of
from . import Document, Failure

SUFFIX = ""
_LEVELS = {"info": "notice", "warning": "warning", "error": "error", "blocker": "error"}


def render(document: Redacted[Document]) -> str:
    """Render a line for each problem; one notice if there is none."""
    report = document.value.report
    files = Files(report)
    wrong = [d for d in report.diagnoses if d.kind != "benign" and not d.accepted]
    lines = [_diagnosis(d, files) for d in wrong]
    for error in report.unexplained:
        places = files.of_facts((error.fact,))
        lines.append(_line("warning", places, f"Not explained: {error.text}", "unexplained-error"))
    if not lines:
        lines = [_line("notice", (), view_of(report).verdict, "modelmedic")]
    lines += _problems("warning", report.errors, files)
    lines += _problems("notice", report.notes, files)
    lines += [_line("notice", (), text, "overlay") for text in overlay_texts(report)]
    return "".join(f"{line}\n" for line in lines)


def render_failure(failure: Redacted[Failure]) -> str:
    """A line for each error."""
    return "".join(f"{line}\n" for line in _problems("error", failure.value.problems, Files()))


def _diagnosis(d: Diagnosis, files: Files) -> str:
    reason = next((s["message"] for s in d.explanation["how"] if s.get("message")), "")
    said = f"{d.headline} ({d.confidence})" + (f": {reason}" if reason else "")
    return _line(_LEVELS[d.severity], files.of_diagnosis(d), said, d.id)


def _problems(level: str, problems: Iterable[Problem], files: Files) -> Iterator[str]:
    for problem in problems:
        places = files.of_problem(problem)
        said = problem.message if places or not problem.where else str(problem)
        yield _line(level, places, said, problem.code)


def _line(level: str, places: Sequence[Place], said: str, code: str) -> str:
    place = next((p for p in places if is_inside(p.path)), None) or next(iter(places), None)
    where = ""
    if place:
        numbers = [n for n in (place.line, place.column) if n]
        where = ":".join([one_line(place.path), *map(str, numbers)]) + ": "
    return f"{where}{level}: {one_line(said)} [{one_line(code)}]"
