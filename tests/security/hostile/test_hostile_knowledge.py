"""The alphabet in knowledge that somebody else wrote: what authors' commands print and write, and
the reports in which such knowledge stands."""

import json
import xml.etree.ElementTree as ET

import html5lib
import pytest
import yaml

pytestmark = pytest.mark.usefixtures("small_base")

HEAD = {"domain": "local", "sources": [{"ref": "notes"}]}
WORST = "\x1b]0;owned\x07\x9b31m\u202e\u200b[bold]<b>x</b>\n::error::y"


def overlay_with(folder, texts):
    """Knowledge with a diagnosis for each text, and a rule that concludes all."""
    folder.mkdir(exist_ok=True)
    diagnoses = [
        {"id": f"local.perf.h{n}", "title": f"q{t}p", "severity": "warning", "kind": "root-cause",
         "summary": f"s{t}s", "actions": [{"do": f"d{t}d", "command": f"c{t}c", "verify": "v"}]}
        for n, t in enumerate(texts)]  # fmt: skip
    rules = [{"id": "local.rule.all", "title": "All of them", "message": f"m{''.join(texts)}m",
              "when": {"fact": "symptom", "where": {"name": "slow-steps"}},
              "conclude": [{"diagnosis": d["id"], "strength": "strong"} for d in diagnoses]}]  # fmt: skip
    for form, entries in (("diagnoses", diagnoses), ("rules", rules)):
        plain = {"schema": f"modelmedic/{form}/1", **HEAD, form: entries}
        (folder / f"{form}.yaml").write_text(yaml.safe_dump(plain, sort_keys=False))
    return folder


@pytest.fixture
def texts(alphabet):
    """Braces apart, which are templates in knowledge."""
    return [text for text in alphabet.values() if not set("{}") & set(text)]


@pytest.fixture
def overlay_of_all(tmp_path, texts):
    return overlay_with(tmp_path / "overlay", texts)


@pytest.mark.parametrize(
    "format_", ["text", "json", "markdown", "html", "sarif", "junit", "github"]
)
def test_reports(command, overlay_of_all, texts, facts_file, read_back, shown, format_):
    facts = facts_file({"kind": "symptom", "name": "slow-steps"})
    answer = command("--facts", facts, "--kb", overlay_of_all, "--all", "-f", format_)
    assert answer.code in (0, 1), answer.err
    said = read_back(format_, answer.out)
    missing = [t for t in texts if not (f"q{t}p" in said if format_ == "json" else
                                        shown(f"q{t}p".strip(), said))]  # fmt: skip
    assert missing == []


def test_lists_and_explanations(command, overlay_of_all, texts, shown):
    listed = command("kb", "list", "--kb", overlay_of_all).out
    assert [t for t in texts if not shown(f"q{t}p", listed)] == []
    for number in range(0, len(texts), 7):
        name = f"local.perf.h{number}"
        said = command("explain", name, "--kb", overlay_of_all, "-f", "json").out
        assert json.dumps(f"s{texts[number]}s") in said
        said = command("explain", name, "--kb", overlay_of_all).out
        assert shown(f"s{texts[number]}s", said)


@pytest.mark.parametrize("format_", ["text", "json", "sarif", "github"])
def test_lint(command, tmp_path, overlay_of_all, read_back, format_):
    """Problems that quote what they are about: unknown keys, ids, values."""
    folder = tmp_path / "broken"
    folder.mkdir()
    entry = {"id": WORST, "title": WORST, "severity": WORST, WORST: 1, "kind": WORST}
    plain = {"schema": "modelmedic/diagnoses/1", **HEAD, "diagnoses": [entry]}
    (folder / "diagnoses.yaml").write_text(yaml.safe_dump(plain))
    answer = command("kb", "lint", "--kb", folder, "-f", format_)
    assert answer.code == 3
    assert read_back(format_, answer.out)


