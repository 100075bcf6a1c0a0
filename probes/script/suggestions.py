"""Changes that fix a finding, if the table of the API holds one, and fingerprints that identify a
finding when its line has moved; and comments that accept a finding, such as ``# modelmedic:
ignore[pattern-or-diagnosis] reason``."""

from __future__ import annotations

import ast
import hashlib
import io
import re
import tokenize
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

from ...facts.problems import Location, Problem
from ...reading.python.nodes import constant
from ...reading.python.parsing import UNPARSABLE, parse_text
from ...reading.python.sources import Source, Span
from .api_table import table
from .findings import Finding, Script

_MARK = "modelmedic:"
_COMMENT = re.compile(r"#\s*modelmedic:\s*(.{0,500})")
_IGNORE = re.compile(r"ignore\[([\w.\-]{1,120}(?:\s*,\s*[\w.\-]{1,120}){0,9})\]\s*(.*)\Z")
MAX_COMMENTS = 200


class Ignored(NamedTuple):
    """An id that a comment accepts, for the code in a line of the source (from 1)."""

    id: str
    line: int
    reason: str


def ignored(source: Source) -> tuple[list[Ignored], list[Problem]]:
    """Read the comments that accept findings. A comment at the end of a line applies to this line,
    a comment on a line of its own to the next line of code. A comment that is malformed or gives no
    reason is a problem (MM469)."""
    found: list[Ignored] = []
    problems: list[Problem] = []
    if not any(_MARK in line for line in source.lines):
        return found, problems
    for number, text in _comments(source):
        said = _IGNORE.match(text)
        if said and said[2].strip():
            line = _line_of(source, number)
            found += [Ignored(name.strip(), line, said[2].strip()) for name in said[1].split(",")]
            continue
        place = source.places[number - 1]
        where = f"{source.name}:cell {place.cell}" if place.cell else source.name
        message = "this comment accepts nothing: " + (
            "it gives no reason" if said else "it is not of the form ignore[id] reason"
        )
        hint = "write # modelmedic: ignore[pattern-or-diagnosis] why this is right here"
        problems.append(Problem("MM469", message, Location(where, place.line), hint))
    return found, problems


def _comments(source: Source) -> Iterator[tuple[int, str]]:
    """The line of each comment of ours, and its text."""
    seen = 0
    reader = io.StringIO("\n".join(source.lines) + "\n").readline
    try:
        for token in tokenize.generate_tokens(reader):
            mark = _COMMENT.match(token.string) if token.type == tokenize.COMMENT else None
            if mark and seen < MAX_COMMENTS:
                seen += 1
                yield token.start[0], mark[1].strip()
    except (tokenize.TokenError, SyntaxError, RecursionError):
        return  # the part after it is not read as code either


def _line_of(source: Source, number: int) -> int:
    """The line of code that a comment applies to."""
    if not source.lines[number - 1].lstrip().startswith("#"):
        return number
    for at in range(number, len(source.lines)):
        text = source.lines[at].strip()
        if text and not text.startswith("#"):
            return at + 1
    return number


_SPACE = re.compile(r"\s+")


class Edit(NamedTuple):
    """New text for a range of a file."""

    span: Span
    text: str


def fingerprint(pattern: str, file: str, snippet: str) -> str:
    """A fingerprint that is the same for the same code, independent of its line and indentation."""
    known = "\0".join((pattern, file, _SPACE.sub(" ", snippet)))
    return hashlib.sha256(known.encode("utf-8", "replace")).hexdigest()[:12]


def suggestion(script: Script, source: Source, finding: Finding) -> str:
    """The change that mends a finding, as the vocabulary writes it; an empty text if none does
    by itself. The JSON of a notebook is not edited."""
    wanted = _wanted().get(finding.pattern)
    if wanted is None or finding.node is None or source.places[0].cell:
        return ""
    ((name, value),) = wanted.items()
    edit = _EDITS[name](script, source, finding.node, value)
    module = script.module_of(finding.node)
    if edit is None or not _is_valid(source, module.tree if module.whole else None, edit):
        return ""
    return f"{edit.span} {edit.text}"


def _is_valid(source: Source, whole: ast.Module | None, edit: Edit) -> bool:
    """Whether the file is still valid Python after an edit: brackets around an argument, for
    example, are not part of its range. If the file was parsed as a whole, only the statements
    around are checked."""
    lines, span = list(source.lines), edit.span
    head = lines[span.line - 1][: span.column - 1]
    tail = lines[span.end_line - 1][span.end_column - 1 :]
    first, last = _around(whole, span) if whole is not None else (1, len(lines))
    text = [
        *lines[first - 1 : span.line - 1],
        head + edit.text + tail,
        *lines[span.end_line : last],
    ]
    try:
        parse_text("\n".join(text))
    except UNPARSABLE:
        return False
    return True


def _around(whole: ast.Module, span: Span) -> tuple[int, int]:
    """The first and the last line of the statements of a module that share lines with a range,
    directly or through one another."""
    first, last = span.line, span.end_line
    parts = [_lines_of(each) for each in whole.body]
    for start, end in reversed(parts):
        if start <= last and end >= first:
            first = min(first, start)
    for start, end in parts:
        if start <= last and end >= first:
            last = max(last, end)
    return first, last


def _lines_of(statement: ast.stmt) -> tuple[int, int]:
    decorated = (each.lineno for each in getattr(statement, "decorator_list", ()))
    return min(statement.lineno, *decorated, statement.lineno), statement.end_lineno or 0


