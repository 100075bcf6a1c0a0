"""Faults that make steps longer."""

from __future__ import annotations

import random

from .fault_kinds import LOOPS, PERF, SYNC, TIMES, kind
from .healthy_runs import SUPERVISED, Run


def _middle(run: Run, chance: random.Random) -> int:
    return round(len(run.rows) * chance.uniform(0.35, 0.65))


def _slow_wait(run: Run, factor: float, start: int = 0) -> None:
    """Makes the wait for updates longer, and all sums with it."""
    for row in run.rows[start:]:
        key = "time/step" if "time/step" in row else "time/train_step"
        more = row[key] * (factor - 1)
        sums = ("time/finish_batch", "time/do_train_step_and_get_sampling_client", "time/total")
        for name in (key, *sums):
            if name in row:
                row[name] += more


def _slow_rollouts(run: Run, factor: float, part: str, start: int = 0) -> None:
    """Makes each sample, or each step of the environment, longer."""
    other = "env_step" if part == "policy_sample" else "policy_sample"
    for row in run.rows[start:]:
        mine, rest = row[f"time/{part}:total"], row[f"time/{other}:total"]
        grown = (mine * factor + rest) / (mine + rest)
        names = [part, *(("sample",) if part == "policy_sample" else ())]
        for name in names:
            for what in ("total", "mean", "max"):
                if f"time/{name}:{what}" in row:
                    row[f"time/{name}:{what}"] *= factor
        more = row["time/sampling"] * (grown - 1)
        row["time/sampling"] += more
        row["time/total"] += more


@kind(
    "times the wait", SUPERVISED, (4, 8, 16, 32, 64), PERF + "slow-steps", PERF + "high-wait-time"
)
def service_slow(run: Run, strength: float, chance: random.Random) -> None:
    _slow_wait(run, strength)


@kind("times the wait from the middle on", (*SUPERVISED, *SYNC), TIMES, PERF + "slowed-down")
def service_slows_down(run: Run, strength: float, chance: random.Random) -> None:
    _slow_wait(run, strength, start=_middle(run, chance))


@kind("times the time of a token", SYNC, (2, 4, 8, 16, 32), PERF + "slow-sampling")
def sampling_slow(run: Run, strength: float, chance: random.Random) -> None:
    _slow_rollouts(run, strength, "policy_sample")


@kind("times the time of a token, from the middle on", SYNC, TIMES, PERF + "slowed-down")
def sampling_slows_down(run: Run, strength: float, chance: random.Random) -> None:
    _slow_rollouts(
        run, strength, "policy_sample", round(len(run.rows) * chance.uniform(0.35, 0.65))
    )


@kind("times the time of a tool, from the middle on", ("rl-tools",), TIMES, PERF + "slowed-down")
def environment_slows_down(run: Run, strength: float, chance: random.Random) -> None:
    _slow_rollouts(run, strength, "env_step", _middle(run, chance))


@kind("of the step", SUPERVISED, (0.2, 0.35, 0.5, 0.65, 0.8), PERF + "data-loading-bottleneck")
def data_slow(run: Run, strength: float, chance: random.Random) -> None:
    for row in run.rows:
        more = row["time/step"] * strength / (1 - strength) * chance.uniform(0.9, 1.1)
        row["time/get_batch"] += more
        row["time/submit_batch"] += more


@kind("seconds to hand a batch over", LOOPS, (0.25, 0.5, 1, 4, 16), PERF + "high-submit-time",
      PERF + "slow-serialization")  # fmt: skip
def submit_slow(run: Run, strength: float, chance: random.Random) -> None:
    for row in run.rows:
        more = strength * chance.uniform(1, 1.2)
        for name in ("time/forward_backward", "time/forward_backward_async"):
            if name in row:
                row[name] += more
        for name in ("time/submit_batch", "time/train_step", "time/total",
                     "time/do_train_step_and_get_sampling_client"):  # fmt: skip
            if name in row:
                row[name] += more


@kind("seconds of a stall, in one step of six", SUPERVISED, (5, 15, 45, 120, 300),
      PERF + "inconsistent-step-times", PERF + "stalls", PERF + "gil-contention")  # fmt: skip
def stalls(run: Run, strength: float, chance: random.Random) -> None:
    for row in run.rows[2:]:
        if chance.random() < 1 / 6:
            row["time/step"] += strength
            row["time/finish_batch"] += strength


@kind("of the step in no part of it", SYNC, (0.1, 0.2, 0.35, 0.5, 0.7), PERF + "idle-gaps")
def gaps(run: Run, strength: float, chance: random.Random) -> None:
    for row in run.rows:
        row["time/total"] += row["time/total"] * strength / (1 - strength)


@kind("times the steps, with no batch submitted ahead", SUPERVISED, (1, 1.1, 1.2, 1.3, 1.4),
      PERF + "missing-pipelining")  # fmt: skip
def no_pipelining(run: Run, strength: float, chance: random.Random) -> None:
    run.config["submit_ahead"] = 0
    _slow_wait(run, strength)