def test_graphs(command, overlay_of_all, texts, shown):
    """Around the rule that concludes all: as a picture, and for programs that draw."""
    drawn = {format_: command("kb", "graph", "local.rule.all", "--kb", overlay_of_all,
                              "-f", format_).out for format_ in ("svg", "dot", "mermaid")}  # fmt: skip
    tree = ET.fromstring(drawn["svg"])
    tags = {element.tag.rpartition("}")[2] for element in tree.iter()}
    assert not tags & {"script", "image", "foreignObject", "use"}
    assert not [v for e in tree.iter("{*}a") for v in e.attrib.values() if ":" in v]
    for format_ in ("dot", "mermaid"):
        quotes = [line.replace('\\"', "").count('"') for line in drawn[format_].splitlines()]
        assert not [count for count in quotes if count % 2], "a text has left its quotes"
        assert max(quotes) >= 2


def test_pages(command, tmp_path, overlay_of_all, texts, read_back, shown):
    for format_, suffix in (("html", ".html"), ("markdown", ".md")):
        folder = tmp_path / f"pages-{format_}"
        answer = command("kb", "docs", "--kb", overlay_of_all, "-o", folder, "-f", format_)
        assert answer.code == 0, answer.err
        for number, text in enumerate(texts):
            page = (folder / f"local.perf.h{number}{suffix}").read_text(encoding="utf-8")
            said = read_back("html" if format_ == "html" else "markdown page", page)
            for wanted in (f"q{text}p", f"s{text}s", f"d{text}d", f"c{text}c"):
                assert shown(wanted, said), (format_, wanted)
        index = (folder / f"index{suffix}").read_text(encoding="utf-8")
        if format_ == "html":
            tree = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(index)
            scripts = "".join(script.text or "" for script in tree.iter("script"))
            assert not tree.findall(".//img") and "alert(1)" not in scripts
            said = "".join(tree.itertext())
        else:
            said = read_back("markdown page", index)
        assert [t for t in texts if not shown(f"q{t}p", said)] == []
        assert not [c for c in "\x1b\x9b\u202e\u200b\x07" if c in index]


def test_formatted(command, overlay_of_all):
    """`kb fmt` keeps every text, and writes nothing that hides."""
    before = {p.name: yaml.safe_load(p.read_text("utf-8")) for p in overlay_of_all.iterdir()}
    command("kb", "fmt", overlay_of_all)
    after = {p.name: yaml.safe_load(p.read_text("utf-8")) for p in overlay_of_all.iterdir()}
    assert after == before


@pytest.mark.parametrize("format_", ["text", "json", "markdown"])
def test_what_changed(command, tmp_path, overlay_of_all, texts, read_back, shown, format_):
    """All but one are new, and are reported with their titles."""
    before = overlay_with(tmp_path / "before", texts[:1])
    answer = command("kb", "diff", before, overlay_of_all, "-f", format_)
    assert answer.code == 0, answer.err
    said = read_back(format_, answer.out)
    missing = [t for t in texts[1:] if not (f"q{t}p" in said if format_ == "json" else
                                            shown(f"q{t}p", said))]  # fmt: skip
    assert missing == []


def test_a_summary_of_many(command, tmp_path, texts, read_back, shown):
    """The titles of what was found most often and the packages that say most, as a page and as
    JSON; eight packages are named."""
    for at in range(0, len(texts), 20):
        some = texts[at : at + 20]
        overlay = overlay_with(tmp_path / f"overlay{at}", some)
        named = [f"p{t}p" for t in some[at % 16 :][:8]]
        facts = [[{"kind": "package", "name": name, "version": f"{v}.0"} for name in named]
                 for v in (1, 2)]  # fmt: skip
        facts[0].append({"kind": "symptom", "name": "slow-steps"})
        lines = [json.dumps({"schema": "modelmedic/facts/1", "id": str(n), "facts": each})
                 for n, each in enumerate(facts)]  # fmt: skip
        (tmp_path / "in.jsonl").write_text("\n".join(lines))
        answer = command("bulk", "in.jsonl", "-o", "out.jsonl", "--kb", overlay, "--workers", "1",
                         "--summary-html", "all.html", "--summary", "all.json", "--restart")  # fmt: skip
        assert answer.code in (0, 1), answer.err
        said = read_back("html", (tmp_path / "all.html").read_text(encoding="utf-8"))
        assert [t for t in some if not shown(f"q{t}p", said)] == []
        assert [name for name in named if not shown(name, said)] == []
        counted = read_back("json", (tmp_path / "all.json").read_text(encoding="utf-8"))
        assert [t for t in some if f"q{t}p" not in counted] == []
