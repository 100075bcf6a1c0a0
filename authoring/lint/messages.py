"""Checks messages: the names in them exist, those about a threshold give number and limit, and none
only repeats the title above it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ...engine.compiler.source import conditions as c
from ...engine.compiler.source import entries as e
from ...engine.compiler.source.knowledge_source import Item
from ...engine.compiler.templates import placeholders, said_by, texts
from ...engine.inference.program import Literal, Rule, is_twin
from ...facts import Problem
from ...facts.problems import did_you_mean, excerpt
from ..references import Path, all_parts
from .lint_context import Subject

_BOUNDS = ("lt", "le", "gt", "ge")
_NUMERAL = re.compile(r"(\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?)(\s*%)?")
_CONSTANT = re.compile(r"\{=([^:{}]+):")
_SELF_EVIDENT = (0, 1)
_WORD = re.compile(r"[\w'-]+")
_SMALL = {
    "a", "an", "and", "are", "at", "be", "been", "by", "for", "from", "has", "have", "in", "is",
    "it", "no", "not", "of", "on", "or", "that", "the", "this", "to", "was", "were", "with",
}  # fmt: skip


class _Threshold(NamedTuple):
    """A number that a rule compares with a limit: the attribute, and how messages name it."""

    what: str
    placeholder: str
    limit: float
    self_evident: bool


def message_problems(subject: Subject) -> Iterator[Problem]:
    """Problems of the messages of all entries that are in force."""
    for form in ("rule", "classification", "tree"):
        for item in subject.forms[form]:
            yield from _placeholder_problems(item, subject)
            yield from _number_problems(item, subject)
    yield from _echoes(subject)


def _echoes(subject: Subject) -> Iterator[Problem]:
    """Messages of rules in which every word is one of the title of what they conclude."""
    titles = {item.id: item.entry.title for item in subject.forms["diagnosis"]}
    for item in subject.forms["rule"]:
        concluded = [c.diagnosis for c in item.entry.conclude if getattr(c, "diagnosis", None)]
        said = list(texts(item.entry.message))
        for title in dict.fromkeys(titles.get(name, "") for name in concluded):
            if any(said_by_title(text, title) for text in said if text):
                problem = f"the message of {item.id} only repeats the title {excerpt(title)}"
                hint = "say what was seen: a number, a place, a name, or 'as reported'"
                yield Problem("MM213", problem, item.where("message"), hint)


def said_by_title(text: str, title: str) -> bool:
    """Whether a text has no word, name or number that its title lacks."""
    return "{" not in text and set(_WORD.findall(text.lower())) <= {
        *_WORD.findall(title.lower()),
        *_SMALL,
    }


def _placeholder_problems(item: Item, subject: Subject) -> Iterator[Problem]:
    """Placeholders without an alias, attribute or parameter."""
    kinds = subject.vocabulary.kinds
    aliases = _aliases(item, subject)
    parameters = getattr(item.file, "parameters", {})
    for path, part in _saying(item.entry):
        where = item.where(*path, "message")
        parts = (text for said in said_by(part) for text in said.parts)
        for name, attribute in (p for text in parts for p in placeholders(text)):
            shown = f"{{{name}.{attribute}}}" if attribute else f"{{{name}}}"
            if name not in aliases and (attribute or name not in parameters):
                names = aliases if attribute else {**aliases, **parameters}
                others = f", or name one of: {', '.join(map(repr, sorted(names)))}" if names else ""
                hint = did_you_mean(name, names) or f"write 'as: {name}' into a pattern{others}"
                problem = f"the message names {shown}, but no pattern is 'as: {name}'"
                yield Problem("MM262", problem, where, hint)
            elif attribute and aliases[name] in kinds:
                known = kinds[aliases[name]].attributes
                if attribute not in known:
                    hint = did_you_mean(attribute, known) or f"it has: {', '.join(known)}"
                    problem = f"{aliases[name]} has no attribute {attribute!r}"
                    yield Problem("MM262", problem, where, hint)


def _aliases(item: Item, subject: Subject) -> dict[str, str]:
    """The kind of fact of each name that a positive pattern has."""
    classes = {i.id: i.entry.observe.fact for i in subject.forms["classification"]}
    found: dict[str, str] = {}
    for path, node in all_parts(item):
        named: Any = node.series if isinstance(node, c.Series) else node
        alias = getattr(named, "as_", None)
        if alias and not {"not", "absent"} & set(path):
            found[alias] = named.fact if hasattr(named, "fact") else classes.get(named.band, "")
    return found


def _saying(entry: Any) -> Iterator[tuple[Path, e.Rule | e.Branch | e.Band]]:
    """The parts of an entry that have a message."""
    if isinstance(entry, e.Rule):
        yield (), entry
    elif isinstance(entry, e.Classification):
        yield from ((("bands", index), band) for index, band in enumerate(entry.bands))
    elif isinstance(entry, e.Tree):
        for name, node in entry.nodes.items():
            for answer, branch in node.branches.items():
                yield ("nodes", name, "branches", answer), branch


def _first_message(rule: Rule, item: Item) -> str:
    """The first message of a rule; empty for a branch of a tree without a message of its own, whose
    default only repeats question and answer."""
    if item.form == "tree":
        _, node, answer = rule.id.partition("#")[0].rsplit("/", 2)
        if node in item.entry.nodes and not item.entry.nodes[node].branches[answer].message:
            return ""
    return rule.messages[0] if rule.messages else ""


def _number_problems(item: Item, subject: Subject) -> Iterator[Problem]:
    """Thresholds whose message does not show both the measured value and the limit."""
    seen: set[Path] = set()
    for rule in subject.rules[item.id]:
        concludes = any(conclusion.kind == "diagnosis" for conclusion in rule.conclusions)
        if not concludes or is_twin(rule):
            continue
        thresholds = list(_thresholds(rule, subject))
        said = _first_message(rule, item)
        # Without a message the title is shown, and the evidence shows the number.
        if not thresholds or not said or any(_said(said, threshold) for threshold in thresholds):
            continue
        at = _place(rule, item)
        if at not in seen:
            seen.add(at)
            what = " or ".join(dict.fromkeys(t.what for t in thresholds))
            message = f"the message of {rule.id} does not show the value and the limit of {what}"
            hint = "write 'as: p' into the pattern, {p.attribute} and {limit} into the message"
            yield Problem("MM288", message, item.where(*at), hint)


def _place(rule: Rule, item: Item) -> Path:
    if rule.form == "rule":
        return ("message",)
    parts = rule.id.removeprefix(f"{rule.entry}/").partition("#")[0].split("/")
    if rule.form == "tree":
        return ("nodes", parts[0], "branches", parts[1])
    labels = [band.label for band in item.entry.bands]
    if parts[0] not in labels:
        return ("undefined",)
    return ("bands", labels.index(parts[0]), "message")


def _thresholds(rule: Rule, subject: Subject) -> Iterator[_Threshold]:
    for literal in rule.literals:
        if literal.mode == "aggregate":
            counted = subject.patterns.aggregates[literal.pattern]
            about = counted.value or f"{subject.patterns.of(literal).kind} facts"
            what = f"{counted.function.partition(':')[0]} of {about}"
            yield _Threshold(what, _named(literal, ""), counted.bound, False)
        elif literal.mode == "match":
            yield from _compared(literal, subject)


def _compared(literal: Literal, subject: Subject) -> Iterator[_Threshold]:
    pattern = subject.patterns.of(literal)
    kind = subject.vocabulary.kinds[pattern.kind]
    for name, op, bound in pattern.tests:
        if op in _BOUNDS and name not in kind.key:
            whole = kind.attributes[name].type == "integer" or bound == 0
            self_evident = whole and bound in _SELF_EVIDENT
            what = f"{pattern.kind}.{name}"
            yield _Threshold(what, _named(literal, name), bound, self_evident)


def _named(literal: Literal, attribute: str) -> str:
    """The compiled placeholder of an attribute, or of the aggregate itself, without its end."""
    name = f"{literal.alias}.{attribute}" if attribute else literal.alias
    return f"{{{name}:" if literal.alias else ""


def _said(message: str, threshold: _Threshold) -> bool:
    """Whether a compiled message contains the value and its limit."""
    if not threshold.placeholder or threshold.placeholder not in message:
        return False
    return threshold.self_evident or any(
        abs(n - threshold.limit) <= 1e-9 * abs(n) for n in _numbers(message)
    )


def _numbers(message: str) -> Sequence[float]:
    """The numbers in a compiled message, percentages also as shares."""
    found = [float(match) for match in _CONSTANT.findall(message)]
    for numeral, percent in _NUMERAL.findall(re.sub(r"\{[^{}]*\}", " ", message)):
        number = float(numeral.replace(",", ""))
        found += [number, number / 100] if percent else [number]
    return found
