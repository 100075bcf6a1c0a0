"""The samples in other sizes, names and packings, and the logs of other training loops."""

import gzip
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from modelmedic.engine import Diagnoser, Report
from modelmedic.interfaces.inspection import gather

Row = dict[str, Any]


def problems_of(report: Report) -> list[str]:
    return [d.id for d in report.diagnoses if d.kind != "benign"]


@pytest.fixture
def inspected(doctor: Diagnoser, tmp_path: Path) -> Callable[..., Report]:
    def run(rows: list[Row], name: str = "run.jsonl", pack: bool = False) -> Report:
        raw = "".join(json.dumps(row) + "\n" for row in rows).encode()
        path = tmp_path / name
        path.write_bytes(gzip.compress(raw) if pack else raw)
        facts, problems, read = gather([path], doctor.base.vocabulary)
        assert read and not problems
        return doctor.diagnose(facts, problems)

    return run


def longer(root: Path, run: str, *, wait: float = 1.0, tokens: float = 1.0) -> Iterator[Row]:
    """Forty steps of a sample run, with other waits and batches; the first step stays the first."""
    lines = (root / f"tests/probes/data/metrics/runs/{run}/metrics.jsonl").read_text().splitlines()
    sample = [json.loads(line) for line in lines]
    spread = random.Random(1)
    for step in range(40):
        row = dict(sample[1 + step % (len(sample) - 1)] if step else sample[0])
        row["step"] = step
        row["num_tokens"] = int(row["num_tokens"] * tokens)
        row["time/step"] *= wait * spread.uniform(0.9, 1.1)
        row["time/finish_batch"] = row["time/step"] + 0.001
        yield row


WAITS = ["tinker.perf.waits-for-few-tokens"]
DATA = ["tinker.perf.data-loading-bottleneck"]
RUNS = [
    ("slow_server", {}, WAITS), ("slow_server", {"wait": 8}, WAITS),
    ("slow_network", {}, WAITS), ("slow_network", {"wait": 8}, WAITS),
    ("slow_data", {}, DATA), ("slow_data", {"tokens": 300}, DATA),
    ("slow_first", {}, []), ("slow_first", {"wait": 8}, []),
    ("slow_server", {"wait": 0.05}, []), ("slow_network", {"wait": 0.05}, []),
    ("sft", {}, []), ("sft", {"wait": 40_000, "tokens": 400}, []),
    # A large batch may well take ten seconds.
    ("slow_server", {"wait": 12, "tokens": 400}, []),
]  # fmt: skip


@pytest.mark.parametrize("pack", [False, True])
@pytest.mark.parametrize(("run", "scales", "wanted"), RUNS)
def test_runs_of_other_sizes(inspected, root, run, scales, wanted, pack):
    report = inspected(list(longer(root, run, **scales)), "other.name", pack)
    assert problems_of(report) == wanted
    if wanted == WAITS:
        assert report.next[0].id == "service"


def test_keys_of_another_cookbook(inspected, root):
    rows = [
        {key.replace("_async", ""): value for key, value in row.items()}
        for row in longer(root, "slow_network", wait=3)
    ]
    assert problems_of(inspected(rows)) == WAITS


def course(steps: int, **metrics: Callable[[int], float]) -> list[Row]:
    return [{"step": n, **{k.replace("__", "/"): f(n) for k, f in metrics.items()}}
            for n in range(steps)]  # fmt: skip


def noise(n: int, size: float = 0.03) -> float:
    return random.Random(n).gauss(0, size)


LOOPS = {
    "NaN loss": (course(80, loss=lambda n: 2 - n / 100 if n < 40 else float("nan")),
                 "tinker.dynamics.instability"),
    "infinite gradient": (course(60, train__loss=lambda n: 2 - n / 60,
                                 train__grad_norm=lambda n: 1.0 if n < 50 else float("inf")),
                          "tinker.dynamics.instability"),
    "reward collapses": (course(90, rollout__mean_reward=lambda n: noise(n) + (
                             n / 40 if n < 40 else max(0.0, 1 - (n - 40) / 10))),
                         "tinker.dynamics.instability"),
    "entropy collapses": (course(90, policy__entropy=lambda n: max(0.01, 1 - n / 50),
                                 reward=lambda n: 0.3 + noise(n)),
                          "tinker.dynamics.mode-collapse"),
    "KL runs away": (course(60, train__approx_kl=lambda n: 0.001 * 1.1**n),
                     "tinker.dynamics.instability"),
    "reward is zero": (course(30, reward=lambda n: 0.0), "tinker.dynamics.reward-flat"),
    "a policy learns": (course(90, reward=lambda n: n / 90 + noise(n), kl=lambda n: n / 300,
                               entropy=lambda n: 1 - n / 150, loss=lambda n: n / 500), None),
    "a policy has learnt": (course(120, reward=lambda n: min(0.8, n / 40) + noise(n),
                                   entropy=lambda n: max(0.1, 1 - n / 100)), None),
    "a loss falls": (course(90, train_loss=lambda n: 2 * 0.97**n + noise(n),
                            grad_norm=lambda n: 1 + abs(noise(n))), None),
}  # fmt: skip


@pytest.mark.parametrize("loop", LOOPS)
def test_metrics_of_other_loops(inspected, loop):
    rows, wanted = LOOPS[loop]
    assert problems_of(inspected(rows))[:1] == ([wanted] if wanted else [])
