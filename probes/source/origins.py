"""Finds the place in source that a message came from: by the traceback, by its text, by its
class."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...facts.regular_files import read_regular
from ...reading.packages.building import sites_of_file
from ...reading.packages.folder import MAX_BYTES, SiteFolder, module_of
from ...reading.packages.index import Match, SourceIndex, relative_file
from ...reading.packages.matching import fit, flat
from ...reading.packages.sites import Site
from ...reading.python.details import Details, details
from ...reading.python.parsing import Unreadable, parameters
from ...reading.python.parts import has_words

MAX_CLASS_SITES = 3
MAX_GUARD_ARGUMENTS = 4
_EVERYWHERE = frozenset({
    "Exception", "RuntimeError", "ValueError", "TypeError", "KeyError", "IndexError", "OSError",
    "AttributeError", "ImportError", "ModuleNotFoundError", "NotImplementedError", "AssertionError",
    "FileNotFoundError", "LookupError", "ArithmeticError", "ZeroDivisionError", "StopIteration",
    "TimeoutError", "ConnectionError", "PermissionError", "UnicodeDecodeError", "RecursionError",
    "MemoryError", "SystemExit", "KeyboardInterrupt", "UserWarning", "DeprecationWarning", "Error",
})  # fmt: skip

_INTERPRETER = re.compile(
    r"object has no attribute|division by zero|index out of range|object is not \w+"
    r"|unsupported operand type|positional arguments?\b|unexpected keyword argument"
    r"|invalid literal for int|could not convert string|cannot unpack|values to unpack"
)
"""Sentences of Python itself, which a package may have too."""
_LEAST_SAID = 0.4
"""The share of a message that a template has to say itself: "Failed to {}: {}" fits many."""
_MUCH_SAID = 40

Read = Callable[[], bytes]


@dataclass(frozen=True, slots=True)
class Question:
    """A message to be found: its text, and other known attributes ("" and 0 if unknown)."""

    text: str
    exception: str = ""
    module: str = ""
    file: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Argument:
    """A value at the place: its name in the source, its value in the message ("" if missing), and
    its documentation."""

    name: str
    value: str
    doc: str


@dataclass(frozen=True, slots=True)
class Origin:
    """The place that a message came from. ``basis`` says how it was found (traceback, text, class),
    ``statement`` the statement there if it is not a site; ``others`` counts further places that may
    also have given the message."""

    site: Site
    basis: str
    arguments: tuple[Argument, ...] = ()
    statement: str = ""
    others: int = 0


class Origins:
    """Finds origins in an index, and in files below ``folders``; no other file is read."""

    def __init__(self, index: SourceIndex | None, folders: Iterable[Path]) -> None:
        self._index = index
        self._folders = [os.path.realpath(folder) for folder in folders]

    def find(self, asked: Question) -> tuple[Origin, ...]:
        """The origins of a message, best first; several if nothing decides between them."""
        return self.at_frame(asked) or self._by_text(asked) or self._by_class(asked)

    def at_frame(self, asked: Question) -> tuple[Origin, ...]:
        """The statement at the innermost frame. If the package shows another statement there than
        the traceback, its version differs: the text decides then."""
        index = self._index
        if not (asked.file and asked.line):
            return ()
        relative = index.relative(asked.file) if index is not None else ""
        package = index.folder.owner_of_file(relative) if index is not None and relative else ""
        if index is not None and package in index.packages:
            place = _Place(relative, package, index.packages[package])
            sites = index.at(relative, asked.line)
            return _at(asked, place, lambda: index.read(relative), sites)
        path = self._permitted(asked.file)
        return _at(asked, _Place(asked.file), lambda: read_regular(path, MAX_BYTES)) if path else ()

    def _by_text(self, asked: Question) -> tuple[Origin, ...]:
        if self._index is None or not asked.text.strip():
            return ()
        looked = self._index.look_up(asked.text, asked.exception, asked.module, limit=1_000)
        found = [match for match in looked if _may_be(match.site, asked)]
        if not found:
            return ()
        best = [match for match in found if match.score == found[0].score]
        distinct = _by_template(best)[:MAX_CLASS_SITES]
        others = len(best) - len(distinct)
        return tuple(self._explained(match, others if at == 0 else 0)
                     for at, match in enumerate(distinct))  # fmt: skip

    def _by_class(self, asked: Question) -> tuple[Origin, ...]:
        """The places that raise a class which hardly any other place does."""
        if self._index is None or not asked.exception or asked.exception in _EVERYWHERE:
            return ()
        found = [site for site in self._index.raising(asked.exception)
                 if not has_words(site.parts) or not asked.text.strip()
                 or _unknown_text(site)]  # fmt: skip
        if not 1 <= len(found) <= MAX_CLASS_SITES:
            return ()
        return tuple(self._explained(Match(site, (), 0, False), 0, "class") for site in found)

    def _explained(self, match: Match, others: int, basis: str = "text") -> Origin:
        site, index = match.site, self._index
        assert index is not None
        arguments: tuple[Argument, ...] = ()
        try:
            here = details(index.read(site.file), site.line)
            arguments = _arguments(here, site, match.values)
        except (OSError, ValueError, Unreadable):
            arguments = tuple(Argument(name, value, "") for name, value in match.values if name)
        return Origin(site, basis, arguments, others=others)

    def _permitted(self, file: str) -> str:
        """The real path of a file that a traceback names, "" unless it is Python below one of the
        folders."""
        if not file.endswith(".py") or "\0" in file:
            return ""
        real = os.path.realpath(file)
        inside = any(real.startswith(folder.rstrip(os.sep) + os.sep) for folder in self._folders)
        return real if inside else ""


def at_frame_of(folder: SiteFolder, asked: Question) -> tuple[Origin, ...]:
    """The statement at the innermost frame in a package that is not indexed: that one file decides,
    unless the class of the exception may build the message elsewhere."""
    file = relative_file(folder, asked.file, ()) if asked.file and asked.line else ""
    package = folder.owner_of_file(file) if file else ""
    if not package:
        return ()
    place = _Place(file, package, folder.version(package))
    found = _at(asked, place, lambda: folder.read(file))
    plain = (o.statement or o.site.exception_name in _EVERYWHERE for o in found)
    return found if all(plain) else ()


@dataclass(frozen=True, slots=True)
class _Place:
    file: str
    package: str = ""
    version: str = ""


def _at(
    asked: Question, place: _Place, read: Read, known: Sequence[Site] | None = None
) -> tuple[Origin, ...]:
    """The site or other statement at the line of a file. Nothing if the site there gives another
    message: then it is not the file that ran."""
    try:
        raw = read()
        if known is None:
            own = sites_of_file(raw, place.file, place.package, place.version)
            known = [site for site in own
                     if site.line <= asked.line <= site.last_line]  # fmt: skip
        here = details(raw, asked.line)
    except (OSError, ValueError, Unreadable):
        return ()
    message = flat(asked.text)
    for site in known:
        spoken = has_words(site.parts)
        fitted = fit(site.parts, message) if spoken else None
        if fitted is not None or not spoken:
            values = fitted.values if fitted is not None else ()
            return (Origin(site, "traceback", _arguments(here, site, values)),)
    statement = here.statement(asked.line)
    if known or not statement or statement.startswith(('"', "'", 'r"', "r'")):
        return ()  # a docstring: the file is not the one that ran
    module = module_of(place.file if place.package else os.path.basename(place.file))
    names = parameters(here.function) if here.function is not None else ()
    bare = Site(place.package, place.version, module, here.qualified, place.file, asked.line,
                asked.line, "statement", "", asked.exception, parameters=names)  # fmt: skip
    return (Origin(bare, "traceback", _arguments(here, bare, (), statement), statement),)


def _arguments(
    here: Details, site: Site, values: Sequence[tuple[str, str]], statement: str = ""
) -> tuple[Argument, ...]:
    """The values that the message shows, then the arguments that the guard or the statement
    names."""
    found = {name: Argument(name, value, here.document(name)) for name, value in values if name}
    named = [name for name in here.arguments_in(site.guard or statement) if name not in found]
    for name in named[:MAX_GUARD_ARGUMENTS]:
        doc = here.document(name)
        if doc:
            found[name] = Argument(name, "", doc)
    return tuple(found.values())


def _may_be(site: Site, asked: Question) -> bool:
    """Whether a site whose template fits may have given a message: it is in the file of the
    innermost frame, if known, or its template covers enough of the message."""
    if asked.file.endswith(".py"):
        return os.path.basename(site.file) == os.path.basename(asked.file.replace("\\", "/"))
    if _INTERPRETER.search(asked.text):
        return False
    package = site.module.partition(".")[0]
    said = sum(len(part) for part in site.parts[::2])
    own = bool(package) and asked.module.partition(".")[0] == package
    return own or said >= min(_MUCH_SAID, _LEAST_SAID * len(flat(asked.text)))


def _by_template(matches: Sequence[Match]) -> list[Match]:
    """One match of each template, the first."""
    return list({match.site.parts: match for match in reversed(matches)}.values())[::-1]


def _unknown_text(site: Site) -> bool:
    """Whether the template leaves all of the text to values."""
    return all(not part.strip() for part in site.parts[::2])
