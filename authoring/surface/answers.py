"""A message -> what answers it: rows of the error tables, else its place in the source."""

from __future__ import annotations

from typing import NamedTuple

from ...engine.diagnosis.diagnoser import Diagnoser
from ...probes.messages.probe import read_messages
from ...reading.packages.index import SourceIndex
from ...reading.packages.sites import Site
from ...reading.packages.texts import with_holes
from ...reading.python.parts import has_words
from .arrival import alone, as_it_arrives, filled, of_command, said, speaks_only
from .spelling import Spellings
from .values import plausible


class Answer(NamedTuple):
    """The answer to a fabricated text. ``rows`` are ids of error rows, ``remedied`` says that one
    of them has a cause and something to do about it. ``source`` is ``text`` if the message leads to
    the site (or to another with the same template), ``place`` if only the frames of its traceback
    do, and "" if neither does."""

    text: str
    rows: tuple[str, ...] = ()
    remedied: bool = False
    source: str = ""


class Answers:
    """Answers the messages of one folder of packages as `diagnose decode` does."""

    def __init__(self, doctor: Diagnoser, index: SourceIndex) -> None:
        self._doctor = doctor
        self._index = index
        self._spellings = Spellings(index.read)

    def answer(self, site: Site) -> Answer:
        """The answer to the message of a site as it arrives."""
        message = self._message(site)
        text = as_it_arrives(site, message)
        rows, remedied = self._rows(text)
        return Answer(text, rows, remedied, self._source(site, message))

    def rows(self, site: Site) -> tuple[str, ...]:
        """The rows that answer the message as it arrives."""
        return self._rows(as_it_arrives(site, self._message(site)))[0]

    def rows_alone(self, site: Site) -> tuple[str, ...]:
        """The rows that answer the message without any sign of its package."""
        return self._rows(alone(site, self._message(site)))[0]

    def _message(self, site: Site) -> str:
        def value(name: str, number: int) -> str:
            return plausible(name, number, self._spellings.of(site, name))

        message = said(site, filled(site, value))
        if of_command(site):
            further = filled(site.with_parts(self._spellings.further(site)), value)
            message = f"{message}\n{further}".strip()
        return message

    def _rows(self, text: str) -> tuple[tuple[str, ...], bool]:
        read = read_messages(text, self._doctor.base.vocabulary)
        # Without a plan a report has the same messages, in a third of the time.
        found = self._doctor.diagnose(read.facts, read.problems, plan=False).messages
        rows = tuple(dict.fromkeys(each.row for each in found))
        remedied = any(each.causes and (each.fix or self._acts(each.causes)) for each in found)
        return rows, remedied

    def _acts(self, diagnoses: tuple[str, ...]) -> bool:
        entry = self._doctor.base.diagnosis
        return any(entry(name).get("actions") for name in diagnoses)

    def _source(self, site: Site, message: str) -> str:
        if has_words(site.parts):
            wanted = plain_template(site)
            found = self._index.look_up(message, _looked_up(site), site.module)
            best = [match.site for match in found if match.score == found[0].score]
            if any(_same(each, site) or plain_template(each) == wanted for each in best):
                return "text"
        if site.kind in ("raise", "assert") and not speaks_only(site):
            places = self._index.at(site.file, site.line)
            return "place" if any(_same(each, site) for each in places) else ""
        return ""


def plain_template(site: Site) -> str:
    """The template with ``{}`` for whatever is filled in, on one line."""
    return " ".join(with_holes(site.parts).split())


def _looked_up(site: Site) -> str | None:
    known = site.kind in ("raise", "assert") and site.exception_name.lstrip("_")[:1].isupper()
    return site.exception_name if known else None


def _same(one: Site, other: Site) -> bool:
    return (one.file, one.line) == (other.file, other.line)
