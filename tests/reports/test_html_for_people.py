"""The HTML page and the fragment, without a browser: the verdict in the words of the text form,
folding, structure for those who cannot see it, contrast, size."""

import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import html5lib
import pytest

from modelmedic.engine import Diagnoser
from modelmedic.facts import Provenance
from modelmedic.facts.strict_yaml import load
from modelmedic.interfaces import reports
from modelmedic.interfaces.reports.formats import Document, render
from modelmedic.interfaces.reports.output_guard import redacted
from modelmedic.interfaces.reports.verdict.screen import verdict_lines, verdict_parts
from modelmedic.interfaces.reports.verdict_html import verdict_fragment
from modelmedic.interfaces.reports.view import view_of

STYLES = Path(reports.__file__).parent
COLOURS = (STYLES / "colours.css").read_text(encoding="utf-8")
AA, AA_GRAPHICS = 4.5, 3.0
FAILING = 34
GITHUB_LIMIT = 65_536
"""Characters of an issue."""
STORIES = [
    "tinker/stories/perf-serialization-and-data", "tinker/stories/renderer-cases",
    "tinker/stories/service-environment", "neuron/stories/numerics-runs",
    "neuron/stories/workflow-runs",
]  # fmt: skip


@pytest.fixture(scope="module")
def doctor():
    return Diagnoser.load()


@pytest.fixture(scope="module")
def documents(root, doctor):
    """Reports on the first story of each file, and on a port with many failing components."""
    found = {}
    for name in STORIES:
        path = root / "knowledge" / f"{name}.test.yaml"
        cases = load(path.read_text(encoding="utf-8"), str(path)).data["cases"]
        facts = next(case["facts"] for case in cases if case["kind"] == "story")
        found[name] = facts
    found["many"] = [{"kind": "stage_result", "stage": 2, "status": "failed"}, *(
        {"kind": "component_result", "component": f"model.layers.{at}.mlp", "index": at,
         "r_ratio": 1.5 + at, "status": "fail"} for at in range(FAILING))]  # fmt: skip
    vocabulary, said = doctor.base.vocabulary, Provenance("file", "facts.json")
    return {
        name: redacted(Document(doctor.diagnose([vocabulary.trusted(f, said) for f in facts])))
        for name, facts in found.items()
    }


@pytest.fixture(scope="module", params=[*STORIES, "many"])
def document(documents, request):
    return documents[request.param]


@pytest.fixture(scope="module")
def page(document):
    text = render(document, "html").value
    return html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(text)


def words(text):
    return "".join(text.split())


def told(document):
    """The lines of the text form, but for how to see more at a terminal and the closing line, and
    for commands, which have a form of their own there."""
    lines = [line for line in verdict_lines(document.value.report) if not line.keep]
    return [
        line
        for line in lines
        if line.mark not in ("=> First: ", "More: ")
        and line.text not in ("In Python, names as in your code:", "Add to the command:")
    ]


def commands(document):
    return [line.text for line in verdict_parts(view_of(document.value.report)) if line.keep]


def parents(tree):
    return {child: parent for parent in tree.iter() for child in parent}


def test_the_verdict_is_that_of_the_text_form(document, page):
    """In the order of the text, on top of the page, in the fragment and in Markdown."""
    fragment = html5lib.parseFragment(verdict_fragment(document).value, namespaceHTMLElements=False)
    places = [
        words("".join(page.find(".//header").itertext())),
        words("".join(fragment.itertext())),
    ]
    markdown = re.sub(r"[\\`*]", "", render(document, "markdown").value.partition("<details>")[0])
    places.append(words(markdown))
    for place in places:
        at = 0
        for line in told(document):
            text = words(re.sub(r"[\\`*]", "", line.text))
            found = place.replace("\\", "").find(text, at)
            assert found >= 0, line.text
            at = found
        for command in commands(document):
            assert words(re.sub(r"[\\`*]", "", command)) in place.replace("\\", "")


def test_all_but_the_verdict_charts_and_titles_is_folded(page):
    above = parents(page)

    def folded(element):
        while element is not None:
            parent = above.get(element)
            if parent is not None and parent.tag == "details" and element.tag != "summary":
                return "open" not in parent.attrib
            element = parent
        return False

    main = page.find(".//main")
    shown = [e for e in main.iter() if e.tag in ("p", "li", "td", "pre", "dd") and not folded(e)]
    assert shown == []


