"""How long a service takes for a batch or a sample, drawn at random around published figures.

Sources of the figures: a clock cycle of training is about ten seconds (Tinker's documentation,
"Under the hood"), one small update takes 5.1 s (OpenPipe/ART, pull request 781), one of DPO with
112,638 tokens 28 s (recipe of the cookbook), a step of RL for many hours 86 to 90 s (its tutorial
on RLHF), 3 to 13 minutes with long texts or several jobs at once (public reports of runs).
"""

from __future__ import annotations

import math
import random
from typing import NamedTuple

# Billions of parameters: in all, and active for a token.
MODELS = {
    "meta-llama/Llama-3.2-1B": (1.2, 1.2),
    "meta-llama/Llama-3.2-3B": (3.2, 3.2),
    "meta-llama/Llama-3.1-8B-Instruct": (8.0, 8.0),
    "meta-llama/Llama-3.3-70B-Instruct": (70.6, 70.6),
    "Qwen/Qwen3-4B-Instruct-2507": (4.0, 4.0),
    "Qwen/Qwen3-8B": (8.2, 8.2),
    "Qwen/Qwen3-30B-A3B-Instruct-2507": (30.5, 3.3),
    "Qwen/Qwen3-32B": (32.8, 32.8),
    "Qwen/Qwen3-235B-A22B-Instruct-2507": (235.0, 22.0),
    "Qwen/Qwen3.5-397B-A17B": (397.0, 17.0),
    "openai/gpt-oss-20b": (20.9, 3.6),
    "openai/gpt-oss-120b": (116.8, 5.1),
    "deepseek-ai/DeepSeek-V3.1": (671.0, 37.0),
    "moonshotai/Kimi-K2-Thinking": (1040.0, 32.0),
}


class Service(NamedTuple):
    """Seconds of a clock cycle, trained tokens a second, sampled tokens a second of one sequence,
    and the spread of all three from step to step."""

    cycle: float
    trained: float
    sampled: float
    spread: float


def service_for(model: str, chance: random.Random) -> Service:
    """A service on an ordinary day: a busy one is several times slower than an idle one."""
    total, active = MODELS[model]
    load = chance.lognormvariate(0, 0.3)
    cycle = (4.0 + 0.25 * math.sqrt(total)) * chance.uniform(0.9, 1.3)
    trained = 24_000 / math.sqrt(active / 8) / load
    sampled = min(150.0, 95 / math.sqrt(active / 4)) / load
    return Service(cycle, trained, max(sampled, 12.0), chance.uniform(0.04, 0.18))


def loads(steps: int, chance: random.Random) -> list[float]:
    """How loaded the service is at each step: it drifts over a run, by up to a half."""
    drift, spread = chance.gauss(0, 0.12), chance.uniform(0.03, 0.12)
    found, here = [], 0.0
    for step in range(steps):
        here = 0.9 * here + chance.gauss(0, spread * 0.44)
        found.append(math.exp(max(-0.45, min(0.45, here + drift * (2 * step / steps - 1)))))
    return found


def loaded(service: Service, load: float) -> Service:
    return service._replace(
        cycle=service.cycle * load, trained=service.trained / load, sampled=service.sampled / load
    )


def training_s(service: Service, tokens: float, chance: random.Random, cycles: int = 1) -> float:
    """The wait for one update."""
    noise = chance.lognormvariate(0, service.spread)
    missed = service.cycle if chance.random() < 0.06 else 0.0
    return (cycles * service.cycle + tokens / service.trained) * noise + missed


class Rollouts(NamedTuple):
    """The time that a round of sampling took, and its results."""

    seconds: float
    episodes: int
    turns: int
    tokens: int
    prompt_tokens: int
    sample_total: float
    sample_max: float
    tool_total: float
    tool_max: float


def rollouts(
    service: Service, chance: random.Random, *, episodes: int, mean_tokens: float, most: int,
    turns: float = 1.0, tool_s: float = 0.0, prompt: int = 300,
) -> Rollouts:  # fmt: skip
    """A round of sampling: it ends with the longest episode."""
    pace = service.sampled / chance.lognormvariate(0, service.spread)
    longest = all_turns = tokens = prompts = 0.0
    sample_total = sample_max = tool_total = tool_max = 0.0
    for _ in range(episodes):
        at, here = 0.0, max(1, round(chance.gauss(turns, turns / 4)))
        for turn in range(here):
            written = min(most, max(2.0, chance.lognormvariate(math.log(mean_tokens) - 0.18, 0.6)))
            sampling = 0.4 + written / pace * chance.lognormvariate(0, 0.08)
            tool = chance.lognormvariate(math.log(tool_s) - 0.3, 0.75) if tool_s else 0.0004
            at += sampling + tool
            tokens += written
            prompts += prompt + turn * (mean_tokens + 200)
            sample_total, sample_max = sample_total + sampling, max(sample_max, sampling)
            tool_total, tool_max = tool_total + tool, max(tool_max, tool)
        all_turns += here
        longest = max(longest, at)
    return Rollouts(
        longest, episodes, round(all_turns), round(tokens), round(prompts), sample_total,
        sample_max, tool_total, tool_max,
    )  # fmt: skip
