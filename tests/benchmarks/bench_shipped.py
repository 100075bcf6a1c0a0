"""The shipped knowledge on recorded facts: reports with explanations, screening, one core and two.

``make bench``, or ``python tests/benchmarks/bench_shipped.py [--json FILE]``. The sets of facts are
the knowledge's own: of its stories, of healthy runs, and sets of 60 facts, one run's filled up with
those of others that neither contradict it nor add a finding.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import math
import multiprocessing
import os
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from modelmedic.engine import Diagnoser
from modelmedic.facts import Fact, Provenance
from modelmedic.facts.strict_yaml import load

_ROOT = Path(__file__).resolve().parents[2]
_LARGE = 60
_ROUNDS, _PAIRS, _SECONDS = 7, 7, 1.0

Flat = dict[str, Any]


def recorded(doctor: Diagnoser) -> dict[str, list[list[Flat]]]:
    """Sets of facts by where they come from."""
    stories = [
        case["facts"]
        for path in sorted(_ROOT.glob("knowledge/**/stories/*.test.yaml"))
        for case in load(path.read_text(encoding="utf-8"), str(path)).data["cases"]
    ]
    paths = [*_ROOT.glob("knowledge/healthy/*.json"), *_ROOT.glob("facts/examples/*.json")]
    healthy = [json.loads(path.read_text(encoding="utf-8"))["facts"] for path in sorted(paths)]
    large = [_filled(doctor, facts, healthy, number) for number, facts in enumerate(stories[::2])]
    return {"stories": stories, "healthy runs": healthy, "60 facts": large}


def _filled(
    doctor: Diagnoser, facts: list[Flat], others: Sequence[list[Flat]], start: int
) -> list[Flat]:
    """The facts of one run with facts of others that neither contradict them nor add a finding, 60
    in all."""
    known = {_key(doctor, fact): fact for fact in facts}
    wanted = _names(doctor, facts)
    turned = itertools.chain(others[start % len(others) :], others[: start % len(others)])
    for fact in itertools.chain.from_iterable(turned):
        if len(known) == _LARGE:
            break
        key = _key(doctor, fact)
        if key not in known and _names(doctor, [*known.values(), fact]) == wanted:
            known[key] = fact
    return list(known.values())


def _names(doctor: Diagnoser, facts: Sequence[Flat]) -> set[str]:
    return {finding.id for finding in doctor.screen(facts)}


def _key(doctor: Diagnoser, fact: Flat) -> str:
    """The thing that a fact is about; only one fact of a functional kind holds for it."""
    kind = doctor.base.vocabulary.kinds[fact["kind"]]
    names = ("kind", *kind.key) if kind.functional else sorted(fact)
    return json.dumps([fact.get(name) for name in names])


def _spent(call: Callable[[Any], object], sets: Sequence[Any]) -> list[float]:
    """Milliseconds of processor time for each set."""
    found = []
    for one in sets:
        begin = time.process_time_ns()
        call(one)
        found.append((time.process_time_ns() - begin) / 1e6)
    return found


def measure(rounds: int = _ROUNDS) -> dict[str, Any]:
    """For each kind of set and each way to ask: median, 99th percentile, how many a second."""
    doctor = Diagnoser.load()
    vocabulary = doctor.base.vocabulary
    ways: dict[str, Callable[[Any], object]] = {
        "report without plan": lambda facts: doctor.diagnose(facts, plan=False),
        "report (with plan)": doctor.diagnose,
        "report as JSON": lambda facts: json.dumps(doctor.diagnose(facts).plain()),
        "screening": doctor.screen,
        "screening of JSON text": doctor.screen_json,
    }
    rows, all_sets = [], recorded(doctor)
    for name, sets in all_sets.items():
        made = [[vocabulary.trusted(item, Provenance("file")) for item in one] for one in sets]
        texts = [json.dumps(one).encode() for one in sets]
        given: dict[str, Sequence[Any]] = {"screening": sets, "screening of JSON text": texts}
        for way, call in ways.items():
            inputs: Sequence[Any] = given.get(way, made)
            _spent(call, inputs)
            gc.collect()
            runs = [_spent(call, inputs) for _ in range(rounds)]
            every = sorted(itertools.chain.from_iterable(runs))
            rows.append(
                {
                    "sets": name,
                    "facts": statistics.mean(map(len, sets)),
                    "diagnoses": statistics.mean(len(doctor.screen(one)) for one in sets),
                    "way": way,
                    "median_ms": statistics.median(every),
                    "p99_ms": every[math.ceil(0.99 * len(every)) - 1],
                    "per_second": 1e3 / statistics.median(statistics.mean(run) for run in runs),
                }
            )
    return {"rows": rows, "cores": cores(doctor, all_sets["60 facts"])}


def cores(doctor: Diagnoser, sets: Sequence[list[Flat]], pairs: int = _PAIRS) -> dict[str, Any]:
    """Two processes against one, forked after loading, in pairs: reports a second of wall time, and
    what one report costs in processor time when another process works beside."""
    vocabulary = doctor.base.vocabulary
    made = [[vocabulary.trusted(item, Provenance("file")) for item in one] for one in sets]
    walls, costs = [], []
    for _ in range(pairs):
        alone, both = together(doctor, made, 1), together(doctor, made, 2)
        walls.append(sum(count / wall for count, wall, _ in both) / (alone[0][0] / alone[0][1]))
        one = alone[0][2] / alone[0][0]
        costs.append(2 * one / statistics.mean(spent / count for count, _, spent in both))
    return {
        "by_wall": {"median": statistics.median(walls), "least": min(walls), "most": max(walls)},
        "by_processor": {
            "median": statistics.median(costs),
            "least": min(costs),
            "most": max(costs),
        },
        "load": os.getloadavg()[0],
    }


def together(
    doctor: Diagnoser, sets: Sequence[Iterable[Fact]], processes: int
) -> list[tuple[int, float, float]]:
    """For each process: reports, seconds of wall time, seconds of processor time."""
    forks = multiprocessing.get_context("fork")
    results, start = forks.SimpleQueue(), forks.Barrier(processes)

    def work() -> None:
        for facts in sets:
            doctor.diagnose(facts)
        start.wait()
        begin, began, count = time.perf_counter(), time.process_time(), 0
        while time.perf_counter() - begin < _SECONDS:
            for facts in sets:
                doctor.diagnose(facts)
            count += len(sets)
        results.put((count, time.perf_counter() - begin, time.process_time() - began))

    workers = [forks.Process(target=work) for _ in range(processes)]
    for worker in workers:
        worker.start()
    found = [results.get() for _ in workers]
    for worker in workers:
        worker.join()
    return found


def report(figures: dict[str, Any]) -> str:
    """Tables for people."""
    lines = [
        f"{'facts of':13} {'facts':>5} {'found':>5}  {'way':24} {'median ms':>9}"
        f" {'p99 ms':>7} {'per s':>7}"
    ]
    for row in figures["rows"]:
        lines.append(
            f"{row['sets']:13} {row['facts']:5.1f} {row['diagnoses']:5.1f}  {row['way']:24}"
            f" {row['median_ms']:9.3f} {row['p99_ms']:7.2f} {row['per_second']:7,.0f}"
        )
    wall, spent = (figures["cores"][name] for name in ("by_wall", "by_processor"))
    lines.append(
        "times of processor, one core; two processes have "
        f"{wall['median']:.2f} times the reports of one ({wall['least']:.2f} to {wall['most']:.2f};"
        f" from processor time {spent['median']:.2f}); load {figures['cores']['load']:.1f}"
    )
    return "\n".join(lines)


@pytest.mark.bench
@pytest.mark.timeout(600)
def test_the_shipped_knowledge_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    """Prints the tables; the times are for people, only completeness is checked."""
    figures = measure(3)
    with capsys.disabled():
        print("\n" + report(figures))
    assert len(figures["rows"]) == 15


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures")
    chosen = parser.parse_args()
    figures = measure()
    print(report(figures))
    if chosen.json:
        chosen.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
