"""``diagnose kb mutate``: would the cases notice if the knowledge were wrong?"""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ....facts import Location, ModelMedicError, Problem
from ... import output
from ...context import Context, check_id
from ...waiting import watched
from ..candidates import entry_ids
from ..options import LAYERS, TEXT_OR_JSON, command, path_option
from .group import built_knowledge, busy, decoder, kb, tell_interrupted

if TYPE_CHECKING:
    from ....authoring.mutation import Mutation, Verdict
    from ....engine.compiler.build import Built

FEW = 200
"""With fewer faults further processes do not pay: each compiles the knowledge first."""
Task = tuple[str, tuple[int, ...]]
"""An entry, and the numbers of the faults that are tried."""


class Tried(NamedTuple):
    """The verdicts on the faults of a task, and missing cases."""

    verdicts: list[Verdict]
    missing: list[Mapping[str, Any]]


_worker: list[tuple[Mutation, Built]] = []


@command(kb)
@click.option("--entry", "entries", multiple=True, metavar="ID", shell_complete=entry_ids,
              help="Only this entry.")  # fmt: skip
@click.option("--sample", type=click.IntRange(1), metavar="N", help="Try N random faults.")
@click.option("--seed", default=0, show_default=True, help="Seed of the random choice.")
@click.option("--jobs", "-j", type=click.IntRange(1, 64), help="Processes; default: one a core.")
@click.option("--at-least", type=float, metavar="PERCENT", help="Exit 3 below this share.")
@path_option(
    "--suggest",
    "Write cases that would notice the others into a new test file, for you to judge.",
)
@LAYERS
@TEXT_OR_JSON
def mutate(
    context: Context,
    entries: Sequence[str],
    sample: int | None,
    seed: int,
    jobs: int | None,
    at_least: float | None,
    suggest: Path | None,
) -> int:
    """Put small faults into entries, one at a time, and count those that a test case notices. List
    the others with the missing test, or with the reason that a test file gives under
    accepted_faults. Exit code 3 means that such a reason is stale.

    Cases from --suggest expect the present behaviour of the entry: read them before you keep
    them."""
    from ....authoring.testing.case_file import write_cases
    from .mutation_report import report

    if suggest is not None and suggest.exists():
        hint = "name a new one; cases are never overwritten"
        raise ModelMedicError(Problem("MM305", "the file exists", Location(str(suggest)), hint))
    with busy("cases of the knowledge"):
        _begin(context.overlays)
    mutation, built = _worker[0]
    if mutation.failing:
        message = f"cases fail before anything is changed: {', '.join(mutation.failing[:3])}"
        raise ModelMedicError(Problem("MM308", message, None, "run `diagnose kb test` first"))
    tasks = list(_tasks(mutation, built, entries, sample, seed))
    cores = jobs or min(os.cpu_count() or 1, 8)
    found, left = _tried(tasks, cores, context.overlays, suggest is not None)
    if suggest is not None:
        write_cases(suggest, [case for tried in found for case in tried.missing])
    verdicts = [verdict for tried in found for verdict in tried.verdicts]
    whole = [name for name, _ in tasks[: len(found)]] if sample is None else []
    code = report(verdicts, built.source, whole, at_least, context)
    if left:
        tell_interrupted(f"{left:,} faults were not tried")
    return output.INTERRUPTED if left else code


def _begin(overlays: tuple[str, ...]) -> None:
    """Prepare this process to try faults."""
    from ....authoring.mutation import Mutation, Trials
    from ....engine.compiler.knowledge_base import SHIPPED_KNOWLEDGE
    from ....facts.fact_file import read_facts

    built = built_knowledge(overlays)
    healthy = {
        f"healthy/{path.name}": read_facts(path, built.vocabulary)
        for folder in map(Path, (SHIPPED_KNOWLEDGE, *overlays))
        for path in sorted((folder / "healthy").glob("*.json"))
    }

    trials = Trials(built, decoder(built.vocabulary), healthy)
    _worker[:] = [(Mutation(built, trials), built)]


def _tasks(
    mutation: Mutation, built: Built, entries: Sequence[str], sample: int | None, seed: int
) -> Iterator[Task]:
    items = {item.id: item for item in built.source.items}
    for name in entries:
        check_id(name, items, "entry")
    chosen = [(name, len(mutation.faults(items[name]))) for name in entries or items]
    if sample is None:
        yield from ((name, tuple(range(count))) for name, count in chosen)
        return
    every = [(name, place) for name, count in chosen for place in range(count)]
    picked: dict[str, list[int]] = {}
    for name, place in random.Random(seed).sample(every, min(sample, len(every))):
        picked.setdefault(name, []).append(place)
    yield from ((name, tuple(sorted(places))) for name, places in sorted(picked.items()))


def _tried(
    tasks: Sequence[Task], jobs: int, overlays: tuple[str, ...], suggest: bool
) -> tuple[list[Tried], int]:
    """The results of the tasks, in their order, and how many faults Ctrl-C left out."""
    faults = sum(len(places) for _, places in tasks)
    if jobs == 1 or faults < FEW:
        return _counted(tasks, map(partial(_try, suggest=suggest), tasks), faults)
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    spawning = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, spawning, _begin, (overlays,)) as pool:
        # The processes, which start here, keep the mask: Ctrl-C is left to this one.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            found = pool.map(partial(_try, suggest=suggest), tasks, chunksize=4)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        counted = _counted(tasks, found, faults)
        pool.shutdown(cancel_futures=True)
    return counted


def _counted(tasks: Sequence[Task], found: Iterable[Tried], faults: int) -> tuple[list[Tried], int]:
    """The same, as far as it is waited for."""
    counted: list[Tried] = []
    left = faults
    with watched() as watch, watch.part("faults", faults, ends_early=True) as step:
        for (_, places), tried in zip(tasks, found, strict=True):
            counted.append(tried)
            left -= len(places)
            if not step(len(places)):
                break
    return counted, left


def _try(task: Task, *, suggest: bool) -> Tried:
    name, places = task
    mutation, built = _worker[0]
    item = next(item for item in built.source.items if item.id == name)
    verdicts = list(mutation.verdicts(item, places))
    missing: list[Mapping[str, Any]] = []
    if suggest:
        from ....authoring.mutation import Acceptances

        accepted = Acceptances(built.source)
        numbers = {
            place
            for place, verdict in zip(places, verdicts, strict=True)
            if verdict.outcome == "survived" and not accepted.reason(verdict)
        }
        missing = [w.plain(name) for name, w in mutation.missing_tests(item, numbers)]
    return Tried(verdicts, missing)
