"""Whether a message can have come from a template, and with which values."""

from __future__ import annotations

from dataclasses import dataclass

from ..python.parts import Parts

MIN_LETTERS = 8
"""Constant text that a template needs to be recognised by its text alone."""
MIN_CUT = 20
"""Characters that a message needs, if it may have been cut."""
_ELLIPSES = ("...", "…", "[...]")


@dataclass(frozen=True, slots=True)
class Fit:
    """The fit of a message to a template. ``score`` counts the constant characters that it has;
    ``whole`` says that the template covers all of it, ``cut`` that its end is missing."""

    score: int
    values: tuple[tuple[str, str], ...]
    whole: bool
    cut: bool = False


def flat(text: str) -> str:
    """A text on one line: wrapping and indentation have no meaning."""
    return " ".join(text.split())


def fit(parts: Parts, text: str) -> Fit | None:
    """The fit of ``text`` (see :func:`flat`) to a template, None if it does not fit.

    Linear in the length of the text for each part of the template.
    """
    constants = [_flat_inside(parts[at], at > 0, at < len(parts) - 1)
                 for at in range(0, len(parts), 2)]  # fmt: skip
    if len(constants) == 1:
        return _constant(constants[0], text)
    return _filled(constants, parts[1::2], text)


def letters(parts: Parts) -> int:
    """How many letters of a template are constant."""
    return sum(char.isalpha() for part in parts[::2] for char in part)


def _flat_inside(part: str, after_value: bool, before_value: bool) -> str:
    """A constant text on one line; a space next to a value is kept as one space."""
    plain = flat(part)
    if not plain:
        return " " if part and after_value and before_value else ""
    start = " " if after_value and part[0].isspace() else ""
    return start + plain + (" " if before_value and part[-1].isspace() else "")


def _constant(wanted: str, text: str) -> Fit | None:
    if not wanted:
        return None
    if wanted in text:
        return Fit(len(wanted), (), len(wanted) == len(text))
    shown = _without_ellipsis(text)
    if len(shown) >= MIN_CUT and wanted.startswith(shown):
        return Fit(len(shown), (), False, cut=True)
    return None


def _filled(constants: list[str], names: tuple[str, ...], text: str) -> Fit | None:
    first, last = constants[0], constants[-1]
    start = text.find(first)
    if start < 0:
        shown = _without_ellipsis(text)
        if len(shown) >= MIN_CUT and first.startswith(shown):
            return Fit(len(shown), (), False, cut=True)
        return None
    at = start + len(first)
    score = len(first)
    values: list[tuple[str, str]] = []
    for number, (name, wanted) in enumerate(zip(names, constants[1:], strict=True)):
        is_last = number == len(names) - 1
        found = _next(text, wanted, at, is_last)
        if found < 0:
            return _ended(text, at, wanted, name, values, score)
        values.append((name, text[at:found].strip()))
        score += len(wanted)
        at = found + len(wanted)
    whole = start == 0 and at == len(text) and (bool(first) or bool(last))
    return Fit(score, tuple(values), whole)


def _next(text: str, wanted: str, at: int, is_last: bool) -> int:
    """Find the place of the next constant text. The last one is best at the end; an empty one there
    leaves the rest of the text to the value."""
    if is_last and (not wanted or text.endswith(wanted)) and len(text) - len(wanted) >= at:
        return len(text) - len(wanted)
    if not wanted:
        return at
    found = text.find(wanted, at)
    if found < 0 and is_last:
        return text.find(wanted.rstrip(), at) if wanted.rstrip() else -1
    return found


def _ended(
    text: str, at: int, wanted: str, name: str, values: list[tuple[str, str]], score: int
) -> Fit | None:
    """The fit of a text that breaks off before ``wanted`` or within it."""
    rest = _without_ellipsis(text[at:])
    if score < MIN_CUT:
        return None
    for size in range(min(len(wanted), len(rest)), 0, -1):
        if rest.endswith(wanted[:size]):
            value = rest[: len(rest) - size].strip()
            return Fit(score + size, (*values, (name, value)), False, cut=True)
    return None if score < 2 * MIN_CUT else Fit(score, tuple(values), False, cut=True)


def _without_ellipsis(text: str) -> str:
    for mark in _ELLIPSES:
        if text.endswith(mark):
            return text[: -len(mark)].rstrip()
    return text
