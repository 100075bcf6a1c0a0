"""The position in the decision trees and workflows, and the next node or stage.

The authored order is a prior, not a rule: a node whose ``unknown`` branch only leads on may be
passed over when a later question tells more; it stays open. A tree with ``strict_order`` forbids
it, and a node that is a ``gate`` is not asked ahead of those before it.

A workflow concludes ``stage_step`` facts: the number of an action of a finding that holds. The
order of stages is a gate, so these actions come before every probe and question.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from ....facts import Fact, Provenance
from ....facts.records import NamedTuple, cached_property
from ..report import Diagnosis, NextStep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


UNKNOWN = "unknown"
PASSED_OVER = Provenance("passed over", certainty="assumed")
_SECONDS = {"min": 60.0, "h": 3_600.0}
MAX_ANSWERS = 3  # how many answers ahead leaves are looked for


class TreeNode(NamedTuple):
    """A node of a tree."""

    tree: str
    name: str

    @property
    def question(self) -> str:
        """The id of its question."""
        return f"{self.tree}/{self.name}"


class Leaf(NamedTuple):
    """A diagnosis that a tree can still conclude: the nodes whose answers it needs, how many nodes
    are passed over, how strongly the leaf concludes it, and the answer of every node up to it."""

    diagnosis: str
    needs: tuple[TreeNode, ...]
    place: int
    strength: str
    answers: tuple[tuple[TreeNode, str], ...]


class _Path(NamedTuple):
    needs: tuple[TreeNode, ...]
    passed: int
    answers: tuple[tuple[TreeNode, str], ...]


class TreePosition(NamedTuple):
    """An undecided node that the facts have reached, and the symptom it is asked for."""

    node: TreeNode
    symptom: str


class Triage:
    """The trees of one knowledge base over one set of facts with what follows from them."""

    def __init__(self, trees: Mapping[str, Any], facts: Iterable[Fact]) -> None:
        self._trees = trees
        self._reached: dict[str, set[str]] = {}
        self._assumed: set[str] = set()
        for fact in facts:
            if fact.kind == "tree_node":
                self._reached.setdefault(str(fact.get("tree")), set()).add(str(fact.get("node")))
            elif fact.kind == "answer" and fact.provenance == (PASSED_OVER,):
                self._assumed.add(str(fact.get("question")))

    def positions(self) -> Iterator[TreePosition]:
        """The undecided nodes that the facts have reached, those passed over included, in authored
        order."""
        for tree, reached in sorted(self._reached.items()):
            for name in self._nodes(tree):
                here = TreeNode(tree, name)
                not_known = f"{name}/{UNKNOWN}" in reached and here.question not in self._assumed
                if name in reached and here not in self.settled and not not_known:
                    yield TreePosition(here, self._trees[tree]["symptom"])

    def healthy(self) -> set[str]:
        """The symptoms whose tree ended in a leaf that finds nothing wrong."""
        return {
            self._trees[tree]["symptom"]
            for tree, reached in self._reached.items()
            for name, node in self._nodes(tree).items()
            for branch, b in node["branches"].items()
            if b["healthy"] and f"{name}/{branch}" in reached
        }

    def unknown(self) -> Iterator[TreeNode]:
        """The nodes answered with "not known"."""
        for tree, reached in sorted(self._reached.items()):
            for name in self._nodes(tree):
                here = TreeNode(tree, name)
                if f"{name}/{UNKNOWN}" in reached and here.question not in self._assumed:
                    yield here

    def looking_for(self, diagnoses: Collection[str]) -> set[str]:
        """The symptoms whose triage has been entered and has one of the diagnoses as a leaf."""
        return {
            self._trees[tree]["symptom"]
            for tree in self._reached
            for node in self._nodes(tree).values()
            for branch in node["branches"].values()
            if any(diagnosis in diagnoses for diagnosis in branch["conclude"])
        }

    def sought(self) -> set[str]:
        """The diagnoses of all leaves of the trees that have been entered."""
        return {
            diagnosis
            for tree in self._reached
            for node in self._nodes(tree).values()
            for branch in node["branches"].values()
            for diagnosis in branch["conclude"]
        }

    def ahead(self, start: TreeNode) -> tuple[TreeNode, ...]:
        """The node and those that may be asked instead, in authored order: each follows the one
        before it if that is not known. Nodes that facts have settled are left out."""
        strict = self._trees[start.tree]["strict_order"]
        settled, found, node = self.settled, [start], start
        seen = {start}
        while not strict and (following := self._after(node)) and following not in seen:
            if self._nodes(following.tree)[following.name]["gate"]:
                break
            node = following
            seen.add(node)
            if node not in settled:
                found.append(node)
        return tuple(found)

    def leaves(self, start: TreeNode) -> Iterator[Leaf]:
        """The conclusions that are still possible from a reached node on."""
        ahead = self.ahead(start)
        for place in range(len(ahead)):
            yield from self._below(_Path((ahead[place],), place, _passed(ahead[:place])), ahead)

    @cached_property
    def settled(self) -> set[TreeNode]:
        """The nodes at which the facts take a branch other than ``unknown``."""
        return {
            TreeNode(tree, name)
            for tree, reached in self._reached.items()
            for name, node in self._nodes(tree).items()
            if any(f"{name}/{b}" in reached for b in node["branches"] if b != UNKNOWN)
        }

    def before(self, settled: Collection[TreeNode]) -> Iterator[TreeNode]:
        """The undecided nodes before a settled one that could be asked instead."""
        for position in self.positions():
            if any(node in settled for node in self.ahead(position.node)[1:]):
                yield position.node

    def _nodes(self, tree: str) -> Mapping[str, Any]:
        known: Mapping[str, Any] = self._trees.get(tree, {"nodes": {}})["nodes"]
        return known

    def _after(self, node: TreeNode) -> TreeNode | None:
        """The node to which the facts, or else ``unknown``, lead; None if the triage ends."""
        reached = self._reached.get(node.tree, set())
        branches = self._nodes(node.tree)[node.name]["branches"]
        taken = [n for n in branches if n != UNKNOWN and f"{node.name}/{n}" in reached]
        onward = (branches[name]["goto"] for name in (*taken, UNKNOWN))
        target = next(filter(None, onward), None)
        return TreeNode(node.tree, target) if target else None

    def _below(self, path: _Path, seen: Collection[TreeNode]) -> Iterator[Leaf]:
        node = path.needs[-1]
        for answer, branch in self._nodes(node.tree)[node.name]["branches"].items():
            answers = (*path.answers, (node, answer))
            for diagnosis in branch["conclude"]:
                yield Leaf(diagnosis, path.needs, path.passed, branch["strength"], answers)
            target = self._target(node.tree, branch)
            if target is None or target in seen or len(path.needs) == MAX_ANSWERS:
                continue
            ahead = self.ahead(target)
            for place, after in enumerate(ahead):
                if after not in seen:
                    further = _Path(
                        (*path.needs, after),
                        path.passed + place,
                        (*answers, *_passed(ahead[:place])),
                    )
                    yield from self._below(further, {*seen, *ahead})

    def _target(self, tree: str, branch: Mapping[str, Any]) -> TreeNode | None:
        if branch["goto"]:
            return TreeNode(tree, branch["goto"])
        if branch["tree"] in self._trees:
            return TreeNode(branch["tree"], self._trees[branch["tree"]]["root"])
        return None


def _passed(nodes: Iterable[TreeNode]) -> tuple[tuple[TreeNode, str], ...]:
    return tuple((node, UNKNOWN) for node in nodes)


def due_steps(diagnoses: Iterable[Diagnosis], facts: Iterable[Fact]) -> Iterator[NextStep]:
    """The actions that are due, as steps of type ``action``."""
    concluded = {d.id: d for d in diagnoses}
    for fact in facts:
        finding = concluded.get(str(fact.get("finding"))) if fact.kind == "stage_step" else None
        if finding is not None:
            step = _step(finding, finding.actions[int(str(fact.get("action"))) - 1 :])
            if step is not None:
                yield step


def _step(finding: Diagnosis, actions: Sequence[Mapping[str, Any]]) -> NextStep | None:
    """The first of the actions, with the command of the first that has one."""
    if not actions:
        return None
    runs = next((action for action in actions if action.get("command")), actions[0])
    text = str(actions[0]["do"])
    if runs is not actions[0]:
        text += f" Then: {runs['do']}"
    command = str(runs.get("command", ""))
    return NextStep("action", finding.id, text, command, _seconds(actions[0]), (), finding.title)


def _seconds(action: Mapping[str, Any]) -> float:
    """The effort in seconds; 0 if it is not told as minutes or hours."""
    number, _, unit = str(action.get("effort", "")).partition(" ")
    told = unit in _SECONDS and number.replace(".", "", 1).isdecimal()
    return float(number) * _SECONDS[unit] if told else 0.0
