"""Rows that name what their pattern leaves open: another message of the same form gets it too."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...engine.compiler.source import entries as e
from ...engine.compiler.source.error_rows import template_pattern
from ...engine.inference.operators import compile_re2
from ...facts import Problem
from .lint_context import Subject

_IDENTIFIER = re.compile(r"(?<![\w-])(?:--[a-z][\w-]+|[A-Za-z]\w*_\w+|[A-Z][a-z]+[A-Z]\w+)(?!\w)")
"""Names of options, arguments and classes; plain words may occur in any message."""


def row_word_problems(subject: Subject) -> Iterator[Problem]:
    """Names in the texts of a row that come from parts of its samples where its pattern matches
    anything."""
    for item in filter(subject.wants, subject.forms["error"]):
        row: e.ErrorEntry = item.entry
        fixed = row.match.pattern or row.match.template
        names = dict.fromkeys(_IDENTIFIER.findall(f"{row.title} {row.meaning} {row.fix}"))
        asked = fixed.replace("\\", "").lower()
        left_open = [name for name in names if name.lower() not in asked]
        if not fixed or not left_open:
            continue
        matched = list(_matched(row))
        for name in left_open:
            if any(re.search(rf"\b{re.escape(name)}\b", text) for text in matched):
                message = f"{item.id} mentions {name}, but its match leaves this open"
                hint = "match the name, or use only words that fit every such message"
                yield Problem("MM297", message, item.where("match"), hint)
                break


def _matched(row: e.ErrorEntry) -> Iterator[str]:
    """The part of each sample that the pattern matches."""
    try:
        pattern = compile_re2(row.match.pattern or template_pattern(row.match.template))
    except ValueError:
        return  # the compiler has reported it
    for sample in row.samples:
        for text in (sample, sample.partition(": ")[2]):
            if found := pattern.search(text):
                yield found.group(0)
                break
