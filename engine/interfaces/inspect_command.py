"""``diagnose inspect PATH...``: recognise artefacts, run the matching probes, diagnose."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from . import output
from .inspection import gather, read_lines
from .layout import Line
from .options import FAIL_ON_CHOICE, common
from .setup import load_doctor


@click.command("inspect")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--fail-on", type=FAIL_ON_CHOICE, default="error")
@click.option("--verbose", "-v", is_flag=True, help="Show everything that is still open.")
@click.option("--save-facts", type=click.Path(path_type=Path), default=None, metavar="FILE",
              help="Also write the facts that were gathered.")  # fmt: skip
@common
def inspect(
    paths: Sequence[Path],
    fail_on: str,
    verbose: bool,
    save_facts: Path | None,
    overlays: Sequence[str],
    engine: str,
    format_: str,
    target: Path | None,
    debug: bool,
) -> int:
    """Read what is at PATHS (run folders, logs, scripts, data, weights, profiles, freeze files,
    facts files) and diagnose. Nothing is executed and nothing leaves the machine."""
    doctor = load_doctor(overlays, engine)
    facts, problems, read = gather(paths, doctor.base.vocabulary)
    report = doctor.diagnose(facts, problems)
    if save_facts is not None:
        plain = {"schema": "modelmedic/facts/1", "facts": [fact.plain() for fact in facts]}
        output.emit_json(plain, save_facts)
    if format_ == "json":
        output.emit_json(report.plain(), target)
    else:
        from .report_text import report_lines

        lines = [*read_lines(read), Line(), *report_lines(report, verbose=verbose)]
        output.emit_text(lines, target)
    if not facts and problems:
        return output.BAD_INPUT
    return output.exit_code(report, fail_on)
