"""Sources -> the message templates of a package, with their places."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ...probes.messages.shingles import LEAST, RUN, number_of, runs, words_of
from ...reading.packages.building import sites_of_file
from ...reading.packages.sites import Site
from ...reading.packages.walking import files_below
from ...reading.python.parsing import Unreadable
from .around import Around, chained

MAX_BYTES = 2_000_000
MAX_GUARD = 120
MAX_SETTERS = 2
_SKIPPED = frozenset({"test", "tests", "docs", "examples", "example", "benchmarks"})
_KINDS = frozenset({"raise", "assert", "warn", "exit"})
_LEVELS = frozenset({"WARNING", "ERROR", "CRITICAL"})
_PRINTED = re.compile(
    r"\b(?:pr|dev)_(?:err|warn|crit|alert|emerg|warning)(?:_once|_ratelimited)?\s*\("
    r"(?:\s*[\w>.\-]{1,60}\s*,)?\s*(?P<text>\"(?:[^\"\\\n]|\\.){0,400}\"(?:\s*\"(?:[^\"\\\n]|\\.){0,400}\")*)"
)
_FORM = re.compile(r"%[-#0 +]{0,4}[\d*]{0,4}(?:\.[\d*]{1,4})?(?:hh|ll|[hlzjt])?[a-zA-Z%]\w?")
_DEFINED = re.compile(r"^[A-Za-z_][^;{}()\n]{0,200}\b(\w{1,80})\([^;{}]{0,600}\)\s*\{", re.M)
_QUOTED = re.compile(r"'[^']*+'|\"[^\"]*+\"")


class Template(NamedTuple):
    """A message: the constant pieces of its text, its kind, class, place and the test before it.
    ``kind`` is "said" if the program continues after it; ``set_by`` are the methods that set what
    the test looks at, ``made`` is how the function itself makes the variables of the test."""

    pieces: tuple[str, ...]
    kind: str
    exception: str
    module: str
    function: str
    guard: str
    set_by: str = ""
    made: str = ""


def templates_of(
    folder: Path, top: str, language: str, only: str, without: str, around: bool = True
) -> Iterator[Template]:
    """The templates of the files in ``folder/top``, in the order of their paths; ``around``: with
    what stands around them."""
    root = folder / top if language != "c" else folder
    ending = ".c" if language == "c" else ".py"
    found = (name for name in files_below(root, lambda each: each not in _SKIPPED)
             if name.endswith(ending))  # fmt: skip
    for name in sorted(found, key=lambda each: each.split("/")):
        path = root / name
        relative = path.relative_to(folder).as_posix()
        if only not in relative or (without and without in relative):
            continue
        if path.name.startswith("test_"):
            continue
        if path.is_symlink() or not path.is_file() or path.stat().st_size > MAX_BYTES:
            continue
        raw = path.read_bytes()
        yield from _of_c(raw, relative) if language == "c" else _of_python(raw, relative, around)


def words_in(template: Template) -> list[str]:
    """The constant words of a template that its runs are made of."""
    some = (words_of(piece) for piece in template.pieces)
    return [word for words in some if len(words) >= LEAST for word in words]


def numbers_in(template: Template) -> list[int]:
    """The numbers of the runs of words of a template, in their order, each once."""
    found: dict[int, None] = {}
    for piece in template.pieces:
        words = words_of(piece)
        if len(words) >= LEAST:
            for run in runs(words, min(RUN, len(words))):
                found[number_of(run)] = None
    return list(found)


def _of_python(raw: bytes, file: str, with_rest: bool) -> Iterator[Template]:
    try:
        sites = sites_of_file(raw, file)
    except Unreadable:
        return
    around = Around(raw if with_rest else b"")
    for site in sites:
        if site.kind in _KINDS or (site.kind == "log" and site.level in _LEVELS):
            said = site.kind in ("log", "warn") and around.goes_on(site.line)
            setters = " or ".join(around.setters(site.function, site.guard)[:MAX_SETTERS])
            yield Template(
                tuple(_pieces(site.parts)), "said" if said else site.kind, site.exception_name,
                site.module, site.function, guard_of(site, around), setters,
                around.made(site.function, site.guard),
            )  # fmt: skip


def _pieces(parts: tuple[str, ...]) -> Iterator[str]:
    """The constant texts, without words that contain a value."""
    for at in range(0, len(parts), 2):
        text = parts[at]
        if at > 0:
            text = re.sub(r"\A\w+", "", text)
        if at < len(parts) - 1:
            text = re.sub(r"(?<!\w)\w++\Z", "", text)
        yield text


def guard_of(site: Site, around: Around) -> str:
    """The test that held, as names and their relation; "" for one that is mostly words."""
    chain = chained(site.guards)
    for test in (around.with_values(chain), chain, site.guard):
        text = test.replace("self.", "")
        if text and len(text) <= MAX_GUARD and not text.startswith("except"):
            return "" if any(" " in each for each in _QUOTED.findall(text)) else text
    return ""


def _of_c(raw: bytes, file: str) -> Iterator[Template]:
    text = raw.decode("utf-8", "replace")
    defined = [(match.start(), match[1]) for match in _DEFINED.finditer(text)]
    for match in _PRINTED.finditer(text):
        said = "".join(re.findall(r"\"((?:[^\"\\]|\\.)*)\"", match["text"])).replace("\\n", " ")
        inside = [name for start, name in defined if start < match.start()]
        parts = _FORM.split(said)
        joined = tuple(each for part in parts for each in (part, ""))[:-1]
        yield Template(tuple(_pieces(joined)), "log", "", file, inside[-1] if inside else "", "")
