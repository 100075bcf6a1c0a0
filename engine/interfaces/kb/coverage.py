"""``diagnose kb coverage``: which statements of an inventory no entry encodes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from .. import output
from ..layout import Line
from .group import DEBUG, FORMAT, OVERLAYS, built_knowledge, kb


@kb.command()
@click.option(
    "--inventory",
    "inventories",
    multiple=True,
    required=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A list of statements, or of diagnoses.",
)
@OVERLAYS
@FORMAT
@DEBUG
def coverage(
    inventories: Sequence[Path], overlays: Sequence[str], format_: str, debug: bool
) -> int:
    """Which statements of an inventory no entry encodes. Exit 3 if coverage is not complete."""
    from ...kb.coverage import inventory_coverage

    found = inventory_coverage(built_knowledge(overlays).source, list(inventories))
    if format_ == "json":
        output.emit_json(
            {
                "schema": "modelmedic/coverage/1",
                "wanted": found.wanted,
                "missing": list(found.missing),
                "unknown": list(found.unknown),
                "unconcluded": list(found.unconcluded),
                "absent": list(found.absent),
            }
        )
    else:
        covered = found.wanted - len(found.missing)
        share = 100 * covered / found.wanted if found.wanted else 100
        lists = (
            ("not covered", found.missing),
            ("cited, not listed", found.unknown),
            ("never concluded", found.unconcluded),
            ("not in the catalogue", found.absent),
        )
        lines = [Line(f"{heading}: {', '.join(names)}") for heading, names in lists if names]
        count = Line(f"{covered} of {found.wanted} statements covered ({share:.1f} %)")
        output.emit_text([*lines, count])
    return output.OK if found.complete else output.BAD_KNOWLEDGE
