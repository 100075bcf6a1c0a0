"""``kb docs``: well-formed pages without broken links, that work without scripts and network."""

from __future__ import annotations

import re
import shutil
import subprocess

import html5lib
import pytest
from markdown_it import MarkdownIt

HTML = "{http://www.w3.org/1999/xhtml}"
PYDANTIC = "tinker.env.pydantic-prerelease-serialization"
pytestmark = [pytest.mark.deep, pytest.mark.xdist_group("kb_docs")]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Remembers the folders that were made, so that each site is written once."""
    return {}


@pytest.fixture
def site(diagnose, made, tmp_path_factory):
    """The shipped knowledge as HTML or Markdown."""

    def make(format_):
        if format_ not in made:
            target = tmp_path_factory.mktemp(format_) / "site"
            answer = diagnose("kb", "docs", "-o", target, "-f", format_)
            assert answer.code == 0, answer.err
            made[format_] = target
        return made[format_]

    return make


def parsed(path):
    """The tree of a page; a parse error is an error here."""
    return html5lib.HTMLParser(strict=True).parse(path.read_text(encoding="utf-8"))


def test_there_is_a_page_for_every_entry(diagnose, site):
    names = [line.split()[0] for line in diagnose("kb", "list").out.splitlines()]
    assert len(names) > 1000
    for format_, suffix in (("html", "html"), ("markdown", "md")):
        pages = {path.name for path in site(format_).glob(f"*.{suffix}")}
        assert {f"{name}.{suffix}" for name in names} == pages - {
            f"index.{suffix}",
            f"facts.{suffix}",
        }


def test_pages_are_well_formed_and_links_lead_somewhere(site):
    folder = site("html")
    trees = {path.name: parsed(path) for path in sorted(folder.glob("*.html"))}
    ids = {name: {e.get("id") for e in tree.iter() if e.get("id")} for name, tree in trees.items()}
    files = {path.name for path in folder.iterdir()}
    targets = set()
    for name, tree in trees.items():
        for element in tree.iter():
            for attribute in ("href", "src"):
                address = element.get(attribute)
                if address is None:
                    continue
                file, _, part = address.partition("#")
                targets.add(file)
                assert (file or name) in files, f"{name}: {address}"
                assert not part or part in ids[file or name], f"{name}: {address}"
    assert files - targets <= {"index.html", ".modelmedic-docs"}, "pages that nothing leads to"


def test_the_index_leads_to_every_page(site):
    links = {a.get("href") for a in parsed(site("html") / "index.html").iter(f"{HTML}a")}
    pages = {path.name for path in site("html").glob("*.html")} - {"index.html"}
    assert pages <= links


def test_nothing_is_loaded_from_elsewhere_and_only_the_index_has_a_script(site):
    for path in site("html").glob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"""(?:src|href)=["']?(?:[a-z]+:)?//""", text), path.name
        assert ("<script" in text) == (path.name == "index.html"), path.name
    assert "@import" not in (site("html") / "style.css").read_text()


def text_of(path):
    return " ".join("".join(parsed(path).find(f"{HTML}body").itertext()).split())


@pytest.mark.parametrize(
    ("page", "wanted"),
    [
        (PYDANTIC, ["error root-cause stable", "pip install", "Verify:", "no risk",
                    "Concluded by", "A broken pydantic beta is installed", "(rule, weak)",
                    "Ruled out by", "Explains", "Training steps are slow", "Sources disagree"]),
        ("tinker.rule.env-pydantic-training-submit", ["version from 2.13.0b1 before 2.13.0b3",
                    "submit_s ≥ 5 s (slow_submit_s)", "(decisive)", "Thresholds",
                    "a healthy submit is far below 0.1 s", "Tinker debug guide", "TD-ENV-010",
                    "knowledge/tinker/rules/environment-pydantic.yaml:"]),
        ("tinker.tree.hang", ["the job hangs", "Does the log say that the job is paused?",
                              "Why:", "go on to “Where does it hang?”"]),
        ("tinker.err.auth-http-401", ["Recognised by", "401", "Samples", "Causes", "Fix"]),
        ("neuron.class.disk-space", ["insufficient", "< 2 (disk_least)", "five times"]),
        ("facts", ["package", "version", "Looked at by"]),
    ],
)  # fmt: skip
def test_what_pages_say(site, page, wanted):
    shown = text_of(site("html") / f"{page}.html")
    assert [part for part in wanted if part not in shown] == []


