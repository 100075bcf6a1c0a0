"""The next best step: probes and questions by what they would separate, per cost.

Decision trees that the facts have entered come first, in their authored order; then the
observables that the nearest ways to open diagnoses still lack.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..facts import Attribute, Fact, Question
from .findings import concluded_facts
from .ir import Pattern
from .knowledge_base import KnowledgeBase
from .report import Candidate, Diagnosis, NextStep
from .why_not import Gap, Way, WhyNot

MAX_STEPS = 8
MAX_CANDIDATES = 12
_SEVERITY_WEIGHT = {"blocker": 4.0, "error": 3.0, "warning": 2.0, "info": 1.0}


class Open(NamedTuple):
    """An open diagnosis: partly supported, nothing contradicted, with the gaps that remain."""

    id: str
    way: Way
    gaps: tuple[Gap, ...]


def _settled(d: Diagnosis) -> bool:
    """A cause that is proven well enough to account for what it explains."""
    cause = d.kind not in ("symptom", "benign")
    return cause and d.confidence != "possible" and not d.conflicting


class _Option:
    """A step with what speaks for it so far."""

    def __init__(self, step: NextStep) -> None:
        self.step = step
        self.value = 0.0
        self.separates: set[str] = set()


class Planner:
    """Plans for one set of facts and what was found in them.

    What a proven cause accounts for needs no further question: a diagnosis is open only if it could
    explain a symptom that has no cause yet, or rests on a fact that no finding has used.
    """

    def __init__(
        self,
        base: KnowledgeBase,
        facts: Sequence[Fact],
        why_not: WhyNot,
        found: Sequence[Diagnosis],
        ids: Mapping[Fact, str],
    ) -> None:
        self._base = base
        self._facts = facts
        self._why_not = why_not
        self._ids = ids
        self._open: tuple[Open, ...] | None = None
        causes = {d.id for d in found if _settled(d)}
        self._unexplained = {
            d.id for d in found if d.kind == "symptom" and not causes & set(d.explained_by)
        }
        self._used = {
            e.fact
            for d in found
            if d.id in causes or d.kind == "benign" or causes & set(d.explained_by)
            for e in d.evidence
        }

    def open(self) -> tuple[Open, ...]:
        """Open diagnoses, nearest first. A tree position alone is no support."""
        if self._open is None:
            found = [
                Open(name, way, self._why_not.bottom(way))
                for name, way in self._nearest_supported().items()
            ]
            found.sort(key=lambda o: (len(o.gaps), -self._weight(o.id), o.id))
            self._open = tuple(found)
        return self._open

    def candidates(self) -> tuple[Candidate, ...]:
        """What is still unknown about the open diagnoses."""
        return tuple(
            Candidate(o.id, self._base.summary(o.id).title, tuple(g.text for g in o.gaps))
            for o in self.open()[:MAX_CANDIDATES]
        )

    def steps(self) -> tuple[NextStep, ...]:
        """The next steps, best first."""
        steps = list(self._tree_steps())
        options: dict[str, _Option] = {}
        for candidate in self.open():
            share = self._weight(candidate.id) / max(len(candidate.gaps), 1)
            for gap in candidate.gaps:
                for step in self._gatherers(gap):
                    option = options.setdefault(step.id, _Option(step))
                    option.value += share
                    option.separates.add(candidate.id)
        ranked = sorted(
            options.values(), key=lambda o: (-o.value / (1 + o.step.seconds), o.step.id)
        )
        taken = {step.id for step in steps}
        for option in ranked:
            if option.step.id not in taken:
                steps.append(_with_targets(option))
        return tuple(steps[:MAX_STEPS])

    def _nearest_supported(self) -> dict[str, Way]:
        """The nearest supported way to each open diagnosis. Only rules that some fact bears out are
        looked at."""
        holds, out = concluded_facts(self._facts)
        nearest: dict[str, Way] = {}
        rules = self._base.program.rules
        for number, borne_out in sorted(self._why_not.supported_rules().items()):
            rule = rules[number]
            names = [
                str(dict(c.values)["name"])
                for c in rule.conclusions
                if c.kind == "diagnosis" and c.strength
            ]
            wanted = [
                n
                for n in names
                if n not in holds and n not in out and self._base.summary(n).kind != "benign"
            ]
            if not wanted or 2 * borne_out < len(rule.waits):
                continue
            way = self._why_not.best_way(rule)
            for name in wanted:
                nearer = name not in nearest or way.cost() < nearest[name].cost()
                if nearer and self._supported(name, way):
                    nearest[name] = way
        return nearest

    def _supported(self, name: str, way: Way) -> bool:
        """Whether the way has real support and nothing against it: at least as many conditions rest
        on facts as are missing, and the diagnosis has something left to explain."""
        resting = [j for j in way.holds if j.facts]
        if way.contradicted or not way.gaps or len(resting) < len(way.gaps):
            return False
        if self._unexplained & set(self._base.summary(name).explains):
            return True
        kinds = self._base.vocabulary.kinds
        return any(
            not (kinds[fact.kind].context or kinds[fact.kind].derived)
            and fact.kind not in ("answer", "symptom")
            and self._ids[fact] not in self._used
            for j in resting
            for fact in j.facts
        )

    def _tree_steps(self) -> Iterable[NextStep]:
        """The undecided nodes that the facts have reached, in authored order; a tree whose symptom
        has its cause is left."""
        settled = {
            str(f.get("name"))
            for f in self._facts
            if f.kind == "symptom" and self._ids[f] in self._used
        }
        reached: dict[str, set[str]] = {}
        for fact in self._facts:
            if fact.kind == "tree_node":
                reached.setdefault(str(fact.get("tree")), set()).add(str(fact.get("node")))
        for tree_id, nodes in sorted(reached.items()):
            tree = self._base.catalogue["trees"].get(tree_id, {"nodes": {}, "symptom": ""})
            if tree["symptom"] in settled:
                continue
            for name, node in tree["nodes"].items():
                decided = any(f"{name}/{branch}" in nodes for branch in node["branches"])
                if name in nodes and not decided:
                    yield from self._node_steps(tree_id, name, node)

    def _node_steps(self, tree_id: str, name: str, node: Mapping[str, Any]) -> Iterable[NextStep]:
        """The node's probe, if it has not run, and its question for those who cannot run it."""
        question = f"{tree_id}/{name}"
        targets = tuple(sorted({d for b in node["branches"].values() for d in b["conclude"]}))
        probe = self._base.vocabulary.probes.get(node["probe"])
        if probe and not any(self._gathered(kind) for kind in probe.gathers):
            yield NextStep(
                "probe", probe.name, probe.title, probe.command, probe.seconds, targets, node["why"]
            )
        yield NextStep(
            "question",
            question,
            node["ask"],
            "",
            float(node["seconds"]),
            targets,
            node["why"],
            tuple(node["branches"]),
            {"kind": "answer", "question": question},
        )

    def _gatherers(self, gap: Gap) -> Iterable[NextStep]:
        """Probes and questions that could settle a gap that is unknown."""
        if gap.truth is not None or gap.literal.mode == "aggregate":
            return
        pattern = self._why_not.pattern(gap.literal)
        kind = self._base.vocabulary.kinds[pattern.kind]
        for name in kind.probes:
            probe = self._base.vocabulary.probes.get(name)
            if probe and not self._gathered(pattern.kind):
                yield NextStep("probe", name, probe.title, probe.command, probe.seconds, ())
        if not kind.derived:
            yield from self._questions(pattern)

    def _gathered(self, kind: str) -> bool:
        """Whether a probe has already looked for facts of this kind."""
        return any(
            f.kind == kind and any(p.source.startswith("probe:") for p in f.provenance)
            for f in self._facts
        )

    def _questions(self, pattern: Pattern) -> Iterable[NextStep]:
        fixed = {t.attribute: t.operand for t in pattern.tests if t.op == "eq"}
        tested = [t.attribute for t in pattern.tests]
        named = [
            q
            for q in self._base.vocabulary.questions.values()
            if q.kind == pattern.kind
            and q.attribute in tested
            and all(fixed.get(n) == v for n, v in q.where)
        ]
        for question in sorted(named, key=lambda q: q.id):
            yield _question_step(question)
        if named:
            return
        for attribute in self._base.vocabulary.kinds[pattern.kind].attributes.values():
            if attribute.name in tested and (step := self._attribute_step(pattern, attribute)):
                yield step

    def _attribute_step(self, pattern: Pattern, attribute: Attribute) -> NextStep | None:
        """The attribute's own question; None where it has none, or where the answer alone would not
        make a fact because the condition leaves a required attribute open."""
        kind = self._base.vocabulary.kinds[pattern.kind]
        fixed = {t.attribute: t.operand for t in pattern.tests if t.op == "eq"}
        needed = {a.name for a in kind.attributes.values() if a.required} - {attribute.name}
        text = _ask(attribute.ask, fixed)
        if not text or attribute.name in kind.key or not needed <= fixed.keys():
            return None
        about = {name: fixed[name] for name in fixed if name in needed or name in kind.key}
        shown = ",".join(f"{name}={value}" for name, value in sorted(about.items()))
        return NextStep(
            "question",
            f"{pattern.kind}({shown}).{attribute.name}",
            text,
            "",
            20.0,
            (),
            choices=tuple(attribute.values or ()),
            sets={"kind": pattern.kind, **about, "attribute": attribute.name},
        )

    def _weight(self, diagnosis: str) -> float:
        return _SEVERITY_WEIGHT[self._base.summary(diagnosis).severity]


def _question_step(question: Question) -> NextStep:
    sets = {"kind": question.kind, **dict(question.where), "attribute": question.attribute}
    return NextStep(
        "question", question.id, question.text, "", question.seconds, (), question.help, sets=sets
    )


def _ask(template: str, fixed: Mapping[str, Any]) -> str:
    """The question text, or empty where it needs a name that the condition leaves open."""
    try:
        return template.format(**fixed)
    except (KeyError, IndexError, ValueError):
        return ""


def _with_targets(option: _Option) -> NextStep:
    return option.step._replace(separates=tuple(sorted(option.separates)))
