"""Faults of whole entries: of their conditions, their connectives, and their targets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...engine.compiler.build import Built
from ...engine.compiler.linking import origin
from ...engine.compiler.source.knowledge_source import Item
from ...engine.inference.program import Conclusion, Rule, is_twin
from ..testing.test_coverage import part_path
from .condition_faults import ConditionFaults
from .fault import Fault, with_literals

_Change = tuple[str, str, str, bool | None, Sequence[Rule]]
"""The operator, what is changed, an example, whether it is looser, and the rules of the part."""


class EntryFaults:
    """Makes the faults of the entries of a knowledge base."""

    def __init__(self, built: Built) -> None:
        self._built = built
        self._diagnoses = sorted(item.id for item in built.source.of("diagnosis"))
        self._rules: dict[str, list[Rule]] = {}
        for rule in built.rules:
            self._rules.setdefault(rule.entry, []).append(rule)

    def of(self, item: Item) -> list[Fault]:
        """Every fault of an entry; of those with the same rules, the first."""
        # Rules for facts with an assumption follow from the others and have no faults of their own.
        rules = [rule for rule in self._rules.get(item.id, []) if not is_twin(rule)]
        conditions = ConditionFaults(self._built, item, rules)
        found: dict[Any, Fault] = {}
        for fault in conditions.all():
            found.setdefault(fault.key, fault)
        for name in dict.fromkeys(map(origin, rules)):
            part = [rule for rule in rules if origin(rule) == name]
            others = [rule for rule in rules if origin(rule) != name]
            path = part_path(item, name.removeprefix(f"{item.id}/")) if name != item.id else ()
            for change in (*_connectives(conditions, part), *self._led(item, part)):
                fault = Fault(item, path, *change[:4], (*others, *_numbered(change[4])))
                found.setdefault(fault.key, fault)
        found.pop(Fault(item, (), "", "", "", None, tuple(rules)).key, None)
        return list(found.values())

    def _led(self, item: Item, part: Sequence[Rule]) -> Iterator[_Change]:
        """The target of a part changed, and the part dropped."""
        conclusions = part[0].conclusions
        for n, conclusion in enumerate(conclusions):
            for operator, what, example, new in self._concluded(item, conclusion):
                changed = (*conclusions[:n], *new, *conclusions[n + 1 :])
                rules = [rule._replace(conclusions=changed) for rule in part]
                yield operator, what, example, None, rules
        if item.form == "classification":
            label = dict(conclusions[0].values)["label"]
            yield (
                "drop branch",
                f"the band {label} is dropped",
                f"a value lies in {label}",
                False,
                [],
            )
        elif item.form == "tree" and (answer := origin(part[0]).rpartition("/")[2]):
            node = item.entry.nodes[origin(part[0]).split("/")[-2]]
            what, example = f"the branch {answer} of {node.ask!r}", f"the branch {answer} is taken"
            yield "drop branch", f"{what} is dropped", example, False, []

    def _concluded(
        self, item: Item, conclusion: Conclusion
    ) -> Iterator[tuple[str, str, str, Sequence[Conclusion]]]:
        kind, values = conclusion.kind, dict(conclusion.values)
        name = str(values.get("name", ""))
        if kind == "diagnosis" and not values["holds"]:
            what, example = f"{name} is no longer ruled out", f"={name} is ruled out"
            yield "drop conclusion", what, example, ()
        elif kind == "diagnosis":
            other = _next(name, self._diagnoses)
            what, example = f"the conclusion {name} becomes {other}", f"={name} is concluded"
            yield "swap conclusion", what, example, [_with(conclusion, "name", other)]
            strength = "strong" if conclusion.strength == "weak" else "weak"
            what, example = f"the conclusion {name} becomes {strength}", f"=how sure {name} is"
            yield "change strength", what, example, [conclusion._replace(strength=strength)]
        elif kind == "tree_node":
            node = str(values["node"])
            if item.form == "tree" and node in item.entry.nodes and len(item.entry.nodes) > 1:
                other = _next(node, sorted(item.entry.nodes))
                what, example = f"the way to {node} leads to {other}", f"={node} is reached"
                yield "swap target", what, example, [_with(conclusion, "node", other)]
        elif kind != "classified":
            yield "swap conclusion", f"the derived {kind} is dropped", f"=it derives {kind}", ()


def _connectives(conditions: ConditionFaults, part: Sequence[Rule]) -> Iterator[_Change]:
    """All conditions of an alternative become alternatives, and the other way round."""
    groups = [(rule, conditions.groups(rule)) for rule in part]
    if any(len(found) > 1 for _, found in groups):
        example = "not all of the conditions under 'all' hold"
        split = [
            with_literals(rule, (x for x in rule.literals if x in mine or x not in union))
            for rule, found in groups
            for union in [[x for literals in found.values() for x in literals]]
            for mine in (found.values() or [[]])
        ]
        yield "flip operator", "all becomes any", example, True, split
    open_ = [rule for rule, found in groups if found]
    if len(open_) > 1:
        example = "one of the conditions under 'any' holds alone"
        guards = tuple(dict.fromkeys(guard for rule in open_ for guard in rule.guards))
        literals = [literal for rule in open_ for literal in rule.literals]
        merged = with_literals(open_[0]._replace(guards=guards), literals)
        closed = [rule for rule, found in groups if not found]
        yield "flip operator", "any becomes all", example, False, [*closed, merged]


def _next(name: str, names: Sequence[str]) -> str:
    """The next name in the alphabet."""
    return next((other for other in names if other > name), names[0])


def _with(conclusion: Conclusion, name: str, value: str) -> Conclusion:
    values = tuple(sorted({**dict(conclusion.values), name: value}.items()))
    return conclusion._replace(values=values)


def _numbered(rules: Sequence[Rule]) -> Iterator[Rule]:
    for n, rule in enumerate(rules):
        yield rule._replace(id=f"{origin(rule)}#{n}" if n else origin(rule))
