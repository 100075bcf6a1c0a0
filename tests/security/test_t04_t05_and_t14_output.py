"""Threats T4, T5 and T14 of SECURITY.md, at the commands; tests/reports goes through every format
and every kind of secret in depth."""

import json
import re
from xml.etree import ElementTree as ET

import html5lib
import pytest
from markdown_it import MarkdownIt

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
HOSTILE = (
    "\x1b[2J\x1b]8;;http://evil.test\x07", "\x9b31m\u202eevil\u202c\u200b", "[red]x[/red]",
    "[link=http://evil.test]", "<ansired>x</ansired>", "\r\n::error::x", "\b\b\b\x00", "\u2028x",
)  # fmt: skip
MARKUP = (
    "<script>alert(1)</script>", "]]><x/>", '"><img src=x onerror=alert(1)>', "a | b\n# c",
    "[x](javascript:alert(1))", "::set-output name=a::b", "=cmd|'/c calc'!A1", "javascript:alert(1)",
    "%0A::error::x", "</title></style><svg onload=alert(1)>", "label\"]; evil [x=\"",
)  # fmt: skip
# In its parts, so that no scanner takes this file for a leak.
KEYS = ("tml" + "-Zk8Qw2Lp9Xv4Rt7Yb1Nc6Md3", "hf" + "_aBcDeFgHiJkLmNoPqRsTuVwXyZ012345",
        "AKIA" + "IOSFODNN7EXAMPLE"[:16])  # fmt: skip
FOLD = re.compile(r"(<details><summary>[A-Za-z ,()]+</summary>|</details>)\n")
"""The only HTML in our Markdown."""
ALL = ("text", "json", "markdown", "html", "sarif", "junit", "github")


@pytest.fixture
def said(diagnose, facts_file, tmp_path):
    """Everything that the commands say with these texts in facts, logs and file names: the answers
    alone, or what goes to the terminal besides as well."""

    def said(texts, format_, besides=True):
        facts = facts_file(
            *({"kind": "error_message", "text": f"Error code: 429 {text}", "exception": "X",
               "provenance": {"location": f"run/{text}.log"}} for text in texts),
            {"kind": "symptom", "name": "slow-steps"},
        )  # fmt: skip
        log = tmp_path / "job.log"
        log.write_text("".join(f"ERROR tinker.RateLimitError: 429 {text}\n" for text in texts))
        answers = [diagnose("--facts", facts, "-v", "-f", format_),
                   diagnose("inspect", log, "-f", format_),
                   diagnose("decode", "\n".join(texts).replace("\0", ""), "-f", format_),
                   diagnose("--facts", f"none{texts[0]}".replace("\0", ""), "-f", format_)]  # fmt: skip
        assert [answer.code in (0, 1, 2, 4) for answer in answers] == [True] * 4, answers
        assert [bool(answer.out) for answer in answers[:3]] == [True] * 3
        if besides:
            return [answer.out + answer.err for answer in answers]
        return [answer.out for answer in answers if answer.out]

    return said


@pytest.mark.sweep
@pytest.mark.parametrize("format_", ALL)
def test_t04_terminal_escapes(said, format_):
    for text in said(HOSTILE, format_):
        found = CONTROL.search(text)
        assert found is None, ascii(found)


def test_t04_markup_is_text(said):
    text = " ".join("".join(said(HOSTILE, "text")).split())
    for markup in ("[red]x[/red]", "[link=http://evil.test]", "<ansired>x</ansired>"):
        assert markup in text


@pytest.mark.sweep
@pytest.mark.parametrize("format_", ALL)
def test_t05_secrets(said, format_):
    texts = [f"the key {key} was refused" for key in KEYS]
    for text in said([*texts, "password=hunter2xyz", "postgres://u:hunter2xyz@h/db"], format_):
        for secret in (*KEYS, "hunter2xyz"):
            assert secret not in text


def test_t05_secrets_in_what_is_kept(diagnose, tmp_path, environment, run):
    """Facts files, reports in files, the session of a consultation."""
    log = tmp_path / "job.log"
    log.write_text("".join(f"ERROR tinker.AuthenticationError: bad key {key}\n" for key in KEYS))
    saved, report = tmp_path / "facts.json", tmp_path / "report.html"
    diagnose("inspect", log, "--save-facts", saved, "-f", "html", "-o", report)
    state = tmp_path / "state"
    said = f"inspect {log}\nslow-steps\nreport\nquit\n".encode()
    diagnose("--accessible", stdin=said, XDG_STATE_HOME=str(state))
    kept = [path for path in state.rglob("*") if path.is_file()]
    for path in (saved, report, *kept):
        text = path.read_text(errors="replace")
        assert not [key for key in KEYS if key in text], path


def test_t14_html(said):
    for page in said(MARKUP, "html", besides=False):
        tree = html5lib.parse(page, namespaceHTMLElements=False)
        tags = [e for e in tree.iter() if isinstance(e.tag, str)]
        assert not [e for e in tags if e.tag in ("script", "img", "iframe", "object", "embed")]
        assert not [name for e in tags for name in e.attrib if str(name).startswith("on")]
        links = [value for e in tags for name, value in e.attrib.items()
                 if str(name) in ("href", "src", "action")]  # fmt: skip
        assert not [link for link in links if ":" in link and not link.startswith("http")]
        policy = tree.find(".//meta[@http-equiv='Content-Security-Policy']")
        assert policy.get("content").startswith("default-src 'none'")
        assert "alert(1)" in "".join(tree.itertext()), "the text is gone"


def test_t14_xml_json_and_annotations(said):
    for text in said(MARKUP, "junit", besides=False):
        assert {e.tag for e in ET.fromstring(text).iter()} <= {
            "testsuites", "testsuite", "testcase", "failure", "error", "skipped", "properties",
            "property", "system-out", "system-err"}  # fmt: skip
    for format_ in ("json", "sarif"):
        for text in said(MARKUP, format_, besides=False):
            uris = re.findall(r'"uri": "([^"]*)"', json.dumps(json.loads(text)))
            # A file that the user named by its whole path; else nothing but relative ones.
            assert not [uri for uri in uris if ":" in uri.removeprefix("file:///")]
    for text in said(MARKUP, "github", besides=False):
        assert all(re.match(r"::(error|warning|notice) [^\n]*::", line)
                   for line in text.splitlines())  # fmt: skip


def test_t14_markdown(said):
    for text in said(MARKUP, "markdown", besides=False):
        tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(text)
        assert "alert(1)" in text, "the text is gone"
        folds = [t for t in tokens if t.type == "html_block"]
        assert all(FOLD.fullmatch(t.content) for t in folds)
        kinds = {c.type for t in tokens if t not in folds for c in (t, *(t.children or ()))}
        assert not kinds & {"html_block", "html_inline", "link_open", "image"}
