"""Restores lines as a program wrote them from lines that launchers and people passed on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ...reading.text.json_records import json_record
from ...reading.text.plain_text import Carried, Line, carried
from ...reading.text.tracebacks import HEADER, starts_traceback

_LABELLED = re.compile(r"\d{1,5}: (?:Traceback \(most recent|  File \")")
# The right border of a pane of a terminal multiplexer; a line of a box begins with one, too.
_BORDER = re.compile(r"[ \t]*[│┃][ \t]*\Z")
_BOX = tuple("│┃|╭╰┌└+├")
_NUMBER = re.compile(r"[ \t]{0,9}(\d{1,7})(?:\t|[:|] ?| {1,2}|\Z)")
_LEAST_NUMBERED = 4
_CODE = re.compile(r"\s{0,20}`[^`]*`\s*\Z")
_LABEL = re.compile(r"\d{1,5}: ")
_ESCAPED = ("\\n  File ", "\\nFile ")
_WHOLE = re.compile(rf'"{re.escape(HEADER)}:?(?:\\n)?"')


def uncarried(lines: Sequence[Line]) -> list[Line]:
    """The lines without the texts that were put before and after each, grouped by process.

    A traceback that was written into one line, or into one JSON record for each of its lines, is
    spread out again.
    """
    plain = list(_spread(_out_of_records(_unnumbered(_unquoted(lines)))))
    labels = any(_LABELLED.match(line.text) for line in plain)
    panes = all(line.text[:1] in ("│", "┃") for line in plain if line.text.strip())
    parts = [carried(_without_border(line.text), labels=labels, panes=panes) for line in plain]
    if not any(part.process or part.margin for part in parts):
        return [Line(line.number, part.text) for line, part in zip(plain, parts, strict=True)]
    if _is_mixed(parts):
        return _streams(plain, parts)
    return [Line(line.number, part.text) for line, part in zip(plain, parts, strict=True)]


def _unquoted(lines: Sequence[Line]) -> Sequence[Line]:
    """The lines without the mark of a quotation, if all have it without a blank after it; or
    without the marks of code, if each line is between two of them."""
    texts = [line.text for line in lines if line.text.strip()]
    if len(texts) > 1 and all(_CODE.match(text) for text in texts):
        return [Line(line.number, line.text.strip()[1:-1]) for line in lines]
    margin = _common_margin(texts)
    if margin:
        return [Line(line.number, line.text[margin:]) for line in lines]
    tight = any(text[1:2] not in ("", " ", ">") for text in texts)
    if len(texts) < 2 or not tight or any(text[:1] != ">" or text[:3] == ">>>" for text in texts):
        return lines
    return [Line(line.number, line.text[1:]) for line in lines]


def _common_margin(texts: Sequence[str]) -> int:
    """The width of the common margin before each line of a text: blanks, a bar, or the number of a
    task."""
    if len(texts) < 2:
        return 0
    blanks = min(len(text) - len(text.lstrip()) for text in texts)
    if blanks and len({text[:blanks] for text in texts}) == 1:
        return blanks
    label = _LABEL.match(texts[0])
    if label and all(text.startswith(label[0]) for text in texts):
        return label.end()
    bars = all(text[:2] == "| " and not text.endswith("|") for text in texts)
    return 2 if bars else 0


def _unnumbered(lines: Sequence[Line]) -> Sequence[Line]:
    """The lines without the numbers that a page or an editor shows before them: each one more than
    the one above."""
    if len(lines) < _LEAST_NUMBERED:
        return lines
    found: list[Line] = []
    first = None
    for at, line in enumerate(lines):
        number = _NUMBER.match(line.text)
        if number is None:
            if line.text.strip() or at < len(lines) - 1:
                return lines
            continue
        first = int(number[1]) if first is None else first
        if int(number[1]) != first + at:
            return lines
        found.append(Line(line.number, line.text[number.end() :]))
    return found


def _is_mixed(parts: Sequence[Carried]) -> bool:
    """Whether a process continues after lines of another one."""
    left: set[str] = set()
    current = ""
    for part in parts:
        if part.process and part.process != current:
            if part.process in left:
                return True
            left.add(current)
            current = part.process
    return False


def _streams(lines: Sequence[Line], parts: Sequence[Carried]) -> list[Line]:
    """The lines of each process together, in order of their first lines. An empty line separates
    texts that did not follow each other; lines of one process follow each other even if other
    processes wrote between them."""
    streams: dict[str, list[Line]] = {}
    previous: Carried | None = None
    last: dict[str, Carried] = {}
    for line, part in zip(lines, parts, strict=True):
        stream = streams.setdefault(part.process, [])
        before = last.get(part.process)
        if stream and previous is not None and before is not None:
            alone = previous.process == part.process or (part.process and previous.process)
            if not alone or before.margin != part.margin:
                stream.append(Line(0, ""))
        stream.append(Line(line.number, part.text))
        last[part.process] = previous = part
    found: list[Line] = []
    for stream in streams.values():
        if found:
            found.append(Line(0, ""))
        found += stream
    return found


def _without_border(text: str) -> str:
    if not text.endswith(("│", "┃", " ")) or text.lstrip().startswith(_BOX):
        return text
    border = _BORDER.search(text, max(len(text) - 300, 0))
    return text[: border.start()] if border else text


def _spread(lines: Sequence[Line]) -> Iterator[Line]:
    """Tracebacks whose line ends were written as ``\\n``."""
    for line in lines:
        escaped = any(mark in line.text for mark in _ESCAPED)
        if not escaped or line.text[:1] == "{" or not starts_traceback(line.text):
            yield line
            continue
        quote = line.text.partition(HEADER)[0][-1:]
        text = line.text.rstrip()
        if quote in ("'", '"'):
            text = text.removesuffix(quote)
        text = text.replace("\\\\", "\\").replace('\\"', '"')
        for part in text.split("\\n"):
            yield Line(line.number, part)


def _out_of_records(lines: Sequence[Line]) -> Sequence[Line]:
    """The texts of JSON records, if a traceback has one of them for each of its lines."""
    if not any(line.text[:1] == "{" and _WHOLE.search(line.text) for line in lines):
        return lines
    found: list[Line] = []
    inside = False
    for line in lines:
        record = json_record(line.text) if line.text[:1] == "{" else None
        if record is None:
            inside = False
            found.append(line)
            continue
        inside = inside or _WHOLE.search(line.text) is not None
        found.append(Line(line.number, _text_of(line.text)) if inside else line)
    return found


def _text_of(text: str) -> str:
    """The message of a record with the blanks that it begins with."""
    import json

    data = json.loads(text.strip())
    for key in ("log", "message", "msg", "line", "textPayload", "text", "event"):
        if isinstance(data.get(key), str):
            return str(data[key]).rstrip("\r\n").replace("\n", " ")
    return ""
