"""Raw text as it is pasted or logged -> plain lines: one line end, no colours, no control codes, no
marks that editors, chats and web pages put in place of what a program printed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)"
# Each process has its own mark; lines of several processes may be mixed.
_PROCESS = re.compile(
    r"\[(?:stderr|stdout|rank\d{1,6})\]:?(?: |\Z|(?=\[[IWEF]\d))|\[default\d{1,6}\]:"
    r"|\([^()]{0,80}pid=\d{1,9}[^()]{0,80}\)(?: |\Z)"
    r"|[A-Za-z][\w.-]{0,60}[-_]\d{1,6} {1,40}\|(?: |\Z)"
    r"|\[pod/[\w./-]{1,200}\](?: |\Z)"
    r"|\[\d{1,5},\d{1,5}\]<std(?:err|out)>:"
)
# Workers of model servers (DJL, TorchServe, Multi Model Server): stamp and level differ by line.
_WORKER = re.compile(
    r"(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,]\d{3,6}Z? )?"
    r"\[?(?:TRACE|DEBUG|INFO|WARN|ERROR) {0,2}\]? "
    r"(?:PyProcess - )?(W-\d{1,6}-[\w.-]{1,80}-std(?:out|err))"
    r"(?:: | MODEL_LOG - | (?:[a-z]\w{0,30}\.){1,8}\w{1,60} - )"
)
_LABEL = re.compile(r"\d{1,5}: ")
# The same one before every line.
_MARGIN = re.compile(
    r"E(?: {3,7}|\Z)|>(?: (?!File \"|\S{1,300}\(\d{1,9}\))|\Z)|##\[(?:error|warning)\]"
)
_PANE = re.compile(r"[│┃]")
# Stamps of container runtimes and build servers, before whatever the program printed.
_STAMPED = re.compile(
    rf"(?:[\w .-]{{1,100}}\t[\w .-]{{1,100}}\t)?\[?{_STAMP}\]?"
    r"(?: (?:stdout|stderr) [FP]| \d\d[OE])? ?"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d [\w.-]{1,100} [\w./-]{1,100}\[\d{1,9}\]: "
)
_BULLET = re.compile(r"(?:[-*+•]|\d{1,2}[.)]) +")
_MOST = 4


class Carried(NamedTuple):
    """A line without its marks, and the mark of the process that wrote it ("" if it has none)."""

    process: str
    margin: str
    text: str


def carried(text: str, *, labels: bool = False, panes: bool = False) -> Carried:
    """Take the marks off a line. ``labels``: a number and a colon are the mark of a task;
    ``panes``: a bar is the border of a pane of a terminal, not of a box."""
    process = margin = ""
    for _ in range(_MOST):
        found = _PROCESS.match(text) or (_LABEL.match(text) if labels else None)
        worker = None if found else _WORKER.match(text)
        if found:
            process += found[0]
        elif worker:
            found, process = worker, process + worker[1]
        else:
            found = _MARGIN.match(text) or (_PANE.match(text) if panes else None)
            if found is None:
                break
            margin += found[0]
        text = text[found.end() :]
    return Carried(process, margin, text)


def without_carrier(text: str) -> str:
    """A line without the marks of the processes or tools that passed it on."""
    return carried(text).text


def without_stamp(text: str) -> str:
    """A line without the stamp of what ran the program that printed it."""
    found = _STAMPED.match(text)
    return text[found.end() :] if found else text


def without_bullet(text: str) -> str:
    """An item of a list without its mark."""
    found = _BULLET.match(text)
    return text[found.end() :] if found else text


_ENTITY = re.compile(r"&(?:(quot|apos|lt|gt|amp|nbsp)|#(\d{2,4})|#[xX]([0-9a-fA-F]{2,4}));")
_ENTITIES = {"quot": '"', "apos": "'", "lt": "<", "gt": ">", "amp": "&", "nbsp": " "}
_LOWEST, _HIGHEST = 32, 0x3000
# Tags around words of a log. Others may be what a program printed: `<module>`, `<s>`, an answer.
_MARKUP = re.compile(r"</(?:a|span|code|pre|samp|kbd|font)>|<br ?/?>", re.IGNORECASE)
_TAG = re.compile(
    r"</?(?:a|span|code|pre|br|samp|kbd|font)(?:\s[^<>\n]{0,2000})?/?>", re.IGNORECASE
)
# `[a.py:12](vscode-file://a.py)`, `[line 12](cell:x)`, `[12](https://x/a.py)`
_LINK = re.compile(
    r"\[((?:line )?\d{1,9}|[^\[\]\s]{0,300}\.(?:py|ipynb|cc|cpp)(?::\d{1,9})?)\]"
    r"\((?:[a-z][a-z0-9+.-]{0,30}:|[/.~])[^()\s]{0,1000}\)"
)
# Colours whose escape character was lost or written out.
_COLOUR = re.compile(
    r"(?:\\(?:u001[bB]|x1[bB]|033|e)|\^\[|\u241b)?\[(?:\d{1,3}(?:;\d{1,3}){0,5})?m"
)
_ESCAPED_JOINT = re.compile(r"\w\\_\w")
_JOINT = re.compile(r"[^\W_]_[^\W_]")
_ESCAPED = re.compile(r"\\([_*\[\]<>#`~|])")


def unrendered(text: str) -> str:
    """The text as it was before it was shown."""
    if "&" in text:
        text = _decoded(text)
    if ("</" in text or "<br" in text) and _MARKUP.search(text):
        text = _TAG.sub("", text)
    if "[0m" in text:
        text = _COLOUR.sub("", text)
    if "](" in text:
        text = _LINK.sub(r"\1", text)
    # Markdown that was escaped has the backslash before each of these marks, paths and patterns
    # have it before some.
    if "\\_" in text and _ESCAPED_JOINT.search(text) and not _JOINT.search(text):
        text = _ESCAPED.sub(r"\1", text)
    return text


def _decoded(text: str) -> str:
    """A page that shows the source of a page has escaped it twice."""
    twice = "&amp;" in text
    text = _ENTITY.sub(_character, text)
    return _ENTITY.sub(_character, text) if twice else text


def _character(found: re.Match[str]) -> str:
    if found[1]:
        return _ENTITIES[found[1]]
    number = int(found[2]) if found[2] else int(found[3], 16)
    if number == 0xA0:
        return " "
    printed = _LOWEST <= number < _HIGHEST and chr(number).isprintable()
    return chr(number) if printed else found[0]


# Terminal control sequences: CSI (colours, cursor), OSC (titles, links), two-character ones.
_ANSI = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_]|[ -/][0-~])"
)
# Progress bars end a line with a lone CR; a log that was converted twice ends it with CR CR LF.
_LINE_END = re.compile(r"\r+\n?")
_CONTROLS = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 127])
# Joiners, direction marks and soft hyphens cannot be seen; of spaces and quotes the plain ones
# were typed.
_UNSEEN = dict.fromkeys([0xAD, *range(0x200B, 0x2010), *range(0x202A, 0x202F),
                         *range(0x2060, 0x206A), 0xFEFF])  # fmt: skip
_SPACES = dict.fromkeys([0xA0, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000], " ")
_QUOTES = {**dict.fromkeys(range(0x2018, 0x201C), "'"), **dict.fromkeys(range(0x201C, 0x2020), '"')}
_TYPED = {**_CONTROLS, **_UNSEEN, **_SPACES, **_QUOTES}
# Columns past this hold data dumps, not messages; scanning them would only cost time.
MAX_LINE = 65_536
SAMPLE = 8_192
"""Characters that are checked to decide if the rest is text."""


class Line(NamedTuple):
    """A line and its number in the input, counted from 1; 0 for a mark that is not a line."""

    number: int
    text: str


class PlainText(NamedTuple):
    """The lines that are kept and how many were left out in the middle."""

    lines: list[Line]
    total: int
    left_out: int


def is_binary(raw: str) -> bool:
    """Whether a text looks like bytes of no text, decoded all the same."""
    start = raw[:SAMPLE]
    return start.count("\ufffd") * 10 > max(len(start), 20)


def plain_text(raw: str, limit: int) -> PlainText:
    """Clean ``raw`` and keep at most ``limit`` characters of it.

    Of a longer text the first quarter and the last three quarters of the limit are kept, at line
    borders: the set-up is at the start of a log, the error that ended the run at its end.
    """
    text = raw
    if "\r" in text:
        text = _LINE_END.sub("\n", text)
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    text = text.translate(_CONTROLS if text.isascii() else _TYPED)
    text = unrendered(text)
    if len(text) <= limit:
        lines = text.split("\n")
        return PlainText([Line(i, t[:MAX_LINE]) for i, t in enumerate(lines, 1)], len(lines), 0)
    return _both_ends(text, limit)


def _both_ends(text: str, limit: int) -> PlainText:
    total = text.count("\n") + 1
    head = text[: limit // 4].rpartition("\n")[0]
    rest = text[len(text) - (limit - limit // 4) :]
    tail = rest.partition("\n")[2] or rest
    first, last = head.split("\n") if head else [], tail.split("\n")
    kept = [Line(i, t[:MAX_LINE]) for i, t in enumerate(first, 1)]
    # The empty line keeps a message at the end of the head from swallowing the tail.
    kept.append(Line(0, ""))
    start = total - len(last) + 1
    kept.extend(Line(i, t[:MAX_LINE]) for i, t in enumerate(last, start))
    return PlainText(kept, total, max(total - len(first) - len(last), 1))


# Notes and tables, which people write, and not programs.
_HEADING = re.compile(r"#{1,6} \S")
_SPOKEN = re.compile(r"[a-z]{1,20},?(?= [a-z(])")
_PLAIN_WORDS = 8
_BARRED = re.compile(r"\s*\|?(?:\s*:?-{2,}:?\s*\|)+")
_CELLS = 3
_ROWS = 3
# `error: `, `E: `, `dpkg: error processing`, `[ERROR]`, `make: *** `
_DIAGNOSTIC = re.compile(
    r"\W{0,4}(?:[\w./()+-]{1,40}:? ){0,3}\W{0,4}"
    r"(?:(?i:error|fatal|fail(?:ed|ure)|panic|abort(?:ed)?)(?:\[\w{1,12}\])?[\]:!]|[EWF]: |\*{3} )"
)


def is_document(lines: Sequence[str]) -> bool:
    """Whether people wrote a text as a whole: a note, or a table."""
    filled = [line for line in lines if line.strip()]
    return is_note(lines) or (_has_table(filled) and not any(map(_DIAGNOSTIC.match, filled)))


def is_note(lines: Sequence[str]) -> bool:
    """Whether a text begins with a heading of Markdown, or has paragraphs of sentences and no
    diagnostic line of a tool, which tells that a program printed it."""
    return _has_heading(lines) or (
        not any(map(_DIAGNOSTIC.match, lines)) and _has_paragraphs(lines)
    )


def _has_heading(lines: Sequence[str]) -> bool:
    first = next((line for line in lines if line.strip()), "")
    return _HEADING.match(first) is not None


def _has_table(filled: Sequence[str]) -> bool:
    """A table in Markdown, or a text that is nothing but rows of as many cells."""
    if any(map(_BARRED.match, filled)):
        return True
    for bar in ("\t", ","):
        counts = {line.count(bar) for line in filled}
        if len(filled) >= _ROWS and len(counts) == 1 and counts.pop() >= _CELLS - 1:
            return bar == "\t" or not any(", " in line for line in filled)
    return False


def _has_paragraphs(lines: Sequence[str]) -> bool:
    """Two blocks or more, between blank lines, that hold sentences."""
    blocks = "\n".join(line.strip() for line in lines).split("\n\n")
    return sum(map(_is_spoken, blocks)) > 1


def _is_spoken(block: str) -> bool:
    return is_plain_words(block) and block.rstrip()[-1:] in ".?!"


def is_written(line: str) -> bool:
    """Whether a line of a document is a sentence or a row of a table."""
    bars = (line.count("|"), line.count("\t"), 0 if ", " in line else line.count(","))
    return is_plain_words(line) or max(bars) >= _CELLS - 1


def is_plain_words(text: str) -> bool:
    """Whether a text is mostly plain words, one after the other, as people write."""
    words = len(_SPOKEN.findall(text))
    return words >= _PLAIN_WORDS and words * 2 >= len(text.split())
