"""A text as rows: each line, and each value of a table or object behind the words it belongs to.

The value 1.04 in ``{"lm_head": {"r_ratio": 1.04}}`` becomes the row ``lm_head | r_ratio: 1.04``, a
cell of a table ``rotary | R-ratio: 1.02``. So all forms are read as one. A row below a title that
names its observable, ``mlp 1.31`` below ``## R, bf16 against fp32``, becomes ``R || mlp 1.31``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ..text.values import parse_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .names import Names

LINE, KEY, TABLE, OBJECT, ANSWER = "line", "key", "table", "object", "answer"
BELOW = "below"
"""A row below a title that names its observable."""
MAX_LENGTH = 1_000
MAX_LITERAL = 20_000
MAX_DEPTH = 40
_SHORT = 60
_NEAR = 6
_BEFORE_OBJECT = re.compile(r"\s*(?:Out\[\d{1,6}\]:|[\w. ]{0,40}->|[\w.]{1,40} ?= ?)\s*(?=[{\[])")
_BETWEEN_CELLS = re.compile(r"</t[dh]>\s*<t[dh][^<>]{0,200}>")
_BETWEEN_ROWS = re.compile(r"</tr>\s*<tr[^<>]{0,200}>")
_TAG = re.compile(r"</?t(?:able|body|head|[rdh])[^<>]{0,200}>")
_HEAD_TAG = re.compile(r"<h[1-6][^<>]{0,200}>")
_BLOCK_TAG = re.compile(r"</?(?:li|ul|ol|p|div|br|h[1-6])(?: [^<>]{0,200})?/?>")
_PROSE = re.compile(r"[a-z]{2,} [a-z]{2,} [a-z]{2,}")
_GAP = re.compile(r"\s{2,}")
_NUMBER = re.compile(r"[-+]?\.?\d")
_NO_HEAD = re.compile(r"[-+]?\.?\d|.*[:={}]")
_RULE = re.compile(r"[:\-\s=+]*\Z")
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


class Row(NamedTuple):
    """A row of words and figures, its form, and the number of its line."""

    text: str
    form: str
    line: int

    @property
    def record(self) -> str:
        """The same for all values of an object or of a row of a table."""
        is_whole = self.form not in (TABLE, OBJECT)
        return str(self.line) if is_whole else self.text.rpartition(" | ")[0]


def rows_of(text: str) -> Iterator[Row]:
    """The rows of a text in order, each of at most 1,000 characters."""
    for text_, form, line in _rows(text):
        yield Row(text_[:MAX_LENGTH], form, line)


def _rows(text: str) -> Iterator[tuple[str, str, int]]:
    if "<t" in text:
        text = _TAG.sub("", _BETWEEN_ROWS.sub("\n", _BETWEEN_CELLS.sub(" | ", text)))
    if "</" in text:  # lines keep their numbers if each tag has a line of its own
        text = _BLOCK_TAG.sub("\n", _HEAD_TAG.sub("\n# ", text))
    if (whole := _object(text)) is not None:
        yield from _placed(whole, text)
        return
    lines = text.split("\n")
    tables = dict(_tables(lines))
    at = 0
    above: list[tuple[int, str]] = []
    while at < len(lines):
        if at in tables:
            yield from _cells_of(lines, at, tables[at])
            at = tables[at]
            continue
        line, behind = lines[at], lines[at + 1] if at + 1 < len(lines) else ""
        value = _object(line) if line.lstrip()[:1] in ("{", "[") else None
        if value is not None:
            yield from ((row, OBJECT, at + 1) for _, row in _leaves(value, (), (), 0))
        elif _ASKED.match(line) and (answer := _ALONE.match(behind)):
            yield f"{line[:MAX_LENGTH]} => {answer[1]}", ANSWER, at + 1
            at += 1
        else:
            yield from _line(line, at + 1, above)
        at += 1


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


def _object(text: str) -> Any:
    """An object or list as JSON or Python writes it; None for any other text."""
    before = _BEFORE_OBJECT.match(text)
    body = text[before.end() if before else 0 :].strip()
    if body[:1] == '"' and '":' in body[:200]:
        body = "{" + body.rstrip(",") + "}"
    if body[:1] not in ("{", "["):
        return None
    value = parse_json(body)
    if value is None and len(body) < MAX_LITERAL and sum(map(body.count, "([{")) < MAX_DEPTH:
        try:
            value = ast.literal_eval(body)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return None
    return value if isinstance(value, (dict, list)) else None


def _leaves(
    value: Any, path: tuple[str, ...], beside: tuple[str, ...], depth: int
) -> Iterator[tuple[str, str]]:
    """The key of each value in an object, and the row that it makes."""
    if depth > MAX_DEPTH:
        return
    if isinstance(value, dict):
        texts = [x for x in value.values() if isinstance(x, str) and len(x) < _SHORT]
        for key, each in value.items():
            inner = (*path[-_NEAR:], str(key))
            yield from _leaves(each, inner, (*beside, *texts)[-_NEAR:], depth + 1)
    elif isinstance(value, list):
        for each in value:
            yield from _leaves(each, path, beside, depth + 1)
    elif path and value is not None and not isinstance(value, bool):
        yield path[-1], f"{'  '.join((*beside, *path[:-1]))} | {path[-1]}: {value}"


def _placed(value: Any, text: str) -> Iterator[tuple[str, str, int]]:
    """The rows of an object, with their lines: keys are looked for in the order of the text."""
    at, line = 0, 1
    for key, row in _leaves(value, (), (), 0):
        place = max(text.find(f"{quote}{key}{quote}", at) for quote in "\"'")
        if place >= 0:
            line += text.count("\n", at, place)
            at = place
        yield row, OBJECT, line


def _cells(line: str) -> list[str]:
    for bar in ("|", "\t", ","):
        if bar in line and not (bar == "," and _PROSE.search(line)):
            return [cell.strip(" *`\"'") for cell in line.strip().strip("|").split(bar)]
    return _GAP.split(line.strip())


def _tables(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The first line of each table, a head without figures, and the line behind its last row."""
    at = 0
    while at < len(lines):
        head = _cells(lines[at][:MAX_LENGTH])
        end = at + 1
        if len(head) > 1 and not any(len(x) > _SHORT or _NO_HEAD.match(x) for x in head):
            while end < len(lines) and len(_cells(lines[end][:MAX_LENGTH])) == len(head):
                end += 1
        told = [x for x in lines[at + 1 : end] if any(map(_NUMBER.match, _cells(x[:MAX_LENGTH])))]
        if told:
            yield at, end
        at = end


def _cells_of(lines: Sequence[str], start: int, end: int) -> Iterator[tuple[str, str, int]]:
    head = _cells(lines[start][:MAX_LENGTH])
    for number in range(start + 1, end):
        row = _cells(lines[number][:MAX_LENGTH])
        if not all(map(_RULE.match, row)):
            names = "  ".join(cell for cell in row if not _NUMBER.match(cell))
            for column, cell in zip(head, row, strict=True):
                yield f"{names} | {column}: {cell}", TABLE, number + 1


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
