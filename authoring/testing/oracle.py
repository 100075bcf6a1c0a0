"""When the parts of an entry hold, read straight from its YAML: the oracle of boundary cases."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any, NamedTuple

from ...engine.compiler.source import conditions as c
from ...engine.compiler.source import entries as e
from ...engine.compiler.source.error_rows import ErrorMatch
from ...engine.compiler.source.knowledge_source import Item, KnowledgeSource
from ...engine.inference.reference import equal, of_value
from ...facts import Fact, Value, Vocabulary
from .hearing import Hearing
from .meaning import (
    Binding,
    ConditionReader,
    Constants,
    Facts,
    Meaning,
    Places,
    Truth,
    Values,
    all_of,
    any_of,
    both,
    either,
    negated,
)


class Part(NamedTuple):
    """A part of an entry that concludes by itself: a rule, a cause, a branch or a band. ``rule`` is
    the id of what it is compiled to, without the number of the alternative. ``concludes`` are facts
    (kind and constants) that must be there if it holds, ``constants`` the tests it makes."""

    rule: str
    meaning: Meaning
    variables: Places
    concludes: tuple[Values, ...]
    constants: Constants

    def truth(self, facts: Facts) -> Truth:
        """True if the part holds under some binding of its variables; else the best of the
        others, unknown before false."""
        names = sorted(self.variables)
        domains = [_domain(self.variables[name], facts) for name in names]
        return any_of(
            self.meaning(facts, dict(zip(names, b, strict=True))) for b in product(*domains)
        )


_Said = tuple[str, Meaning, list[Values]]


class Oracle:
    """Reads the parts of entries."""

    def __init__(self, vocabulary: Vocabulary, source: KnowledgeSource) -> None:
        self._kinds = vocabulary.kinds
        self._defaults = {
            kind.name: {
                a.name: a.default for a in kind.attributes.values() if a.default is not None
            }
            for kind in vocabulary.kinds.values()
        }
        self._heard_of = Hearing(vocabulary.owners)
        self._of_subjects = {i.id for i in source.of("classification") if i.entry.subject}
        self._finer: dict[str, list[Item]] = {}
        for row in source.of("error"):
            if row.entry.status != "deprecated":
                for general in row.entry.match.refines:
                    self._finer.setdefault(general, []).append(row)

    def facts(self, facts: Iterable[Fact]) -> Facts:
        """Facts in the form that parts are judged on."""
        found: dict[str, list[Values]] = {}
        for fact in facts:
            values = {**self._defaults[fact.kind], **dict(fact.values)}
            found.setdefault(fact.kind, []).append(values)
        return found

    def parts(self, item: Item) -> Iterator[Part]:
        """The parts of an entry; none of a diagnosis or a deprecated entry."""
        if item.form != "diagnosis" and item.entry.status != "deprecated":
            reader = ConditionReader(
                self._kinds, getattr(item.file, "parameters", {}), self._of_subjects
            )
            part = item if item.form == "error" else item.entry
            for rule, meaning, concludes in getattr(self, f"_{item.form}")(part, reader):
                yield Part(rule, meaning, reader.variables, tuple(concludes), reader.constants)
                reader.variables, reader.constants = {}, {}

    def _rule(self, rule: e.Rule, reader: ConditionReader) -> Iterator[_Said]:
        yield rule.id, reader.condition(rule.when), _conclusions(rule)

    def _error(self, item: Item, reader: ConditionReader) -> Iterator[_Said]:
        row: e.ErrorEntry = item.entry
        marks = [{"kind": item.file.marks, "known": True}] if item.file.marks else []
        for number, cause in enumerate(row.causes):
            for end, sure in (("", True), ("?", False))[: 1 + self._heard_of.may_doubt(item)]:
                matched = [
                    self._matched(item, name, sure) for name in ("error_message", "http_response")
                ]
                reader.constants = _row_tests(row.match)
                known = [reader.condition(cause.when)] if cause.when is not None else []
                meaning = both([either(matched), *known])
                yield f"{row.id}/{number}{end}", meaning, [_holds(cause.diagnosis), *marks]

    def _matched(self, item: Item, kind: str, sure: bool) -> Meaning:
        """Some fact is recognised by the row and by none that is more specific."""
        row: e.ErrorEntry = item.entry
        own = _row_tests(row.match).get(kind, ())
        finer = [
            (other, tests)
            for other in self._finer.get(row.id, ())
            if (tests := _row_tests(other.entry.match).get(kind, ()))
        ]

        def taken(values: Values) -> bool:
            return any(
                self._heard_of.surely(other, kind, values) is not None
                and _recognised(tests, values) is True
                for other, tests in finer
            )

        def meaning(facts: Facts, _: Binding) -> Truth:
            truths = [
                all_of([_recognised(own, x), not taken(x)])
                for x in facts.get(kind, ())
                if self._heard_of.surely(item, kind, x) is sure
            ]
            return True if True in truths else None  # such facts cannot contradict each other

        return meaning

    def _tree(self, tree: e.Tree, reader: ConditionReader) -> Iterator[_Said]:
        def at(node: str) -> Meaning:
            return reader.pattern("tree_node", {"tree": tree.id, "node": node})

        began = reader.pattern("symptom", {"name": tree.symptom.name})
        yield f"{tree.id}/", either([began, at("")]), [_node(tree.id, tree.root)]
        for name, node in tree.nodes.items():
            for answer, branch in node.branches.items():
                said = {"question": f"{tree.id}/{name}", "value": answer}
                ways = [reader.pattern("answer", said)]
                if branch.when is not None:
                    ways.append(reader.condition(branch.when))
                if node.test is not None and answer in ("yes", "no"):
                    test = reader.condition(node.test, answer == "yes")
                    ways.append(test if answer == "yes" else negated(test))
                leads = [*map(_holds, branch.conclude), *map(_out, branch.rules_out)]
                leads += [_node(tree.id, branch.goto)] if branch.goto is not None else []
                leads += [_node(branch.tree, "")] if branch.tree is not None else []
                yield f"{tree.id}/{name}/{answer}", both([at(name), either(ways)]), leads

    def _classification(self, entry: e.Classification, reader: ConditionReader) -> Iterator[_Said]:
        subject = {entry.subject: f"${entry.subject}"} if entry.subject else {}
        where = {**subject, **entry.observe.where}
        for band in entry.bands:
            ends = {"ge": band.from_, "lt": band.to}
            test = {op: end for op, end in ends.items() if end is not None} or {"known": True}
            tested = {**where, entry.attribute: c.Test.model_validate(test)}
            meaning = reader.pattern(entry.observe.fact, tested, proven=True)
            yield f"{entry.id}/{band.label}", meaning, _labelled(entry, band)
        if entry.undefined is not None:
            band, tested = entry.undefined, {**where, **entry.undefined_where}
            meaning = reader.pattern(entry.observe.fact, tested, proven=True)
            yield f"{entry.id}/{band.label}", meaning, _labelled(entry, band)


def _holds(name: str) -> Values:
    return {"kind": "diagnosis", "name": name, "holds": True}


def _out(name: str) -> Values:
    return {"kind": "diagnosis", "name": name, "holds": False}


def _node(tree: str, node: str) -> Values:
    return {"kind": "tree_node", "tree": tree, "node": node}


def _labelled(entry: e.Classification, band: e.Band) -> list[Values]:
    label = {"kind": "classified", "classification": entry.id, "label": band.label}
    return [label, *_conclusions(band)]


def _conclusions(part: e.Rule | e.Band) -> list[Values]:
    found = [_out(name) for name in part.rules_out]
    for conclusion in part.conclude:
        if conclusion.diagnosis is not None:
            found.append(_holds(conclusion.diagnosis))
        elif conclusion.fact is not None:
            fixed = {n: v for n, v in conclusion.set.items() if not str(v).startswith("$")}
            found.append({"kind": conclusion.fact, **fixed})
    return found


def _domain(places: Iterable[tuple[str, str]], facts: Facts) -> list[Value | None]:
    found: list[Value] = []
    for kind, name in places:
        for values in facts.get(kind, ()):
            value = values.get(name)
            if value is not None and not any(equal(value, known) for known in found):
                found.append(value)
    return [*found] or [None]


def _row_tests(match: ErrorMatch) -> Constants:
    """The tests of a row for messages and responses; none for a kind that it cannot match."""
    text = match.pattern or template_pattern(match.template)
    message = [("exception", "in", match.exception), ("text", "matches", text)]
    message += [("text", "not_matches", match.not_pattern)]
    response = [("status", "in", match.http_status), ("operation", "in", match.operation)]
    return {
        kind: [test for test in tests if test[2]]
        for kind, tests, recognises in (
            ("error_message", message, match.exception or text),
            ("http_response", response, match.http_status),
        )
        if recognises
    }


def _recognised(tests: Iterable[tuple[str, str, Any]], values: Values) -> Truth:
    """Whether tests of a row recognise a message or a response; without tests, none."""
    truths = [_passes(name, values.get(name), op, operand) for name, op, operand in tests]
    return all_of(truths) if truths else False


def _passes(name: str, value: Value | None, op: str, operand: Any) -> Truth:
    return None if value is None else of_value(op, value, operand)


def template_pattern(template: str) -> str:
    """The RE2 pattern of a template: its fixed parts in order, any white space alike; empty for an
    empty one."""
    parts = [re.split(r"\s+", part) for part in re.split(r"\{\w*\}", template)]
    fixed = [r"\s+".join(re.escape(word) for word in words) for words in parts]
    return f"(?s){'.*?'.join(fixed)}" if template else ""
