"""The cells of a notebook: what they print, and their text as it is on the page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from .markup import without_tags
from .values import parse_json

_MARK = '"cell_type"'
_MOST = 5_000


class Cell(NamedTuple):
    """The number of a cell, counted from 1, the lines of its source and outputs, and how many of
    the first are code."""

    number: int
    lines: tuple[str, ...]
    code: int = 0


def cells_of(text: str) -> list[Cell]:
    """The cells of a notebook; none for any other text."""
    if _MARK not in text or not text.lstrip("\ufeff \n\t").startswith("{"):
        return []
    data = parse_json(text)
    cells = data.get("cells") if isinstance(data, dict) else None
    if not isinstance(cells, list):
        return []
    return [
        _cell(number, cell)
        for number, cell in enumerate(cells[:_MOST], 1)
        if isinstance(cell, dict)
    ]


def _cell(number: int, cell: dict[str, Any]) -> Cell:
    source = joined(cell.get("source")).splitlines()
    code = len(source) if cell.get("cell_type") == "code" else 0
    return Cell(number, (*source, *_printed_lines(cell)), code)


def _printed_lines(cell: dict[str, Any]) -> list[str]:
    return "".join(printed(cell)).splitlines()


def printed(cell: dict[str, Any]) -> Iterator[str]:
    """Yield the printed output of a cell in pieces that end at a line end; streams continue in
    their next piece."""
    outputs = cell.get("outputs")
    before = ""
    for output in outputs if isinstance(outputs, list) else ():
        if not isinstance(output, dict):
            continue
        kind = output.get("output_type")
        stream = f"stream {output.get('name')}" if kind == "stream" else str(kind)
        text = _text_of(output)
        if before and not (stream == before and kind == "stream"):
            yield "\n"
        before = stream if text else before
        yield text


def _text_of(output: dict[str, Any]) -> str:
    kind = output.get("output_type")
    if kind == "stream":
        return joined(output.get("text"))
    if kind == "error":
        told = output.get("traceback")
        if isinstance(told, list) and told:
            return "\n".join(each for each in told if isinstance(each, str)) + "\n"
        return f"{joined(output.get('ename'))}: {joined(output.get('evalue'))}\n"
    data = output.get("data")
    if not isinstance(data, dict):
        return ""
    page = joined(data.get("text/html"))
    return without_tags(page) if "<table" in page else joined(data.get("text/plain"))


def joined(value: Any) -> str:
    """A text that a notebook holds as one text or as a list of lines."""
    if isinstance(value, list):
        return "".join(each for each in value if isinstance(each, str))
    return value if isinstance(value, str) else ""
