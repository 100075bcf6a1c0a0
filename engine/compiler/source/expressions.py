"""Regular expressions of the knowledge: whether RE2 accepts one, and which texts its matches
contain.

Each expression is analysed once in a run. A cache carries the results to the next one with
:func:`results` and :func:`remember`, since compiling unchanged expressions is a fourth of the work
after an edit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ....facts.required_text import required_text, required_texts
from ...inference.operators import compile_re2


class Expression(NamedTuple):
    """``problem`` is RE2's reason to refuse the expression, or empty. Each match contains ``text``,
    and one of ``texts``; these are only worked out where there is no single text."""

    problem: str
    text: str
    texts: tuple[str, ...]


_remembered: dict[str, Expression] = {}
_results: dict[str, Expression] = {}


def analysed(pattern: str) -> Expression:
    """The analysis of an expression."""
    found = _results.get(pattern)
    if found is None:
        _results[pattern] = found = _remembered.get(pattern) or _analyse(pattern)
    return found


def results() -> Mapping[str, Expression]:
    """The analyses of this run, by expression."""
    return _results


def remember(results: Mapping[str, Expression]) -> None:
    """Take over the analyses of an earlier run."""
    _remembered.update(results)


def _analyse(pattern: str) -> Expression:
    try:
        compile_re2(pattern)
    except ValueError as error:
        return Expression(str(error), "", ())
    text = required_text(pattern)
    return Expression("", text, () if text else required_texts(pattern))
