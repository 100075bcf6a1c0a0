"""``diagnose mcp``: serve agents over stdio."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from pathlib import Path

import click

from ...facts import ModelMedicError, Problem
from .. import output
from ..cli.options import ENGINE, FOLDER, OVERLAYS, command
from ..cli.source_lookup import Environment, source_options
from ..context import Context


@command(name="mcp")
@OVERLAYS
@ENGINE
@click.option("--root", "roots", multiple=True, type=FOLDER, metavar="DIR",
              help="A folder whose files agents may inspect.")  # fmt: skip
@source_options(default=False)
def mcp(
    context: Context, roots: Sequence[Path], source: bool, python: Path | None, site: Path | None
) -> int:
    """Serve the Model Context Protocol on standard input and output, for agents.

    The tools read their arguments and run nothing. They open files only with --root, which adds a
    tool that inspects files in that folder, and with --source, which lets `decode` read packages
    and the code in the current folder that a traceback names.
    """
    try:
        from .server import serve
        from .tools import Allowed
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types", "anyio"):
            raise
        hint = "install it: pip install 'modelmedic[mcp]'"
        message = "`diagnose mcp` cannot be used: the package mcp (2.0 or later) is missing"
        raise ModelMedicError(Problem("MM346", message, None, hint)) from None
    doctor = context.doctor
    gc.freeze()  # the knowledge stays; switched off for short runs, and this one may take days
    gc.enable()
    reads = Environment(python, site).checked() if source else None
    serve(doctor, Allowed(reads, tuple(root.resolve() for root in roots)))
    return output.OK
