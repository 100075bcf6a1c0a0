"""Faults in a regular expression: anchors, alternatives and pieces of text dropped."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...engine.inference.operators import compile_re2

_TOKEN = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?[a-zA-Z-]+\)|\((?:\?[^()]*?[:>])?|[)|^$]|.", re.S
)
_ANCHORS = ("^", "$", r"\b", r"\A", r"\z")
_TEMPLATE, _GAP, _SPACE = "(?s)", ".*?", r"\s+"


def pattern_faults(pattern: str) -> Iterator[tuple[str, str, bool]]:
    """(what is dropped, the pattern without it, whether more texts match)."""
    for what, new, looser in (*_pieces(pattern), *_anchors(pattern), *_alternatives(pattern)):
        try:
            compile_re2(new)
        except ValueError:
            continue
        yield what, new, looser


def _pieces(pattern: str) -> Iterator[tuple[str, str, bool]]:
    """The fixed texts of a compiled template, or the words at its ends if it has just one."""
    if not pattern.startswith(_TEMPLATE):
        return
    gap = _GAP if _GAP in pattern else _SPACE
    pieces = pattern.removeprefix(_TEMPLATE).split(gap)
    fixed = [n for n, piece in enumerate(pieces) if piece]
    if gap == _SPACE:
        fixed = [fixed[0], fixed[-1]] if len(fixed) > 2 else []
    for n in fixed if len(fixed) > 1 else ():
        said = re.sub(r"\\(.)", r"\1", pieces[n].replace(_SPACE, " "))
        left = pieces[:n] + ([""] if gap == _GAP else []) + pieces[n + 1 :]
        yield f"the text {said!r}", _TEMPLATE + gap.join(left), True


def _anchors(pattern: str) -> Iterator[tuple[str, str, bool]]:
    for found in _TOKEN.finditer(pattern):
        token, left = found.group(), pattern[: found.start()] + pattern[found.end() :]
        if token in _ANCHORS:
            yield f"the anchor {token} at {found.start() + 1}", left, True
        elif token.startswith("(?") and token.endswith(")") and "i" in token:
            yield token, left, False


def _alternatives(pattern: str) -> Iterator[tuple[str, str, bool]]:
    """Each alternative of each group that has several, with its bar."""
    for begin, end, first in _spans(pattern):
        text = pattern[begin:end]
        said = text if len(text) <= 60 else text[:57] + "..."
        left = pattern[:begin] + pattern[end + 1 :]
        if not first:
            left = pattern[: begin - 1] + pattern[end:]
        yield f"the alternative {said!r}", left, False


def _spans(pattern: str) -> Iterator[tuple[int, int, bool]]:
    """(begin, end, whether it is the first of its group) of each alternative."""
    stack: list[list[int]] = [[0]]
    tokens = [(found.start(), found.group()) for found in _TOKEN.finditer(pattern)]
    for start, token in (*tokens, (len(pattern), "")):
        if token.startswith("(") and not token.endswith(")"):
            stack.append([start + len(token)])
        elif token == "|":
            stack[-1].append(start + 1)
        elif not token or (token == ")" and len(stack) > 1):
            begins = stack.pop()
            ends = [*(begin - 1 for begin in begins[1:]), start]
            if len(begins) > 1:
                yield from ((b, end, b == begins[0]) for b, end in zip(begins, ends, strict=True))
