"""Compiles knowledge as written into the intermediate rule set."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from ...facts import Location, Problem, Vocabulary
from ...facts.problems import did_you_mean
from ...facts.strict_models import Strict
from ..inference.derivation import UNLIMITED, OutOfTime, Work
from ..inference.program import Conclusion, Program, Rule
from .forms import Forms
from .linking import link
from .source.knowledge_source import Item, KnowledgeSource

_PLAIN = (type(None), bool, int, float)
_BINDING = ("match", "refuted")
_FAMILIES = {"boolean": "boolean", "integer": "number", "number": "number"}
_NAMING = ("diagnosis", "rules_out", "explains", "conclude")


_UNITS = 50
"""The work of compiling an entry."""


def check_time(work: Work, units: int) -> None:
    """Raise :class:`.OutOfTime` if ``work`` has ended: half-compiled knowledge is useless."""
    if not work.goes_on(units):
        raise OutOfTime


def compile_knowledge(
    source: KnowledgeSource, forms: Forms, work: Work = UNLIMITED
) -> tuple[Program, tuple[Rule, ...]]:
    """The program, and its rules as they came from their entries. Entries with problems are left
    out; the problems are added to those of ``forms``. Raises :class:`.OutOfTime`."""
    rules = compile_rules(source, forms, {item.id for item in source.of("diagnosis")}, work)
    items = {item.id: item for item in source.items}
    program = link(rules, forms.patterns, forms.problems, lambda entry: items[entry].where())
    return program, tuple(rules)


def compile_rules(
    source: KnowledgeSource, forms: Forms, diagnoses: Collection[str], work: Work
) -> list[Rule]:
    """The rules of all entries, not yet linked. ``diagnoses`` are the ids of the catalogue. Raises
    :class:`.OutOfTime`."""
    rules: list[Rule] = []
    for item in source.items:
        check_time(work, _UNITS)
        rules += compile_entry(item, forms, diagnoses)
    return rules


def compile_entry(item: Item, forms: Forms, diagnoses: Collection[str]) -> list[Rule]:
    """The rules of one entry; none if it has problems, which are added to those of ``forms``.
    ``diagnoses`` are the ids of the catalogue."""
    before = len(forms.problems)
    rules = forms.rules(item)
    forms.problems.extend(_reference_problems(item, rules, diagnoses, forms.vocabulary))
    forms.problems.extend(_type_problems(item, rules, forms))
    return rules if len(forms.problems) == before else []


def _reference_problems(
    item: Item, rules: Iterable[Rule], diagnoses: Collection[str], vocabulary: Vocabulary
) -> list[Problem]:
    """Unknown diagnoses, unknown derived kinds and unbound variables."""
    problems = []
    named: list[str] = []
    _name_diagnoses(item.entry, named)
    for name in named:
        if name not in diagnoses:
            message = f"{item.id}: there is no diagnosis {name!r}"
            hint = did_you_mean(name, diagnoses) or "`diagnose kb list --form diagnosis` shows all"
            problems.append(Problem("MM240", message, _place(item, name), hint))
    for conclusions in {id(rule.conclusions): rule.conclusions for rule in rules}.values():
        for conclusion in conclusions:
            problems.extend(_conclusion_problems(item, vocabulary, conclusion))
    for rule in rules:
        problems.extend(_variable_problems(item, rule))
    return list(dict.fromkeys(problems))


def _place(item: Item, name: str, *within: str) -> Location:
    """The first position of a name, value or key in the entry, or in a part of it."""
    whole: Any = item.document.data
    for part in (*item.path, *within):
        whole = whole.get(part, {}) if isinstance(whole, dict) else whole[part]
    queue: list[tuple[tuple[str | int, ...], Any]] = [(within, whole)]
    for path, node in queue:  # grows while it is walked
        pairs: Iterable[tuple[Any, Any]] = ()
        if isinstance(node, dict):
            pairs = node.items()
        elif isinstance(node, list):
            pairs = enumerate(node)
        for key, part in pairs:
            if name in (key, part):
                return item.where(*path, key)
            queue.append(((*path, key), part))
    return item.where(*within)


def _name_diagnoses(node: Any, named: list[str], key: str = "") -> None:
    """Add every diagnosis id that a part of an entry mentions, in conditions too."""
    if type(node) is str:
        if key in _NAMING:
            named.append(node)
    elif type(node) is list:
        for part in node:
            _name_diagnoses(part, named, key)
    elif isinstance(node, Strict | dict):
        for name, part in (node if isinstance(node, dict) else node.__dict__).items():
            if part.__class__ not in _PLAIN:
                _name_diagnoses(part, named, name)


def _conclusion_problems(
    item: Item, vocabulary: Vocabulary, conclusion: Conclusion
) -> list[Problem]:
    name, values, _ = conclusion
    kind = vocabulary.kinds.get(name)
    if kind is None:
        message = f"{item.id}: unknown fact kind {name!r}"
        hint = did_you_mean(name, vocabulary.kinds)
        return [Problem("MM230", message, _place(item, name, "conclude"), hint)]
    problems = []
    for attribute, value in values:
        declared = kind.attributes.get(attribute)
        if declared is None:
            message = f"{item.id}: {name} has no attribute {attribute!r}"
            hint = did_you_mean(attribute, kind.attributes)
            problems.append(Problem("MM231", message, _place(item, attribute, "conclude"), hint))
        elif not isinstance(value, tuple) and (wrong := declared.problem(value)):
            where = _place(item, attribute, "conclude")
            message = f"{item.id}: in the conclusion {name}, {wrong[0]}"
            problems.append(Problem("MM232", message, where, wrong[1]))
    given = {attribute for attribute, _ in values}
    for declared in kind.attributes.values():
        if declared.required and declared.name not in given:
            message = f"{item.id}: a derived {name} needs {declared.name!r}"
            problems.append(Problem("MM232", message, item.where()))
    return problems


def _type_problems(item: Item, rules: Iterable[Rule], forms: Forms) -> Iterator[Problem]:
    """Variables that are bound to values of one type and concluded as another: the derived fact
    would hold an impossible value, such as 1 for true."""
    for rule in rules:
        bound = _types_of_variables(rule, forms)
        for kind, values, _ in rule.conclusions:
            for name, value in values:
                if not isinstance(value, tuple) or value[0] not in bound:
                    continue
                wanted = _type_of(kind, name, forms.vocabulary)
                if wanted and wanted not in bound[value[0]]:
                    types = " or ".join(sorted(bound[value[0]]))
                    message = f"{item.id}: {kind}.{name} is a {wanted}, ${value[0]} a {types}"
                    hint = "conclude a constant, or an attribute of the same type"
                    yield Problem("MM232", message, item.where(), hint)


def _types_of_variables(rule: Rule, forms: Forms) -> dict[str, set[str]]:
    """Map each variable to the types of the attributes that bind it."""
    types: dict[str, set[str]] = {}
    for literal in rule.literals:
        if literal.mode in _BINDING:
            kind = forms.patterns.of(literal).kind
            for attribute, variable in literal.joins:
                types.setdefault(variable, set()).add(_type_of(kind, attribute, forms.vocabulary))
    return types


def _type_of(kind: str, name: str, vocabulary: Vocabulary) -> str:
    """``text``, ``number`` or ``boolean``; "" for what is not declared."""
    declared = vocabulary.kinds[kind].attributes.get(name) if kind in vocabulary.kinds else None
    return _FAMILIES.get(declared.type, "text") if declared else ""


def _variable_problems(item: Item, rule: Rule) -> Iterator[Problem]:
    used = {v for x in rule.literals for _, v in x.joins} | {g.right for g in rule.guards}
    used |= {v[0] for c in rule.conclusions for _, v in c.values if isinstance(v, tuple)}
    for name in sorted(used.difference(rule.variables)):
        yield Problem(
            "MM241",
            f"{item.id}: the variable ${name} is bound by no positive pattern",
            item.where(),
            "bind it with '{attribute: $name}'",
        )
