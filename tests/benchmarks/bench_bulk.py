"""Very many records: speed over cores, flat memory, and what the job's own process can feed.

    python tests/benchmarks/bench_bulk.py cores|memory|kills|feed|ray|leak or     make bench

BULK_RECORDS (1,000,000), BULK_LEAK (1,000,000) and BULK_KILLS (20) make it shorter; BULK_WORKERS
sets how many processes work on the memory and the kills. The records are those of the stories of
the knowledge, so they cost as much as real runs.
"""

import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from modelmedic.engine import Diagnoser
from modelmedic.facts import Provenance
from modelmedic.facts.strict_yaml import load
from modelmedic.interfaces.bulk.inputs import Inputs
from modelmedic.interfaces.bulk.records import Limits, Position, chunks
from modelmedic.interfaces.bulk.tally import Tally
from modelmedic.interfaces.bulk.worker import Setup, Worker, packed
from modelmedic.interfaces.reports.output_guard import this_machine

ROOT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-m", "modelmedic.interfaces.cli.main", "bulk")
MANY = int(os.environ.get("BULK_RECORDS", "1000000"))
LEAK = int(os.environ.get("BULK_LEAK", "1000000"))
PAIRS = int(os.environ.get("BULK_PAIRS", "7"))
KILLS = int(os.environ.get("BULK_KILLS", "20"))
WORKERS = os.environ.get("BULK_WORKERS", str(os.cpu_count() or 1))
WAYS = ("screen_json", "diagnose")
SHARES = (0.01, 0.1, 0.25, 0.5, 0.75, 1.0)


def fact_sets() -> list[list[dict[str, Any]]]:
    found = []
    for path in sorted(ROOT.glob("knowledge/**/stories/*.test.yaml")):
        cases = load(path.read_text(encoding="utf-8"), str(path)).data["cases"]
        found += [case["facts"] for case in cases]
    return found


def write_records(path: Path, count: int) -> Path:
    sets = [json.dumps(facts) for facts in fact_sets()]
    with path.open("w", encoding="utf-8") as file:
        for number, facts in zip(range(count), itertools.cycle(sets), strict=False):
            day = f"2026-{number % 12 + 1:02}-{number % 28 + 1:02}T12:00:00Z"
            head = f'{{"schema":"modelmedic/facts/1","id":"run-{number}","time":"{day}"'
            file.write(f'{head},"facts":{facts}}}\n')
    return path


def seconds(folder: Path, *arguments: object) -> tuple[float, float]:
    """Wall time and processor time of a job with all its processes."""
    before, begin = os.times(), time.perf_counter()
    run = [*COMMAND, "r.jsonl", "-o", "o.jsonl", *map(str, arguments)]
    subprocess.run(run, cwd=folder, capture_output=True, check=True, timeout=3600)
    after, wall = os.times(), time.perf_counter() - begin
    return wall, sum(after[2:4]) - sum(before[2:4])


def rates(folder: Path, count: int, *arguments: object) -> tuple[float, float]:
    """Records a second, and records for each second of processor time; the start is taken off by a
    job of few records."""
    few = 1_000
    write_records(folder / "r.jsonl", few)
    start = seconds(folder, *arguments)
    write_records(folder / "r.jsonl", count)
    spent = seconds(folder, *arguments)
    return (count - few) / (spent[0] - start[0]), (count - few) / (spent[1] - start[1])


