"""Rows of Python that fit the screen: long ones are broken where Python reads them as the same."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ....facts.records import NamedTuple, lazy
from ..layout import STRING, balanced

ROOM = 76
"""Columns of code below a verdict."""
_HEADER = lazy(r"((?:if|for|while|with) .{1,300}?): (\S.*)")


class _Group(NamedTuple):
    """The text in outermost parentheses."""

    begin: str
    inside: str
    end: str


def statements(row: str) -> list[str]:
    """A row of Python; one that is too long by its statements, and those inside their outermost
    parentheses. If that would change the meaning, the row is kept."""
    if len(row) <= ROOM:
        return [row]
    code, comment, said = row.partition("  # ")
    if comment:
        return [f"# {said}", *statements(code)]
    parts = code.split("; ")
    parts = parts if all(balanced(part) for part in parts) else [code]
    lines = [line for part in parts for line in _block(part)]
    return lines if len(lines) == 1 or _same(code, "\n".join(lines)) else [row]


def _block(row: str) -> list[str]:
    header = _HEADER.fullmatch(row)
    if len(row) > ROOM and header and balanced(header[1]):
        return [*_call(f"{header[1]}:"), *(f"    {line}" for line in _call(header[2]))]
    return _call(row)


def _call(row: str) -> list[str]:
    if len(row) <= ROOM:
        return [row]
    groups = [group for group in _groups(row) if len(group.begin) < ROOM]
    filled = [group for group in groups if group.inside]
    for begin, inside, end in (filled or groups)[-1:]:
        lines = _arguments(inside)
        is_call = bool(re.search(r"[\w\]]$", begin)) and " for " not in inside
        comma = "," if is_call else ""
        return [f"{begin}(", *(f"    {line}{comma}" for line in lines if line), f"){end}"]
    return [row]


def _arguments(inside: str) -> list[str]:
    lines = [""]
    for argument in inside.split(", "):
        joined = f"{lines[-1]}, {argument}" if lines[-1] else argument
        if len(joined) + 5 > ROOM and balanced(lines[-1]):
            lines.append(argument)
        else:
            lines[-1] = joined
    return lines


def _groups(row: str) -> Iterator[_Group]:
    bare = STRING.sub(lambda found: "_" * len(found[0]), row)
    depth, begin = 0, 0
    for place, char in enumerate(bare):
        if char in "([{":
            depth += 1
            begin = place if depth == 1 else begin
        elif char in ")]}":
            depth -= 1
            if not depth and char == ")" and bare[begin] == "(":
                yield _Group(row[:begin], row[begin + 1 : place], row[place + 1 :])


def _same(one: str, other: str) -> bool:
    """Whether Python reads both as the same; what it does not read at all is taken as it is."""
    import ast

    try:
        return ast.dump(ast.parse(one)) == ast.dump(ast.parse(other))
    except SyntaxError:
        return False
