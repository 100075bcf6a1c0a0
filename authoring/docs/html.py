"""Pages as HTML: a folder that works from the disk, offline, with and without scripts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...interfaces.reports.charts.graph import graph_style, graph_svg
from ...interfaces.reports.charts.layered import Graph
from ...interfaces.reports.page import markup, template
from ...interfaces.reports.safe_text import one_line
from .content import Page

if TYPE_CHECKING:
    from markupsafe import Markup

_FOLDER = Path(__file__).parent
FORMS = {
    "diagnosis": "Diagnoses",
    "tree": "Decision trees",
    "error": "Error messages",
    "rule": "Rules",
    "classification": "Classifications",
}


def files(pages: Sequence[Page], about: str) -> Iterator[tuple[str, str]]:
    """(name, text) of every file."""
    made = template(_FOLDER / "page.html.jinja", address, drawing, one_line)
    for page in pages:
        yield f"{page.name}.html", made.render(page=page, about=about)
    groups = [
        (heading, [page for page in pages if page.form == form]) for form, heading in FORMS.items()
    ]
    script = markup((_FOLDER / "search.js").read_text(encoding="utf-8"))
    index = template(_FOLDER / "index.html.jinja")
    yield "index.html", index.render(groups=groups, about=about, script=script)
    yield "style.css", (_FOLDER / "site.css").read_text(encoding="utf-8") + graph_style()


def drawing(graph: Graph) -> Markup:
    """The graph with links to pages."""
    boxes = (box._replace(link=box.link and address(box.link)) for box in graph.boxes)
    return markup(graph_svg(graph._replace(boxes=tuple(boxes))))


def address(page: str) -> str:
    """The address of a page, or of a part of one (``page#part``)."""
    name, hash_, part = page.partition("#")
    return f"{name}.html{hash_}{part}"
