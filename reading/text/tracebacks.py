"""Tracebacks -> exceptions: chained, grouped, in notebooks, in rich boxes, with line prefixes; and
the lines after a message that are not part of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from .exceptions import ExceptionLine, exception_line
from .plain_text import Line
from .traceback_lines import (
    HEADER,
    MEMBER,
    NOTEBOOK_HEADER,
    Boundary,
    ChainReader,
    Frame,
    Frames,
    begins_notebook,
    boxed_frame,
    is_box,
    is_connector,
    notebook_frame,
    plain_frame,
    starts_traceback,
)
from .values import json_table

_LONGEST = 300
_PROMPT = re.compile(
    r"(?:\([\w.-]{1,60}\) )?(?:[\w.-]{1,60}@[\w.-]{1,100}[: ].{0,200}?|[~/][\w./~-]{0,200} ?)?"
    r"[$#%❯➜λ](?: |\Z)|PS [A-Z]:\\.{0,200}>|[A-Z]:\\[^<>|]{0,200}>"
)
_JOB = re.compile(r"\[\d{1,4}\][+-]? +(?:Exit|Done|Killed|Stopped|Terminated|Aborted|Segm|\d)")
_EXIT = re.compile(
    r"[\w./-]{1,100} (?:exited|terminated|failed|returned|finished) (?:with |non-zero )"
    r".{0,40}(?:code|status|signal)|\s*(?i:exit (?:code|status)):? *\d"
)
_RULE = re.compile(r"([=\-_*#~─━])\1{3,}(?: .{0,200} \1{3,}| ?\Z)")
_PLACE = re.compile(r"> ?\S{1,200}\(\d{1,9}\)\S{0,100}\Z")
_TOOL = re.compile(r"([A-Za-z][\w.-]{0,40})(\[\d{1,9}\])?: ")


def is_epilogue(text: str) -> bool:
    """Whether a line, though it stands right below a message, does not go on with it."""
    return is_surrounding(text) or _is_talk(text[:_LONGEST].rstrip())


def is_surrounding(text: str) -> bool:
    """Whether a line is part of the surroundings, for text that machines write."""
    text = text[:_LONGEST].rstrip()
    known = _known()
    if text.startswith(known.starts) or text in known.whole:
        return True
    tool = _TOOL.match(text)
    if tool and tool[1] not in known.heard and (tool[2] or tool[1] in known.tools):
        return not any(word in text for word in known.telling)
    return any(form.match(text) for form in (_PROMPT, _JOB, _EXIT, _RULE, _PLACE))


def is_notice(text: str) -> bool:
    """Whether a text adds nothing to the error that it is about: it announces an exception, or
    reports the exit code of a program."""
    first = text[:_LONGEST].partition("\n")[0].rstrip()
    known = _known()
    return (
        first.startswith(known.announcements) or any(word in first for word in known.exits)
        or _RULE.match(first) is not None
    )  # fmt: skip


def _is_talk(text: str) -> bool:
    known = _known()
    if text.startswith(known.talk):
        return True
    return text.endswith("?") and text.partition(" ")[0].lower() in known.questions


class _Table:
    """The words of the table."""

    def __init__(self) -> None:
        data = json_table(__file__, "epilogues.json")
        self.tools = frozenset(data["tools"])
        self.heard = frozenset(data["heard"])
        self.telling = tuple(data["telling"])
        self.starts = tuple(data["starts"])
        self.announcements = tuple(data["announcements"])
        self.exits = tuple(data["exits"])
        self.whole = frozenset(data["whole"])
        self.talk = tuple(data["talk"])
        self.questions = frozenset(data["questions"])


@cache
def _known() -> _Table:
    return _Table()


__all__ = ["HEADER", "Raised", "continues_message", "is_connector", "read_chain",
           "starts_traceback"]  # fmt: skip

_BOX_BOTTOM = ("╰", "└", "+-")
_NUMBERED = re.compile(r"\s*\Z|\s*\(\.{3}\)|(?:-{2,9}> ?|\s{1,9})\d{1,7}(?:\s|\Z)")
MAX_MESSAGE_LINES = 400
MAX_FRAME_LINES = 20_000


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception at the end of a traceback.

    ``number`` is the input line of its message; ``chain`` is final, cause or context; ``frames``
    begin with the outermost.
    """

    exception: str
    module: str
    text: str
    number: int
    chain: str = "final"
    frames: tuple[Frame, ...] = ()

    @property
    def file(self) -> str:
        """The file of the innermost frame; "" if none is shown."""
        return self.frames[-1].file if self.frames else ""

    @property
    def line(self) -> int:
        """The line of the innermost frame; 0 if none is shown."""
        return self.frames[-1].line if self.frames else 0


