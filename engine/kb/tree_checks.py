"""Checks decision trees: every node exists, is reachable, and no path runs in a circle."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...facts import Problem, Vocabulary
from ...facts.problems import did_you_mean
from . import entries as e
from .source import Item


def tree_problems(item: Item, vocabulary: Vocabulary, trees: Iterable[str]) -> Iterator[Problem]:
    """Everything that is wrong with the shape of one tree."""
    tree: e.Tree = item.entry
    yield from _unknown_targets(item, tree, set(trees), vocabulary)
    reached = _reachable(tree)
    for name in tree.nodes:
        if name not in reached:
            yield Problem(
                "MM252",
                f"the node {name!r} cannot be reached from {tree.root!r}",
                item.where("nodes", name),
                "lead a branch to it or remove it",
            )
    circle = _circle(tree)
    if circle:
        yield Problem(
            "MM253",
            f"the nodes run in a circle: {' -> '.join(circle)}",
            item.where("nodes", circle[0]),
            "goto leads forward only",
        )


def leaves(tree: e.Tree) -> list[tuple[str, str]]:
    """(node, branch) of every branch that ends the tree."""
    return [
        (name, answer)
        for name, node in tree.nodes.items()
        for answer, branch in node.branches.items()
        if branch.goto is None
    ]


def _unknown_targets(
    item: Item, tree: e.Tree, trees: set[str], vocabulary: Vocabulary
) -> Iterator[Problem]:
    if tree.root not in tree.nodes:
        yield Problem(
            "MM250",
            f"there is no node {tree.root!r}",
            item.where("root"),
            did_you_mean(tree.root, tree.nodes),
        )
    for name, node in tree.nodes.items():
        if node.probe and node.probe not in vocabulary.probes:
            yield Problem(
                "MM251",
                f"there is no probe {node.probe!r}",
                item.where("nodes", name, "probe"),
                did_you_mean(node.probe, vocabulary.probes),
            )
        for answer, branch in node.branches.items():
            where = item.where("nodes", name, "branches", answer)
            if branch.goto is not None and branch.goto not in tree.nodes:
                hint = did_you_mean(branch.goto, tree.nodes)
                yield Problem("MM250", f"there is no node {branch.goto!r}", where, hint)
            if branch.tree is not None and branch.tree not in trees:
                hint = did_you_mean(branch.tree, trees)
                yield Problem("MM250", f"there is no tree {branch.tree!r}", where, hint)


def _targets(node: e.Node) -> list[str]:
    return [b.goto for b in node.branches.values() if b.goto is not None]


def _reachable(tree: e.Tree) -> set[str]:
    reached: set[str] = set()
    queue = [tree.root]
    while queue:
        name = queue.pop()
        if name in tree.nodes and name not in reached:
            reached.add(name)
            queue.extend(_targets(tree.nodes[name]))
    return reached


def _circle(tree: e.Tree) -> list[str]:
    done: set[str] = set()

    def visit(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done or name not in tree.nodes:
            return []
        for target in _targets(tree.nodes[name]):
            if found := visit(target, [*path, name]):
                return found
        done.add(name)
        return []

    return next((c for c in (visit(name, []) for name in tree.nodes) if c), [])
