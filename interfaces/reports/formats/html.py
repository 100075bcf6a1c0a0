"""HTML: one file that needs no network and no script, on screens, on paper and read aloud."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ....engine.diagnosis.report import Diagnosis
from ....facts.redaction import Redacted
from ..charts.graph import graph_svg
from ..charts.layered import Arrow, Box, Graph
from ..charts.selection import charts_of_report
from ..derivation import Derivation, Premise, derivation
from ..layout import prompt
from ..page import markup, page_style, template
from ..source_text import source_texts
from ..unexplained import advice, decided, origin, place, way
from ..verdict_html import verdict_html
from ..view import (
    MAX_PREMISE_FACTS,
    RETRY,
    ReportView,
    accepted_text,
    action_note,
    leaves,
    provenance_rows,
    redaction_note,
    view_of,
)
from . import Document, Picture

if TYPE_CHECKING:
    from markupsafe import Markup

SUFFIX = ".html"
PICTURES = True
MAX_REASONS = 6
"""Reasons of one finding that are not folded away."""
_PAGE = Path(__file__).with_name("report.html.jinja")
_WORDS = (
    accepted_text,
    action_note,
    decided,
    derivation,
    leaves,
    origin,
    place,
    source_texts,
    way,
)


def render(document: Redacted[Document], pictures: Sequence[Picture] = ()) -> str:
    """The report as one page, with pictures among its plots."""
    report, read, *_ = document.value
    view = view_of(report)
    evidence = [f"d-{d.id}" for d in view.causes]
    page = template(_PAGE, *_WORDS, data_uri, picture, prompt)
    return page.render(
        report=report,
        read=read,
        view=view,
        used=view.used,
        rows=list(provenance_rows(report)),
        style=page_style(),
        graphs=_graphs(view),
        verdict=markup(verdict_html(view, evidence)),
        charts=charts_of_report(report),
        pictures=pictures,
        note=redaction_note(document.counts) if document.counts else "",
        retry_words=RETRY,
        most_facts=MAX_PREMISE_FACTS,
        most_reasons=MAX_REASONS,
        advice=advice(report.unexplained).replace("`", ""),
    )


def data_uri(png: bytes) -> str:
    """A picture as a data URI."""
    return "data:image/png;base64," + b64encode(png).decode("ascii")


def picture(svg: str) -> Markup:
    """A picture of ours, whose texts are escaped."""
    return markup(svg)


def _graphs(view: ReportView) -> dict[str, Markup]:
    shown = [d for d in view.report.diagnoses if d.kind != "benign" and d.explanation["how"]]
    return {d.id: markup(graph_svg(_derivation(d, view.facts), "derivation")) for d in shown}


def _derivation(diagnosis: Diagnosis, facts: Mapping[str, str]) -> Graph:
    """The derivation of a diagnosis: facts on the left, then rules, then the diagnosis. ``facts``
    has the texts by name."""
    drawn = _Derivation(facts)
    root = drawn.box("diagnosis", diagnosis.id, diagnosis.title)
    drawn.steps(derivation(diagnosis.explanation["how"], facts), root)
    title = f"Derivation of: {diagnosis.title}"
    return Graph(title, tuple(drawn.boxes.values()), tuple(drawn.arrows))


class _Derivation:
    def __init__(self, facts: Mapping[str, str]) -> None:
        self.boxes: dict[str, Box] = {}
        self.arrows: dict[Arrow, None] = {}
        self._facts = facts

    def box(self, kind: str, name: str, text: str) -> str:
        """The name of a box; boxes of the same name are one."""
        name = f"{kind} {name}"
        self.boxes.setdefault(name, Box(name, kind, text))
        return name

    def steps(self, how: Derivation, target: str) -> None:
        """The rules that conclude ``target``, with all that they rest on."""
        for step in how.steps:
            text = step.message or step.rule
            because = "|".join(premise.condition for premise in step.premises)
            rule = self.box("rule", f"{step.rule} {text} {because}", text)
            self._arrow(rule, target)
            absent = [p.condition for p in step.premises if not self._premise(p, rule)]
            if absent:
                text = "; ".join(absent)
                self._arrow(self.box("condition", text, text), rule)
        if how.more:
            text = f"and {how.more} more of this kind"
            self._arrow(self.box("condition", f"{target} {text}", text), target)

    def _premise(self, premise: Premise, rule: str) -> bool:
        """Draw the facts that a premise rests on; return False if there are none, since the premise
        requires an absence."""
        if premise.how:
            self.steps(premise.how, rule)
        for fact in premise.facts:
            self._arrow(self.box("fact", fact, f"{fact}: {self._facts[fact]}"), rule)
        if premise.more:
            text = f"and {premise.more} more facts"
            self._arrow(self.box("condition", f"{premise.condition} {text}", text), rule)
        return bool(premise.how or premise.facts)

    def _arrow(self, source: str, target: str) -> None:
        self.arrows[Arrow(source, target)] = None