def read_chain(
    lines: Sequence[Line], start: int, is_boundary: Boundary
) -> tuple[list[Raised], int]:
    """The exceptions of the chain that begins at ``lines[start]``, and the index after it.

    ``is_boundary`` says which line cannot continue the message of an exception. A traceback that
    breaks off before its message gives no exception.
    """
    reader = ChainReader(lines, start, is_boundary)
    found: list[Raised] = []
    pending: list[Raised] = []
    while True:
        raised = _block(reader)
        if raised:
            pending.append(replace(raised, chain="cause" if reader.in_member else "final"))
        inside = reader.in_member
        connector = reader.connector()
        if connector:
            # Inside a group it refers to the member above it, else to everything above.
            first = max(len(pending) - 1, 0) if inside and reader.in_member else 0
            found += [replace(each, chain=connector) for each in pending[first:]]
            pending = pending[:first]
        elif not reader.next_member():
            return found + pending, max(reader.at, start + 1)
        if not (reader.in_member or starts_traceback(reader.text() or "")):
            return found + pending, max(reader.at, start + 1)


def _block(reader: ChainReader) -> Raised | None:
    """One traceback with its exception, or a member of a group that has no traceback."""
    header = reader.text() or ""
    if is_box(header):
        return _boxed(reader, len(header.rstrip()))
    notebook = NOTEBOOK_HEADER.match(header)
    if notebook:
        return _notebook(reader, notebook[1])
    if begins_notebook(header):
        return _headless(reader)
    frames: tuple[Frame, ...] = ()
    if HEADER in header:
        reader.at += 1
    if HEADER in header or plain_frame(header):
        frames = _frames(reader)
    return _exception(reader, frames)


def _frames(reader: ChainReader) -> tuple[Frame, ...]:
    """Pass the frames: indented lines, between which loguru leaves empty ones."""
    frames = Frames()
    for _ in range(MAX_FRAME_LINES):
        text = reader.text()
        if text is None or not (_is_inside(text) or (not text.strip() and _goes_on(reader))):
            break
        frames.add(plain_frame(text))
        reader.at += 1
    return frames.all()


def _is_inside(text: str) -> bool:
    return text.startswith(("  ", '> File "'))


def _goes_on(reader: ChainReader) -> bool:
    """Whether the traceback continues after an empty line."""
    following = reader.text(1)
    if not following or not following.strip():
        return False
    return _is_inside(following) or exception_line(following) is not None


def _exception(reader: ChainReader, frames: tuple[Frame, ...], width: int = 0) -> Raised | None:
    text = reader.text()
    named = exception_line(text, strict=False) if text else None
    if named is None:
        return None
    number = reader.number()
    reader.at += 1
    message = _message(reader, named, width)
    return Raised(named.exception, named.module, message, number, frames=frames)


def _message(reader: ChainReader, named: ExceptionLine, width: int) -> str:
    """The message with the lines that continue it; wrapped at ``width`` columns if not 0."""
    parts = [named.message]
    length = len(named.message) + named.skipped
    while len(parts) < MAX_MESSAGE_LINES:
        text = reader.text()
        if text is None or not continues_message(text, reader.text(1), reader.is_boundary):
            break
        if width and length + 1 + len(text.partition(" ")[0]) > width:
            parts[-1] += " " + text.strip()
        else:
            parts.append(text.rstrip())
        length = len(text.rstrip())
        reader.at += 1
    return "\n".join(parts).strip()


def continues_message(text: str, following: str | None, is_boundary: Boundary) -> bool:
    """Whether a line belongs to the message above it: not blank (unless an indented line follows)
    and no beginning of anything else."""
    if not text.strip():
        return following is not None and following[:1] in (" ", "\t") and bool(following.strip())
    if text == MEMBER or is_connector(text) or starts_traceback(text):
        return False
    if is_epilogue(text) or plain_frame(text):
        return False
    return not is_boundary(text)


def _notebook(reader: ChainReader, name: str) -> Raised | None:
    """A traceback as IPython prints it: frames of any form up to ``Name: message``. Where the part
    with that name was left out, another exception at the beginning of a line ends it."""
    frames = Frames()
    reader.at += 1
    other = 0
    for _ in range(MAX_FRAME_LINES):
        text = reader.text()
        if text is None or starts_traceback(text):
            break
        if text.startswith(name) and text[len(name) :].strip()[:1] in ("", ":"):
            return _exception(reader, frames.all())
        if not other and text[:1].isalpha() and exception_line(text):
            other, before = reader.at, frames.all()
        frames.add(notebook_frame(text))
        reader.at += 1
    if not other:
        return None
    reader.at = other
    return _exception(reader, before)


def _headless(reader: ChainReader) -> Raised | None:
    """The rest of a traceback of IPython whose beginning was left out: frames with numbered lines
    below each, up to an exception."""
    frames = Frames()
    for _ in range(MAX_FRAME_LINES):
        text = reader.text()
        if text is None:
            break
        frame = notebook_frame(text)
        if not frame and not _NUMBERED.match(text):
            return _exception(reader, frames.all()) if exception_line(text) else None
        frames.add(frame)
        reader.at += 1
    return None


def _boxed(reader: ChainReader, width: int) -> Raised | None:
    """A traceback as rich prints it: frames in a box, the message below, wrapped at its width."""
    frames = Frames()
    reader.at += 1
    for _ in range(MAX_FRAME_LINES):
        text = reader.text()
        if text is None or starts_traceback(text):
            return None
        reader.at += 1
        if text.lstrip().startswith(_BOX_BOTTOM):
            return _exception(reader, frames.all(), width)
        frames.add(boxed_frame(text))
    return None
