"""``diagnose bulk INPUT... -o OUT``: diagnose very many records."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .. import output
from ..cli.options import ENGINE, OVERLAYS, PATH, command, output_option, path_option
from ..context import Context

if TYPE_CHECKING:
    from ...engine.compiler.knowledge_base import KnowledgeBase
    from .job import Outcome, Plan
    from .runner import Runner
    from .worker import Setup


@command(name="bulk")
@click.argument("inputs", nargs=-1, required=True, type=PATH, metavar="INPUT...")
@output_option(
    "The results: JSON lines, or Parquet for a name that ends in .parquet.", required=True
)
@click.option("--full", is_flag=True, help="Write whole reports instead of findings.")
@click.option("--inspect", "runs", is_flag=True,
              help="Each folder in INPUT is a run: read its artefacts, then diagnose.")  # fmt: skip
@path_option("--summary", "The counts as JSON.")
@path_option("--summary-html", "The counts as a page with plots.")
@click.option("--runner", type=click.Choice(("local", "ray")), default="local")
@click.option("--address", default="", metavar="ADDRESS",
              help="A Ray cluster (auto, host:port, ray://host:port); without it Ray runs here."
)  # fmt: skip
@click.option("--workers", type=click.IntRange(1, 100_000), metavar="N",
              help="Processes (default: one for each core).")  # fmt: skip
@click.option("--restart", is_flag=True, help="Start over instead of resuming.")
@click.option("--checkpoint", type=click.FloatRange(0, 3600), default=2.0, metavar="SECONDS",
              help="Most work to repeat after an interruption.")  # fmt: skip
@click.option("--chunk", type=click.IntRange(1, 100_000), default=None, hidden=True)
@OVERLAYS
@ENGINE
def bulk(
    context: Context,
    inputs: Sequence[Path],
    full: bool,
    runs: bool,
    summary: Path | None,
    summary_html: Path | None,
    runner: str,
    address: str,
    workers: int | None,
    restart: bool,
    checkpoint: float,
    chunk: int | None,
) -> int:
    """Diagnose very many records, on all cores or on a Ray cluster.

    INPUT is a file of JSON lines (also .gz, .zst), each line a facts file or a list of facts,
    optionally with "id" and "time"; or a folder, in which every .json file is a facts file.

    Run the same command again to resume an interrupted job. Records that cannot be diagnosed are
    listed in FILE.errors.jsonl, with their locations.

    Exit codes: 0 everything was read, 2 bad usage, or an input is truncated.
    """
    import gc

    from .job import forget

    gc.enable()  # switched off for short runs; this one may take hours
    target = context.target
    assert target is not None  # the option is required
    base = context.doctor.base
    setup = _setup(base, context.engine, full, runs)
    plan = _plan(inputs, target, setup, base, checkpoint, chunk)
    _check_outputs(inputs, target, [p for p in (summary, summary_html) if p is not None])
    outcome = _run(plan, _maker(runner, setup, address, workers), restart)
    _tell(outcome, base, target, summary, summary_html)
    forget(target, plan.identity)
    return output.BAD_INPUT if outcome.tally.broken_inputs else output.OK


def _setup(base: KnowledgeBase, engine: Any, full: bool, runs: bool) -> Setup:
    from ..reports.output_guard import this_machine
    from .worker import Setup, packed

    return Setup(packed(base), this_machine(), engine, full, runs)


def _plan(
    inputs: Sequence[Path],
    target: Path,
    setup: Setup,
    base: KnowledgeBase,
    checkpoint: float,
    chunk: int | None,
) -> Plan:
    from .inputs import Inputs
    from .job import Identity, Plan
    from .records import Limits

    read = Inputs(inputs, runs=setup.runs)
    options = {"full": setup.full, "runs": setup.runs}
    knowledge = " ".join((base.digest, *base.validity))  # silences may end between two days
    identity = Identity(read.fingerprints, knowledge, setup.version, options)
    limits = Limits(2) if setup.runs else Limits(50) if setup.full else Limits()
    return Plan(read, target, identity, Limits(chunk) if chunk else limits, checkpoint)


def _check_outputs(inputs: Sequence[Path], target: Path, others: Sequence[Path]) -> None:
    from .outputs import check_target, need_parquet, refuse_output_among

    for path in (target, *others):
        check_target(path)
    refuse_output_among(inputs, (target, *others))
    if target.suffix == ".parquet":
        need_parquet()


def _maker(runner: str, setup: Setup, address: str, workers: int | None) -> Callable[[], Runner]:
    def make() -> Runner:
        if runner == "ray":
            from .ray_process import RayProcess

            return RayProcess(setup, address=address, workers=workers, say=_say)
        from .local import LocalRunner

        return LocalRunner(setup, workers or _cores(), say=_say)

    if address and runner != "ray":
        raise click.UsageError("--address is for --runner ray")
    return make


def _say(text: str) -> None:
    """A note on the way; a progress bar moves down for it."""
    from ..reports.safe_text import safe

    sys.stderr.write(f"note: {safe(text)}\n")


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _run(plan: Plan, make_runner: Callable[[], Runner], restart: bool) -> Outcome:
    from .job import run_job
    from .progress import progress_for

    try:
        with progress_for(plan.inputs.size) as progress:
            return run_job(plan, make_runner, progress, restart=restart)
    except KeyboardInterrupt:
        sys.stderr.write("finished work is kept; run the same command to resume\n")
        raise


def _tell(
    outcome: Outcome, base: KnowledgeBase, target: Path, summary: Path | None, page: Path | None
) -> None:
    """Report the summary on stderr, and wherever else it was requested."""
    from ..reports.layout import Line, write
    from .outputs import beside
    from .summary import summary_lines, summary_plain

    tally = outcome.tally
    if summary is not None:
        output.emit_json(summary_plain(tally, base), summary)
    if page is not None:
        from .summary_page import summary_page

        output.save(summary_page(tally, base), page)
    lines = list(summary_lines(tally, base))
    if outcome.went_on_after:
        lines.insert(0, Line(f"went on after {outcome.went_on_after:,} records"))
    lines.append(Line(f"results: {target}"))
    if tally.refused or tally.broken_inputs:
        lines.append(
            Line(f"what could not be read: {beside(target, '.errors.jsonl')}", style="warning")
        )
    write(lines, sys.stderr)
