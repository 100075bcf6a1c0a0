"""Checks the owners of rows: undeclared owners, and wording that is not a row's own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from ...engine.compiler.source.error_rows import ErrorMatch, template_pattern
from ...engine.compiler.source.knowledge_source import Item
from ...facts import Problem
from ...facts.problems import did_you_mean
from .lint_context import Subject

MIN_LITERALS = 12
"""Fixed characters below which a text may well be somebody else's, too."""
_COMMON = ("error code: ", "connection error", "request timed out", "out of memory", "status code")

_parser: Any = re._parser  # type: ignore[attr-defined]
_constants: Any = re._constants  # type: ignore[attr-defined]
_REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT)


def owner_problems(subject: Subject) -> Iterator[Problem]:
    """Problems of the owners and the wording of all rows."""
    known = subject.vocabulary.owners
    for item in subject.forms["error"]:
        for field in ("owners", "via"):
            for index, name in enumerate(getattr(item.entry.emitter, field)):
                if name not in known:
                    message = f"{item.id}: the owner {name!r} is not declared"
                    hint = did_you_mean(name, known) or "declare it under 'owners' of a vocabulary"
                    yield Problem("MM298", message, item.where("emitter", field, index), hint)
        if item.entry.emitter.wording == "own" and _is_common(item):
            message = f"the wording of {item.id} is that of many: {_shown(item.entry.match)!r}"
            hint = "say 'emitter: {wording: common}', or fix more words of the message"
            yield Problem("MM299", message, item.where("match"), hint)


def _is_common(item: Item) -> bool:
    """Whether a text in a few words, without a class of its own, is all that a row asks for."""
    match: ErrorMatch = item.entry.match
    pattern = match.pattern or (template_pattern(match.template) if match.template else "")
    if not pattern:
        return False
    words = pattern.replace("\\", "").lower()
    usual = max((len(each) for each in _COMMON if each in words), default=0)
    return fewest_literals(pattern) - usual < MIN_LITERALS


def _shown(match: ErrorMatch) -> str:
    text = match.template or match.pattern
    return text if len(text) <= 60 else text[:57] + "..."


def fewest_literals(pattern: str) -> int:
    """How many fixed characters the shortest match has; many for a pattern that is not parsed."""
    try:
        return _fewest(_parser.parse(pattern))
    except (re.error, RecursionError, OverflowError):
        return MIN_LITERALS


def _fewest(parsed: Iterable[Any]) -> int:
    count = 0
    for op, argument in parsed:
        if op is _constants.LITERAL:
            count += 1
        elif op in _REPEATS and argument[0] > 0 and _is_space(argument[2]):
            count += 1
        elif op is _constants.SUBPATTERN:
            count += _fewest(argument[-1])
        elif op is _constants.BRANCH:
            count += min(map(_fewest, argument[1]))
        elif op in _REPEATS and argument[0] > 0:
            count += _fewest(argument[2])
    return count


def _is_space(parsed: Iterable[Any]) -> bool:
    return list(parsed) == [(_constants.IN, [(_constants.CATEGORY, _constants.CATEGORY_SPACE)])]
