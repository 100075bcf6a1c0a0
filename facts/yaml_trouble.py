"""Says where a text stops being YAML: the place of the cause, not where the reader gave up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

_QUOTES = ("'", '"')
_DEPTH = 100
_OPENING = (yaml.FlowSequenceStartToken, yaml.FlowMappingStartToken)
_CLOSING = (yaml.FlowSequenceEndToken, yaml.FlowMappingEndToken)


class Trouble(NamedTuple):
    """A problem, its place (lines and columns count from 1; 0: not known), and the remedy."""

    message: str
    line: int
    column: int
    hint: str


def trouble_of(error: yaml.MarkedYAMLError, text: str) -> Trouble:
    """Explain an error of the reader. ``text`` is its input."""
    mark = error.problem_mark
    line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
    reason = " ".join(filter(None, (error.context, error.problem)))
    opened = _open_quote(error, text, line)
    if opened is not None:
        message = f"a text in quotes begins here and runs on to line {line}"
        hint = f"close the quote where the text ends (the reader gave up at {line}:{column})"
        return Trouble(message, opened.line + 1, opened.column + 1, hint)
    found = "".join(text.split("\n")[line - 1 : line])[: column or None] if line else ""
    hint = _hint(error, reason, found)
    return Trouble(f"not readable as YAML: {reason}", line, column, hint)


def _hint(error: yaml.MarkedYAMLError, reason: str, found: str) -> str:
    """Advice on an error; ``found`` is its line up to where the reader gave up."""
    if "\t" in found and not found.strip():
        return "indent with spaces, not with tabs"
    if found.endswith(("@", "`", "%")):
        return f"put a text that begins with {found[-1]!r} into quotes"
    if "mapping values are not allowed" in reason:
        return 'put a text that holds ": " into quotes; else look at the indentation'
    context = error.context_mark
    if context is not None and "flow" in reason:
        return f"close the bracket that opens at {context.line + 1}:{context.column + 1}"
    if "block" in reason:
        return "indent this line like its neighbours: its level is not open here"
    return "look at the indentation, the quotes and the brackets up to here"


def _open_quote(error: yaml.MarkedYAMLError, text: str, line: int) -> Any:
    """The start of a quoted text that includes following lines up to the error; None if no such
    text is to blame."""
    if error.context and "quoted scalar" in error.context and error.context_mark:
        unclosed = "end of stream" in str(error.problem)
        return error.context_mark if unclosed else None
    last: Any = None
    try:
        for token in _tokens(text):
            if isinstance(token, yaml.ScalarToken) and token.style in _QUOTES:
                last = token
    except yaml.YAMLError:
        pass
    if last is None or last.start_mark.line == last.end_mark.line:
        return None
    return last.start_mark if last.end_mark.line + 1 >= line else None


def _tokens(text: str) -> Iterator[Any]:
    """The tokens of the scanner, up to the point where brackets are nested so deep that it would
    take long: for each token it looks at all open ones."""
    depth = 0
    for token in yaml.scan(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        depth += isinstance(token, _OPENING) - isinstance(token, _CLOSING)
        if depth > _DEPTH:
            return
        yield token
