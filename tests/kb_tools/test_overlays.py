"""Overlays add, tighten, silence and replace; they never bring what runs; every report says it.

They lie on a small knowledge that has what they refer to. Overlays on the shipped one are tried in
the tests of bad knowledge and of security.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from modelmedic.engine import Diagnoser
from modelmedic.engine.compiler import knowledge_base
from modelmedic.engine.compiler.knowledge_base import KnowledgeBase
from modelmedic.facts import ModelMedicError
from modelmedic.facts.strict_yaml import load

CASES = Path(__file__).with_name("overlay_cases")


def read(path):
    return load(path.read_text(encoding="utf-8"), path.name).data


GOOD = {path.stem: read(path) for path in CASES.glob("*.yaml") if path.stem != "broken"}
BROKEN = read(CASES / "broken.yaml")["broken"]
SILENT_TILL = """
schema: modelmedic/overlay/1
silence: [{id: tinker.perf.slow-steps, reason: planned, until: 2027-01-31}]
"""


@pytest.fixture(autouse=True)
def below(monkeypatch):
    """The knowledge that takes the place of the shipped one."""
    folder = str(Path(__file__).with_name("below") / "knowledge")
    monkeypatch.setattr(knowledge_base, "SHIPPED_KNOWLEDGE", folder)
    folders = (folder, *knowledge_base.SHIPPED_FOLDERS[1:])
    monkeypatch.setattr(knowledge_base, "SHIPPED_FOLDERS", folders)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """A cache of these tests alone."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def facts_file(tmp_path):
    def write(facts):
        path = tmp_path / "facts.json"
        path.write_text(json.dumps({"schema": "modelmedic/facts/1", "facts": facts}))
        return path

    return write


@pytest.mark.parametrize("name", sorted(GOOD))
def test_what_an_overlay_does(diagnose, folder, facts_file, name):
    case = GOOD[name]
    overlay, facts = folder("acme", case["overlay"]), facts_file(case["facts"])
    answer = diagnose("--facts", facts, "--kb", overlay, "-f", "json")
    assert answer.code in (0, 1), answer.err
    found = {d["id"] for d in answer.json["diagnoses"]}
    assert set(case.get("concludes", ())) <= found
    assert not set(case.get("silent", ())) & found
    (said,) = answer.json["knowledge"]["overlays"]
    assert said["path"] == str(overlay)
    assert case.get("says", {}).items() <= said.items()
    assert case.get("notice", "") in answer.err

    if "silent" in case and "fires" not in name:  # it is the overlay that silences
        without = {d["id"] for d in diagnose("--facts", facts, "-f", "json").json["diagnoses"]}
        assert set(case["silent"]) <= without


@pytest.mark.parametrize("name", sorted(name for name in GOOD if "text" in GOOD[name]))
def test_every_report_says_what_overlays_did(diagnose, folder, facts_file, name):
    case = GOOD[name]
    overlay, facts = folder("acme", case["overlay"]), facts_file(case["facts"])
    for format_ in ("text", "markdown", "html", "junit", "github", "lines"):
        said = diagnose("--facts", facts, "--kb", overlay, "-f", format_).out
        assert case["text"] in " ".join(said.replace("\\", "").split()), format_


@pytest.mark.parametrize("name", sorted(BROKEN))
def test_what_an_overlay_must_not_do(compiled, folder, name):
    text = BROKEN[name]
    (number, code), = [
        (n, re.findall("MM[0-9]{3}", line)[0])
        for n, line in enumerate(text.splitlines(), 1)
        if "# <-" in line
    ]  # fmt: skip
    overlay = folder("acme", {f"{name}.yaml": text})
    with pytest.raises(ModelMedicError) as error:
        KnowledgeBase.load([overlay], cache=compiled)
    assert {(p.code, *(p.where or ("", 0))[:2]) for p in error.value.problems} == {
        (code, f"acme/{name}.yaml", number)
    }
    assert all(p.hint for p in error.value.problems if code not in ("MM220",))


