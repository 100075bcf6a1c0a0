"""A hostile alphabet through every format: read back by a parser that is not ours, the text is the
same (but for the visible escapes), and no control character comes through."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import html5lib
import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from junitparser import JUnitXml
from markdown_it import MarkdownIt

from modelmedic.facts import Location, Problem
from modelmedic.interfaces.reports.formats import (
    FORMATS,
    Document,
    Failure,
    for_programs,
    render,
    render_failure,
)
from modelmedic.interfaces.reports.output_guard import redacted
from modelmedic.interfaces.reports.safe_text import one_line, safe

DATA = Path(__file__).parent / "data"
HOSTILE = json.loads((DATA / "hostile.json").read_text(encoding="utf-8"))
FOLD = re.compile(r"(<details><summary>[A-Za-z ,()]+</summary>|</details>)\n")
"""The only HTML in our Markdown."""
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


@pytest.fixture(scope="module")
def rendered(report_saying):
    def rendered(text, format_, detail="all"):
        return render(redacted(Document(report_saying(text), detail=detail)), format_).value

    return rendered


@pytest.fixture(params=HOSTILE, ids=[ascii(h)[:24] for h in HOSTILE])
def hostile(request):
    return request.param


def words(text):
    """Text without layout."""
    return " ".join(text.split())


@pytest.mark.parametrize("format_", FORMATS)
def test_no_control_character_comes_through(rendered, hostile, format_):
    for detail in ("all", "verdict"):
        found = CONTROL.search(rendered(hostile, format_, detail))
        assert found is None, ascii(found)


def test_markdown(rendered, hostile, places_of):
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(rendered(hostile, "markdown"))
    inline = [child for token in tokens for child in token.children or ()]
    assert all(FOLD.fullmatch(t.content) for t in tokens if t.type == "html_block")
    kinds = {t.type for t in (*tokens, *inline)} - {"html_block"}
    assert not kinds & {"html_block", "html_inline", "link_open", "image", "s_open", "hr"}
    assert {t.tag for t in tokens if t.type == "heading_open"} <= {"h1", "h2", "h3"}
    shown = words("".join(block_text(t) for t in tokens))
    for text in places_of(hostile):
        assert words(one_line(text)) in shown, text


def block_text(token):
    parts = [t.content if t.type in ("text", "code_inline", "text_special") else " "
             for t in token.children or ()]  # fmt: skip
    return "".join(parts) + ("\n" if token.block else "") + (
        token.content if token.type == "fence" else "")  # fmt: skip


def test_markdown_commands_are_what_they_were(rendered, hostile):
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(rendered(hostile, "markdown"))
    fences = {token.content.rstrip("\n") for token in tokens if token.type == "fence"}
    lines = [line.rstrip() for line in safe(f"command{hostile}command").split("\n")]
    assert fences == {"\n".join(lines)}


@pytest.mark.sweep
def test_html(rendered, hostile, places_of):
    page = rendered(hostile, "html")
    plain = rendered("plain", "html")
    parser = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False)
    tree = parser.parse(page)
    assert elements(tree) == elements(html5lib.parse(plain, namespaceHTMLElements=False))
    shown = words(" ".join(tree.itertext()))
    for text in places_of(hostile):
        assert words(safe(text)) in shown, text


def elements(tree):
    """Elements with the names of their attributes, text apart; boxes of the graph may differ in
    their number of lines."""
    return [(e.tag, sorted(e.attrib)) for e in tree.iter()
            if isinstance(e.tag, str) and not e.tag.endswith("text")]  # fmt: skip


def test_sarif(rendered, hostile, sarif_schema, visible):
    log = json.loads(rendered(hostile, "sarif"))
    jsonschema.Draft4Validator(sarif_schema).validate(log)
    (run,) = log["runs"]
    texts = set(visible(log))
    assert safe(f"title{hostile}title") in texts
    assert safe(f"summary{hostile}summary") in texts
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        for location in result["locations"]:
            uri = location["physicalLocation"]["artifactLocation"]["uri"]
            assert re.fullmatch(r"[A-Za-z0-9/_.~%-]+", uri), uri


def test_junit(rendered, hostile):
    text = rendered(hostile, "junit")
    root = ET.fromstring(text)
    suites = JUnitXml.fromstring(text.encode())
    (suite,) = suites
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (9, 1, 3, 1)
    assert len(list(suite)) == 9
    messages = {e.get("message") for e in root.iter("failure")}
    assert any(one_line(f"title{hostile}title") in (m or "") for m in messages)
    said = words(" ".join(root.itertext()))
    assert words(safe(f"reason{hostile}reason"))[:20] in said


def test_github(rendered, hostile):
    lines = rendered(hostile, "github").split("\n")
    assert lines.pop() == ""
    assert len(lines) == 7, "three problems, two errors, one trouble and one overlay"
    for line in lines:
        command, properties, message = parse_command(line)
        assert command in ("error", "warning", "notice")
        assert properties.keys() <= {"file", "line", "title"}
        assert "title" in properties and message
    titles = [parse_command(line)[1]["title"] for line in lines]
    assert titles[0].startswith(safe(f"title{hostile}title"))


def parse_command(line):
    """Parse a command as the runner does."""
    match = re.fullmatch(r"::(\w+) ([^:]*)::(.*)", line)
    assert match, line
    pairs = (pair.split("=", 1) for pair in match[2].split(","))
    return match[1], {n: unescaped(v, inside=True) for n, v in pairs}, unescaped(match[3])


def unescaped(text, inside=False):
    pairs = [("%0D", "\r"), ("%0A", "\n")] + ([("%3A", ":"), ("%2C", ",")] if inside else [])
    for code, char in pairs:
        text = text.replace(code, char)
    return text.replace("%25", "%")


def test_json(rendered, hostile, report_schema, report_saying):
    """JSON has its own escapes: programs get the text as it was."""
    text = rendered(hostile, "json")
    assert text.isascii()
    plain = json.loads(text)
    jsonschema.Draft202012Validator(report_schema).validate(plain)
    plain.pop("redacted", None)
    assert plain == json.loads(json.dumps(report_saying(hostile).plain()))


def test_text(rendered, hostile, places_of):
    shown = "".join(rendered(hostile, "text").split())
    for text in places_of(hostile):
        if not text.startswith(("verify",)):
            assert "".join(safe(text).split()) in shown, text


@pytest.mark.parametrize("format_", [name for name in FORMATS if for_programs(name)])
def test_failures_are_valid_too(hostile, format_, sarif_schema, report_schema):
    problem = Problem("MM101", hostile, Location(f"a{hostile}", 3), hostile)
    failure = redacted(Failure({"name": "modelmedic", "version": "0"}, (problem,)))
    document = render_failure(failure, format_)
    assert document is not None
    text = document.value
    assert not CONTROL.search(text)
    if format_ == "sarif":
        jsonschema.Draft4Validator(sarif_schema).validate(json.loads(text))
    elif format_ == "json":
        jsonschema.Draft202012Validator(report_schema).validate(json.loads(text))
    elif format_ == "junit":
        assert next(iter(JUnitXml.fromstring(text.encode()))).errors == 1
    elif format_ != "github":
        assert "MM101" in text
    else:
        assert parse_command(text.rstrip("\n"))[0] == "error"


@pytest.mark.slow
@given(st.text(max_size=40))
def test_any_text_in_markdown_and_html(report_saying, places_of, text):
    """Whatever Unicode holds; secrets aside, which a random text hardly has."""
    document = redacted(Document(report_saying(text)))
    if document.counts:
        return
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(render(document, "markdown").value)
    shown = words("".join(block_text(t) for t in tokens))
    tree = html5lib.parse(render(document, "html").value, namespaceHTMLElements=False)
    page = words(" ".join(tree.itertext()))
    for said in places_of(text):
        assert words(one_line(said)) in shown
        assert words(safe(said)) in page


@given(st.text())
def test_what_is_shown_has_nothing_hidden(text):
    shown = safe(text)
    assert not CONTROL.search(shown)
    shown.encode("utf-8")
    assert safe(shown) == shown
