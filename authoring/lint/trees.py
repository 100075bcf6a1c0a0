"""Decision trees: every node exists, can be reached, and asks what is not yet settled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...engine.compiler.source import conditions as c
from ...engine.compiler.source import entries as e
from ...engine.compiler.source.knowledge_source import Item
from ...facts import Problem, Vocabulary
from ...facts.problems import did_you_mean
from .cycles import cycle
from .lint_context import Subject
from .satisfiable import contradiction


def tree_problems(subject: Subject) -> Iterator[Problem]:
    """Problems of all trees."""
    items = {item.id: item for item in subject.source.of("tree")}
    for item in items.values():
        yield from _shape_problems(item, subject.vocabulary, items)
        yield from _twin_problems(item)
        yield from _settled_problems(item, subject.vocabulary)


def _shape_problems(item: Item, vocabulary: Vocabulary, trees: Iterable[str]) -> Iterator[Problem]:
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
    circle = cycle({name: _targets(node) for name, node in tree.nodes.items()})
    if circle:
        yield Problem(
            "MM253",
            f"the nodes run in a circle: {' -> '.join(circle)}",
            item.where("nodes", circle[0]),
            "goto leads forward only",
        )


def _twin_problems(item: Item) -> Iterator[Problem]:
    """Branches of one question that look the same."""
    for name, node in item.entry.nodes.items():
        seen: dict[str, str] = {}
        for answer, branch in node.branches.items():
            said = [f"answer {(branch.answer or answer).strip().lower()}"]
            if branch.when is not None:
                said.append(f"condition {branch.when!r}")
            for key in said:
                first = seen.setdefault(key, answer)
                if first != answer:
                    yield Problem(
                        "MM256",
                        f"the branches {first!r} and {answer!r} of {name!r} have the same"
                        f" {key.split()[0]}",
                        item.where("nodes", name, "branches", answer),
                        "say what tells them apart",
                    )


def _settled_problems(item: Item, vocabulary: Vocabulary) -> Iterator[Problem]:
    """Branches that contradict what every way to their question has settled."""
    tree: e.Tree = item.entry
    settled = _settled(tree)
    for name, node in tree.nodes.items():
        if name not in settled:
            continue
        for answer, branch in node.branches.items():
            condition = _condition(node, answer, branch)
            if condition is None:
                continue
            reason = _contradicted(condition, settled[name], vocabulary)
            if reason:
                yield Problem(
                    "MM255",
                    f"the branch {answer!r} of {name!r} cannot be reached: {reason}",
                    item.where("nodes", name, "branches", answer),
                    "the question was settled on the way here: remove it, or ask another",
                )


_Settled = dict[str, tuple[bool, object]]  # what stands for a condition -> (truth, condition)


def _condition(node: e.Node, answer: str, branch: e.Branch) -> tuple[bool, object] | None:
    """The condition that settles a branch, and whether it must be true or false."""
    if node.test is not None and answer in ("yes", "no"):
        return (answer == "yes", node.test)
    return (True, branch.when) if branch.when is not None else None


def _settled(tree: e.Tree) -> dict[str, _Settled]:
    """The answers that all ways to a node have settled, for each reachable node."""
    found: dict[str, _Settled] = {tree.root: {}}
    queue = [tree.root]
    for name in queue:  # grows while it is walked
        if len(queue) > 100 * (len(tree.nodes) + 1):
            break  # nodes in a circle are a problem of their own
        if name not in tree.nodes:
            continue
        node = tree.nodes[name]
        for answer, branch in node.branches.items():
            if branch.goto is None or branch.goto not in tree.nodes:
                continue
            condition = _condition(node, answer, branch)
            known = dict(found[name])
            if condition is not None:
                known.setdefault(repr(condition[1]), condition)
            before = found.get(branch.goto)
            if before is not None:
                known = {k: v for k, v in before.items() if known.get(k) == v}
            if known != before:
                found[branch.goto] = known
                queue.append(branch.goto)
    return found


def _contradicted(condition: tuple[bool, object], settled: _Settled, vocabulary: Vocabulary) -> str:
    truth, node = condition
    earlier = settled.get(repr(node))
    if earlier is not None and earlier[0] != truth:
        return f"its condition was found {'true' if earlier[0] else 'false'} before"
    if not truth or not isinstance(node, c.Pattern):
        return ""
    for was_true, other in settled.values():
        if was_true and isinstance(other, c.Pattern) and other.fact == node.fact:
            reason = _exclusive(node, other, vocabulary)
            if reason:
                return f"an earlier condition excludes it ({reason})"
    return ""


def _exclusive(left: c.Pattern, right: c.Pattern, vocabulary: Vocabulary) -> str:
    """The reason why no fact about one thing passes both patterns; empty if a fact might."""
    kind = vocabulary.kinds.get(left.fact)
    if kind is None or not kind.functional:
        return ""
    if any(left.where.get(k) != right.where.get(k) or k not in left.where for k in kind.key):
        return ""
    tests = [t for pattern in (left, right) for t in _plain_tests(pattern)]
    return contradiction(kind, tests)


def _plain_tests(pattern: c.Pattern) -> Iterator[tuple[str, str, object]]:
    """The tests with constants of one pattern."""
    for name, test in pattern.where.items():
        if not isinstance(test, c.Test):
            if not str(test).startswith(("$", "@")):
                yield name, "eq", test
            continue
        for op in ("eq", "lt", "le", "gt", "ge"):
            operand = getattr(test, op)
            if operand is not None and not isinstance(operand, str):
                yield name, op, operand


def _unknown_targets(
    item: Item, tree: e.Tree, trees: set[str], vocabulary: Vocabulary
) -> Iterator[Problem]:
    if tree.root not in tree.nodes:
        yield Problem(
            "MM250",
            f"there is no node {tree.root!r}",
            item.where("root"),
            did_you_mean(tree.root, tree.nodes) or _choices(tree.nodes),
        )
    for name, node in tree.nodes.items():
        if node.probe and node.probe not in vocabulary.probes:
            yield Problem(
                "MM251",
                f"there is no probe {node.probe!r}",
                item.where("nodes", name, "probe"),
                did_you_mean(node.probe, vocabulary.probes) or _choices(vocabulary.probes),
            )
        for answer, branch in node.branches.items():
            at = ("nodes", name, "branches", answer)
            if branch.goto is not None and branch.goto not in tree.nodes:
                hint = did_you_mean(branch.goto, tree.nodes) or _choices(tree.nodes)
                where = item.where(*at, "goto")
                yield Problem("MM250", f"there is no node {branch.goto!r}", where, hint)
            if branch.tree is not None and branch.tree not in trees:
                hint = did_you_mean(branch.tree, trees) or _choices(trees)
                where = item.where(*at, "tree")
                yield Problem("MM250", f"there is no tree {branch.tree!r}", where, hint)
            if branch.tree == item.id:
                message = f"the branch {answer!r} of {name!r} starts the same tree again"
                yield Problem("MM257", message, item.where(*at, "tree"), "end it in a conclusion")


def _choices(names: Iterable[str]) -> str:
    return f"one of: {', '.join(sorted(names))}"[:400]


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