@cache
def _wanted() -> dict[str, dict[str, Any]]:
    return {row["pattern"]: row["suggestion"] for row in table() if "suggestion" in row}


def _rename_keyword(
    script: Script, source: Source, node: ast.AST, names: dict[str, str]
) -> Edit | None:
    given = _keywords(node)
    old = next((k for k in given if k.arg in names), None)
    if old is None or names[str(old.arg)] in {k.arg for k in given}:
        return None
    span = source.span(old)
    return span and Edit(_first(span, str(old.arg)), names[str(old.arg)])


def _drop_keyword(script: Script, source: Source, node: ast.AST, names: list[str]) -> Edit | None:
    """One keyword with its comma. If several are there, none: edits must not overlap."""
    assert isinstance(node, ast.Call)
    given = _arguments(node)
    gone = [k for k in node.keywords if k.arg in names]
    if len(gone) != 1:
        return None
    at = given.index(gone[0])
    dropped = source.span(gone[0])
    behind = source.span(given[at + 1]) if at + 1 < len(given) else None
    before = source.span(given[at - 1]) if at else None
    if dropped is None:
        return None
    if behind is not None:
        span = Span(dropped.line, dropped.column, behind.line, behind.column)
    elif before is not None:
        span = Span(before.end_line, before.end_column, dropped.end_line, dropped.end_column)
    else:
        span = dropped
    return Edit(span, "") if _is_plain(source, span) else None


def _add_keyword(script: Script, source: Source, node: ast.AST, text: str) -> Edit | None:
    assert isinstance(node, ast.Call)
    given = _arguments(node)
    last = source.span(given[-1]) if given else None
    return last and Edit(_behind(last), f", {text}")


def _rename_attribute(
    script: Script, source: Source, node: ast.AST, names: dict[str, str]
) -> Edit | None:
    if not (isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)):
        return None
    span = source.span(node)
    return span and Edit(_last(span, node.attr), names[node.attr])


def _rename_name(
    script: Script, source: Source, node: ast.AST, names: dict[str, str]
) -> Edit | None:
    if isinstance(node, ast.ImportFrom):
        named = (a for a in node.names if a.name in names)
        alias = next(named, None)
        if alias is None:
            return None
        span = source.span(alias)
        return span and Edit(_first(span, alias.name), names[alias.name])
    span = source.span(node)
    old = getattr(node, "attr", "") or getattr(node, "id", "")
    return span and Edit(_last(span, old), names[old]) if old in names else None


def _rename_key(
    script: Script, source: Source, node: ast.AST, names: dict[str, str]
) -> Edit | None:
    if not isinstance(node, ast.Dict):
        return _rename_keyword(script, source, node, names)
    keys = {constant(key): key for key in node.keys if key is not None}
    old = next((name for name in names if name in keys), None)
    if old is None or names[old] in keys:
        return None
    span = source.span(keys[old])
    if span is None or source.lines[keys[old].lineno - 1][span.column - 1] not in "'\"":
        return None
    quote = source.lines[keys[old].lineno - 1][span.column - 1]
    return Edit(span, f"{quote}{names[old]}{quote}")


def _wait(script: Script, source: Source, node: ast.AST, _: bool) -> Edit | None:
    """``.result()`` after a future. Async code awaits instead, which may need brackets."""
    future = getattr(node, "value", None)
    if isinstance(script.function_of(node), ast.AsyncFunctionDef):
        return None
    if not isinstance(future, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)):
        return None
    span = source.span(future)
    return span and Edit(_behind(span), ".result()")


def _drop_suffix(script: Script, source: Source, node: ast.AST, suffix: str) -> Edit | None:
    """Remove the suffix of the method whose coroutine is asked for its result."""
    call = getattr(node, "value", None)
    method = call.func if isinstance(call, ast.Call) else None
    if not (isinstance(method, ast.Attribute) and method.attr.endswith(suffix)):
        return None
    span = source.span(method)
    return span and Edit(_last(span, method.attr), method.attr.removesuffix(suffix))


_EDITS: dict[str, Callable[[Script, Source, ast.AST, Any], Edit | None]] = {
    "rename_keyword": _rename_keyword,
    "drop_keyword": _drop_keyword,
    "add_keyword": _add_keyword,
    "rename_attribute": _rename_attribute,
    "rename_name": _rename_name,
    "rename_key": _rename_key,
    "wait": _wait,
    "drop_suffix": _drop_suffix,
}


def _arguments(call: ast.Call) -> list[ast.expr | ast.keyword]:
    """The arguments of a call, in the order of the text."""
    given: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    return sorted(given, key=lambda each: (each.lineno, each.col_offset))


def _keywords(node: ast.AST) -> list[ast.keyword]:
    return node.keywords if isinstance(node, ast.Call) else []


def _first(span: Span, text: str) -> Span:
    return Span(span.line, span.column, span.line, span.column + len(text))


def _last(span: Span, text: str) -> Span:
    return Span(span.end_line, span.end_column - len(text), span.end_line, span.end_column)


def _behind(span: Span) -> Span:
    return Span(span.end_line, span.end_column, span.end_line, span.end_column)


def _is_plain(source: Source, span: Span) -> bool:
    """Whether a range to be removed holds no comment."""
    return not any("#" in line for line in source.lines[span.line - 1 : span.end_line])
