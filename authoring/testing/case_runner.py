"""Runs the test cases of a knowledge base."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ...engine.compiler.alternatives import Path as Place
from ...engine.compiler.source.cases import Case
from ...engine.compiler.source.knowledge_source import Item, KnowledgeSource
from ...engine.diagnosis.diagnoser import Diagnoser
from ...engine.inference.program import Literal, Rule
from ...facts import Fact, Location, ModelMedicError, Provenance, Vocabulary
from ...facts.fact_file import read_facts
from .boundary import BoundaryCases
from .judge import Judge, inner_rules

MAX_SHOWN = 5
"""Failures shown of the boundary cases of one entry."""
Decode = Callable[[str], Sequence[Fact]]


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of one case; ``failures`` is empty if it passed. Further lines of a failure are
    the conditions that it depends on, with the observed facts."""

    name: str
    entry: str
    kind: str
    where: Location
    failures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sample:
    """A text that a row of an error table must match (``samples``) or not (``near_misses``)."""

    item: Item
    part: str
    index: int
    text: str

    @property
    def wanted(self) -> bool:
        """Whether the row must match."""
        return self.part == "samples"

    @property
    def where(self) -> Location:
        """The place of the text."""
        return self.item.where(self.part, self.index)


Tested = Case | Sample | Item
"""A unit to run: a case, a sample, or the generated boundary cases of an entry."""
Wanted = Callable[[str, Tested], bool]
"""Whether something of a file is to be run."""


class CaseRunner:
    """Runs cases against one diagnoser. ``decode`` turns a pasted text into facts; ``places``
    gives, by rule, the place of each condition in its entry."""

    def __init__(
        self,
        doctor: Diagnoser,
        source: KnowledgeSource,
        decode: Decode,
        places: Mapping[str, Sequence[Place]] | None = None,
    ) -> None:
        self._doctor = doctor
        self._source = source
        self._decode = decode
        self._places = places or {}
        self._items = {item.id: item for item in source.items}
        self._judge = Judge(doctor, inner_rules(source), self._place)
        self._boundary = BoundaryCases(doctor, source, self._examples)
        self._cases_of: dict[str, list[Case]] = {}
        for _, file in source.tests:
            for case in file.cases:
                self._cases_of.setdefault(case.entry or "", []).append(case)

    def count(self, only: Wanted = lambda path, part: True) -> int:
        """The greatest number of cases to run: not every entry has boundary cases."""
        tests = self._source.tests
        cases = sum(only(document.path, case) for document, file in tests for case in file.cases)
        texts = sum(only(each.item.document.path, each) for each in samples(self._source))
        return cases + texts + sum(only(item.document.path, item) for item in self._source.items)

    def run(self, only: Wanted = lambda path, part: True) -> Iterator[Result]:
        """Every case that passes ``only``, then samples and near misses, then boundary cases."""
        for document, file in self._source.tests:
            for index, case in enumerate(file.cases):
                if only(document.path, case):
                    yield self.case(case, document.where(("cases", index)))
        for sample in samples(self._source):
            if only(sample.item.document.path, sample):
                yield self.sample(sample)
        for item in self._source.items:
            if only(item.document.path, item) and (found := self.boundary(item)):
                yield found

    def case(self, case: Case, where: Location) -> Result:
        """Run one case."""
        try:
            facts = case_facts(case, self._doctor.base.vocabulary)
        except ModelMedicError as error:
            failures = [f"bad facts: {error}"]
        else:
            failures = list(self._judge.case(case, facts))
        return Result(case.name, case.entry or "", case.kind, where, tuple(failures))

    def sample(self, sample: Sample) -> Result:
        """Run one sample or near miss."""
        failures = self._judge.sample(sample.item.id, self._decode(sample.text), sample.wanted)
        name, entry = sample.text[:80], sample.item.id
        return Result(name, entry, sample.part, sample.where, tuple(failures))

    def boundary(self, item: Item) -> Result | None:
        """The boundary cases generated for an entry, as one; None if it has no conditions."""
        checked = self._boundary.check(item)
        if not checked.cases:
            return None
        failures = checked.failures[:MAX_SHOWN]
        if len(checked.failures) > MAX_SHOWN:
            failures = (*failures, f"and {len(checked.failures) - MAX_SHOWN} more")
        name = f"{checked.cases} generated boundary cases"
        return Result(name, item.id, "boundary", item.where(), failures)

    def _examples(self, item: Item) -> Iterator[list[Fact]]:
        """Written facts for an entry."""
        if item.form == "error":
            yield from (list(self._decode(text)) for text in item.entry.samples)
        for case in self._cases_of.get(item.id, ()):
            with suppress(ModelMedicError):  # such a case fails by itself
                yield case_facts(case, self._doctor.base.vocabulary)

    def healthy(self, path: Path) -> Result:
        """A healthy fact set: no problem may be reported."""
        where = Location(f"{path.parent.name}/{path.name}")
        try:
            facts = read_facts(path, self._doctor.base.vocabulary)
        except ModelMedicError as error:
            return Result(path.stem, "", "healthy", where, (str(error),))
        report = self._doctor.diagnose(facts)
        found = [d.id for d in report.diagnoses if d.kind != "benign"]
        failures = [f"reports {name} on a healthy set" for name in found]
        return Result(path.stem, "", "healthy", where, tuple(failures))

    def _place(self, rule: Rule, literal: Literal) -> str:
        """The place of a condition in its file."""
        places = self._places.get(rule.id)
        at = places[rule.literals.index(literal)] if places else ()
        return str(self._items[rule.entry].where(*at)) if at else ""


def samples(source: KnowledgeSource) -> Iterator[Sample]:
    """The samples and near misses of all rows in force."""
    for item in source.of("error"):
        if item.entry.status != "deprecated":
            for part in ("samples", "near_misses"):
                for index, text in enumerate(getattr(item.entry, part)):
                    yield Sample(item, part, index, text)


def case_facts(case: Case, vocabulary: Vocabulary) -> list[Fact]:
    """The facts of a case. Raises :class:`ModelMedicError` if they break the vocabulary."""
    return [
        vocabulary.read(item, Location(f"facts[{n}]"), Provenance("test"))
        for n, item in enumerate(case.facts)
    ]
