"""A text as rows: each line, and each value of a table or object behind the words it belongs to.

The value 1.04 in ``{"lm_head": {"r_ratio": 1.04}}`` becomes the row ``lm_head | r_ratio: 1.04``, a
cell of a table ``rotary | R-ratio: 1.02``. So all forms are read as one. A row below a title that
names its observable, ``mlp 1.31`` below ``## R, bf16 against fp32``, becomes ``R || mlp 1.31``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from .records import Line, Record, parts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .names import Names

LINE, KEY, CELL, ANSWER = "line", "key", "cell", "answer"
"""A line, one with a key, a value of a table or object, and an answer of a console."""
BELOW = "below"
"""A row below a title that names its observable."""
MAX_LENGTH = 1_000
_NOTHING = (": true", ": false", ": null", ": none")
_SHORT = 60
_NEAR = 6
_KEYED = re.compile(
    r"(\s*(?:[-*] )?)[\"']?([A-Za-z][\w ./()%-]{0,60}?)[\"']?\s*(?::| =)(?:\s+(\S.{0,80}))?\s*\Z"
)
_SECTION = re.compile(r"\[([A-Za-z][\w .-]{0,60})\]\s*\Z")
_ASKED = re.compile(r"\s*(?:>>>|In \[|print|\$|E?\s{0,8}assert|curl )")
_ALONE = re.compile(
    r"\s*(?:E\s+)?(?:AssertionError:\s*|Out\[\d{1,6}\]:\s*)?(?:tensor\(|array\()?['\"]?"
    r"([-+]?\d[\w.,+-]{0,30}|\.\d{1,30})['\"]?(?:,[^)]{0,40})?\)?\s*\Z"
)

_HEADING = re.compile(r"\s{0,3}#{1,6}\s|[=*_-]{0,5}\s?\*\*[^*]{1,80}\*\*\s*:?\s*\Z")
_VALUE = re.compile(r"\W{0,3}\d")
_ASIDE = re.compile(r"\([^()]{0,120}\)")
_MEASURED = re.compile(r"\d\.\d|\d ?%|\de-\d")
_BLOCKS = 2
"""How many blocks of lines a title reaches that is not a heading."""


_NEAR = 6


class Row(NamedTuple):
    """A row of words and figures, its form, and the number of its line."""

    text: str
    form: str
    line: int

    @property
    def record(self) -> str:
        """The same for all values of an object or of a row of a table."""
        return self.text.rpartition(" | ")[0] if self.form == CELL else str(self.line)


def rows_of(text: str) -> Iterator[Row]:
    """The rows of a text in order, each of at most 1,000 characters."""
    for text_, form, line in _rows(text):
        yield Row(text_[:MAX_LENGTH], form, line)


def _rows(text: str) -> Iterator[tuple[str, str, int]]:
    above: list[tuple[int, str]] = []
    asked: Line | None = None
    for part in parts_of(text):
        answer = _ALONE.match(part.text) if asked and isinstance(part, Line) else None
        if asked and answer:
            yield f"{asked.text} => {answer[1]}", ANSWER, asked.number
        elif asked:
            yield from _line(asked.text, asked.number, above)
        asked = None
        if isinstance(part, Record):
            if not part.told.lower().endswith(_NOTHING):
                yield f"{part.beside} | {part.told}", CELL, part.line
        elif not answer and _ASKED.match(part.text):
            asked = part
        elif not answer:
            yield from _line(part.text, part.number, above)
    if asked:
        yield from _line(asked.text, asked.number, above)


def _line(line: str, number: int, above: list[tuple[int, str]]) -> Iterator[tuple[str, str, int]]:
    """A line behind the keys that it is indented below, and the words told beside it."""
    keyed = _KEYED.match(line[:300])
    indent = len(keyed[1]) if keyed else len(line) - len(line.lstrip())
    starts_item = keyed is not None and keyed[1].strip() != ""
    while above and (indent < above[-1][0] or (indent == above[-1][0] and starts_item)):
        above.pop()
    if keyed is None and indent == 0:
        above[:] = [each for each in above if each[0] < 0]
    if section := _SECTION.match(line):
        above[:] = [(-1, section[1])]
        return
    context = " ".join(words for _, words in above[-_NEAR:])
    if keyed and keyed[3] is None:
        while above and indent <= above[-1][0]:
            above.pop()
        above.append((indent + 1, keyed[2]))
        return
    yield f"{context} | {line}" if context else line, KEY if keyed else LINE, number
    if keyed and not any(map(str.isdigit, keyed[3])) and len(keyed[3]) < _SHORT:
        above.append((indent, keyed[3]))


def named_rows(rows: Iterable[Row], names: Names, admitted: frozenset[str]) -> Iterator[Row]:
    """The rows, those with figures and without a name behind the name of their title."""
    title, is_heading, blocks = "", False, 0
    for row in rows:
        text = row.text
        own = [name for name in names.in_row(text, admitted) if not name.subject]
        has_figure = any(map(str.isdigit, text))
        is_heading_line = _HEADING.match(text) is not None
        is_told = row.form in (LINE, KEY) and not _MEASURED.search(_ASIDE.sub("", text))
        is_title = is_heading_line or bool(own and is_told)
        if is_title:
            told = {name.statement.name for name in own}
            has_value = any(_VALUE.match(text, name.end) for name in own if name.statement.integer)
            title = own[0].text if len(told) == 1 and not has_value else ""
            is_heading, blocks = is_heading_line, 0
        elif not text.strip():
            blocks += 1
            title = title if is_heading or blocks <= _BLOCKS else ""
        if title and has_figure and not own and not is_title:
            yield row._replace(text=f"{title} || {text}", form=BELOW)
        else:
            yield row
