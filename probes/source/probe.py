"""Error messages -> the places in source that they come from.

Packages are read as text: nothing is imported or run, and no interpreter is called. Other files
that a traceback names are read only if they are below the named folder or the current one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...facts.fact import Fact
from ...facts.kinds import MAX_STRING, Vocabulary
from ...facts.progress import UNWATCHED, Progress
from ...reading.packages.environments import site_folder
from ...reading.packages.folder import SiteFolder, normal_name
from ...reading.packages.index import SourceIndex, open_index
from ...reading.python.parts import has_words
from ..messages.probe import read_messages
from ..outcome import Collector, Outcome
from .origins import Origin, Origins, Question, at_frame_of

USUAL = ("tinker", "tinker-cookbook", "transformers", "torch")
"""Packages that are looked through wherever they are indexed already."""
MAX_MESSAGES = 20
MAX_PACKAGES = 6
MESSAGE_KEPT = 500
_PACKAGE_FOLDERS = re.compile(r"[/\\](?:site|dist)-packages[/\\]")


@dataclass(frozen=True, slots=True)
class Search:
    """The places to search: the environment (``python`` or ``site``, else this one's), the packages
    to read besides those that the errors name, and whether to read packages that are not indexed
    yet."""

    python: Path | None = None
    site: Path | None = None
    packages: tuple[str, ...] = ()
    build: bool = True
    cache: str | None = None
    progress: Progress = UNWATCHED


def gather_source(
    text: str, vocabulary: Vocabulary, *, name: str = "pasted", python: Path | None = None,
    site: Path | None = None, packages: str = "", progress: Progress = UNWATCHED,
) -> Outcome:  # fmt: skip
    """The ``source_site`` and ``source_argument`` facts of the errors in a text.

    Problems: those of reading the text; MM486 no folder of packages, MM487 no such package, MM488 a
    package without files that can be read, MM489 files that were not read.
    """
    read = read_messages(text, vocabulary, name=name)
    names = tuple(filter(None, (each.strip() for each in packages.split(","))))
    errors = [fact for fact in read.facts if fact.kind == "error_message"]
    found = read_origins(errors, vocabulary, Search(python, site, names, progress=progress))
    return Outcome(found.facts, (*read.problems, *found.problems))


def read_origins(errors: Sequence[Fact], vocabulary: Vocabulary, search: Search) -> Outcome:
    """The facts on the places that ``error_message`` facts come from. Never raises."""
    collector = Collector(vocabulary, "probe:source")
    index = collector.attempt(_index, errors, replace(search, build=False))
    folders = [Path.cwd(), *([search.site] if search.site is not None else [])]
    origins = Origins(index, folders)
    left: list[Fact] = []
    for fact in errors[:MAX_MESSAGES]:
        asked = _question(fact)
        found = origins.at_frame(asked) or (at_frame_of(index.folder, asked) if index else ())
        for origin in found:
            _add(collector, asked, origin)
        if not found:
            left.append(fact)
    if left and index is not None:
        # Messages that frames do not locate need the whole package.
        index = collector.attempt(_index, left, search)
        origins = Origins(index, folders)
    for asked in map(_question, left):
        for origin in origins.find(asked):
            _add(collector, asked, origin)
    if index is not None:
        collector.extend(index.problems)
    return collector.outcome()


def _index(errors: Sequence[Fact], search: Search) -> SourceIndex:
    """The index of the packages that matter. Raises :class:`ModelMedicError`."""
    path = site_folder(search.python, search.site)
    folder = SiteFolder(path)
    named = dict.fromkeys(
        owner for fact in errors[:MAX_MESSAGES] for owner in _owners(fact, folder)
    )
    return open_index(
        path, [*search.packages, *list(named)[:MAX_PACKAGES]] if search.build else [],
        also=USUAL if search.build else (*search.packages, *named, *USUAL),
        cache=search.cache, progress=search.progress,
    )  # fmt: skip


def _owners(fact: Fact, folder: SiteFolder) -> Iterator[str]:
    """The packages of a folder that an error names: by its frame, its class, its logger."""
    file = str(fact.get("file") or "")
    inner = _PACKAGE_FOLDERS.split(file)[-1].replace("\\", "/") if file else ""
    if inner != file.replace("\\", "/"):
        yield from filter(None, [folder.owner_of_file(inner)])
    for attribute in ("module", "logger", "owner"):
        name = str(fact.get(attribute) or "").partition(".")[0]
        if name and name not in ("builtins", "root"):
            known = folder.owner_of_module(name)
            if known or normal_name(name) in folder.recorded:
                yield known or normal_name(name)


def _question(fact: Fact) -> Question:
    line = fact.get("line")
    module = next((str(fact.get(each)) for each in ("logger", "module", "owner") if fact.get(each)),
                  "")  # fmt: skip
    return Question(
        str(fact.get("text") or ""), str(fact.get("exception") or ""), module.replace("-", "_"),
        str(fact.get("file") or ""), line if isinstance(line, int) else 0,
    )  # fmt: skip


def _add(collector: Collector, asked: Question, origin: Origin) -> None:
    site = origin.site
    place = f"{site.file}:{site.line}"
    message = asked.text[:MESSAGE_KEPT]
    collector.add(
        "source_site", place, message=message, exception=asked.exception or None, file=site.file,
        line=site.line, package=site.package or None, version=site.version or None,
        module=site.module or None, function=site.function or None, statement=site.kind,
        template=_template(origin) or None, guard=site.guard or None,
        around=_joined(site.guards[1:]), basis=origin.basis, others=origin.others or None,
    )  # fmt: skip
    for argument in origin.arguments:
        collector.add(
            "source_argument", place, message=message, file=site.file, line=site.line,
            name=argument.name[:MAX_STRING], value=argument.value or None,
            doc=argument.doc or None,
        )  # fmt: skip


def _template(origin: Origin) -> str:
    return origin.site.template if has_words(origin.site.parts) else origin.statement


def _joined(guards: Iterable[str]) -> str | None:
    return "; ".join(guards) or None
