"""The verdict as HTML, in the words of the text form: on top of the page, and alone in notebooks.

No template is needed, so that a notebook shows it without loading one. Every text is visible and
escaped; nothing has an id, so that a page can hold several.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

from ...engine.diagnosis.report import SEVERITIES, Report
from ...facts.redaction import Redacted
from .layout import Line
from .safe_text import safe
from .verdict.screen import verdict_parts
from .view import NO_FACTS, ReportView, redaction_note, view_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .formats import Document

_ALONE = """.verdict { margin: .4rem 0; padding: .6rem 1rem; border: 1px solid var(--line);
  border-radius: 4px; font: 14px/1.45 system-ui, "DejaVu Sans", sans-serif;
  overflow-wrap: anywhere; }
.verdict h3 { font-size: 1.1rem; margin: 0; }"""


def verdict_html(view: ReportView, links: Sequence[str] = (), level: int = 1) -> str:
    """The verdict with headings from ``level`` on; ``links`` lead from the causes, in their order,
    to the evidence."""
    return "\n".join(_blocks(verdict_parts(view), list(links), level))


def verdict_fragment(document: Redacted[Document], level: int = 3) -> Redacted[str]:
    """The verdict in an element with a style of its own, for a place that is not a page of ours,
    such as the output of a notebook cell."""
    return document.map(lambda plain: _fragment(plain.report, document.counts, level))


def _fragment(report: Report, counts: Mapping[str, int], level: int) -> str:
    note = f'<p class="soft">{_shown(redaction_note(counts))}</p>' if counts else ""
    verdict = verdict_html(view_of(report), level=level)
    return (
        f'<div class="modelmedic"><style>{fragment_style()}</style>\n'
        f'<div class="verdict">\n{verdict}\n{note}</div></div>'
    )


def verdict_style() -> str:
    """The style sheet of the verdict and of severities, in the colours of what is around it."""
    return Path(__file__).with_name("verdict.css").read_text(encoding="utf-8")


def fragment_style() -> str:
    """Colours for a place without ours, and the style of the verdict, for the fragment alone."""
    colours = Path(__file__).with_name("colours.css").read_text(encoding="utf-8")
    return f"{colours.replace(':root', '.modelmedic')}.modelmedic {{ {verdict_style()}{_ALONE} }}"


def _blocks(lines: Iterator[Line], links: list[str], level: int) -> Iterator[str]:
    """Markup of the lines, those of each cause in an element."""
    headings = 0
    inside = False
    for line in lines:
        severity = _severity(line)
        heads = bool(severity) or line._replace(text="") == Line(style="heading")
        if inside and (heads or (line.mark and not line.indent)):
            yield "</div>"
            inside = False
        if heads:
            if severity and not line.indent:
                yield f'<div class="cause is-{severity}">'
                inside = True
            tag = f"h{min(level + bool(headings), 6)}"
            headings += 1
            yield _heading(tag, line, severity, links.pop(0) if links and inside else "")
        elif line.text:
            yield _paragraph(line)
    if inside:
        yield "</div>"


def _severity(line: Line) -> str:
    """That of the finding whose headline the line is."""
    word = line.mark.strip("[] ").partition(",")[0] if line.mark.startswith("[") else ""
    return word if word in SEVERITIES else ""


def _heading(tag: str, line: Line, severity: str, link: str) -> str:
    if not severity:
        return f"<{tag}>{_shown(line.text)}</{tag}>"
    mark = f'<span class="tag {severity}">{line.mark.strip("[] ")}</span> '
    named = f'aria-label="Evidence: {_shown(line.text)}"'
    more = f' <a class="more" href="#{escape(link)}" {named}>Evidence</a>' if link else ""
    return f"<{tag}>{mark}{_shown(line.text)}</{tag}>{more}"


def _paragraph(line: Line) -> str:
    if line.keep:
        shell = "" if line.mark else " code"
        return f'<pre class="command{shell}">{_shown(line.text)}</pre>'
    words = line.mark.strip()
    mark = f"<b>{_shown(words)}</b> " if words.strip("->") else ""
    names = (line.style if line.style in ("warning", "error", "good", "dim") else "",
             "deep" if line.indent > 2 else "")  # fmt: skip
    class_ = f' class="{" ".join(filter(None, names))}"' if any(names) else ""
    text = NO_FACTS.replace("`", "") if line.text == NO_FACTS else line.text
    return f"<p{class_}>{mark}{_shown(text)}</p>"


def _shown(text: str) -> str:
    return escape(safe(text))
