"""Nothing follows from "I do not know": neither a diagnosis nor its absence."""

from __future__ import annotations

from collections.abc import Iterator

from ...engine.compiler.source import conditions as c
from ...engine.compiler.source import entries as e
from ...engine.compiler.source.knowledge_source import Item
from ...facts import Problem
from ..references import Path, Placed, conditions
from .lint_context import Subject

_UNKNOWN = "unknown"
_BRANCH = f"/{_UNKNOWN}"


def unknown_answer_problems(subject: Subject) -> Iterator[Problem]:
    """Branches and conditions that make evidence of an unknown answer."""
    for item in subject.source.items:
        if isinstance(item.entry, e.Tree):
            yield from _branch_problems(item, item.entry)
        for condition in conditions(item):
            for path, node in _required(condition):
                if _met_by_unknown(node):
                    message = f"{item.id}: an unknown answer meets this condition"
                    yield _problem(message, item, path, "name the answers that count")


def _branch_problems(item: Item, tree: e.Tree) -> Iterator[Problem]:
    for name, node in tree.nodes.items():
        branch = node.branches[_UNKNOWN]
        said = {
            "concludes a diagnosis": branch.conclude,
            "rules a diagnosis out": branch.rules_out,
            "finds nothing wrong": branch.healthy,
        }
        for what in (what for what, there in said.items() if there):
            message = f"the branch 'unknown' of {name!r} {what}"
            hint = "use goto or tree, or `undecided` with what would decide it"
            yield _problem(message, item, ("nodes", name, "branches", _UNKNOWN), hint)


def _required(placed: Placed) -> Iterator[Placed]:
    """The patterns of a condition, also in ``all``, ``any`` or ``count``, that are not negated."""
    path, node = placed
    if isinstance(node, c.All | c.Any_):
        key, inner = ("all", node.all) if isinstance(node, c.All) else ("any", node.any)
        for index, part in enumerate(inner):
            yield from _required(Placed((*path, key, index), part))
    elif isinstance(node, c.Count):
        yield Placed((*path, "count"), node.count)
    elif isinstance(node, c.Pattern):
        yield placed


def _met_by_unknown(pattern: c.Pattern) -> bool:
    """Whether an unknown answer, or the branch that it takes, passes the pattern."""
    if pattern.fact == "answer":
        return _passes(pattern.where.get("value"), _UNKNOWN)
    node = pattern.where.get("node") if pattern.fact == "tree_node" else None
    return any(str(name).endswith(_BRANCH) for name in _names(node))


def _passes(test: c.Test | c.Scalar | None, value: str) -> bool:
    if not isinstance(test, c.Test):
        return test is None or test == value
    excluded = test.ne == value or value in (test.not_in or ())
    allowed = test.eq in (None, value) and (test.in_ is None or value in test.in_)
    return allowed and not excluded and (test.contains or "") in value and test.matches is None


def _names(test: c.Test | c.Scalar | None) -> tuple[object, ...]:
    if isinstance(test, c.Test):
        return (test.eq, *(test.in_ or ()))
    return (test,)


def _problem(message: str, item: Item, path: Path, hint: str) -> Problem:
    return Problem("MM259", message, item.where(*path), hint)