def test_a_duplicate_id_names_both_places(diagnose, folder, facts_file):
    overlay = folder("acme", {"rules.yaml": BROKEN["duplicate"]})
    answer = diagnose("--facts", facts_file([]), "--kb", overlay)
    said = " ".join(answer.err.split())
    assert answer.code == 3
    assert "acme/rules.yaml:5:9" in said
    assert re.search(r"already used at knowledge/tinker/rules/[a-z-]+\.yaml:\d+:\d+", said)
    assert "replaces: tinker.rule.env-pydantic-version" in said


def test_shipped_knowledge_cannot_speak_of_what_lies_below(folder):
    from modelmedic.engine.compiler.build import build

    with_overlay = build([], [("knowledge/o.yaml", SILENT_TILL)])
    assert [p.code for p in with_overlay.problems] == ["MM221"]


def test_the_day_comes_from_outside(folder, tmp_path):
    overlay = folder("acme", {"o.yaml": SILENT_TILL})
    cache = tmp_path / "cache"

    def concluded(today):
        doctor = Diagnoser.load([overlay], cache=cache, today=today)
        fact = doctor.base.vocabulary.fact("symptom", name="slow-steps")
        return {d.id for d in doctor.diagnose([fact]).diagnoses}

    # Twice over the boundary, so that knowledge compiled for one day is not taken for another.
    for _ in range(2):
        assert not concluded("2027-01-31")
        assert concluded("2027-02-01") == {"tinker.perf.slow-steps"}
        assert not concluded("2026-01-01")
        assert not concluded("")


def test_the_order_of_overlays_counts(compiled, folder):
    files = GOOD["replace"]["overlay"]
    first = folder("first", files)
    other = files["rules.yaml"].replace("9.9.9", "8.8.8")
    second = folder("second", {**files, "rules.yaml": other})
    one, other = (KnowledgeBase.load(each, cache=compiled)
                  for each in ([first, second], [second, first]))  # fmt: skip
    assert one.digest != other.digest
    for base, version in ((one, "8.8.8"), (other, "9.9.9")):
        doctor = Diagnoser.of(base)
        fact = base.vocabulary.fact("package", name="pydantic", version=version)
        assert [d.id for d in doctor.diagnose([fact]).diagnoses] == [
            "tinker.env.pydantic-prerelease-serialization"
        ]


def test_the_same_overlay_elsewhere_is_the_same_knowledge(folder, tmp_path):
    texts = GOOD["silence_rule"]["overlay"]
    here, there = folder("a/acme", texts), folder("b/acme", texts)
    cache = tmp_path / "cache"
    one, other = (KnowledgeBase.load([f], cache=cache) for f in (here, there))
    assert one.digest == other.digest
    assert [o["path"] for o in (*one.overlays, *other.overlays)] == [str(here), str(there)]


def test_hostile_texts_of_an_overlay_stay_texts(diagnose, folder, facts_file):
    hostile = '"<script>alert(1)</script>\\e[31m [x](javascript:1)"'
    text = GOOD["silence_rule"]["overlay"]["overlay.yaml"].replace("known here", hostile)
    overlay, facts = folder("acme", {"o.yaml": text}), facts_file([])
    page = diagnose("--facts", facts, "--kb", overlay, "-f", "html").out
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page
    for format_ in ("text", "markdown", "html"):
        assert "\x1b" not in diagnose("--facts", facts, "--kb", overlay, "-f", format_).out
    markdown = diagnose("--facts", facts, "--kb", overlay, "-f", "markdown").out
    tokens = MarkdownIt("commonmark").parse(markdown)
    inside = [child for token in tokens for child in token.children or ()]
    assert any("javascript:1" in child.content for child in inside)
    assert not [t for t in inside if t.type in ("link_open", "html_inline")]
