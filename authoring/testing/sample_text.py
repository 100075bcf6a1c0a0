"""Plain texts that a regular expression matches."""

from __future__ import annotations

import re
import warnings
from functools import lru_cache
from typing import Any

_CLASSES = {
    "CATEGORY_DIGIT": "7",
    "CATEGORY_WORD": "x",
    "CATEGORY_SPACE": " ",
    "CATEGORY_NOT_SPACE": "x",
    "CATEGORY_NOT_DIGIT": "x",
    "CATEGORY_NOT_WORD": " ",
}
_PRINTABLE = "xa7 A_-.,:/'\"()[]{}=<>"


@lru_cache(maxsize=4096)
def sample_texts(pattern: str) -> tuple[str, ...]:
    """The simplest texts that match: one, and one for each other alternative of the pattern; none
    if the pattern is too complex."""
    from re import _parser as parser  # type: ignore[attr-defined]

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parsed = parser.parse(pattern.replace(r"\z", r"\Z"))
        first = _Writer(None, 0)
        texts = [first.text(parsed)]
        for branch, count in enumerate(first.branches):
            texts += [_Writer(branch, choice).text(parsed) for choice in range(1, count)]
    except (re.error, KeyError, RecursionError, NotImplementedError):
        return ()
    return tuple(dict.fromkeys(texts))


class _Writer:
    """Writes a text, with another than the first alternative of one branch."""

    def __init__(self, branch: int | None, choice: int) -> None:
        self._wanted = branch, choice
        self.branches: list[int] = []

    def text(self, parts: Any) -> str:
        """The text of a sequence of parts."""
        return "".join(self._part(str(name), argument) for name, argument in parts)

    def _part(self, name: str, argument: Any) -> str:
        if name == "LITERAL":
            return chr(argument)
        if name == "NOT_LITERAL":
            return next(c for c in _PRINTABLE if ord(c) != argument)
        if name == "ANY":
            return "x"
        if name == "IN":
            return _one_of(argument)
        if name == "BRANCH":
            return self._branch(argument[1])
        if name == "SUBPATTERN":
            return self.text(argument[-1])
        if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            low, _, inner = argument
            return self._repeated(int(low), inner)
        if name == "AT":
            return ""
        raise NotImplementedError(name)

    def _branch(self, alternatives: Any) -> str:
        self.branches.append(len(alternatives))
        branch, choice = self._wanted
        return self.text(alternatives[choice if branch == len(self.branches) - 1 else 0])

    def _repeated(self, low: int, inner: Any) -> str:
        written = len(self.branches)
        text = self.text(inner)
        chosen = self._wanted[0] is not None and written <= self._wanted[0] < len(self.branches)
        return text * max(low, int(chosen))


def _one_of(choices: Any) -> str:
    negated = str(choices[0][0]) == "NEGATE"
    if not negated:
        kind, argument = choices[0]
        if str(kind) == "LITERAL":
            return chr(argument)
        return chr(argument[0]) if str(kind) == "RANGE" else _CLASSES[str(argument)]
    excluded = {chr(a) for kind, a in choices[1:] if str(kind) == "LITERAL"}
    spans = [a for kind, a in choices[1:] if str(kind) == "RANGE"]
    categories = {str(a) for kind, a in choices[1:] if str(kind) == "CATEGORY"}
    for c in _PRINTABLE:
        taken = c in excluded or any(low <= ord(c) <= high for low, high in spans)
        spaced = "CATEGORY_SPACE" in categories and c.isspace()
        worded = "CATEGORY_WORD" in categories and (c.isalnum() or c == "_")
        if not (taken or spaced or worded or ("CATEGORY_DIGIT" in categories and c.isdigit())):
            return c
    raise NotImplementedError("a class of rare characters")
