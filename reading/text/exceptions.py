"""Exceptions and Python warnings that a line or a text names, also in passing or as a repr."""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

_LONGEST_NAME = 300
_LONGEST_LITERAL = 65_536
_MOST_LINES = 50
_TAILS = ("Error: ", "Exception: ", "Timeout: ", "Warning: ")
_REPR = re.compile(
    r"(?<![\w.])([A-Za-z_][\w.]{0,200}(?:Error|Exception|Timeout|Warning))\((?=['\"])"
)
_BARE = re.compile(
    r"(?:\b(?i:failed|failure|error|died|crashed|aborted|stopped)(?: with| by)?: |\A[Cc]aught )"
    r"[`'\"*(]{0,2}([A-Z][\w.]{0,100}[a-z](?:Error|Exception))(?!\w|[.:(]\w)"
)
_CLOSERS = {"`": "`", '"': '"', "'": "'", "*": "*", "(": ")", "<": ">"}
_BEFORE_QUOTE = " \t\n,;:([{="
# Behind the full stop of a sentence the text goes on about something else.
_SENTENCE = re.compile(r"[.!?] [A-Z]")


class Embedded(NamedTuple):
    """An exception that a text names; ``quoted`` if marks show where its message ends."""

    exception: str
    module: str
    message: str
    quoted: bool = False


def embedded_exception(text: str) -> Embedded | None:
    """The first exception that ``text`` names after the beginning of a line, with its message; None
    if it names none, or is itself the line of an exception."""
    rest = text
    for _ in range(_MOST_LINES):
        found = _at_top(rest)
        rest = rest.partition("\n")[2]
        if found or not rest:
            return found
    return None


def _at_top(text: str) -> Embedded | None:
    """The exception that the first line names, after its beginning."""
    first = text.partition("\n")[0]
    start = _place(first)
    represented = _represented(text, start or len(first)) if "(" in first else None
    if start and not represented:
        named = exception_line(first[start:].lstrip("."))
        return _with_message(text, start, named) if named else None
    return represented or _bare(first)


def _place(first: str) -> int:
    """Find the start of the name in ``...SomeError: text``; 0 if there is none."""
    ends = [at + len(tail) - 2 for tail in _TAILS if (at := first.find(tail)) >= 0]
    if not ends:
        return 0
    end = start = min(ends)
    while start > 0 and end - start < _LONGEST_NAME and _in_name(first[start - 1]):
        start -= 1
    return start


def _with_message(text: str, start: int, named: ExceptionLine) -> Embedded:
    """The exception whose name begins at ``start``, with its message."""
    first, _, rest = text.partition("\n")
    at = first.find(": ", start) + 2
    closer = _CLOSERS.get(first[start - 1])
    if closer:
        end = _closing(text, at, first[start - 1], closer)
        if end >= 0:
            return Embedded(named.exception, named.module, text[at:end].strip(), True)
    message = named.message
    if _SENTENCE.search(first[:start]) or message.endswith(("..", "}.")):
        message = _without_stop(message)
    elif rest:
        message = f"{message}\n{rest}".rstrip()
    return Embedded(named.exception, named.module, message)


def _closing(text: str, at: int, opener: str, closer: str) -> int:
    """Find the end of the quotation that was opened before ``at``; -1 if it does not end. A mark
    between letters is an apostrophe; one before a word opens another quotation."""
    depth = 0
    for found in re.finditer(f"[{re.escape(opener + closer)}]", text[at : at + _LONGEST_LITERAL]):
        place = at + found.start()
        before, after = text[place - 1], text[place + 1 : place + 2] or " "
        if before.isalnum() and after.isalnum():
            continue
        if (text[place] == opener) and before in _BEFORE_QUOTE and not after.isspace():
            depth += 1
        elif depth:
            depth -= 1
        else:
            return place
    return -1


def _represented(text: str, end: int) -> Embedded | None:
    """The exception in ``SomeError('text')`` before ``end``; not one that a line of source
    raises."""
    for found in _REPR.finditer(text, 0, min(end, _LONGEST_LITERAL)):
        if text[: found.start()].endswith(("raise ", "return ", "f(", "= ")):
            continue
        message = _literal(text, found.end())
        module, _, name = found[1].rpartition(".")
        if message is not None and exception_line(f"{name}: x"):
            return Embedded(name, module, message.strip())
    return None


