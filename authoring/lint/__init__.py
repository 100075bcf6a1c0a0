"""Lint: finds faults in knowledge that compiles. Reports all problems in one run, each with its
place."""

from __future__ import annotations

from collections.abc import Callable

from ...engine.compiler.build import Built
from ...engine.compiler.source.follow_ups import ordered, without_follow_ups
from ...facts import Problem
from ..port_hypotheses import hypothesis_problems
from .askable import question_problems
from .bands import band_problems
from .cases import case_problems
from .error_rows import error_problems
from .firing import firing_problems, version_problems
from .lexicon import lexicon_problems
from .lint_context import Decode, Subject, Wanted
from .messages import message_problems
from .relations import relation_problems
from .row_owners import owner_problems
from .row_words import row_word_problems
from .single_entries import entry_problems
from .steps import step_problems
from .thresholds import threshold_problems
from .trees import tree_problems
from .unknown_answers import unknown_answer_problems

__all__ = ["CHECKS", "lint"]

Run = Callable[[str, Callable[[], list[Problem]]], list[Problem]]
"""Is given each check with its name, and runs it or gives nothing."""
CHECKS = (
    entry_problems,
    message_problems,
    tree_problems,
    unknown_answer_problems,
    band_problems,
    error_problems,
    owner_problems,
    row_word_problems,
    threshold_problems,
    firing_problems,
    relation_problems,
    case_problems,
    lexicon_problems,
    question_problems,
    hypothesis_problems,
    version_problems,
    step_problems,
)


def lint(
    built: Built,
    decode: Decode | None = None,
    run: Run = lambda name, check: check(),
    wanted: Wanted = lambda path: True,
) -> list[Problem]:
    """All problems of a knowledge base, by place: those of compiling, and those found here.
    ``decode`` turns a text into facts; without it samples of error rows are not tried. ``run``
    runs the checks. Only problems in files whose path is ``wanted`` are returned."""
    subject = Subject(built, decode, wanted)
    problems = list(built.problems)
    for check in CHECKS:
        problems += run(check.__name__.replace("_", " "), lambda: list(check(subject)))  # noqa: B023
    problems = ordered(without_follow_ups(problems, built.source.lost))
    unfinished = {p.where for p in problems if p.code == "MM289"}
    return [
        p
        for p in problems
        if (p.code == "MM289" or p.where not in unfinished)
        and (not p.where or wanted(p.where.path))
    ]
