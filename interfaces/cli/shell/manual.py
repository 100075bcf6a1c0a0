"""``diagnose manual``: the page of the manual, made of the help of all commands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import click

from ....engine.compiler.knowledge_base import VERSION
from ... import output
from ...context import Context
from ...reports.layout import Line
from ..options import command

NAME = "diagnose"
_TITLE = "say what is wrong with a training run or a model port, why, and what to do next"
_EXIT = (
    ("0", "Nothing at or above --fail-on (default: error)."),
    ("1", "Findings."),
    ("2", "Bad usage or bad input."),
    ("3", "The knowledge does not load, or its lint or tests fail."),
    ("4", "No verdict: an error that nothing explains, or an input that could not be read."),
    ("70", "Internal error."),
    ("130", "Interrupted."),
)
_ENVIRONMENT = (
    ("MODELMEDIC_CACHE", "The folder of the compiled knowledge; empty: none is kept."),
    ("MODELMEDIC_SALT", "The key of the tokens that stand for secrets in reports."),
    ("MODELMEDIC_KEYS", "Set to vi for vi keys in consultations."),
    ("ACCESSIBLE", "If set, consultations are in plain lines."),
    ("NO_COLOR", "If set, nothing is coloured."),
)
_FILES = (
    ("~/.cache/modelmedic", "The compiled knowledge."),
    ("~/.local/state/modelmedic", "Kept consultations and typed lines."),
)
_SAFE = str.maketrans({"\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha",
                       "~": "\\(ti"})  # fmt: skip


@command()
def manual(context: Context) -> int:
    """Print the page of the manual: `diagnose manual | man -l -`."""
    root = click.get_current_context().find_root().command
    output.emit_text(Line(line, keep=True) for line in page(root))
    return output.OK


def page(root: click.Command) -> Iterator[str]:
    """The page for man(1), line by line; the same for the same commands."""
    top = click.Context(root, info_name=NAME)
    yield '.\\" Made by `diagnose manual`; do not edit.'
    yield f'.TH {NAME.upper()} 1 "" "ModelMedic {VERSION}" "User Commands"'
    yield ".ad l"
    yield ".nh"
    yield ".SH NAME"
    yield f"{NAME} \\- {_text(_TITLE)}"
    yield ".SH SYNOPSIS"
    for words in ("[ANYTHING...]", "--facts FILE... [OPTIONS]", "COMMAND [OPTIONS] [ARGS]..."):
        yield ".br"
        yield f".B {NAME}"
        yield _text(words)
    yield ".SH DESCRIPTION"
    yield from _paragraphs(root.help or "")
    yield ".SH OPTIONS"
    yield from _options(root, top)
    yield ".SH COMMANDS"
    for name, each, context in _below(root, top):
        yield f'.SS "{_text(name)}"'
        yield f".B {_text(name)}"
        yield _text(" ".join(each.collect_usage_pieces(context)))
        yield ".PP"
        yield from _paragraphs(each.help or "")
        yield from _options(each, context)
    for heading, rows in (("EXIT STATUS", _EXIT), ("ENVIRONMENT", _ENVIRONMENT)):
        yield f".SH {heading}"
        yield from _table(rows)
    yield ".SH FILES"
    yield from _table(_FILES)


def _below(
    group: click.Command, context: click.Context
) -> Iterator[tuple[str, click.Command, click.Context]]:
    """Each command below a group with its whole name, groups before what is in them."""
    if not isinstance(group, click.Group):
        return
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        if found is None or found.hidden:
            continue
        inner = click.Context(found, context, name)
        yield inner.command_path, found, inner
        yield from _below(found, inner)


def _options(found: click.Command, context: click.Context) -> Iterator[str]:
    records = (each.get_help_record(context) for each in found.get_params(context))
    yield from _table(record for record in records if record)


def _table(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, about in rows:
        yield ".TP"
        yield f".B {_text(name)}"
        yield _text(about) or "\\&"


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", text.replace("\b", "").strip()):
        yield ".PP"
        yield _text(paragraph)


def _text(text: str) -> str:
    """Text that the formatter takes as it is, on one line."""
    line = " ".join(text.split()).translate(_SAFE).replace("|", "|\\:")  # lines may end there
    return f"\\&{line}" if line.startswith(".") else line
