"""JSON for programs: ``modelmedic/report/1``, described by ``knowledge/schemas/report-1.json``."""

from __future__ import annotations

from ....engine.diagnosis.report import error_plain
from ....facts.json_text import dumps
from ....facts.redaction import Redacted
from . import Document, Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


SUFFIX = ".json"


def render(document: Redacted[Document]) -> str:
    """The report as one JSON document."""
    return _text(document.value.report.plain(), document)


def render_failure(failure: Redacted[Failure]) -> str:
    """The errors as a report without content."""
    return _text(error_plain(failure.value.tool, failure.value.problems), failure)


def _text(plain: dict[str, Any], source: Redacted[Any]) -> str:
    if source.counts:
        plain["redacted"] = dict(source.counts)
    return dumps(plain) + "\n"
