"""The descriptions of arguments in docstrings, in the styles of Google, NumPy and Sphinx."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence

MAX_DOC = 400
_SECTION = re.compile(
    r"(Args|Arguments|Parameters|Params|Attributes|Fields|Keyword Args|Keyword Arguments|"
    r"Other Parameters|Config|Options):?\s*\Z"
)
_ENTRY = re.compile(
    r"(?:[-*] )?`{0,2}(\*{0,2}[A-Za-z_][\w, *]{0,200}?)`{0,2} ?"
    r"(?:\(([^()]*(?:\([^()]*\)[^()]*)*)\))?:(?:\s(.*))?\Z"
)
_NUMPY = re.compile(r"(\*{0,2}[A-Za-z_][\w, *]{0,200}?)(?: ?: ?(.*))?\Z")
_SPHINX = re.compile(r":(?:param|parameter|arg|argument|key|keyword|ivar|cvar|var)\s"
                     r"(?:[^:]{0,80}\s)?(\*{0,2}\w+):\s?(.*)\Z")  # fmt: skip
_BULLETS = ("- ", "* ")
_RULER = re.compile(r"-{3,}\s*\Z")


def described(docstring: str) -> dict[str, str]:
    """The arguments that a docstring describes, each with its text on one line."""
    lines = inspect.cleandoc(docstring[:100_000]).split("\n")
    found: dict[str, str] = {}
    for names, text in (*_sections(lines), *_fields(lines)):
        short = " ".join(text.split())
        for name in names.split(","):
            key = name.strip().lstrip("*")
            if key and short:
                found.setdefault(key, _cut(short))
    return found


def summary(docstring: str) -> str:
    """The first paragraph of a docstring, on one line."""
    paragraph = inspect.cleandoc(docstring[:10_000]).partition("\n\n")[0]
    return _cut(" ".join(paragraph.split()))


def _cut(text: str) -> str:
    return text if len(text) <= MAX_DOC else text[: MAX_DOC - 4].rstrip() + " ..."


def _sections(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(lines):
        heading = _SECTION.match(lines[at])
        at += 1
        if not heading or at >= len(lines):
            continue
        if _RULER.match(lines[at]):
            at += 1
            body, at = _body(lines, at, 0)
            yield from _entries(body, _NUMPY)
        else:
            # A list may stand right below its heading.
            body, at = _body(lines, at, 1 if not lines[at].startswith(_BULLETS) else 0)
            yield from _entries(body, _ENTRY)


def _body(lines: Sequence[str], at: int, indent: int) -> tuple[list[str], int]:
    """The lines of a section, without their common indentation, and the index after it."""
    body: list[str] = []
    while at < len(lines):
        line = lines[at]
        if line.strip() and len(line) - len(line.lstrip()) < indent:
            break
        if _SECTION.match(line):
            break
        ends = at + 1 < len(lines) and _RULER.match(lines[at + 1]) and not line[:1].isspace()
        if ends and not indent:
            break
        body.append(line)
        at += 1
    return inspect.cleandoc("\n".join(["", *body])).split("\n"), at


def _entries(body: Sequence[str], form: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """The entries of a section: a line with the name, further lines indented below it."""
    name, text = "", ""
    for line in body:
        entry = form.match(line) if not line[:1].isspace() else None
        if entry:
            if name:
                yield name, text
            name = entry[1]
            text = (entry[3] or "") if form is _ENTRY else ""
        elif line[:1].isspace() or not line:
            text += " " + line.strip()
        else:
            if name:
                yield name, text
            name, text = "", ""
    if name:
        yield name, text


def _fields(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    name, text = "", ""
    for line in lines:
        field = _SPHINX.match(line.strip())
        if field:
            if name:
                yield name, text
            name, text = field[1], field[2]
        elif name and line[:1].isspace() and line.strip():
            text += " " + line.strip()
        elif name:
            yield name, text
            name, text = "", ""
    if name:
        yield name, text