def test_links_go_both_ways(site):
    def links(name):
        return {a.get("href") for a in parsed(site("html") / f"{name}.html").iter(f"{HTML}a")}

    assert f"{PYDANTIC}.html" in links("tinker.rule.env-pydantic-version")
    assert "tinker.rule.env-pydantic-version.html" in links(PYDANTIC)
    assert "tinker.tree.hang.html" in links(PYDANTIC)
    assert "facts.html#package" in links("tinker.rule.env-pydantic-version")


def test_a_tree_is_drawn(site):
    svg = parsed(site("html") / "tinker.tree.hang.html").find(".//{http://www.w3.org/2000/svg}svg")
    assert svg is not None
    assert "```mermaid\nflowchart LR" in (site("markdown") / "tinker.tree.hang.md").read_text()


def test_markdown_links_lead_somewhere(site):
    folder = site("markdown")
    reader = MarkdownIt("commonmark").enable("table")
    files = {path.name for path in folder.iterdir()}
    for path in sorted(folder.glob("tinker.*.md"))[::15]:
        for token in reader.parse(path.read_text(encoding="utf-8")):
            for child in token.children or ():
                if child.type == "link_open":
                    assert str(child.attrs["href"]).partition("#")[0] in files, path.name


def test_writing_again_changes_nothing_and_removes_what_is_gone(on_small, folder, tmp_path):
    rule = """
schema: modelmedic/rules/1
domain: acme
sources: [{ref: measured}]
rules:
  - id: acme.rule.x
    title: x
    when: {fact: env_var, where: {name: X, is_set: true}}
    conclude: [{diagnosis: tinker.perf.hang}]
"""
    target, overlay = tmp_path / "site", folder("acme", {"r.yaml": rule})
    on_small("kb", "docs", "-o", target, "--kb", overlay)
    first = {path.name: path.read_bytes() for path in target.iterdir()}
    on_small("kb", "docs", "-o", target, "--kb", overlay)
    assert {path.name: path.read_bytes() for path in target.iterdir()} == first
    on_small("kb", "docs", "-o", target)
    assert first.keys() - {path.name for path in target.iterdir()} == {"acme.rule.x.html"}


def test_a_folder_with_other_files_is_left_alone(on_small, folder):
    target = folder("papers", {"thesis.txt": "years of work"})
    answer = on_small("kb", "docs", "-o", target)
    assert (answer.code, answer.err[:5]) == (2, "MM342")
    assert [path.name for path in target.iterdir()] == ["thesis.txt"]


def test_hostile_texts_stay_texts(on_small, folder, tmp_path):
    nasty = "<script>alert(1)</script><img src=x onerror=y> ](javascript:1) \\u202e\\e[31m"
    quoted = nasty.replace('"', '\\"')
    overlay = folder("acme", {"d.yaml": f"""
schema: modelmedic/diagnoses/1
domain: acme
sources: [{{ref: "{quoted}"}}]
diagnoses:
  - {{id: acme.env.x, title: "{quoted}", severity: error, kind: root-cause, summary: "{quoted}"}}
"""})  # fmt: skip
    for format_ in ("html", "markdown"):
        on_small("kb", "docs", "-o", tmp_path / format_, "-f", format_, "--kb", overlay)
    for name in ("acme.env.x", "index"):
        page = tmp_path / "html" / f"{name}.html"
        tree = parsed(page)
        assert not list(tree.iter(f"{HTML}img"))
        assert len(list(tree.iter(f"{HTML}script"))) == (name == "index")
        text = page.read_text(encoding="utf-8")
        assert "\u202e" not in text
        assert "\x1b" not in text
    markdown = (tmp_path / "markdown" / "acme.env.x.md").read_text(encoding="utf-8")
    tokens = MarkdownIt("commonmark").enable("table").parse(markdown)
    inside = [child for token in tokens for child in token.children or ()]
    assert not [t for t in (*tokens, *inside) if t.type in ("html_block", "html_inline", "image")]
    assert not [t for t in inside if "javascript" in str(t.attrs.get("href", ""))]


@pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
def test_the_script_is_sound(site):
    page = (site("html") / "index.html").read_text(encoding="utf-8")
    script = re.search(r"<script>(.*)</script>", page, re.DOTALL)
    assert script
    done = subprocess.run(
        ["node", "--check", "-"], input=script[1].encode(), timeout=30, check=False
    )
    assert done.returncode == 0
