"""Builds compiled knowledge from folders of YAML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...facts import ModelMedicError, Problem, Vocabulary
from ...facts.declarations import load_vocabulary
from ...facts.problems import out_of_time, shortened
from ...facts.strict_yaml import Document, Read, load
from ..inference.derivation import UNLIMITED, OutOfTime, Work
from ..inference.program import Program, Rule
from .catalogue import catalogue
from .changes import Applied
from .compiler import check_time, compile_knowledge
from .forms import Forms
from .layering import lay_over, refuse_probes, validity_of
from .source.follow_ups import ordered, without_follow_ups
from .source.knowledge_source import KnowledgeSource, parse
from .store.compiled import Compiled, Summary, summary
from .store.files import Texts

__all__ = ["Built", "Texts", "build", "build_or_raise", "ordered"]


@dataclass(frozen=True)
class Built:
    """Compiled knowledge, what it was built from, and all problems. ``rules`` are those of the
    program as they came from their entries, over the patterns of ``forms``."""

    compiled: Compiled
    source: KnowledgeSource
    problems: tuple[Problem, ...]
    forms: Forms
    rules: tuple[Rule, ...]
    documents: tuple[Document, ...]

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary."""
        return self.compiled.vocabulary

    @property
    def program(self) -> Program:
        """The rules."""
        return self.compiled.program


def build(
    vocabulary_texts: Texts,
    knowledge_texts: Texts,
    overlays: Sequence[tuple[Texts, Texts]] = (),
    *,
    today: str = "",
    tests: bool = False,
    read: Read = load,
    work: Work = UNLIMITED,
    applied: Applied = "valid",
) -> Built:
    """Compile. Problems of the vocabulary raise :class:`ModelMedicError`, since nothing can be
    checked without it; problems of entries are collected and the entries left out.

    ``overlays`` (vocabulary and knowledge of each) lie on top, the last one highest; their changes
    end on a day before ``today`` (such as 2027-01-31; empty: none has ended), and ``applied`` may
    leave out others. ``read`` parses the text of one file. Raises :class:`ModelMedicError` (MM319)
    if ``work`` ends before.
    """
    try:
        return _build(
            vocabulary_texts, knowledge_texts, overlays, today, tests, read, work, applied
        )
    except OutOfTime:
        raise ModelMedicError(out_of_time("the knowledge was not compiled")) from None


def _build(
    vocabulary_texts: Texts,
    knowledge_texts: Texts,
    overlays: Sequence[tuple[Texts, Texts]],
    today: str,
    tests: bool,
    read: Read,
    work: Work,
    applied: Applied,
) -> Built:
    documents: list[Document] = []

    def noted(text: str, path: str) -> Document:
        check_time(work, len(text))
        documents.append(read(text, path))
        return documents[-1]

    added = [text for texts, _ in overlays for text in texts]
    refuse_probes(read(text, name) for name, text in added)
    vocabulary = Vocabulary.from_plain(load_vocabulary([*vocabulary_texts, *added], noted))
    source = KnowledgeSource()
    lay_over(source, parse(knowledge_texts, tests=tests, read=noted), today)
    uses = [
        lay_over(source, parse(texts, tests=tests, read=noted, overlay=True), today, applied)
        for _, texts in overlays
    ]
    forms = Forms(vocabulary, source, problems=list(source.problems))
    program, rules = compile_knowledge(source, forms, work)
    said = catalogue(source, vocabulary.owners)
    summaries = {name: summary(entry) for name, entry in said["diagnoses"].items()}
    compiled = Compiled(
        vocabulary,
        program,
        said,
        summaries,
        causes_of(summaries),
        tuple(uses),
        validity_of(uses, today),
        max((str(each["verified"]) for each in said["issues"].values()), default=""),
    )
    return Built(
        compiled,
        source,
        told(forms.problems, source),
        forms,
        rules,
        tuple(documents),
    )


def told(problems: Iterable[Problem], source: KnowledgeSource) -> tuple[Problem, ...]:
    """The problems of a source without what follows from others."""
    left = without_follow_ups(problems, source.lost)
    return tuple([p._replace(message=shortened(p.message)) for p in left])


def causes_of(summaries: Mapping[str, Summary]) -> dict[str, list[str]]:
    """Map each diagnosis to those that explain it."""
    found: dict[str, list[str]] = {}
    for name, each in sorted(summaries.items()):
        for effect in each.explains:
            found.setdefault(effect, []).append(name)
    return found


def build_or_raise(
    vocabulary_texts: Texts,
    knowledge_texts: Texts,
    overlays: Sequence[tuple[Texts, Texts]] = (),
    *,
    today: str = "",
    work: Work = UNLIMITED,
    applied: Applied = "valid",
) -> Compiled:
    """The compiled knowledge, or :class:`ModelMedicError` with every problem."""
    built = build(
        vocabulary_texts, knowledge_texts, overlays, today=today, work=work, applied=applied
    )
    if built.problems:
        raise ModelMedicError(ordered(built.problems))
    return built.compiled
