"""A text as records: each value with the words that say what it is and whose it is.

The value 1.04 in ``{"lm_head": {"r_ratio": 1.04}}``, in a table with a column ``r_ratio`` or in the
line ``lm_head: r_ratio 1.04`` is the same record: label ``lm_head``, column ``r_ratio``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = Any

MAX_LENGTH = 1_000
MAX_DEPTH = 30
_ROW, _NEAR = 300, 6
_BEFORE_OBJECT = re.compile(r"\s*(?:Out\[\d{1,6}\]:|[\w. ]{0,40}->|[\w.]{1,40} ?= ?)\s*(?=[{\[])")
_SHORT = 60
_NUMBER = r"[-+]?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d{1,18})?(?:\.\d{1,18}|(?<=\d))(?:[eE][-+]?\d{1,3})?"
_SHARE = re.compile(
    r"(?<![\w./,-])(\d{1,9}) ?(?:/|of|out of) ?(?:the |all )?(\d{1,9})(?![\w/-]|\.\d)"
)
_FIGURE = re.compile(
    rf"(?<![\w./:@#+-])(?<![:,]-)({_NUMBER})(?=$|[^\w.:/-]|[-:/](?!\d)|\.(?!\d)|(?:x|ms|s|k|%)(?!\w))"
)
_CELL = re.compile(
    rf"[*_~=<>≤≥`\s]*({_NUMBER})\s*(%|[a-zA-Zµ×]{{1,8}})?[*_`]*(?:\s*\([^()]*\)|\s*<-.*|\s+[!*]+)?"
)
_UNIT = re.compile(r"\s?(%|[A-Za-zµ×]{1,12})(?![\w=])")
_COMMA = re.compile(r"(?<=\d),(?=\d)")
_SPLIT = re.compile(r"\s{2,}|\t|[=:|;,!?]+(?=[\s\w(*-]|$)|\s[-–—]+\s|\.{2,}|\.\s|\s?<-+|[()\[\]{}]")
_RULE = re.compile(r"[\s|:+=_-]*\Z")
_LEVEL = re.compile(r"(?:INFO|WARN(?:ING)?|ERROR|DEBUG|E)\b:?")
_START = re.compile(
    r"[\W_]*(?:\d{4}-\d\d-\d\d[T ]?)?(?:\d\d:\d\d(?::\d\d)?(?:[.,]\d{1,9})?)?[\]Z]?\s*"
    r"(?:\d{1,2}[.)]\s)?"
)
_BECOMES = re.compile(r"[\s*(%x]*(?:\w{1,9} ){0,2}(?:->|→|=>|=>|down to|up to|to)[\s*(]*\Z")
_COMPARED = re.compile(
    r"(?:(?<![-=])[<>≤≥]=?|\b(?:up to|at (?:most|least)|(?:no|not) (?:more|less) than|go to))"
    r"[\s*_`]*\Z"
)
_LETTER = re.compile(r"[A-Za-z]")
_NAMED = re.compile(r"[A-Za-z]|#\d")
_TITLE = 6
_NO_NAMES = frozenset(("true", "false", "null", "none", "yes", "no", "nan", "inf"))


class Record(NamedTuple):
    """A value, its line, its ``label`` (whose it is) and ``column`` (what it is); values of one
    ``group`` are one column. ``of`` is n of k of n, ``after`` the words behind a figure of
    a line; ``aside`` one in parentheses, ``replaced`` one that became the next. ``told`` is a value
    of a table or object as it is written, with its key, ``beside`` the words of its row."""

    line: int
    group: str
    label: str
    column: str
    value: float | str
    unit: str = ""
    of: float | None = None
    after: str = ""
    aside: bool = False
    replaced: bool = False
    broken: bool = False
    told: str = ""
    beside: str = ""

    @property
    def is_line(self) -> bool:
        """Whether it is from a line of words, and not from a table or object."""
        return self.group.startswith("line:")


class Line(NamedTuple):
    """A line of words, its number, and the short line above that has no figure."""

    text: str
    number: int
    title: str


def records_of(text: str) -> Iterator[Record]:
    """The records of a text in their order."""
    if _is_keyed(text) and (tree := _parsed(text)) is not None:
        yield from _walk(tree, (), 0)
        return
    for part in parts_of(text):
        if isinstance(part, Record):
            yield part
        elif any(map(str.isdigit, part.text)):
            yield from _fields(part)


def parts_of(text: str) -> Iterator[Record | Line]:
    """The records of the objects and tables of a text, and the lines around them."""
    if "</" in text:
        from ..text.markup import without_tags

        text = without_tags(text)
    tree = _object(text)
    yield from _walk(tree, (), 0) if tree is not None else _lines(text)


# ---- objects


def _object(text: str) -> Node | None:
    """A text that is an object or list as JSON or Python writes it."""
    before = _BEFORE_OBJECT.match(text)
    body = " " * before.end() + text[before.end() :] if before else text
    if body.lstrip()[:1] == '"' and '":' in body[:200]:
        body = "{" + body.rstrip().rstrip(",") + "}"
    return _parsed(body) if body.lstrip()[:1] in ("{", "[") else None


def _parsed(text: str) -> Node | None:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        node: Any = yaml.compose(text.replace("\t", " "), Loader=loader)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    return node if node is not None and node.id != "scalar" else None


_KEYED = re.compile(r"\s*(?:- )?[\w\"'./*() -]{1,60}:(?:\s|$)|\s*#|\s*- |\s+\S|---|\.\.\.")


def _is_keyed(text: str) -> bool:
    """Whether each line is a key, an item, a comment or goes on from one."""
    lines = [line for line in text.split("\n") if line.strip()]
    return len(lines) > 1 and all(_KEYED.match(line) for line in lines[:400])


def _walk(
    node: Node, path: tuple[str, ...], depth: int, beside: str = "", *, is_row: bool = False
) -> Iterator[Record]:
    """The records of a node. A mapping of figures is a column of its keys, ``r: {mlp: 1.0}``,
    unless it is a row, one of several with the same keys."""
    if depth > MAX_DEPTH:
        return
    if node.id == "sequence":
        yield from _items(node, path, depth, beside)
        return
    scalars = [v.value for _, v in node.value if v.id == "scalar"]
    figures = sum(_cell(each) is not None for each in scalars)
    names = list(filter(_is_name, scalars))
    beside = "  ".join((beside, *names))[-_ROW:]
    label = (*path, names[0]) if names and is_row else path
    shared = _shares_keys(node)
    is_column = not is_row and figures > 1 and 2 * figures > len(scalars) and bool(path)
    for key, value in node.value:
        name = str(getattr(key, "value", ""))[:_SHORT]
        line = value.start_mark.line + 1
        if value.id != "scalar":
            yield from _walk(value, (*label, name), depth + 1, beside, is_row=shared)
            continue
        group = "/".join(path if is_column else path[:-1])
        column = " ".join(path[-2:])
        whose, what = (name, column) if is_column else (" | ".join(label), name)
        told = f"{name}: {value.value}"
        row = "  ".join((beside, *path[-_NEAR:]))
        yield _valued(Record(line, group, whose, what, "", told=told, beside=row), value.value)


def _items(node: Node, path: tuple[str, ...], depth: int, beside: str) -> Iterator[Record]:
    if not all(each.id == "scalar" for each in node.value):
        for number, each in enumerate(node.value):
            name = "" if each.id != "mapping" or _own_name(each) else str(number)
            inner = (*path, name) if name else path
            if each.id != "scalar":
                yield from _walk(each, inner, depth + 1, beside, is_row=True)
        return
    values = f"[{', '.join(str(each.value) for each in node.value)}]"
    column = path[-1] if path else ""
    place = "/".join(path[:-2]), " | ".join(path[:-1]), column
    row = "  ".join((beside, *path[-_NEAR:-1]))
    line = node.start_mark.line + 1
    yield Record(line, *place, values[:_SHORT], told=f"{column}: {values}", beside=row)


def _is_name(told: str) -> bool:
    is_word = _LETTER.match(told) is not None and len(told) < _SHORT
    return is_word and told.lower() not in _NO_NAMES


def _own_name(node: Node) -> str:
    """The first words of a row, such as ``mlp`` in ``{"what": "mlp", "r": 1.0}``."""
    told = (str(value.value) for _, value in node.value if value.id == "scalar")
    return next(filter(_is_name, told), "")


def _shares_keys(node: Node) -> bool:
    """Whether the values of a mapping are rows with the same keys."""
    keys = [{str(k.value) for k, _ in v.value} for _, v in node.value if v.id == "mapping"]
    return len(keys) > 1 and bool(set.intersection(*keys))


# ---- tables and lines


def _lines(text: str) -> Iterator[Record | Line]:
    lines = [line[:MAX_LENGTH] for line in text.split("\n")]
    tables = dict(_tables(lines))
    at, title = 0, ""
    while at < len(lines):
        line = lines[at]
        if at in tables:
            yield from _rows(lines, at, tables[at], title)
            at = tables[at]
            continue
        tree = _object(line)
        if tree is not None and tree.id == "mapping":
            yield from (r._replace(line=at + 1) for r in _walk(tree, (), 0, is_row=True))
        else:
            yield Line(line, at + 1, title)
        if _LETTER.search(line) and not _FIGURE.search(line):
            title = line.strip(" #*=-_:\t") if len(line.split()) <= _TITLE else ""
        at += 1


def _cells(line: str) -> list[str]:
    for bar in ("|", "\t", ";", ","):
        if line.count(bar) > (bar in ";," and " " in line) and not (
            bar in ";," and f"{bar} " in line
        ):
            bare = line.strip(" ")
            bare = bare[1:-1] if bare[:1] == bare[-1:] == "|" else bare
            cells = [cell.strip(" *`\"'") for cell in bare.split(bar)]
            return [_COMMA.sub(".", cell) for cell in cells] if bar == ";" else cells
    return re.split(r"\s{2,}", line.strip())


def _row(line: str, width: int) -> list[str]:
    """The cells of a row; a number of its own before them is left out."""
    cells = _cells(line)
    return cells[1:] if len(cells) == width + 1 and cells[0].isdigit() else cells


def _tables(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The first line of each table, a head without figures, and the line behind its last row."""
    at = 0
    while at < len(lines):
        head, end = _cells(lines[at]), at + 1
        ruled = end < len(lines) and "-" in lines[end] and bool(_RULE.match(lines[end]))
        if len(head) > 1 and _is_head(head, ruled=ruled):
            while end < len(lines) and (
                len(_row(lines[end], len(head))) == len(head)
                or (lines[end].strip() and _RULE.match(lines[end]))
            ):
                end += 1
        body = [_row(line, len(head)) for line in lines[at + 1 : end]]
        told = sum(any(map(_cell, row)) for row in body)
        barred = any(bar in lines[at] for bar in "|\t;,")
        if (ruled and end > at + 1 and "|" in lines[at]) or (
            told and (barred or (told * 2 >= len(body) and not _FIGURE.search(lines[at])))
        ):
            yield at, end
            at = end
        else:
            at += 1