def rss_kb(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") // 1024
    except OSError:
        return 0


def children(pid: int) -> Iterator[int]:
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(place.read_text().rpartition(")")[2].split()[1]) == pid:
                yield int(place.parent.name)
        except OSError:
            continue


@pytest.mark.bench
@pytest.mark.timeout(3600)
def test_cores() -> None:
    """One worker against two, in pairs. On a machine that does other work, too, the wall time says
    little; the records for each second of processor time still say what a second worker costs."""
    walls: dict[int, list[float]] = {1: [], 2: []}
    processors: dict[int, list[float]] = {1: [], 2: []}
    with tempfile.TemporaryDirectory() as name:
        for _, workers in itertools.product(range(PAIRS), (1, 2)):
            wall, processor = rates(Path(name), 20_000, "--workers", workers)
            walls[workers].append(wall)
            processors[workers].append(processor)
    ratios = [two / one for one, two in zip(walls[1], walls[2], strict=True)]
    costs = [two / one for one, two in zip(processors[1], processors[2], strict=True)]
    print(
        f"\nbulk: {statistics.median(walls[1]):,.0f} records/s with 1 worker, "
        f"{statistics.median(walls[2]):,.0f} with 2: {statistics.median(ratios):.2f} times "
        f"({min(ratios):.2f} to {max(ratios):.2f}); for each second of processor time "
        f"{statistics.median(processors[1]):,.0f} and {statistics.median(processors[2]):,.0f}: "
        f"{statistics.median(costs):.2f} times ({min(costs):.2f} to {max(costs):.2f}); "
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )


@pytest.mark.bench
@pytest.mark.timeout(7200)
def test_memory() -> None:
    """Resident memory on the way through very many records."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_records(folder / "r.jsonl", MANY)
        begin = time.perf_counter()
        run = [*COMMAND, "r.jsonl", "-o", "o.jsonl", "--checkpoint", "0.5", "--workers", WORKERS]
        said = folder / "said"
        with said.open("wb") as err, subprocess.Popen(run, cwd=folder, stderr=err) as process:
            for share in SHARES:
                job, workers = _memory_at(process, folder / "o.jsonl.journal", int(share * MANY))
                print(
                    f"\nbulk: {share:4.0%} of {MANY:,} records: {job / 1024:.1f} MiB in the job, "
                    f"{workers / 1024:.1f} MiB in the largest worker, "
                    f"{time.perf_counter() - begin:.0f} s",
                    end="",
                )
        spent = time.perf_counter() - begin
        assert process.returncode == 0, said.read_text()
        with (folder / "o.jsonl").open("rb") as file:
            assert sum(1 for _ in file) == MANY
    print(f"\nbulk: {MANY / spent:,.0f} records/s in all, load {os.getloadavg()[0]:.1f}")


def _memory_at(process: "subprocess.Popen[bytes]", journal: Path, records: int) -> tuple[int, int]:
    """The last memory before so many records are noted, or before the end."""
    job = workers = 0
    while process.poll() is None:
        job = rss_kb(process.pid) or job
        workers = max((rss_kb(pid) for pid in children(process.pid)), default=0) or workers
        try:
            state = json.loads(journal.read_bytes())["state"]
        except FileNotFoundError:
            state = None
        if state and (state["done"] or state["tally"]["all"][0] >= records):
            break
        time.sleep(0.25)
    return job, workers


@pytest.mark.bench
@pytest.mark.timeout(7200)
def test_kills() -> None:
    """Killed at random moments and begun again until it is done: the same bytes each time."""
    chance = random.Random(1)
    moments = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_records(folder / "r.jsonl", 20_000)
        whole, _ = seconds(folder, "--workers", WORKERS, "--summary", "o.json")
        wanted = taken_away(folder)
        for _ in range(KILLS):
            command = [*COMMAND, "r.jsonl", "-o", "o.jsonl", "--workers", WORKERS]
            command += ["--summary", "o.json", "--checkpoint", "0.2"]
            for _ in range(chance.choice((1, 1, 2, 3))):
                with subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL) as process:
                    time.sleep(chance.random() * whole)
                    process.kill()
                moments.append(noted(folder / "o.jsonl.journal"))
            subprocess.run(command, cwd=folder, capture_output=True, check=True, timeout=3600)
            assert taken_away(folder) == wanted
    early = sum(moment == 0 for moment in moments)
    late = sum(moment == 20_000 for moment in moments)
    print(
        f"\nbulk: 20,000 records, {KILLS} rounds, {len(moments)} times kill -9: {early} before the "
        f"first note, {late} after the last, the others after {statistics.mean(moments):,.0f} "
        "records in the mean; results, errors and summary the same bytes every time"
    )


def taken_away(folder: Path) -> list[bytes]:
    """Return what a job left, and put the folder back as it was before."""
    places = [folder / f"o{ending}" for ending in (".jsonl", ".jsonl.errors.jsonl", ".json")]
    contents = [place.read_bytes() if place.exists() else b"" for place in places]
    for place in folder.glob("o.*"):
        place.unlink()
    return contents


def noted(journal: Path) -> int:
    """How many records the journal vouches for; all, where the job was done."""
    try:
        state = json.loads(journal.read_bytes())["state"]
    except FileNotFoundError:
        return 20_000 if (journal.parent / "o.jsonl").exists() else 0
    return int(state["tally"]["all"][0] + state["tally"]["refused"])


@pytest.mark.bench
def test_feed() -> None:
    """Time the job's own process for each record: read, hand over, take back, write, count."""
    import pickle

    doctor = Diagnoser.load()
    worker = Worker(Setup(packed(doctor.base), this_machine()))
    with tempfile.TemporaryDirectory() as name:
        path, count = write_records(Path(name) / "r.jsonl", 20_000), 20_000
        read = list(chunks(Inputs([path], runs=False).reads(Position()), Limits()))
        begin = time.process_time()
        results = [worker.work(chunk) for chunk in read]
        work = (time.process_time() - begin) / count
        sent = [pickle.dumps(result, 5) for result in results]
        rates = []
        for _ in range(7):
            begin, tally = time.process_time(), Tally(limited=True)
            with (Path(name) / "o").open("wb") as file:
                reads = Inputs([path], runs=False).reads(Position())
                for chunk, result in zip(chunks(reads, Limits()), sent, strict=True):
                    pickle.dumps(chunk, 5)
                    taken = pickle.loads(result)
                    file.write(taken.output)
                    tally.merge(taken.tally)
            rates.append(count / (time.process_time() - begin))
    feed = statistics.median(rates)
    print(
        f"\nbulk: a worker does {1 / work:,.0f} records/s, the job's own process feeds "
        f"{feed:,.0f} records/s: {feed * work:.0f} workers"
    )


@pytest.mark.bench
@pytest.mark.timeout(3600)
def test_ray() -> None:
    """Ray on this machine against local processes, in pairs, both without their start."""
    pytest.importorskip("ray")
    walls = []
    with tempfile.TemporaryDirectory() as name:
        for _ in range(PAIRS):
            found = [
                rates(Path(name), 20_000, "--runner", runner, "--workers", 2)
                for runner in ("local", "ray")
            ]
            walls.append(found[1][0] / found[0][0])
    print(
        f"\nbulk: Ray has {statistics.median(walls):.2f} times the throughput of local processes "
        f"({min(walls):.2f} to {max(walls):.2f})"
    )


@pytest.mark.bench
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("how", WAYS)
def test_leak(how: str) -> None:
    """Resident memory after 1,000,000 answers against that after 10,000, and on the way."""
    import gc

    doctor = Diagnoser.load()
    sets = fact_sets()
    vocabulary, ask = doctor.base.vocabulary, getattr(doctor, how)
    given: list[Any] = [json.dumps(facts).encode() for facts in sets]
    if how == "diagnose":
        given = [[vocabulary.trusted(f, Provenance("file")) for f in facts] for facts in sets]
    sizes: dict[int, int] = {}
    begin, marks = time.process_time(), {10_000, 30_000, 100_000, 300_000, LEAK}
    for number in range(1, LEAK + 1):
        ask(given[number % len(given)])
        if number in marks:
            gc.collect()
            sizes[number] = rss_kb(os.getpid())
            print(f"\nbulk: {how}: {sizes[number] / 1024:.1f} MiB after {number:,}", flush=True)
    rate = LEAK / (time.process_time() - begin)
    print(f"bulk: {how}: {sizes[LEAK] / sizes[10_000] - 1:+.1%} from 10,000 on ({rate:,.0f}/s)")


if __name__ == "__main__":
    chosen = sys.argv[1:] or ["cores", "memory", "kills", "feed", "ray", "leak"]
    for each in chosen:
        if each in WAYS:
            test_leak(each)
        elif each == "leak":
            for way in WAYS:
                test_leak(way)
        else:
            globals()[f"test_{each}"]()
