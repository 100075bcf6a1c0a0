"""Turns entries of the five forms into rules, one for each alternative."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...facts import Problem, Vocabulary
from ...facts.fact import normal
from ..inference.program import Conclusion, Rule
from .alternatives import Alternative, Alternatives, Path, SharedPatterns, distinct
from .layering import further_conditions, spoken
from .normal_form import Lowering
from .row_match import Variant, exclusions, variants
from .source import conditions as c
from .source import entries as e
from .source.error_rows import ErrorMatch
from .source.expressions import analysed
from .source.knowledge_source import Item, KnowledgeSource
from .templates import Said, Templates, said_by, unit_of

Clause = tuple[str, Alternatives, tuple[Conclusion, ...], Sequence[Said]]
"""The id of a rule, its alternatives, their common conclusions, and its messages."""


@dataclass
class Forms:
    """Turns the entries of a source into rules over common ``patterns``. Problems are collected;
    ``places`` gives the position of each literal of a rule in its entry; ``subjects`` whether each
    classification has one, ``observed`` the kind of fact that it classifies."""

    vocabulary: Vocabulary
    source: KnowledgeSource
    patterns: SharedPatterns = field(default_factory=SharedPatterns)
    problems: list[Problem] = field(default_factory=list)
    places: dict[str, tuple[Path, ...]] = field(default_factory=dict)
    subjects: dict[str, bool] = field(default_factory=dict)
    observed: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for item in self.source.of("classification"):
            self.subjects[item.id] = bool(item.entry.subject)
            self.observed[item.id] = item.entry.observe.fact
        self.exclusions = exclusions(self.source.items, self.vocabulary.owners)

    def rules(self, item: Item) -> list[Rule]:
        """The rules of one entry as the overlays leave them; none for diagnoses and deprecated
        entries."""
        if item.form == "diagnosis" or item.entry.status == "deprecated":
            return []
        lowering = Lowering(
            self.vocabulary, item, self.subjects, self.patterns, problems=self.problems
        )
        further = further_conditions(item, self.source, lowering)
        clauses: Iterator[Clause] = getattr(self, f"_{item.form}")(item, item.entry, lowering)
        rules: list[Rule] = []
        parameters = getattr(item.file, "parameters", {})
        templates = Templates(
            self.vocabulary, self.patterns, parameters, lowering.units, self.observed
        )
        for name, alternatives, conclusions, messages in list(clauses):  # all units are known then
            if item.form != "tree" or name == f"{item.id}/":  # a tree is not even entered
                for tightening, more in further:
                    alternatives = tightening.product([alternatives, more], ())
            rule = Rule(name, item.id, item.form, (), (), conclusions, (), 0)
            rules += self._expanded(rule, alternatives, templates, messages)
        return spoken(rules, self.source.silenced)

    def _expanded(
        self, rule: Rule, alternatives: Alternatives, templates: Templates, messages: Sequence[Said]
    ) -> Iterator[Rule]:
        """A rule for each alternative, with the messages that fit it."""
        weak = rule._replace(id=f"{rule.id}~", conclusions=_leads(rule.conclusions))
        counts = {rule.id: 0, weak.id: 0}
        for found in distinct(alternatives):
            stated = weak if found.assumed else rule
            if found.assumed and (rule.form == "tree" or not weak.conclusions):
                continue
            number = counts[stated.id]
            counts[stated.id] += 1
            bound = {v for x in found.literals if x.mode == "match" for _, v in x.joins}
            name = f"{stated.id}#{number}" if number else stated.id
            self.places[name] = found.places
            said = templates.compiled(messages, found)
            repairs = [repair for _, repair in said]
            yield stated._replace(
                id=name,
                literals=found.literals,
                guards=found.guards,
                variables=tuple(sorted(bound)),
                messages=tuple([text for text, _ in said]),
                repairs=tuple(repairs) if any(repairs) else (),
            )

    def _rule(self, item: Item, rule: e.Rule, lowering: Lowering) -> Iterator[Clause]:
        alternatives = lowering.condition(rule.when, ("when",))
        conclusions = (*_concluded(rule.conclude), *map(_ruled_out, rule.rules_out))
        yield rule.id, alternatives, conclusions, [*said_by(rule)]

    def _error(self, item: Item, row: e.ErrorEntry, lowering: Lowering) -> Iterator[Clause]:
        self.problems.extend(_pattern_problems(item, row.match))
        ways = list(variants(item, self.vocabulary.owners))
        sure = [self._matching(row.id, way, lowering) for way in ways if way.origin_known]
        unsure = [self._matching(row.id, way, lowering) for way in ways if not way.origin_known]
        open_usual = [x for x in row.causes if x.likelihood == "usual" and x.when is None]
        marks = item.file.marks
        marked = (Conclusion(marks, (("known", True),)),) if marks else ()
        for index, cause in enumerate(row.causes):
            path = ("causes", index, "when")
            known = lowering.condition(cause.when, path) if cause.when else [Alternative()]
            strength = _cause_strength(cause, len(open_usual))
            for matches, said, end in ((sure, strength, ""), (unsure, "hint", "?")):
                alternatives = [m.and_(k) for m in matches for k in known]
                concluded = (_diagnosis(cause.diagnosis, said), *marked)
                if alternatives:
                    yield f"{row.id}/{index}{end}", alternatives, concluded, [Said(row.meaning)]

    def _matching(self, row: str, way: Variant, lowering: Lowering) -> Alternative:
        """The literal of a row: its message, and none of the more specific rows."""
        kind, tests = way.kind, way.tests
        more = [others for other, others in self.exclusions.get(row, ()) if other == kind]
        if more:
            tests = [*tests, ("", "none_of", [[list(t) for t in others] for others in more])]
        return lowering.passing(kind, tests, alias=_ALIASES[kind])

    def _tree(self, item: Item, tree: e.Tree, lowering: Lowering) -> Iterator[Clause]:
        symptom = c.Pattern(fact="symptom", where={"name": tree.symptom.name})
        start = [lowering.pattern(symptom, ("symptom",)), _at_node(lowering, tree.id, "")]
        began = f"As reported: {self._meaning_of(tree.symptom.name)}."
        yield f"{tree.id}/", start, (_reached(tree.id, tree.root),), [Said(began)]
        for name, node in tree.nodes.items():
            for answer, branch in node.branches.items():
                yield self._branch(tree, (name, node), (answer, branch), lowering)

    def _meaning_of(self, symptom: str) -> str:
        """A symptom in words."""
        kind = self.vocabulary.kinds.get("symptom")
        names = kind.attributes["name"].values if kind else None
        return (names or {}).get(symptom) or symptom

    def _branch(
        self, tree: e.Tree, at: tuple[str, e.Node], choice: tuple[str, e.Branch], lowering: Lowering
    ) -> Clause:
        (name, node), (answer, branch) = at, choice
        where: c.Where = {"question": f"{tree.id}/{name}", "value": answer}
        ways = [lowering.pattern(c.Pattern(fact="answer", where=where), ("nodes", name))]
        path: tuple[str | int, ...] = ("nodes", name)
        if branch.when is not None:
            ways += lowering.condition(branch.when, (*path, "branches", answer, "when"))
        if node.test is not None and answer in ("yes", "no"):
            ways += lowering.condition(node.test, (*path, "test"), answer == "yes")
        here = _at_node(lowering, tree.id, name)
        conclusions = [_diagnosis(d, branch.strength) for d in branch.conclude]
        conclusions += map(_ruled_out, branch.rules_out)
        if branch.goto is not None:
            conclusions.append(_reached(tree.id, branch.goto))
        if branch.tree is not None:
            conclusions.append(_reached(branch.tree, ""))
        conclusions.append(_reached(tree.id, f"{name}/{answer}"))
        alternatives = [here.and_(way) for way in ways]
        said = [*said_by(branch), Said(f"{node.ask} {branch.answer or answer}.")]
        return f"{tree.id}/{name}/{answer}", alternatives, tuple(conclusions), said

    def _classification(
        self, item: Item, entry: e.Classification, lowering: Lowering
    ) -> Iterator[Clause]:
        kind = self.vocabulary.kinds.get(entry.observe.fact)
        unit = unit_of(kind.attributes.get(entry.attribute) if kind else None)
        for index, band in enumerate(entry.bands):
            test: dict[str, Any] = {}
            path = ("bands", index)
            for op, bound in (("ge", band.from_), ("lt", band.to)):
                value = lowering.number(bound, path, unit)
                if isinstance(value, float) and not math.isfinite(value):
                    message = f"an end of the band {band.label!r} is not a finite number"
                    hint = "leave an end out that has no bound"
                    self.problems.append(Problem("MM272", message, item.where(*path), hint))
                elif value is not None:
                    test[op] = value
            where = {
                **entry.observe.where,
                entry.attribute: c.Test.model_validate(test or {"known": True}),
            }
            yield self._band(entry, band, where, lowering)
        if entry.undefined:
            where = {**entry.observe.where, **entry.undefined_where}
            yield self._band(entry, entry.undefined, where, lowering)

    def _band(
        self, entry: e.Classification, band: e.Band, where: Any, lowering: Lowering
    ) -> Clause:
        subject: Any = "-"
        if entry.subject:
            where = {**where, entry.subject: "$subject"} if entry.subject not in where else where
            fixed = where[entry.subject]
            subject = ("subject",) if fixed == "$subject" else fixed
        observe = c.Pattern.model_validate(
            {"fact": entry.observe.fact, "where": where, "as": entry.observe.as_}
        )
        alternatives = lowering.condition(observe, ("observe",))
        values = (("classification", entry.id), ("label", band.label), ("subject", subject))
        conclusions = (
            Conclusion("classified", values),
            *_concluded(band.conclude),
            *map(_ruled_out, band.rules_out),
        )
        said = [*said_by(band)]
        return f"{entry.id}/{band.label}", alternatives, conclusions, said


def _pattern_problems(item: Item, match: ErrorMatch) -> Iterator[Problem]:
    for name in ("pattern", "not_pattern"):
        if problem := analysed(getattr(match, name)).problem:
            hint = "RE2 has no look-around and no back-references"
            yield Problem("MM232", f"{item.id}: {problem}", item.where("match", name), hint)


_ALIASES = {"error_message": "m", "http_response": "r"}


def _cause_strength(cause: e.Cause, open_usual: int) -> str:
    """A cause that facts confirm, or the only usual cause of a message, is strong."""
    if cause.when is not None:
        return "weak" if cause.likelihood == "rare" else "strong"
    return "strong" if cause.likelihood == "usual" and open_usual == 1 else "weak"


def _leads(conclusions: Iterable[Conclusion]) -> tuple[Conclusion, ...]:
    """The conclusion that remains if a premise was assumed."""
    wanted = (c for c in conclusions if c.kind == "diagnosis" and ("holds", True) in c.values)
    return tuple([conclusion._replace(strength="lead") for conclusion in wanted])


def _at_node(lowering: Lowering, tree: str, node: str) -> Alternative:
    return lowering.passing("tree_node", [("node", "eq", node), ("tree", "eq", tree)])


def _reached(tree: str, node: str) -> Conclusion:
    return Conclusion("tree_node", (("node", node), ("tree", tree)))


def _diagnosis(name: str, strength: str) -> Conclusion:
    return Conclusion("diagnosis", (("holds", True), ("name", name)), strength)


def _ruled_out(name: str) -> Conclusion:
    return Conclusion("diagnosis", (("holds", False), ("name", name)))


def _concluded(conclusions: Iterable[e.Conclusion]) -> Iterator[Conclusion]:
    for conclusion in conclusions:
        if conclusion.diagnosis is not None:
            yield _diagnosis(conclusion.diagnosis, conclusion.strength)
        elif conclusion.fact is not None:
            values = sorted(conclusion.set.items())
            yield Conclusion(conclusion.fact, tuple((n, _operand(v)) for n, v in values))


def _operand(value: Any) -> Any:
    return (value[1:],) if isinstance(value, str) and value.startswith("$") else normal(value)