def _is_head(cells: Sequence[str], *, ruled: bool) -> bool:
    """Whether cells may be the head of a table: names, or figures above a rule."""
    if all(map(_RULE.match, cells)):
        return False
    plain = (len(x) <= _SHORT and ": " not in x for x in cells)
    return all(plain) and (ruled or not any(map(_cell, cells)))


def _rows(lines: Sequence[str], start: int, end: int, title: str) -> Iterator[Record]:
    head = _cells(lines[start])
    for number in range(start + 1, end):
        row = _row(lines[number], len(head))
        if _RULE.match(lines[number]) or len(row) != len(head):
            continue
        words = [cell for cell in row if cell and not _cell(cell)]
        beside = "  ".join(words)
        is_named = bool(words) and (not _cell(row[0]) or not _LETTER.search(head[0]))
        label = words[0] if is_named else f"{head[0]} {row[0]}"
        for column, cell in zip(head, row, strict=True):
            if cell or column:
                place = number + 1, f"{start}:{title}", label, column, ""
                yield _valued(Record(*place, told=f"{column}: {cell}", beside=beside), cell)


def _cell(cell: str) -> re.Match[str] | None:
    found = _CELL.fullmatch(cell)
    return found if found and any(map(str.isdigit, found[1])) else None


def _valued(record: Record, cell: str) -> Record:
    """A record with the value of a cell."""
    if share := _SHARE.match(cell):
        return record._replace(value=float(share[1]), of=float(share[2]))
    if found := _cell(cell):
        value, broken = _number(found[1])
        return record._replace(value=value, unit=found[2] or "", broken=broken)
    return record._replace(value=cell[:_SHORT])


