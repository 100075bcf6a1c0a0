"""The meaning of the condition language and the five forms, as data: ``conformance/*.yaml``.

A file holds one world and cases about it:

- ``condition`` with ``truth`` (yes, no, unknown) in each case: one rule asks for the condition, one
  for its negation; neither fires where it is unknown;
- knowledge (``diagnoses`` by id with what differs from a plain one, ``rules``, ``errors``,
  ``trees``, ``classifications``, ``parameters``) with what comes out of each case's facts:
  ``holds``, ``out``, ``derived``, ``conflicting``, ``messages`` are exact sets, ``order`` is the
  exact order of diagnoses, ``confidence`` and ``explained_by`` describe the ids that they name;
- ``problems``: the exact codes with which the compiler refuses, each with a text that it names.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from modelmedic.facts.strict_yaml import load

FOLDER = Path(__file__).resolve().parent / "conformance"
FILES = sorted(path for path in FOLDER.glob("*.yaml") if path.stem != "vocabulary")
SECTIONS = ("rules", "errors", "trees", "classifications")
KNOWN = {"about", "kinds", "diagnoses", "parameters", "condition", "problems", "cases", *SECTIONS}
EXPECTED = {"name", "facts", "truth", "holds", "out", "derived", "conflicting", "order",
            "confidence", "explained_by", "messages", "capped"}  # fmt: skip


def read(path: Path) -> Any:
    return load(path.read_text(encoding="utf-8"), str(path)).data


def cases() -> list[Any]:
    found = []
    for path in FILES:
        data = read(path)
        for case in data.get("cases", [{"name": "is refused"}]):
            found.append(pytest.param(data, case, id=f"{path.stem}: {case['name']}"))
    return found


def knowledge(data: Any) -> dict[str, Any]:
    """The knowledge files that a conformance file stands for."""
    data = copy.deepcopy(data)
    if "condition" in data:
        data["diagnoses"] = {"t.is.true": {}, "t.is.false": {}}
        data["rules"] = [
            {"id": "t.rule.true", "when": data["condition"], "conclude": ["t.is.true"]},
            {"id": "t.rule.false", "when": {"not": data["condition"]}, "conclude": ["t.is.false"]},
        ]
    plain = {"title": "t", "severity": "error", "kind": "root-cause", "summary": "s"}
    diagnoses = data.get("diagnoses", {}).items()
    files: dict[str, Any] = {"diagnoses": [{"id": name, **plain, **own} for name, own in diagnoses]}
    for section in SECTIONS:
        if section in data:
            files[section] = [complete(section, entry) for entry in data[section]]
    common = {"domain": "t"}
    return {
        section: {"schema": f"modelmedic/{section}/1", **common, section: entries}
        | ({"emitter": "t"} if section == "errors" else {})
        | ({"parameters": data["parameters"]} if "parameters" in data and section != "diagnoses"
           else {})
        for section, entries in files.items()
    }  # fmt: skip


def complete(section: str, entry: dict[str, Any]) -> dict[str, Any]:
    """An entry with the parts that its model demands and the cases are not about."""
    entry = {"title": "t", **entry}
    if section == "rules":
        entry["conclude"] = [{"diagnosis": c} if isinstance(c, str) else c
                             for c in entry.get("conclude", [])]  # fmt: skip
    if section == "errors":
        entry = {"samples": ["a"], "near_misses": ["b"], "retry": "never", **entry}
    if section == "trees":
        entry["symptom"] = {"phrases": ["a", "b", "c"], **entry["symptom"]}
        for node in entry["nodes"].values():
            node |= {"ask": "?", "why": "w"}
    return entry


def test_there_are_cases():
    assert len(cases()) >= 60
    for path in FILES:
        data = read(path)
        assert set(data) <= KNOWN, path
        assert ("problems" in data) != ("cases" in data), path
        names = [case["name"] for case in data.get("cases", [])]
        assert len(names) == len(set(names)), path
        for case in data.get("cases", []):
            assert set(case) <= EXPECTED and len(case) >= 3, (path, case)


@pytest.mark.parametrize(("data", "case"), cases())
def test_case(data, case, engine, kit):
    kinds = read(FOLDER / "vocabulary.yaml") | data.get("kinds", {})
    world = kit.make_world(kinds, knowledge(data), [engine])
    wanted = data.get("problems", [])
    texts = [f"{p.code} {p.message}" for p in world.problems]
    assert len(texts) == len(wanted), texts
    for problem in wanted:
        code, name = next(iter(problem.items()))
        assert any(t.startswith(code) and name in t for t in texts), (problem, texts)
    assert all(p.where and p.where.line for p in world.problems)
    if not wanted:
        check(case, world.doctors[engine].diagnose(world.facts(case["facts"])))


def check(case, report):
    diagnoses = {d.id: d for d in report.diagnoses}
    if "truth" in case:
        told = {("t.is.true",): "yes", ("t.is.false",): "no", (): "unknown"}
        assert told.get(tuple(sorted(diagnoses)), "both") == case["truth"]
    exact = {
        "holds": set(diagnoses),
        "out": {r.id for r in report.ruled_out},
        "conflicting": {d.id for d in report.diagnoses if d.conflicting},
    }
    for name, found in exact.items():
        if name in case:
            assert found == set(case[name]), name
    if "order" in case:
        assert [d.id for d in report.diagnoses] == case["order"]
    if "derived" in case:
        kinds = {fact["kind"] for fact in case["derived"]} or {"found"}
        derived = [f.plain() for _, f, derived in report.facts if derived and f.kind in kinds]
        assert sorted(map(repr, map(sorted_items, derived))) == sorted(
            map(repr, map(sorted_items, case["derived"]))
        )
    for name, wanted in case.get("confidence", {}).items():
        assert diagnoses[name].confidence == wanted
    for name, causes in case.get("explained_by", {}).items():
        assert list(diagnoses[name].explained_by) == causes
        assert all(name in diagnoses[cause].explains for cause in causes)
    if "messages" in case:
        assert {m.row for m in report.messages} == set(case["messages"])
    if "capped" not in case:
        assert not report.errors


def sorted_items(flat: dict[str, Any]) -> list[Any]:
    return sorted((name, value) for name, value in flat.items() if name != "provenance")