def _literal(text: str, start: int) -> str | None:
    """The text of the string literal at ``start``, if a call ends or continues after it."""
    quote, at = text[start], start + 1
    while at < len(text) and text[at] != quote:
        at += 2 if text[at] == "\\" else 1
    if text[at + 1 : at + 2] not in (")", ","):
        return None
    try:
        value = ast.literal_eval(text[start : at + 1])
    except (ValueError, SyntaxError):
        return None
    return value if isinstance(value, str) else None


def _bare(first: str) -> Embedded | None:
    """A class without a message: `step 3 failed: TimeoutError`."""
    found = _BARE.search(first[: 4 * _LONGEST_NAME])
    if found is None or sum(map(str.isupper, found[1].rpartition(".")[2])) < 2:
        return None
    module, _, name = found[1].rpartition(".")
    return Embedded(name, module, "")


def _without_stop(text: str) -> str:
    """A message without the full stop of the sentence that quoted it."""
    quoted = text.endswith(("..", "}.", ").")) and not text.endswith("...")
    return text[:-1] if quoted else text


def _in_name(char: str) -> bool:
    return char.isalnum() or char in "._"


# `tinker.lib.x.RetryableException: text`, `TimeoutError`, `__main__.f.<locals>.Odd: text`
# and `ray.exceptions.RayTaskError(ValueError): text`
_NAMED = re.compile(
    r"((?:(?:[A-Za-z_]\w*|<locals>)\.)*)([A-Za-z_]\w*)(?:\(\w{1,80}\))?(?::(?=\s|\Z)|\s*\Z)"
)
_SUFFIXES = ("Error", "Exception", "Warning", "Interrupt", "Exit", "Timeout", "Cancelled",
             "Expired", "Failure", "Fault", "ExceptionGroup", "StopIteration")  # fmt: skip
_WHOLE_NAMES = ("Exception", "ExceptionGroup", "StopIteration")


class ExceptionLine(NamedTuple):
    """A class name and the first line of its message; ``module`` is "" for builtins.

    ``skipped`` is the width of the text before the message.
    """

    exception: str
    module: str
    message: str
    skipped: int


def exception_line(text: str, *, strict: bool = True) -> ExceptionLine | None:
    """The exception that a line names, or None.

    Strict, for lines outside of tracebacks, the class name must end like one (``...Error``) or
    have a module.
    """
    named = _NAMED.match(text[:_LONGEST_NAME])
    if named is None:
        return None
    name, module = named[2], named[1].removesuffix(".").removesuffix(".<locals>")
    message = text[named.end() :].strip()
    if strict and not (_ends_like_one(name, module) or _is_qualified(name, module, message)):
        return None
    return ExceptionLine(name, module, message, named.end() + 1)


def _ends_like_one(name: str, module: str) -> bool:
    # `Error: text` alone is how commands begin a message, not a class.
    known = module or name in _WHOLE_NAMES or name not in _SUFFIXES
    return name.endswith(_SUFFIXES) and bool(known)


def _is_qualified(name: str, module: str, message: str) -> bool:
    """`pyarrow.lib.ArrowInvalid: text`"""
    camel = name[0].isupper() and name != name.upper()
    return bool(module and message) and module.islower() and camel


class WarningLine(NamedTuple):
    """A line of Python's warnings module."""

    category: str
    message: str
    file: str
    line: int


def warning_line(text: str) -> WarningLine | None:
    """The warning in ``path.py:12: FutureWarning: text``, or None."""
    end = text.find("Warning: ", 0, 2 * _LONGEST_NAME)
    if end < 0:
        return None
    place, colon, category = text[: end + len("Warning")].rpartition(": ")
    file, _, digits = place.rpartition(":")
    if not (colon and file and category.isidentifier() and digits.isascii() and digits.isdigit()):
        return None
    if len(digits) > 9:
        return None
    return WarningLine(category, text[end + len("Warning: ") :].strip(), file.strip(), int(digits))
