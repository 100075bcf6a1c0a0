"""The cost of watching a job: paired runs of the same work with and without the monitor.

    python tests/benchmarks/bench_watch.py        or        make bench

Prints the ratio of the times; 1.00 means that watching is free. The first work is Python alone and
never waits; the other is a job of the SDK, 10,000 calls against a server on this machine whose
results take 20 ms, where a step is two updates and two samples.
"""

import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from modelmedic.probes.watch import command as watch

PAIRS = 7
ROUNDS = 360
DIAGNOSE = "from modelmedic.interfaces.cli.main import main; main()"
START = str(Path(watch.__file__).parent / "start")
LOOPBACK = Path(__file__).parents[1] / "probes/watch/sdk_loopback.py"
WORK = """
import json, re, time
begin, cpu = time.perf_counter(), time.process_time()
text = "the quick brown fox " * 200
for _ in range(900):
    words = re.findall(r"[a-z]+", text)
    counts = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    json.loads(json.dumps(counts))
print(time.perf_counter() - begin, time.process_time() - cpu)
"""


def seconds(environment: dict[str, str]) -> tuple[float, float]:
    """Wall time and processor time of the work, as it measures them itself."""
    command = [sys.executable, "-c", WORK]
    done = subprocess.run(command, env=environment, capture_output=True, check=True, timeout=120)
    wall, processor = done.stdout.split()
    return float(wall), float(processor)


def startup(environment: dict[str, str]) -> float:
    """The time of an interpreter that does nothing."""
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], env=environment, check=True, timeout=60)
    return time.perf_counter() - begin


@pytest.mark.bench
def test_overhead() -> None:
    """Paired runs, so that a slow moment of the machine hits both."""
    with tempfile.TemporaryDirectory() as folder:
        plain = dict(os.environ)
        before = plain.get("PYTHONPATH")
        path = START + (os.pathsep + before if before else "")
        watched = {**plain, "PYTHONPATH": path, "MODELMEDIC_WATCH": folder}
        walls, processors, starts = [], [], []
        for _ in range(PAIRS):
            with_it, without = seconds(watched), seconds(plain)
            walls.append(with_it[0] / without[0])
            processors.append(with_it[1] / without[1])
            starts.append(startup(watched) - startup(plain))
    print(
        f"watch: {statistics.median(walls):.3f} times the wall time without "
        f"({min(walls):.3f} to {max(walls):.3f}), "
        f"{statistics.median(processors):.3f} times the processor time "
        f"({min(processors):.3f} to {max(processors):.3f}), "
        f"{statistics.median(starts) * 1000:.0f} ms more at the start"
    )


def steps(command: list[str], environment: dict[str, str]) -> list[float]:
    """Seconds of each step of a job of the SDK."""
    job = [*command, sys.executable, str(LOOPBACK), str(ROUNDS), "0.02", "--steps"]
    ended = subprocess.run(  # watching ends with the code of what it found
        job, env=environment, capture_output=True, text=True, check=False, timeout=600
    )
    (found,) = (line for line in ended.stdout.splitlines() if line.startswith("[0"))
    times: list[float] = json.loads(found)
    return times


@pytest.mark.bench
@pytest.mark.skipif(importlib.util.find_spec("tinker") is None, reason="needs the SDK")
def test_overhead_of_a_step() -> None:
    """Alone, with two lines in the job (``record``), and under ``diagnose watch``, in turn."""
    with tempfile.TemporaryDirectory() as folder:
        plain = dict(os.environ)
        inside = {**plain, "PYTHONPATH": START, "MODELMEDIC_WATCH": folder}
        under = [sys.executable, "-c", DIAGNOSE, "watch", "--"]
        ways: dict[str, tuple[list[str], dict[str, str]]]
        ways = {"alone": ([], plain), "record": ([], inside), "watch": (under, plain)}
        told: dict[str, list[list[float]]] = {way: [] for way in ways}
        for turn in range(PAIRS):
            names = [*ways][turn % 3 :] + [*ways][: turn % 3]
            for way in names:
                told[way].append(steps(*ways[way]))
    for way in ("record", "watch"):
        pairs = zip(told[way], told["alone"], strict=True)
        ratios = [statistics.median(each) / statistics.median(other) for each, other in pairs]
        print(
            f"{way}: {statistics.median(ratios):.3f} times the step without "
            f"({min(ratios):.3f} to {max(ratios):.3f}), {PAIRS * ROUNDS * 4:,} calls, a step of "
            f"{statistics.median(map(statistics.median, told['alone'])) * 1000:.0f} ms"
        )


if __name__ == "__main__":
    test_overhead()
    if importlib.util.find_spec("tinker"):
        test_overhead_of_a_step()
