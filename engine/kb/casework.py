"""Runs the test cases of a knowledge base."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...facts import Fact, Location, ModelMedicError, Provenance
from ...facts.fact_file import read_facts
from ..diagnoser import Consultation, Diagnoser
from ..findings import concluded_facts
from ..why_not import Way
from . import entries as e
from .source import KnowledgeSource

Decode = Callable[[str], Sequence[Fact]]


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of one case; ``failures`` is empty if it passed."""

    name: str
    entry: str
    kind: str
    where: Location
    failures: tuple[str, ...]


class CaseRunner:
    """Runs cases against one diagnoser. ``decode`` turns a pasted text into facts."""

    def __init__(self, doctor: Diagnoser, source: KnowledgeSource, decode: Decode) -> None:
        self._doctor = doctor
        self._source = source
        self._decode = decode
        self._rules: dict[str, list[int]] = {}
        inner = _inner_rules(source)
        for index, rule in enumerate(doctor.base.program.rules):
            if rule.id.partition("#")[0] not in inner:
                self._rules.setdefault(rule.entry, []).append(index)

    def run(self, only: Callable[[str], bool] = lambda path: True) -> Iterator[Result]:
        """Every case of the files whose name passes ``only``, then samples and near misses."""
        for document, file in self._source.tests:
            if only(document.path):
                for index, case in enumerate(file.cases):
                    where = document.where(("cases", index))
                    yield Result(
                        case.name, case.entry or "", case.kind, where, tuple(self._case(case))
                    )
        for item in self._source.of("error"):
            if only(item.document.path) and item.entry.status != "deprecated":
                for part, wanted in (("samples", True), ("near_misses", False)):
                    for index, text in enumerate(getattr(item.entry, part)):
                        failures = self._sample(item.id, text, wanted)
                        yield Result(
                            text[:80], item.id, part, item.where(part, index), tuple(failures)
                        )

    def healthy(self, folder: Path) -> Iterator[Result]:
        """Each healthy fact set of a folder: no problem may be reported."""
        for path in sorted(folder.glob("*.json")):
            where = Location(f"{folder.name}/{path.name}")
            try:
                facts = read_facts(path, self._doctor.base.vocabulary)
            except ModelMedicError as error:
                yield Result(path.stem, "", "healthy", where, (str(error),))
                continue
            report = self._doctor.diagnose(facts)
            found = [d.id for d in report.diagnoses if d.kind != "benign"]
            failures = [f"reports {name} on a healthy set" for name in found]
            yield Result(path.stem, "", "healthy", where, tuple(failures))

    def _case(self, case: e.Case) -> Iterator[str]:
        vocabulary = self._doctor.base.vocabulary
        try:
            facts = [
                vocabulary.read(item, Location(f"facts[{n}]"), Provenance("test"))
                for n, item in enumerate(case.facts)
            ]
        except ModelMedicError as error:
            yield f"bad facts: {error}"
            return
        consultation = self._doctor.consult(facts)
        if case.entry is not None:
            yield from self._entry(case, consultation)
        yield from self._expectations(case.expect, consultation)

    def _entry(self, case: e.Case, consultation: Consultation) -> Iterator[str]:
        entry = case.entry or ""
        if entry in self._doctor.base.catalogue["diagnoses"]:
            fired = entry in concluded_facts(consultation.facts)[0]
        else:
            mine = set(self._rules.get(entry, ()))
            fired = any(f.rule in mine for f in consultation.derivation.firings)
        if case.kind == "fires" and not fired:
            yield f"{entry} does not fire{self._nearest(entry, consultation)}"
        if case.kind in ("silent", "unknown") and fired:
            yield f"{entry} fires"
        elif case.kind == "unknown" and not self._unknown(entry, consultation):
            yield f"{entry} is contradicted, not unknown{self._nearest(entry, consultation)}"

    def _unknown(self, entry: str, consultation: Consultation) -> bool:
        """Whether some way to the entry lacks only what is not known."""
        return any(not way.contradicted for way in self._ways(entry, consultation))

    def _ways(self, entry: str, consultation: Consultation) -> list[Way]:
        if entry in self._doctor.base.catalogue["diagnoses"]:
            return consultation.why_not.ways(entry)
        rules = [self._doctor.base.program.rules[i] for i in self._rules.get(entry, ())]
        return [consultation.why_not.best_way(rule) for rule in rules]

    def _nearest(self, entry: str, consultation: Consultation) -> str:
        ways = sorted(self._ways(entry, consultation), key=Way.cost)
        if not ways:
            return " (no rule of it was compiled)"
        gaps = [
            f"{'contradicted' if g.truth is False else 'unknown'}: {g.text}"
            + (f" [{'; '.join(map(str, g.facts[:2]))}]" if g.facts else "")
            for g in ways[0].gaps
        ]
        return "; nearest way lacks " + " AND ".join(gaps)

    def _expectations(self, expect: e.Expectation, consultation: Consultation) -> Iterator[str]:
        holds, out = concluded_facts(consultation.facts)
        if expect.diagnoses is not None and set(expect.diagnoses) != holds.keys():
            wanted = set(expect.diagnoses)
            yield from (f"{name} is missing" for name in sorted(wanted - holds.keys()))
            yield from (
                f"{name} is concluded, not expected" for name in sorted(holds.keys() - wanted)
            )
        yield from (f"{name} is not concluded" for name in expect.concludes if name not in holds)
        yield from (f"{name} is concluded" for name in expect.silent if name in holds)
        yield from (f"{name} is not ruled out" for name in expect.ruled_out if name not in out)
        yield from (
            f"{name} is not in conflict"
            for name in expect.conflicting
            if name not in holds or name not in out
        )
        yield from _underived(expect.derives, consultation.facts)
        if expect.first is not None:
            first = next(iter(consultation.report().diagnoses), None)
            if first is None or first.id != expect.first:
                yield f"first is {first.id if first else 'nothing'}, not {expect.first}"

    def _sample(self, row: str, text: str, wanted: bool) -> Iterator[str]:
        facts = self._decode(text)
        consultation = self._doctor.consult(facts)
        matched = any(
            consultation.evaluator.judge(literal, {}).truth is True
            for index in self._rules.get(row, ())
            for literal in self._doctor.base.program.rules[index].literals
            if literal.alias in ("m", "r")
        )
        if matched != wanted:
            read = "; ".join(map(str, facts[:2]))
            yield f"the row {'does not match' if wanted else 'matches'} (read as: {read})"


def _inner_rules(source: KnowledgeSource) -> set[str]:
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


def _underived(wanted: Iterable[Mapping[str, object]], facts: Sequence[Fact]) -> Iterator[str]:
    known = [fact.plain() for fact in facts]
    for item in wanted:
        if not any(item.items() <= fact.items() for fact in known):
            yield f"not derived: {dict(item)}"
