"""``diagnose kb list`` and ``diagnose kb packs``."""

from __future__ import annotations

import click

from ... import output
from ...context import Context
from ...reports.layout import Line
from ..options import LAYERS, TEXT_OR_JSON, command
from .group import kb


@command(kb, "list")
@click.option("--form", type=click.Choice(["diagnosis", "rule", "error", "tree", "classification"]))
@LAYERS
def list_(context: Context, form: str | None) -> int:
    """List all entries with their titles."""
    entries = sorted(context.base.catalogue["entries"].items())
    shown = [(name, entry["title"]) for name, entry in entries if form in (None, entry["form"])]
    output.emit_text(Line(f"{name}  {title}", keep=True) for name, title in shown)
    return output.OK


@command(kb)
@TEXT_OR_JSON
def packs(context: Context) -> int:
    """List the installed knowledge packs. Use one with --kb pack:NAME."""
    from ....engine.compiler.store.packs import PREFIX, installed_packs

    found = installed_packs()
    plain = [pack._asdict() | {"folder": str(pack.folder or "")} for pack in found]
    lines = [
        Line(f"{PREFIX}{pack.name}  {pack.package} {pack.version}  {pack.folder or '(no folder)'}")
        for pack in found
    ]
    none = [Line("No knowledge pack is installed.")]
    context.emit({"schema": "modelmedic/packs/1", "packs": plain}, lines or none)
    return output.OK
