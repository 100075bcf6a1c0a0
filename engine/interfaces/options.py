"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from .fast_lane import ENGINES, FAIL_ON, FORMATS

Command = TypeVar("Command", bound=Callable[..., Any])

_FORMATS = click.Choice(FORMATS)
_ANSWER_FORMATS = click.Choice(("text", "json"))
FAIL_ON_CHOICE = click.Choice(FAIL_ON)
_ENGINES = click.Choice(ENGINES)


def common(command: Command) -> Command:
    """Options of every command that writes a report."""
    return _common(command, _FORMATS)


def common_answer(command: Command) -> Command:
    """Options of the commands whose answer is no report."""
    return _common(command, _ANSWER_FORMATS)


def _common(command: Command, formats: click.Choice[str]) -> Command:
    for option in (
        click.option("--kb", "overlays", multiple=True, metavar="DIR", help="Add knowledge."),
        click.option("--engine", type=_ENGINES, default="auto", help="Inference backend."),
        click.option("--format", "-f", "format_", type=formats, default="text"),
        click.option(
            "-o",
            "--output",
            "target",
            type=click.Path(path_type=Path),
            default=None,
            metavar="FILE",
            help="Write the answer to a file.",
        ),
        click.option("--debug", is_flag=True, hidden=True),
    ):
        command = option(command)
    return command


def facts_option(command: Command) -> Command:
    """``--facts FILE...``; ``-`` reads standard input."""
    return click.option(
        "--facts",
        "files",
        multiple=True,
        metavar="FILE...",
        help="Facts files (JSON); - is standard input.",
    )(command)
