"""``diagnose kb mutate``: would the cases notice if the knowledge were wrong?"""

from __future__ import annotations

import multiprocessing
import os
import random
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ....facts import Fact, ModelMedicError, Problem
from .. import output
from ..layout import Line
from .group import DEBUG, FORMAT, OVERLAYS, built_knowledge, kb

if TYPE_CHECKING:
    from ...kb.build import Built
    from ...kb.mutation import Mutation, Verdict

Task = tuple[str, tuple[int, ...]]
"""An entry, and the numbers of the faults that are tried."""

_worker: list[tuple[Mutation, Built]] = []


@kb.command()
@click.option("--entry", "entries", multiple=True, metavar="ID", help="Only this entry.")
@click.option("--sample", type=click.IntRange(1), metavar="N", help="Try N faults, by chance.")
@click.option("--seed", default=0, show_default=True, help="Which ones.")
@click.option("--jobs", "-j", type=click.IntRange(1, 64), help="Processes; default: one a core.")
@click.option("--at-least", default=90.0, show_default=True, metavar="PERCENT")
@OVERLAYS
@FORMAT
@DEBUG
def mutate(
    entries: Sequence[str],
    sample: int | None,
    seed: int,
    jobs: int | None,
    at_least: float,
    overlays: Sequence[str],
    format_: str,
    debug: bool,
) -> int:
    """Put small faults into entries, one at a time, and count how many of them some test case
    notices. Lists the others with the test that is missing. Exit 3 below the wanted share."""
    _begin(tuple(overlays))
    mutation, built = _worker[0]
    if mutation.failing:
        message = f"cases fail before anything is changed: {', '.join(mutation.failing[:3])}"
        raise ModelMedicError(Problem("MM308", message, None, "run `diagnose kb test` first"))
    tasks = list(_tasks(mutation, built, entries, sample, seed))
    cores = jobs or min(os.cpu_count() or 1, 8)
    verdicts = list(_tried(tasks, cores, tuple(overlays)))
    return _report(verdicts, at_least, format_)


def _begin(overlays: tuple[str, ...]) -> None:
    """Make this process ready to try faults."""
    from ....facts.fact_file import read_facts
    from ....probes.messages import read_messages
    from ...kb.mutation import Mutation, Trials
    from ...knowledge_base import SHIPPED_KNOWLEDGE

    built = built_knowledge(overlays)
    healthy = {
        f"healthy/{path.name}": read_facts(path, built.vocabulary)
        for folder in map(Path, (SHIPPED_KNOWLEDGE, *overlays))
        for path in sorted((folder / "healthy").glob("*.json"))
    }

    def decode(text: str) -> Sequence[Fact]:
        return read_messages(text, built.vocabulary).facts

    _worker[:] = [(Mutation(built, Trials(built, decode, healthy)), built)]


def _tasks(
    mutation: Mutation, built: Built, entries: Sequence[str], sample: int | None, seed: int
) -> Iterator[Task]:
    from ....facts.problems import did_you_mean

    items = {item.id: item for item in built.source.items}
    for name in entries:
        if name not in items:
            hint = did_you_mean(name, items) or "`diagnose kb list` shows all ids"
            raise ModelMedicError(Problem("MM303", f"there is no entry {name!r}", None, hint))
    chosen = [(name, len(mutation.changes(items[name]))) for name in entries or items]
    if sample is None:
        yield from ((name, tuple(range(count))) for name, count in chosen)
        return
    every = [(name, place) for name, count in chosen for place in range(count)]
    picked: dict[str, list[int]] = {}
    for name, place in random.Random(seed).sample(every, min(sample, len(every))):
        picked.setdefault(name, []).append(place)
    yield from ((name, tuple(sorted(places))) for name, places in sorted(picked.items()))


def _tried(tasks: Sequence[Task], jobs: int, overlays: tuple[str, ...]) -> Iterator[Verdict]:
    """The verdicts on all tasks, in their order."""
    faults = sum(len(places) for _, places in tasks)
    if jobs == 1 or faults < 200:
        for task in tasks:
            yield from _try(task)
        return
    spawning = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, spawning, _begin, (overlays,)) as pool:
        done = 0
        for (_, places), found in zip(tasks, pool.map(_try, tasks, chunksize=4), strict=True):
            yield from found
            done += len(places)
            _progress(done, faults)


def _progress(done: int, faults: int) -> None:
    if sys.stderr.isatty():
        end = "\n" if done == faults else ""
        sys.stderr.write(f"\r{done:,} of {faults:,} faults tried{end}")


def _try(task: Task) -> list[Verdict]:
    name, places = task
    mutation, built = _worker[0]
    item = next(item for item in built.source.items if item.id == name)
    return list(mutation.verdicts(item, places))


def _report(verdicts: Sequence[Verdict], at_least: float, format_: str) -> int:
    from ...kb.mutation import Score

    score = Score.of(verdicts)
    share = 100 * score.share
    if format_ == "json":
        output.emit_json(_plain(verdicts, score, share))
    else:
        output.emit_text(_lines(verdicts, score, share))
    return output.OK if share >= at_least else output.BAD_KNOWLEDGE


def _plain(verdicts: Sequence[Verdict], score: Any, share: float) -> Mapping[str, Any]:
    shown = [
        {
            "entry": v.entry,
            "where": str(v.where),
            "operator": v.operator,
            "fault": v.what,
            "outcome": v.outcome,
        }
        | ({"missing": v.missing} if v.missing else {})
        for v in verdicts
        if v.outcome in ("survived", "equivalent")
    ]
    counts = {name: getattr(score, name) for name in score._fields}
    return {
        "schema": "modelmedic/mutation/1",
        **counts,
        "score": round(share, 2),
        "operators": {op: dict(found) for op, found in sorted(_by_operator(verdicts).items())},
        "mutants": shown,
    }


def _lines(verdicts: Sequence[Verdict], score: Any, share: float) -> Iterable[Line]:
    for v in verdicts:
        if v.outcome == "survived":
            yield Line(f"{v.where}: {v.operator}: {v.what}", mark="SURVIVED ", style="error")
            yield Line(v.missing, 4, mark="missing: ")
    for operator, found in sorted(_by_operator(verdicts).items()):
        tried = found["killed"] + found["survived"]
        yield Line(f"{operator:<20} {found['killed']:>6} of {tried:>6} noticed", keep=True)
    tried = score.killed + score.survived
    yield Line(
        f"{score.killed:,} of {tried:,} faults noticed ({share:.1f} %); besides,"
        f" {score.equivalent:,} change nothing and {score.invalid:,} do not compile"
    )


def _by_operator(verdicts: Iterable[Verdict]) -> Mapping[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for v in verdicts:
        found.setdefault(v.operator, Counter())[v.outcome] += 1
    return found
