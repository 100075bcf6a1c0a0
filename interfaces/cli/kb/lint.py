"""``diagnose kb lint``: all problems of the knowledge in one run."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from ....facts import ModelMedicError, Problem
from ... import output
from ...context import Context
from ...reports.layout import Line, counted
from ..candidates import codes, files
from ..options import LAYERS, command, formats
from .group import built_knowledge, decoder, kb, named_by, tell_interrupted

if TYPE_CHECKING:
    from ....engine.compiler.build import Built


@command(kb)
@click.argument("paths", nargs=-1, shell_complete=files)
@LAYERS
@formats("text", "json", "sarif", "github")
@click.option("--watch", is_flag=True, help="Keep running, and check again after every change.")
@click.option("--all", "everything", is_flag=True, help="Show every problem, not the first 30.")
@click.option("--explain", "code", metavar="CODE", shell_complete=codes,
              help="Explain a problem code.")  # fmt: skip
def lint(context: Context, paths: Sequence[str], watch: bool, code: str | None) -> int:
    """List all problems of the knowledge (in files whose path contains one of PATHS) as
    path:line:col. Exit code 3 if there are any."""
    if code is not None:
        explain_code(code)
        return output.OK
    if not watch:
        return _once(context, paths)
    from ....authoring.watching import changes

    for _ in changes(context.overlays):
        _once(context, paths)
        gc.collect()
    return output.OK


def explain_code(code: str) -> None:
    """Print what a problem code means. Raises :class:`ModelMedicError` for an unknown one."""
    from ....engine.compiler.source.problem_codes import problem_codes
    from ....facts.problems import did_you_mean, excerpt

    known = problem_codes()
    meaning = known.get(code.upper())
    if meaning is None:
        hint = did_you_mean(code.upper(), known) or "docs/lint.md lists the codes"
        message = f"there is no problem code {excerpt(code)} of the knowledge"
        raise ModelMedicError(Problem("MM303", message, None, hint))
    output.emit_text(
        [
            Line(meaning.title, mark=f"{meaning.code} ", style="error"),
            Line(meaning.why, 2),
            Line(meaning.fix, 2, mark="-> "),
        ]
    )


def _once(context: Context, paths: Sequence[str]) -> int:
    """Check once and report, including what prevents every other check."""
    count = 0
    left_out: list[str] = []
    try:
        built = built_knowledge(context.overlays)
        named = named_by(paths)
        problems = _found(built, named, left_out)
        count = sum(named(item.document.path) for item in built.source.items)
    except ModelMedicError as error:
        problems = list(error.problems)
    _emit(problems, count, context)
    if left_out:
        tell_interrupted(f"not looked for: {', '.join(left_out)}")
        return output.INTERRUPTED
    return output.BAD_KNOWLEDGE if problems else output.OK


def _found(built: Built, wanted: Callable[[str], bool], left_out: list[str]) -> list[Problem]:
    """The problems of compiled knowledge in the wanted files; which checks Ctrl-C left out."""
    from ....authoring.lint import CHECKS
    from ....authoring.lint import lint as find
    from ...waiting import watched

    def run(name: str, check: Callable[[], list[Problem]]) -> list[Problem]:
        with watch.part(name):
            problems = watch.attempt(check)
        if problems is None:
            left_out.append(name)
        step()
        return problems or []

    with watched() as watch, watch.part("", len(CHECKS)) as step:
        return find(built, decoder(built.vocabulary), run, wanted)


def _emit(problems: Sequence[Problem], count: int, context: Context) -> None:
    from . import lint_formats

    format_, overlays = context.format, context.overlays
    if format_ == "json":
        from ....engine.diagnosis.report import problems_plain

        output.emit_json({"schema": "modelmedic/lint/1", "problems": problems_plain(problems)})
    elif format_ == "sarif":
        output.emit_json(lint_formats.sarif(problems, overlays))
    elif format_ == "github":
        output.emit_text(lint_formats.github(problems, overlays))
    else:
        from ...reports.layout import first_problem_lines

        said = counted(len(problems), "problem")
        last = Line(f"{count} entries, {said}" if count else said)
        output.emit_text([*first_problem_lines(problems, context.everything), last])
