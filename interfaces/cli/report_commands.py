"""The commands ``diagnose diff``, ``replay``, ``report bundle`` and ``baseline write``."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from ...facts.problems import INTERRUPTED
from .. import output
from ..context import Context, today
from .options import (
    ENGINE_UNSEEN,
    FACTS,
    FAIL_ON,
    OVERLAYS,
    PATH,
    TODAY,
    command,
    common_answer,
    output_option,
)


@click.group("report")
def report() -> None:
    """Pack a report for a support team."""


@command(name="diff")
@click.argument("before", type=PATH)
@click.argument("after", type=PATH)
@FAIL_ON
@common_answer
def diff(context: Context, before: Path, after: Path) -> int:
    """Compare two reports in JSON, or two facts files.

    A problem is out of sight, not fixed, if only its evidence is missing from AFTER. Exit code 1
    means that a problem at or above --fail-on is new or out of sight.
    """
    from ...engine.diagnosis.comparison import compare
    from ..reports.answers_text import comparison_lines, comparison_plain, worst_change
    from ..reports.recorded import read_recorded

    doctor = context.doctor
    files = [read_recorded(path, doctor) for path in (before, after)]
    one, two = (recorded.snapshot(doctor) for recorded in files)
    found = compare(doctor, one, two)
    sides = {
        "knowledge": doctor.base.digest,
        "before": {"path": str(before), "digest": one.digest},
        "after": {"path": str(after), "digest": two.digest},
    }
    context.emit(comparison_plain(found, sides), comparison_lines(found, sides))
    return output.exit_code(worst_change(found), context.fail_on)


@command(name="replay")
@click.argument("path", type=PATH, metavar="REPORT")
@common_answer
def replay(context: Context, path: Path) -> int:
    """Derive REPORT (JSON) again from its own facts. Exit code 0 if it holds, else 1."""
    from ...engine.diagnosis.replay import differences
    from ..reports.answers_text import replay_lines, replay_plain
    from ..reports.recorded import read_report

    doctor = context.doctor
    recorded = read_report(path, doctor)
    again = output.report_document(doctor.diagnose(recorded.facts), "json")
    plain = replay_plain(str(path), differences(recorded.report or {}, json.loads(again.value)))
    context.emit(plain, replay_lines(plain))
    return output.OK if plain["holds"] else output.FINDINGS


@command(report)
@click.argument("inputs", nargs=-1, required=True, type=PATH, metavar="INPUT...")
@output_option("The packet (zip).", required=True)
@OVERLAYS
@ENGINE_UNSEEN
def bundle(context: Context, inputs: Sequence[Path]) -> int:
    """Write a zip for a support team, without secrets: report, facts, versions, decoded messages,
    and the missing evidence with how to get it.

    INPUT is a report in JSON, a facts file, or a path for `diagnose inspect`.
    """
    from ..reports.layout import write
    from .bundle import packet, summary_lines

    assert context.target is not None  # the option is required
    made = packet(inputs, context.doctor)
    output.write_file(made.value.archive, context.target)
    write(summary_lines(made.value, context.target), sys.stderr)
    return output.OK


@click.group("baseline")
def baseline() -> None:
    """Accept known findings."""


@command(baseline)
@FACTS
@click.argument("paths", nargs=-1, type=PATH)
@output_option("Where to write it (default: standard output).")
@TODAY
@OVERLAYS
@ENGINE_UNSEEN
def write(context: Context, paths: Sequence[Path]) -> int:
    """Write a baseline that accepts every finding in --facts FILE... or PATHS.

    Each entry needs a reason: until it has one, the file is rejected.
    """
    from ..baseline_file import baseline_text
    from ..inspection import gather

    if not context.files and not paths:
        raise click.UsageError("nothing to diagnose: give --facts FILE, or paths to inspect")
    doctor = context.doctor
    facts = context.facts()
    if paths:
        found, problems, _ = gather(paths, doctor.base.vocabulary, intake=context.intake)
        if any(problem.code == INTERRUPTED for problem in problems):
            raise KeyboardInterrupt  # what is not known would count as accepted
        if problems and not found:
            from ...facts import ModelMedicError

            raise ModelMedicError(problems)
        facts += found
    text = baseline_text(doctor.diagnose(facts), context.today or today())
    output.emit_source(text, context.target)
    return output.OK
