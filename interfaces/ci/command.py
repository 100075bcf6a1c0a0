"""``diagnose ci``: the files for continuous integration."""

from __future__ import annotations

from pathlib import Path

import click

from .. import output
from ..cli.options import OUTPUT, command
from ..context import Context

_FOLDER = Path(__file__).parent
_FILES = {"matcher": _FOLDER / "problem-matcher.json", "action": _FOLDER / "action.yaml"}


@command()
@click.argument("what", type=click.Choice(tuple(_FILES)))
@OUTPUT
def ci(context: Context, what: str) -> int:
    """Print the path of the problem matcher (for `--format lines`) or of the GitHub action.

    With -o, write a copy.

    In a workflow: echo "::add-matcher::$(diagnose ci matcher)".
    """
    if context.target is not None:
        output.emit_source(_FILES[what].read_text(encoding="utf-8"), context.target)
    else:
        # Not through the output guard, by which a home folder becomes ~: programs open this path,
        # and it is of the installation, not of the user's data.
        click.echo(str(_FILES[what]))
    return output.OK
