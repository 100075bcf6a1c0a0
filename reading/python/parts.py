"""Message templates as parts: constant texts and placeholders by turns."""

from __future__ import annotations

Parts = tuple[str, ...]
"""A message template: constant texts and placeholders by turns, a constant text first and last.
``f"no {name}!"`` is ``("no ", "name", "!")``. A placeholder may be "" where nothing names it."""


def template_text(parts: Parts) -> str:
    """``parts`` as one text with ``{name}`` for each placeholder."""
    return "".join("{" + part + "}" if at % 2 else part for at, part in enumerate(parts))


def join(*pieces: Parts) -> Parts:
    """The template of texts that follow each other."""
    joined = [""]
    for piece in pieces:
        joined[-1] += piece[0]
        joined += piece[1:]
    return tuple(joined)


def literal(text: str) -> Parts:
    """The template of a constant text."""
    return (text,)


def placeholder(name: str) -> Parts:
    """The template of a text that is not known beforehand."""
    return ("", name, "")


def has_words(parts: Parts) -> bool:
    """Whether a template has any constant text with letters."""
    return any(char.isalpha() for part in parts[::2] for char in part)