def test_structure_for_those_who_do_not_see_it(page):
    assert page.find("html" if page.tag != "html" else ".").get("lang") == "en"
    assert [len(page.findall(f".//{tag}")) for tag in ("header", "main", "nav", "h1")] == [1] * 4
    levels = [int(e.tag[1]) for e in page.iter() if re.fullmatch("h[1-6]", str(e.tag))]
    assert levels[0] == 1
    assert all(b <= a + 1 for a, b in pairwise(levels)), levels
    ids = [e.get("id") for e in page.iter() if e.get("id")]
    assert len(ids) == len(set(ids))
    for element in page.iter():
        assert set((element.get("aria-labelledby") or "").split()) <= set(ids)
        if (element.get("href") or "").startswith("#"):
            assert element.get("href")[1:] in ids
        if element.tag == "details":
            assert element[0].tag == "summary"
            assert "".join(element[0].itertext()).strip()
        if element.tag == "table":
            assert {"col", "row"} == {e.get("scope") for e in element.iter("th")}
        if element.tag.endswith("svg"):
            assert element.get("role") == "img"
            assert element.get("aria-labelledby") or element.get("aria-label")


def test_charts_have_their_figures_in_words(page):
    figures = [e for e in page.iter("figure") if "chart" in (e.get("class") or "")]
    for figure in figures:
        assert len("".join(figure.find("figcaption").itertext())) > 20
    tables = [e for e in page.iter("summary") if "figures of this chart" in "".join(e.itertext())]
    assert len(tables) == len(figures)


def test_many_alike_components_are_told_once(documents):
    made = {name: render(documents["many"], name).value for name in ("html", "markdown", "json")}
    assert len(made["html"]) < 400_000
    assert len(made["markdown"]) < GITHUB_LIMIT
    assert "more of this kind" in made["html"] and "more of this kind" in made["markdown"]
    for at in range(FAILING):
        assert made["html"].count(f"model.layers.{at}.mlp: error ") >= 1


def test_the_fragment_stands_alone(document):
    text = verdict_fragment(document).value
    tree = html5lib.parseFragment(text, namespaceHTMLElements=False)
    assert {e.tag for e in tree.iter() if isinstance(e.tag, str)} <= {
        "DOCUMENT_FRAGMENT", "div", "style", "h3", "h4", "p", "b", "span", "pre"}  # fmt: skip
    assert ":root" not in text and "url(" not in text and "@import" not in text
    assert not [e for e in tree.iter() if e.get("id")], "a notebook shows many of them"


def test_a_hostile_text_stays_text_in_the_fragment(report_saying):
    evil = "</style></div><script>alert(1)</script><img src=x onerror=alert(1)>\x1b[31m"
    text = verdict_fragment(redacted(Document(report_saying(evil)))).value
    tree = html5lib.parseFragment(text, namespaceHTMLElements=False)
    assert "alert(1)" in "".join(tree.itertext())
    assert not list(tree.iter("script")) and not list(tree.iter("img"))
    assert "\x1b" not in text


def variables(scheme):
    """The colours of light, dark or paper; those of light where a scheme has none of its own."""
    light = COLOURS.partition("@media")[0]
    own = {"light": "", "dark": COLOURS.partition("dark) {")[2].partition("@media")[0],
           "print": COLOURS.partition("@media print")[2]}[scheme]  # fmt: skip
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{3,6});", light + own))


def luminance(colour):
    digits = colour[1:] if len(colour) == 7 else "".join(2 * c for c in colour[1:])
    parts = (int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4))
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    """The contrast of two colours, as WCAG 2.2 defines it."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_what_it_is():
    assert contrast("#000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#fff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("scheme", ["light", "dark", "print"])
def test_colours_can_be_told_apart(scheme):
    """Texts on all grounds (AA); marks of charts on theirs."""
    named = variables(scheme)
    grounds = ("bg", "panel", "fact", "rule", "result")
    texts = ("fg", "soft", "link", "error", "warning", "good")
    low = {(a, b): contrast(named[a], named[b]) for a in texts for b in grounds}
    bands = [name for name in named if name.startswith("band-")]
    low |= {("error", b): contrast(named["error"], named[b]) for b in bands}
    assert {pair: ratio for pair, ratio in low.items() if ratio < AA} == {}
    marks = {(a, "bg"): contrast(named[a], named["bg"])
             for a in named if a.startswith("series-") or a in ("good", "error")}  # fmt: skip
    marks |= {("good", b): contrast(named["good"], named[b]) for b in bands[:3]}
    assert {pair: ratio for pair, ratio in marks.items() if ratio < AA_GRAPHICS} == {}
    assert len(bands) == 8


def test_the_fragment_needs_no_template():
    """A notebook does not wait for jinja2."""
    code = "import sys, modelmedic.interfaces.reports.verdict_html as m; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "modelmedic.interfaces.reports.verdict_html" in done.stdout.split()
    assert not [name for name in done.stdout.split() if name.partition(".")[0] == "jinja2"]
