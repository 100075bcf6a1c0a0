"""``diagnose rehearse``: a training script run against a stand-in for the service."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from ..cli.options import FAIL_ON, command, common
from ..context import Context


@command(name="rehearse", context_settings={"ignore_unknown_options": True})
@click.argument("words", metavar="COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--steps", type=click.IntRange(1), metavar="N",
              help="Interrupt the run after N optimizer steps.")  # fmt: skip
@click.option("--limit", type=click.FloatRange(1), metavar="SECONDS",
              help="Interrupt the run after this time.")  # fmt: skip
@FAIL_ON
@common
def rehearse(context: Context, words: Sequence[str], steps: int | None, limit: float | None) -> int:
    """Run COMMAND (after --) against a stand-in for the service on this machine, and judge what it
    asks for. It costs nothing, gets a dummy key, and nothing is sent anywhere.

    The exit status is that of the command unless it is 0, else that of the diagnosis.
    """
    from ...probes.rehearsal.command import Limits, run_rehearsal
    from ..waiting import watched

    doctor = context.doctor
    with watched() as progress:
        ran = run_rehearsal(
            list(words), doctor.base.vocabulary, Limits(steps, limit), progress=progress
        )
    late = context.new_deadline().has_passed
    report = doctor.diagnose(ran.outcome.facts, ran.outcome.problems, time_is_up=late)
    sys.stdout.flush()
    code = context.emit_report(report)
    return ran.exit_code or code