def _number(written: str) -> tuple[float, bool]:
    """The value of a number, and whether it has decimals or an exponent."""
    plain = written.replace(",", "")
    return float(plain), "." in plain or "e" in plain.lower()


def _fields(part: Line) -> Iterator[Record]:
    """The figures of a line, each with the words since the last one."""
    line, number, title = part
    begun = _START.match(line)
    at = begun.end() if begun else 0
    places = [
        (m.start(), m.end(), float(m[1]), float(m[2]), False) for m in _SHARE.finditer(line, at)
    ]
    for m in _FIGURE.finditer(line, at):
        if any(map(str.isdigit, m[1])):
            value, broken = _number(m[1])
            places.append((m.start(), m.end(1), value, 0.0, broken))
    label, kept = "", list[Record]()
    for start, end, value, of, broken in sorted(places, key=lambda each: (each[0], -each[1])):
        if start < at:
            continue
        gap = line[at:start]
        pieces = _pieces(gap)
        if kept and _BECOMES.match(gap):
            kept[-1] = kept[-1]._replace(replaced=True)
            pieces = [kept[-1].column]
        elif kept and len(pieces) > 1:
            kept[-1] = kept[-1]._replace(after=f"{kept[-1].unit} {pieces[0]}")
        if not label and pieces:
            is_value = gap.rstrip().endswith("=") and len(pieces) == 1
            column = pieces[-1] if len(pieces) > 1 or is_value else ""
            label = (
                f"{pieces[-1]} {line[start:end]}"
                if is_value
                else " | ".join(pieces[: len(pieces) - 1] or pieces)
            )
        else:
            column = pieces[-1] if pieces else ""
        if _COMPARED.search(gap):
            column = f"{column} limit".strip()
        unit = _UNIT.match(line, end)
        said = unit[1] if unit else ""
        is_aside = line.count("(", 0, start) > line.count(")", 0, start)
        place = number, f"line:{title}", label, column, value, said, of or None
        kept.append(Record(*place, aside=is_aside, broken=broken))
        at = unit.end() if unit else end
    if kept:
        kept[-1] = kept[-1]._replace(after=line[at : at + _SHORT].strip())
    yield from kept


def _pieces(words: str) -> list[str]:
    parts = (part.strip(" \t*_`'\"-+>~/\\") for part in _SPLIT.split(words))
    kept = (p.lstrip("#* ") if _LETTER.search(p) else p for p in parts)
    return [p[-_SHORT:] for p in kept if _NAMED.search(p) and not _LEVEL.fullmatch(p)]
