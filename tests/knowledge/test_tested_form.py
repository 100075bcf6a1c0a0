"""Versions that were verified together: what is said of them, of others, and of the unknown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from modelmedic.engine import Diagnoser
from modelmedic.engine.compiler.build import build
from modelmedic.engine.compiler.knowledge_base import KnowledgeBase, shipped_layer
from modelmedic.engine.compiler.source import tested
from modelmedic.facts import Location, Provenance

CLEAN, UNVERIFIED = "tinker.env.dependencies-clean", "tinker.env.versions-unverified"
POTS = {
    "schema": "modelmedic/tested/1",
    "domain": "acme",
    "sources": [{"ref": "measured"}],
    "core": ["pot"],
    "combinations": [
        {"id": "acme.tested.one", "packages": {"pot": "1.0", "lid": "2.0"},
         "verified": "2026-11-23", "how": {"import": ""}},
        {"id": "acme.tested.two", "packages": {"pot": "1.4"},
         "verified": "2026-11-23", "how": {"import": "", "tokenizer": "made by hand"}},
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def pots() -> Diagnoser:
    """Knowledge of these combinations, and nothing else."""
    vocabulary, _ = shipped_layer(tests=False).texts()
    built = build(vocabulary, [("tested.yaml", json.dumps(POTS))], tests=True)
    assert built.problems == ()
    return Diagnoser.of(KnowledgeBase.of(built.compiled, "pots"))


@pytest.fixture(scope="module")
def shipped() -> Diagnoser:
    return Diagnoser.load()


def report(doctor: Diagnoser, versions: dict[str, str]) -> Any:
    items = [{"kind": "package", "name": n, "version": v} for n, v in versions.items()]
    vocabulary = doctor.base.vocabulary
    return doctor.diagnose(
        [vocabulary.read(item, Location("test"), Provenance("test")) for item in items]
    )


def places(doctor: Diagnoser, **versions: str) -> list[tuple[str, str]]:
    facts = [fact for _, fact, _ in report(doctor, versions).facts]
    return sorted(
        (str(fact.get("package") or ""), str(fact.get("state")))
        for fact in facts
        if fact.kind == "tested_versions"
    )


@pytest.mark.parametrize(
    ("versions", "said"),
    [
        ({"pot": "1.0", "lid": "2.0"}, [("", "together")]),
        ({"pot": "1.0.0+cpu", "lid": "2.0.0"}, [("", "together")]),
        ({"pot": "1.0"}, [("", "together")]),  # the lid is not known
        ({"pot": "1.4"}, [("", "together")]),
        ({"pot": "1.4", "lid": "2.0"}, []),  # both verified, and not together
        ({"pot": "0.9"}, [("pot", "older")]),
        ({"pot": "1.2"}, [("pot", "between")]),
        ({"pot": "1.4.1"}, [("pot", "newer")]),
        ({"pot": "1.0", "lid": "2.1"}, [("lid", "newer")]),
        ({"pot": "1.5", "lid": "1.0"}, [("lid", "older"), ("pot", "newer")]),
        ({"lid": "2.0"}, []),
        ({}, []),
    ],
)
def test_where_versions_stand(pots, versions, said) -> None:
    assert places(pots, **versions) == said


def test_a_package_without_a_version_refutes_nothing(pots) -> None:
    vocabulary = pots.base.vocabulary
    items = [{"kind": "package", "name": "pot", "version": "1.0"},
             {"kind": "package", "name": "lid", "importable": False}]  # fmt: skip
    facts = [vocabulary.read(i, Location("test"), Provenance("test")) for i in items]
    kinds = [
        f.get("state") for _, f, _ in pots.diagnose(facts).facts if f.kind == "tested_versions"
    ]
    assert kinds == ["together"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"packages": {"lid": "2.0"}}, "does not name pot"),
        ({"packages": {"pot": "next"}}, "is not a version"),
        ({"packages": {"pot": "1.4.0"}}, "has the versions of"),
        ({"verified": "23.11.2026"}, "verified"),
        ({"how": {}}, "how"),
        ({"how": {"prayer": ""}}, "how"),
    ],
)
def test_what_cannot_be_is_refused(change, said) -> None:
    vocabulary, _ = shipped_layer(tests=False).texts()
    first, second = POTS["combinations"]
    file = POTS | {"combinations": [first | change, second]}
    built = build(vocabulary, [("tested.yaml", json.dumps(file))], tests=True)
    assert any(said in problem.message for problem in built.problems)


def test_every_rule_has_its_three_kinds_of_case() -> None:
    for part in tested.parts_of(tested.TestedFile.model_validate(POTS)):
        assert {case.kind for case in part.cases} == {"fires", "silent", "unknown"}
        assert {case.entry for case in part.cases} == {part.rule.id}


VERIFIED = {"tinker": "0.38.0", "tinker-cookbook": "0.5.8", "pydantic": "2.14.3",
            "transformers": "5.5.4"}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"transformers": "5.999.0"}, "5.999.0 is newer than what was verified (5.23.0)."),
        ({"transformers": "5.8.0"}, "is between what was verified (5.7.0 and 5.23.0)."),
        ({"transformers": "5.2.0"}, "5.2.0 is older than what was verified (5.4.0)."),
        ({"transformers": "5.23.0"}, "were each verified, but not together."),
    ],
)  # fmt: skip
def test_only_what_was_verified_gets_the_all_clear(shipped, change, said) -> None:
    [clean] = [d for d in report(shipped, VERIFIED).diagnoses if d.id in (CLEAN, UNVERIFIED)]
    assert clean.id == CLEAN
    other = report(shipped, VERIFIED | change)
    [found] = [d for d in other.diagnoses if d.id in (CLEAN, UNVERIFIED)]
    assert (found.id, found.severity, other.status) == (UNVERIFIED, "info", "clear")
    assert said in found.explanation["how"][0]["message"]
    [action] = found.actions
    assert action["command"].startswith("diagnose probe verification ")


def test_beside_a_version_that_is_known_to_be_bad_neither_is_said(shipped) -> None:
    for bad in ({"transformers": "5.6.2"}, {"pydantic": "2.13.0b2"}):
        names = {d.id for d in report(shipped, VERIFIED | bad).diagnoses}
        assert not names & {CLEAN, UNVERIFIED}


def test_of_the_shipped_combinations_each_has_its_own_all_clear(shipped) -> None:
    file = Path(__file__).parents[2] / "knowledge" / "tinker" / "tested.yaml"
    listed = yaml.safe_load(file.read_text(encoding="utf-8"))["combinations"]
    assert len(listed) >= 6
    for one in listed:
        [found] = [d for d in report(shipped, one["packages"]).diagnoses if d.id == CLEAN]
        [step] = found.explanation["how"]
        assert all(f"{name} {v}" in step["message"] for name, v in one["packages"].items())
