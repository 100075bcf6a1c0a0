"""A decision tree as a graph: questions, answers, and their targets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ...engine.compiler.source import entries as e
from ...interfaces.reports.charts.layered import Arrow, Box, Graph

Title = Callable[[str], str]


def tree_graph(tree: e.Tree, titles: Mapping[str, str], link: str = "{}") -> Graph:
    """The tree. ``titles`` names the diagnoses and trees; ``link`` makes an address from an id."""
    boxes: dict[str, Box] = {}
    labels: dict[tuple[str, str], list[str]] = {}
    kinds: dict[tuple[str, str], str] = {}
    for name in _in_order(tree):
        node = tree.nodes[name]
        boxes[f"node {name}"] = Box(f"node {name}", "gate" if node.gate else "question", node.ask)
        for answer, branch in node.branches.items():
            for box in _ends(name, branch, tree, titles, link):
                boxes.setdefault(box.name, box)
                way = (f"node {name}", box.name)
                labels.setdefault(way, []).append(branch.answer or answer)
                known = kinds.get(way, "unknown")
                kinds[way] = known if answer == "unknown" else _kind(branch)
    questions = [box for name, box in boxes.items() if name.startswith("node ")]
    leaves = [box for name, box in boxes.items() if not name.startswith("node ")]
    arrows = (Arrow(*way, ", ".join(labels[way]), kinds[way]) for way in labels)
    return Graph(tree.title, (*questions, *leaves), tuple(arrows))


def _in_order(tree: e.Tree) -> Iterator[str]:
    """The nodes as they are reached, each once; unreachable nodes come last."""
    seen: dict[str, None] = {}
    waiting = [tree.root]
    while waiting:
        name = waiting.pop(0)
        if name in seen or name not in tree.nodes:
            continue
        seen[name] = None
        waiting += [b.goto for b in tree.nodes[name].branches.values() if b.goto]
    yield from seen
    yield from (name for name in tree.nodes if name not in seen)


def _ends(
    name: str, branch: e.Branch, tree: e.Tree, titles: Mapping[str, str], link: str
) -> Iterator[Box]:
    """Yield the boxes that a branch leads to. A leaf is a box of its node alone, so that the
    drawing is a tree."""
    if branch.goto is not None:
        ask = tree.nodes[branch.goto].ask if branch.goto in tree.nodes else branch.goto
        yield Box(f"node {branch.goto}", "question", ask)
    for target in branch.conclude:
        text = titles.get(target, target)
        yield Box(f"leaf {name} {target}", "diagnosis", text, link.format(target))
    if branch.tree is not None:
        text = titles.get(branch.tree, branch.tree)
        yield Box(f"leaf {name} {branch.tree}", "tree", text, link.format(branch.tree))
    if branch.healthy:
        yield Box(f"leaf {name} {branch.healthy}", "fine", branch.healthy)


def _kind(branch: e.Branch) -> str:
    return "weak" if branch.conclude and branch.strength == "weak" else "plain"
