"""``diagnose rehearse``: a training script run against a stand-in for the service."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import click

from ..cli.options import FAIL_ON, command, common, path_option
from ..context import Context


@command(name="rehearse", context_settings={"ignore_unknown_options": True})
@click.argument("words", metavar="COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--steps", type=click.IntRange(1), metavar="N",
              help="Interrupt the run after N optimizer steps.")  # fmt: skip
@click.option("--limit", type=click.FloatRange(1), metavar="SECONDS",
              help="Interrupt the run after this time.")  # fmt: skip
@path_option("--answers", "Answer prompts from a file: a JSON list of token ids on each line.")
@FAIL_ON
@common
def rehearse(
    context: Context, words: Sequence[str], steps: int | None, limit: float | None,
    answers: Path | None,
) -> int:  # fmt: skip
    """Run COMMAND (after --) against a stand-in for the service on this machine, and judge what it
    asks for. It costs nothing, gets a dummy key, and nothing is sent anywhere.

    The exit status is that of the command unless it is 0, else that of the diagnosis.
    """
    from ...probes.rehearsal.answers import read_answers
    from ...probes.rehearsal.command import Limits, run_rehearsal
    from ..waiting import watched

    doctor = context.doctor
    given = read_answers(answers) if answers is not None else None
    with watched() as progress:
        ran = run_rehearsal(
            list(words),
            doctor.base.vocabulary,
            Limits(steps, limit),
            given=given,
            progress=progress,
        )
    late = context.new_deadline().has_passed
    report = doctor.diagnose(ran.outcome.facts, ran.outcome.problems, time_is_up=late)
    sys.stdout.flush()
    code = context.emit_report(report)
    return ran.exit_code or code


@command(name="stand-in")
@path_option("--answers", "Answer prompts from a file: a JSON list of token ids on each line.")
def stand_in(context: Context, answers: Path | None) -> int:
    """Serve a stand-in for the service until Ctrl-C, for tests of your own.

    It prints the settings that lead the SDK to it, as lines for the shell.
    """
    from ...probes.rehearsal.answers import read_answers
    from ...probes.rehearsal.command import KEY
    from ...probes.rehearsal.server import Server
    from ...probes.rehearsal.stand_in import StandIn

    given = read_answers(answers) if answers is not None else None
    with Server(StandIn(given)) as server, suppress(KeyboardInterrupt):
        click.echo(f"export TINKER_BASE_URL={server.url} TINKER_API_KEY={KEY}")
        sys.stdout.flush()
        threading.Event().wait()
    return 0
