"""The known issues that ship: their figures, and how they are found by what people say."""

from __future__ import annotations

import json
from pathlib import Path
from time import process_time
from typing import Any

import pytest
import yaml

from modelmedic.engine.compiler.build import build
from modelmedic.engine.compiler.knowledge_base import KnowledgeBase, shipped_layer
from modelmedic.engine.compiler.source.issues import Issue
from modelmedic.engine.diagnosis.known_issues import similar_issues

CORPORA = Path(__file__).with_name("corpora")
LEAST_FIRST, LEAST_AMONG_THREE = 0.8, 0.92
MOST_MS = 20


@pytest.fixture(scope="module")
def issues(built) -> list[Issue]:
    found = [item.entry for item in built.source.of("diagnosis")]
    return [entry for entry in found if isinstance(entry, Issue)]


def test_there_are_many_and_each_has_a_thread(issues) -> None:
    assert len(issues) >= 250
    hosts = ("https://github.com/", "https://awsdocs-neuron.readthedocs-hosted.com/")
    assert [i.id for i in issues if not i.link.startswith(hosts)] == []


WRITTEN_BY = [
    ("known_issues.yaml", "tune"),
    ("known_issues.yaml", "hold_out"),
    ("known_issues_of_another.yaml", "texts"),
]


@pytest.mark.parametrize(("name", "part"), WRITTEN_BY)
def test_paraphrased_symptoms_find_their_issue(doctor, name, part) -> None:
    corpus = yaml.safe_load((CORPORA / name).read_text(encoding="utf-8"))[part]
    by_link: dict[str, set[str]] = {}
    for issue, shown in doctor.base.catalogue["issues"].items():
        by_link.setdefault(shown["link"], set()).add(issue)
    first = among = 0
    for said in corpus:
        wanted = by_link.get(said["link"], set())
        found = [issue.id for issue in similar_issues(said["text"], doctor.base)]
        first += bool(found) and found[0] in wanted
        among += bool(wanted.intersection(found))
    assert first >= LEAST_FIRST * len(corpus)
    assert among >= LEAST_AMONG_THREE * len(corpus)


NEITHER = ("foreign.jsonl", "healthy.jsonl", "neuron_unrelated.jsonl")


@pytest.mark.parametrize("name", NEITHER)
def test_texts_of_other_matters_look_like_none(doctor, name) -> None:
    from modelmedic.engine.diagnosis.known_issues import like_complaint

    lines = (CORPORA / name).read_text(encoding="utf-8").splitlines()
    texts = [str(json.loads(line).get("text", "")) for line in lines]
    found = [text for text in texts if text and like_complaint(text, doctor.base)]
    assert len(found) <= len(texts) // 100, found


def test_every_issue_is_found_by_its_own_title(doctor, issues) -> None:
    missed = [i.id for i in issues if i.id not in
              [s.id for s in similar_issues(f"{i.package} {i.title}", doctor.base)]]  # fmt: skip
    assert missed == []


def test_a_thousand_issues_are_searched_in_little_time() -> None:
    """In processor time, without what is read once."""
    vocabulary, _ = shipped_layer(tests=False).texts()
    words = [f"{a}{b}" for a in ("lo", "mi", "ta", "re", "su") for b in "bcdfghklmnprstvwz"]
    issues = [
        {
            "id": f"acme.issue.n{n}", "title": " ".join(words[n % 80 : n % 80 + 5]),
            "severity": "error", "summary": " ".join(words[n % 7 :: 9]), "package": f"p{n % 50}",
            "versions": [{"introduced": "1.0", "fixed": "2.0"}],
            "seen": [" ".join(words[n % 11 :: 5]), " ".join(words[n % 13 :: 6])],
            "link": f"https://example.org/{n}", "confirmed": "maintainers",
        }
        for n in range(1000)
    ]  # fmt: skip
    file: dict[str, Any] = {
        "schema": "modelmedic/issues/1", "domain": "acme", "verified": "2026-01-01",
    }  # fmt: skip
    built = build(vocabulary, [("many.yaml", json.dumps(file | {"issues": issues}))])
    base = KnowledgeBase.of(built.compiled, "many")
    assert len(base.catalogue["issues"]) == 1000
    start = process_time()
    for n in range(20):
        assert similar_issues(" ".join(words[n : n + 25]), base)
    assert (process_time() - start) / 20 * 1000 <= MOST_MS
