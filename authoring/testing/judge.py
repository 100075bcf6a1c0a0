"""Judges the outcome of a test case: the failures, and the actual outcome."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from ...engine.compiler.source.cases import Case, Expectation
from ...engine.compiler.source.knowledge_source import KnowledgeSource
from ...engine.diagnosis.consultation import Consultation
from ...engine.diagnosis.diagnoser import Diagnoser
from ...engine.diagnosis.findings import concluded_facts, confidence, findings
from ...engine.diagnosis.why_not import Gap, Way
from ...engine.inference.derivation import Firing
from ...engine.inference.program import Literal, Rule
from ...facts import Fact

Place = Callable[[Rule, Literal], str]
"""The place of a condition of a rule in the knowledge files; empty if unknown."""

MAX_SEEN = 3


class Judge:
    """Judges cases by one diagnoser. ``inner`` are the ids of rules that lead on inside a tree."""

    def __init__(
        self,
        doctor: Diagnoser,
        inner: Collection[str],
        place: Place = lambda rule, literal: "",
    ) -> None:
        self.doctor = doctor
        self._place = place
        self._diagnoses = doctor.base.catalogue["diagnoses"]
        self._rules: dict[str, list[int]] = {}
        for index, rule in enumerate(doctor.base.program.rules):
            if rule.id.partition("#")[0] not in inner:
                self._rules.setdefault(rule.entry, []).append(index)

    def case(self, case: Case, facts: Sequence[Fact]) -> Iterator[str]:
        """The failures in the outcome of a case on its facts."""
        consultation = self.doctor.consult(facts)
        yield from self.outcome(case, consultation)

    def outcome(self, case: Case, consultation: Consultation) -> Iterator[str]:
        """The problems with the outcome of a case whose facts were consulted about already."""
        if case.entry is not None:
            yield from self._entry(case, case.entry, consultation)
        yield from self._expectations(case.expect, consultation)

    def sample(self, row: str, facts: Sequence[Fact], wanted: bool) -> Iterator[str]:
        """The failures if an error row should match the facts of a text, or should not."""
        consultation = self.doctor.consult(facts)
        literals = [
            (rule, literal)
            for rule in map(self.doctor.base.program.rules.__getitem__, self._rules.get(row, ()))
            for literal in rule.literals
            if literal.alias in ("m", "r")
        ]
        judged = [(rule, consultation.evaluator.judge(x, {})) for rule, x in literals]
        if any(judgement.truth is True for _, judgement in judged) == wanted:
            return
        read = "; ".join(map(str, facts[:2])) or "nothing"
        verb = "does not match" if wanted else "matches"
        condition = next(
            (
                f"\n{consultation.why_not.words(judgement.literal, rule)}"
                for rule, judgement in judged
                if wanted or judgement.truth is True
            ),
            "",
        )
        yield f"the row {verb} (the text is read as: {read}){condition}"

    def _entry(self, case: Case, entry: str, consultation: Consultation) -> Iterator[str]:
        fired = self.fires(entry, consultation)
        if case.kind == "fires" and not fired:
            yield f"{entry} does not fire{self._nearest(entry, consultation)}"
        if case.kind in ("silent", "unknown") and fired:
            yield f"{entry} fires{self._because(entry, consultation)}"
        elif case.kind == "unknown" and not self.unknown(entry, consultation):
            yield f"{entry} is contradicted, not unknown{self._nearest(entry, consultation)}"

    def fires(self, entry: str, consultation: Consultation) -> bool:
        """Whether the entry fires (a tree: reaches a leaf), or the diagnosis is concluded."""
        if entry in self._diagnoses:
            return entry in concluded_facts(consultation.facts)[0]
        mine = set(self._rules.get(entry, ()))
        return any(f.rule in mine for f in consultation.derivation.firings)

    def unknown(self, entry: str, consultation: Consultation) -> bool:
        """Whether some way to the entry lacks only what is not known."""
        return any(not way.contradicted for way in self._ways(entry, consultation))

    def _ways(self, entry: str, consultation: Consultation) -> list[Way]:
        if entry in self._diagnoses:
            return consultation.why_not.ways(entry)
        rules = [self.doctor.base.program.rules[i] for i in self._rules.get(entry, ())]
        return [consultation.why_not.best_way(rule) for rule in rules]

    def _nearest(self, entry: str, consultation: Consultation) -> str:
        """The conditions that keep an entry away on the nearest way to it."""
        ways = sorted(self._ways(entry, consultation), key=Way.cost)
        if not ways:
            return " (no rule of it was compiled)"
        way = ways[0]
        return "".join(f"\n{self._gap(way.rule, gap, consultation)}" for gap in way.gaps)

    def _gap(self, rule: Rule, gap: Gap, consultation: Consultation) -> str:
        state = "contradicted" if gap.truth is False else "unknown"
        facts: Sequence[Fact] = gap.facts
        if not facts and gap.literal.mode != "aggregate":
            kind = self.doctor.base.program.patterns[gap.literal.pattern].kind
            facts = [fact for fact in consultation.facts if fact.kind == kind]
            if not facts:
                return self._leaf(state, rule, gap.literal, gap.text, f"no {kind}")
        return self._leaf(state, rule, gap.literal, gap.text, _seen(facts))

    def _leaf(self, state: str, rule: Rule, literal: Literal, text: str, saw: str) -> str:
        place = self._place(rule, literal)
        return f"{state}: {text}{f' ({place})' if place else ''}; saw {saw}"

    def _because(self, entry: str, consultation: Consultation) -> str:
        """The premises of the first rule that fires for an entry."""
        rules = self.doctor.base.program.rules
        firings: Iterable[Firing] = consultation.derivation.firings
        if entry in self._diagnoses:
            steps = consultation.explanations.steps(concluded_facts(consultation.facts)[0][entry])
            firings = [step.firing for step in steps]
        else:
            mine = set(self._rules.get(entry, ()))
            firings = [f for f in firings if f.rule in mine]
        first = next(iter(firings), None)
        if first is None:
            return ""
        step, rule = consultation.explanations.step(first), rules[first.rule]
        lines = []
        for judgement in step.premises:
            text = consultation.why_not.words(judgement.literal, rule)
            saw = _seen(judgement.facts)
            lines.append(f"\n{self._leaf('true', rule, judgement.literal, text, saw)}")
        return "".join(lines)

    def _expectations(self, expect: Expectation, consultation: Consultation) -> Iterator[str]:
        holds, out = concluded_facts(consultation.facts)
        wanted = set(expect.concludes) | set(expect.diagnoses or ())
        for name in sorted(wanted - holds.keys()):
            yield f"{name} is not concluded{self._nearest(name, consultation)}"
        refused = set(expect.silent)
        if expect.diagnoses is not None:
            refused |= holds.keys() - set(expect.diagnoses)
        for name in sorted(refused & holds.keys()):
            yield f"{name} is concluded, not expected{self._because(name, consultation)}"
        yield from (f"{name} is not ruled out" for name in expect.ruled_out if name not in out)
        yield from (
            f"{name} is not in conflict"
            for name in expect.conflicting
            if name not in holds or name not in out
        )
        yield from _underived(expect.derives, consultation.facts)
        for unwanted in expect.absent:
            there = [f for f in consultation.facts if unwanted.items() <= f.plain().items()]
            yield from (f"{fact} is there, not expected" for fact in there)
        yield from self._doubts(expect, holds, consultation)
        if expect.first is not None:
            found = findings(self.doctor.base, consultation.facts, consultation.explanations)[0]
            first = found[0].id if found else "nothing"
            if first != expect.first:
                yield f"first is {first}, not {expect.first}"

    def _doubts(
        self, expect: Expectation, holds: Mapping[str, Fact], consultation: Consultation
    ) -> Iterator[str]:
        for name, wanted in expect.confidence.items():
            if name not in holds:
                yield f"{name} is not concluded{self._nearest(name, consultation)}"
                continue
            found = confidence(consultation.explanations.steps(holds[name]))
            if found != wanted:
                yield f"{name} is {found}, not {wanted}{self._because(name, consultation)}"
        if expect.severity:
            yield from self._severities(expect.severity, consultation)

    def _severities(self, expected: Mapping[str, str], consultation: Consultation) -> Iterator[str]:
        concluded = findings(self.doctor.base, consultation.facts, consultation.explanations)[0]
        shown = {finding.id: finding.severity for finding in concluded}
        for name, wanted in expected.items():
            if name not in shown:
                yield f"{name} is not concluded{self._nearest(name, consultation)}"
            elif shown[name] != wanted:
                yield f"{name} is shown as {shown[name]}, not {wanted}"


def inner_rules(source: KnowledgeSource) -> set[str]:
    """The rules of trees that lead to another node: a tree fires when it reaches a leaf."""
    found = set()
    for item in source.of("tree"):
        found.add(f"{item.id}/")
        for name, node in item.entry.nodes.items():
            found |= {
                f"{item.id}/{name}/{answer}"
                for answer, branch in node.branches.items()
                if branch.goto is not None
            }
    return found


def _seen(facts: Sequence[Fact]) -> str:
    if not facts:
        return "no such fact"
    more = f" and {len(facts) - MAX_SEEN} more" if len(facts) > MAX_SEEN else ""
    return "; ".join(map(str, facts[:MAX_SEEN])) + more


def _underived(wanted: Iterable[Mapping[str, object]], facts: Sequence[Fact]) -> Iterator[str]:
    known = [fact.plain() for fact in facts]
    for item in wanted:
        if not any(item.items() <= fact.items() for fact in known):
            kind = item.get("kind")
            seen = _seen([fact for fact in facts if fact.kind == kind])
            yield f"not derived: {dict(item)}; saw {seen}"
