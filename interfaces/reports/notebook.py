"""A report in a notebook: its verdict as text, HTML and Markdown, and for rich.

The engine asks for it by name (:mod:`modelmedic.engine.display`). All of it passes the output
guard, like every other report.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...engine.diagnosis.report import Report
from ...facts.redaction import Redacted
from . import layout
from .formats import Document
from .formats.markdown import block, escaped
from .layout import Line
from .output_guard import redacted
from .safe_text import safe
from .verdict.screen import verdict_parts
from .verdict_html import verdict_fragment
from .view import redaction_note, view_of

_RICH = {"heading": "bold", "error": "bold red", "warning": "bold yellow", "good": "green",
         "command": "cyan", "dim": "dim"}  # fmt: skip


def shown(report: Report, form: str) -> Any:
    """The verdict in a form: a MIME type, or ``rich`` for what that library prints."""
    document = redacted(Document(report))
    if form == "text/html":
        return verdict_fragment(document).value
    lines = document.map(lambda _: [*_verdict(document)])
    if form == "rich":
        return _rich(lines.value)
    return _markdown(lines) if form == "text/markdown" else layout.text_of(lines)


def _verdict(document: Redacted[Document]) -> Iterator[Line]:
    yield from verdict_parts(view_of(document.value.report))
    if document.counts:
        yield Line(redaction_note(document.counts), style="dim")


def _markdown(lines: Redacted[list[Line]]) -> str:
    return "\n".join(_markup(lines.value)).strip() + "\n"


def _markup(lines: Sequence[Line]) -> Iterator[str]:
    for line in lines:
        if line.keep:
            yield from ("", *block(line.text), "")
            continue
        strong = line.style in ("heading", "error", "warning")
        said = (f"{line.mark}{line.text}" if strong else line.mark).strip()
        rest = "" if strong else line.text
        marked = f"**{escaped(said)}** " if said else ""
        yield f"{marked}{escaped(rest)}".rstrip()
        yield ""


def _rich(lines: Sequence[Line]) -> Any:
    """The lines for rich: wrapped by the console, indented to the start of the text."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    parts = []
    for line in lines:
        style = _RICH.get(line.style, "")
        text = Text(safe(line.mark), style or "bold").append(Text(safe(line.text), style))
        parts.append(Padding(text, (0, 0, 0, line.indent)))
    return Group(*parts)
