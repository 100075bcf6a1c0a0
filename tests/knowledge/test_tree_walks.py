"""Every leaf of every decision tree is reached from its symptom alone, by answers.

For each leaf two walks are made: the shortest path to it and the longest one. On the way every node
must be the question that is asked, with its reason and the choice ``unknown``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from modelmedic.engine import Diagnoser
from modelmedic.engine.diagnosis.report import Report
from modelmedic.facts import Fact
from modelmedic.facts.strict_yaml import load

Tree = Mapping[str, Any]
Walk = tuple[tuple[str, str], ...]  # (node, branch) from the root on

KNOWLEDGE = Path(__file__).resolve().parents[2] / "knowledge"


def _trees() -> dict[str, Tree]:
    found: dict[str, Tree] = {}
    for path in sorted(KNOWLEDGE.rglob("*.yaml")):
        text = path.read_text("utf-8")
        if "\nschema: modelmedic/trees/" in f"\n{text}":
            found |= {tree["id"]: tree for tree in load(text, str(path)).data["trees"]}
    return found


TREES = _trees()

# A leaf that asks again what an earlier node asked: a walk may answer it both ways.
ASKED_AGAIN = {("tinker.tree.output-mismatch", "merge-left", "no")}


def _walks(tree: Tree) -> dict[tuple[str, str], list[Walk]]:
    """To each leaf (node, branch) the shortest and the longest walk."""
    ways: dict[str, list[Walk]] = {tree["root"]: [()]}
    leaves: dict[tuple[str, str], list[Walk]] = {}
    for node in _in_order(tree):
        for branch, target in tree["nodes"][node]["branches"].items():
            onwards = [(*way, (node, branch)) for way in ways[node]]
            if "goto" in target:
                known = {*ways.get(target["goto"], ()), *onwards}
                ways[target["goto"]] = [min(known, key=_length), max(known, key=_length)]
            else:
                leaves[node, branch] = sorted({*onwards})
    return leaves


def _length(walk: Walk) -> tuple[int, Walk]:
    return len(walk), walk


def _in_order(tree: Tree) -> Iterator[str]:
    """The nodes so that each comes after those that lead to it."""
    done: set[str] = set()
    before: dict[str, set[str]] = {name: set() for name in tree["nodes"]}
    for name, node in tree["nodes"].items():
        for branch in node["branches"].values():
            if "goto" in branch:
                before[branch["goto"]].add(name)
    while len(done) < len(before):
        name = next(n for n in before if n not in done and before[n] <= done)
        done.add(name)
        yield name


LEAVES = [
    pytest.param(name, leaf, id=f"{name}/{leaf[0]}/{leaf[1]}")
    for name, tree in TREES.items()
    for leaf in _walks(tree)
]


def _report(doctor: Diagnoser, tree: str, walk: Sequence[tuple[str, str]]) -> Report:
    answers = [(f"{tree}/{node}", branch) for node, branch in walk]
    return _told(doctor, TREES[tree]["symptom"]["name"], answers)


def _told(doctor: Diagnoser, symptom: str, answers: Sequence[tuple[str, str]]) -> Report:
    facts = [Fact.of("symptom", name=symptom)]
    facts += [Fact.of("answer", question=question, value=value) for question, value in answers]
    return doctor.diagnose(facts)


def _asked(report: Report, tree: str, node: str) -> None:
    """The first thing that the trees ask for is the node's question, or its probe before it."""
    wanted = TREES[tree]["nodes"][node]
    names = {f"{name}/{n}" for name, t in TREES.items() for n in t["nodes"]}
    steps = [s for s in report.next if s.id in names or (s.type == "probe" and s.why)]
    if steps and steps[0].type == "probe":
        assert (steps[0].id, bool(steps[0].command)) == (wanted.get("probe"), True)
        steps = steps[1:]
    assert steps, f"nothing is asked; {tree}/{node} is expected"
    assert steps[0].id == f"{tree}/{node}"
    assert steps[0].why.split() == wanted["why"].split()
    assert "unknown" in steps[0].choices
    assert set(steps[0].choices) == set(wanted["branches"])


def test_there_is_a_tree_for_each_great_complaint() -> None:
    assert {t["symptom"]["name"] for t in TREES.values()} >= {
        "slow-steps", "hang", "is-it-down", "opaque-error", "poor-quality", "output-mismatch",
    }  # fmt: skip
    assert len(LEAVES) >= 150


@pytest.mark.sweep
@pytest.mark.parametrize(("tree", "leaf"), LEAVES)
def test_answers_alone_lead_to_the_leaf(
    doctor: Diagnoser, tree: str, leaf: tuple[str, str]
) -> None:
    branch = TREES[tree]["nodes"][leaf[0]]["branches"][leaf[1]]
    before = {d.id for d in _report(doctor, tree, ()).diagnoses}
    for walk in _walks(TREES[tree])[leaf]:
        for number, (node, _) in enumerate(walk):
            _asked(_report(doctor, tree, walk[:number]), tree, node)
        report = _report(doctor, tree, walk)
        found = {d.id for d in report.diagnoses}
        if "tree" in branch:
            _asked(report, branch["tree"], TREES[branch["tree"]]["root"])
        elif "healthy" in branch or "undecided" in branch:
            assert found <= before, "it concludes nothing"
        else:
            assert found >= set(branch["conclude"])
        assert (tree, *leaf) in ASKED_AGAIN or not any(d.conflicting for d in report.diagnoses)


@pytest.mark.parametrize("tree", TREES)
def test_who_knows_nothing_is_told_what_to_gather(doctor: Diagnoser, tree: str) -> None:
    """Answering ``unknown`` everywhere concludes nothing and ends with what would decide it."""
    symptom = TREES[tree]["symptom"]["name"]
    name, node = tree, TREES[tree]["root"]
    answers: list[tuple[str, str]] = []
    while True:
        _asked(_told(doctor, symptom, answers), name, node)
        assert (f"{name}/{node}", "unknown") not in answers, "the trees run in a circle"
        answers.append((f"{name}/{node}", "unknown"))
        branch = TREES[name]["nodes"][node]["branches"]["unknown"]
        if "tree" in branch:
            name, node = branch["tree"], TREES[branch["tree"]]["root"]
        elif "goto" in branch:
            node = branch["goto"]
        else:
            break
    assert branch["undecided"], f"{name}/{node} ends without a word"
    before = {d.id for d in _report(doctor, tree, ()).diagnoses}
    assert {d.id for d in _told(doctor, symptom, answers).diagnoses} <= before
