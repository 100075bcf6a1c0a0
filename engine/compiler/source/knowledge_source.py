"""Reads the YAML files of a knowledge base strictly and collects every problem with its place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ....facts import ModelMedicError, Problem
from ....facts.problems import Location, did_you_mean, excerpt
from ....facts.strict_models import Strict, check
from ....facts.strict_yaml import Document, Read, load
from .cases import TestsFile
from .entries import FILES, ErrorsFile, Source
from .follow_ups import names_in
from .issues import SCHEMA as ISSUES
from .issues import IssuesFile, OfPackage, cases_of, parts_of
from .lexicon_file import SCHEMA as LEXICON
from .lexicon_file import LexiconFile
from .overlay_file import SCHEMA as OVERLAY
from .overlay_file import OverlayFile
from .tested import SCHEMA as TESTED
from .tested import TestedFile, tests_of
from .tested import parts_of as tested_parts

FORMS = {
    "diagnoses": "diagnosis",
    "rules": "rule",
    "errors": "error",
    "trees": "tree",
    "classifications": "classification",
}
"""The form of the entries in each section."""
SECTIONS = {f"modelmedic/{section}/1": section for section in FORMS}
_FILES: dict[str, type[Strict]] = FILES | {
    LEXICON: LexiconFile, ISSUES: IssuesFile, TESTED: TestedFile
}  # fmt: skip


@dataclass(frozen=True)
class Item:
    """One entry, its form and its place."""

    form: str
    entry: Any
    document: Document
    path: tuple[str | int, ...]
    file: Any

    @property
    def id(self) -> str:
        """The entry's id."""
        return str(self.entry.id)

    def where(self, *path: str | int) -> Location:
        """The place of a part of the entry."""
        return self.document.where((*self.path, *path))

    def sources(self) -> list[Source]:
        """The entry's own sources, else those of its file."""
        return list(self.entry.sources or self.file.sources)


@dataclass
class KnowledgeSource:
    """All entries of a knowledge base as written, its lexicons and tests, and its problems.

    ``overlay`` is the file in which an overlay declares its changes; ``silenced`` and ``tightened``
    (by id) are the entries that overlays changed, see :mod:`.layering`. ``lost`` holds the names in
    the files that did not load, see :mod:`.follow_ups`.
    """

    items: list[Item] = field(default_factory=list)
    tests: list[tuple[Document, TestsFile]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    lexicons: list[tuple[Document, LexiconFile]] = field(default_factory=list)
    overlay: tuple[Document, OverlayFile] | None = None
    silenced: set[str] = field(default_factory=set)
    tightened: dict[str, list[Item]] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)

    def of(self, form: str) -> Iterator[Item]:
        """The entries of one form, in the order of their files."""
        return (item for item in self.items if item.form == form)


def parse(
    texts: Iterable[tuple[str, str]],
    *,
    tests: bool = True,
    read: Read = load,
    overlay: bool = False,
) -> KnowledgeSource:
    """Entries and problems of all files; a bad file costs that file only. An ``overlay`` may have a
    file that declares its changes."""
    source = KnowledgeSource()
    for name, text in sorted(texts):
        is_test = name.endswith(".test.yaml")
        if is_test and not tests:
            continue
        try:
            document = read(text, name)
        except ModelMedicError as error:
            source.problems.extend(error.problems)
            source.lost |= names_in(text)
            continue
        files = _FILES | {OVERLAY: OverlayFile} if overlay else _FILES
        if not _add(source, document, is_test, files):
            source.lost |= names_in(text)
    if not tests:
        source.tests.clear()
    _drop_duplicates(source)
    return source


def _add(
    source: KnowledgeSource, document: Document, is_test: bool, files: Mapping[str, type[Strict]]
) -> bool:
    """Add what a file says; returns whether it could be read."""
    schema = document.data.get("schema") if isinstance(document.data, dict) else None
    model = files.get(schema) if isinstance(schema, str) else None
    if model is None:
        hint = did_you_mean(str(schema), files) or f"one of: {', '.join(files)}"
        message = f"the file names no known schema (found {excerpt(schema)})"
        source.problems.append(Problem("MM221", message, document.where(("schema",)), hint))
        return False
    if is_test != (model is TestsFile):
        message = "test files, and only they, end in .test.yaml and have schema modelmedic/tests/1"
        source.problems.append(Problem("MM222", message, document.where(("schema",)), "rename it"))
        return False
    parsed, problems = check(document, model, "MM220")
    source.problems.extend(problems)
    if isinstance(parsed, TestsFile):
        source.tests.append((document, parsed))
    elif isinstance(parsed, LexiconFile):
        source.lexicons.append((document, parsed))
    elif isinstance(parsed, IssuesFile):
        _add_issues(source, document, parsed)
    elif isinstance(parsed, TestedFile):
        _add_tested(source, document, parsed)
    elif isinstance(parsed, OverlayFile):
        if source.overlay is not None:
            message = f"this overlay already has an overlay file: {source.overlay[0].path}"
            place = document.where(("schema",))
            source.problems.append(Problem("MM290", message, place, "write one file of this kind"))
        source.overlay = source.overlay or (document, parsed)
    elif parsed is not None:
        source.items.extend(_items(document, parsed, SECTIONS[str(schema)]))
    return parsed is not None


def _items(document: Document, parsed: Strict, section: str) -> Iterator[Item]:
    for index, entry in enumerate(getattr(parsed, section)):
        whole = parsed.whole(entry) if isinstance(parsed, ErrorsFile) else entry
        yield Item(FORMS[section], whole, document, (section, index), parsed)


def _add_issues(source: KnowledgeSource, document: Document, parsed: IssuesFile) -> None:
    """The entries and test cases that the issues of a file stand for."""
    for index, issue in enumerate(parsed.issues):
        file = OfPackage(parsed.domain, marks=parsed.marks)
        for form, entry, path in parts_of(issue, issue.verified or parsed.verified):
            source.items.append(Item(form, entry, document, ("issues", index, *path), file))
        if issue.status != "deprecated":
            source.tests.append((document, cases_of(issue)))


def _add_tested(source: KnowledgeSource, document: Document, parsed: TestedFile) -> None:
    """The rules and test cases that the combinations of a file stand for."""
    parts = [*tested_parts(parsed)]
    file = OfPackage(parsed.domain, parsed.sources)
    for part in parts:
        path = ("combinations", part.number)
        source.items.append(Item("rule", part.rule, document, path, file))
    source.tests.append((document, tests_of(parts)))


def _drop_duplicates(source: KnowledgeSource) -> None:
    """Keeps the first entry of an id: all that follows looks entries up by it."""
    seen: dict[str, Item] = {}
    for item in source.items:
        first = seen.setdefault(item.id, item)
        if first is not item:
            message = f"the id {item.id!r} is already used at {first.where('id')}"
            hint = "ids are unique over all files"
            source.problems.append(Problem("MM223", message, item.where("id"), hint))
    source.items = list(seen.values())
