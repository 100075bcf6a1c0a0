"""How long the parts of a step may take, from its tokens and the size of the model.

The figures are published ones (``expected_times.json``) and upper ends: a step that takes longer is
slow by any of them. Time spent in the loop itself and in environments of RL is not the service's
and counts as measured.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from ...reading.text.values import json_table
from .config import RunConfig
from .tables import MetricRow

_ACTIVE = re.compile(r"-a(\d{1,4}(?:\.\d{1,3})?)b(?![a-z0-9])")
_SIZE = re.compile(r"(?<![a-z0-9.])(\d{1,4}(?:\.\d{1,3})?)b(?![a-z0-9])")
_SAMPLED = ("tokens/sampled", "env/all/total_ac_tokens")
_TURN = "policy_sample"
TOOLS = "env_step"


class Expected(NamedTuple):
    """Longest normal times in seconds for the parts of a step; None if the tokens are unknown."""

    training: float | None = None
    turn: float | None = None
    step: float | None = None


def active_billions(model: str | None) -> float | None:
    """Billions of parameters that work on a token, by the name of the model."""
    name = (model or "").lower()
    found = _ACTIVE.search(name)
    if found:
        return float(found[1])
    table = json_table(__file__, "expected_times.json")["active_billions"]
    known = next((size for part, size in table.items() if part in name), None)
    if known is not None:
        return float(known)
    found = _SIZE.search(name)
    return float(found[1]) if found else None


class Expectation:
    """The normal times in a run; an unknown model may take as long as the largest one."""

    def __init__(self, layout: str, config: RunConfig) -> None:
        self._layout, self._config = layout, config
        self._table = json_table(__file__, "expected_times.json")
        self._active = active_billions(config.model) or self._table["largest_active_billions"]

    def of(self, row: MetricRow) -> Expected:
        if self._layout == "supervised":
            tokens = trained_tokens(row)
            wait = None if tokens is None else self._training(tokens)
            data = row.calls["get_batch"].total if "get_batch" in row.calls else 0.0
            return Expected(wait, None, None if wait is None else wait + data)
        return self._rewarded(row) if self._layout == "rl" else Expected()

    def _training(self, tokens: float) -> float:
        """An update: three cycles, and the tokens at a speed that falls with the size."""
        speed = self._table["trained_tokens_per_s"]
        root = math.sqrt(max(1.0, self._active / speed["up_to_active_billions"]))
        cycles = self._table["cycles"]["value"] * max(1.0, self._config.substeps or 1.0)
        return float(cycles * self._table["cycle_s"]["value"] + tokens / speed["value"] * root)

    def _token_s(self) -> float:
        limits = self._table["token_s"]
        small = self._active <= limits["up_to_active_billions"]
        return float(limits["small" if small else "large"])

    def _rewarded(self, row: MetricRow) -> Expected:
        sampled, trained = sampled_tokens(row), trained_tokens(row)
        turns = row.values.get("env/all/total_turns")
        episodes = row.values.get("env/all/total_episodes")
        if not sampled or not trained or not turns or not episodes:
            return Expected()
        first, each = self._table["first_token_s"]["value"], self._token_s()
        waves = max(1.0, episodes / self._table["at_once"]["value"])
        mean = sampled / turns
        longest = self._table["longest_over_mean"]["value"] * mean
        longest = min(longest, self._config.max_tokens or longest)
        tools = row.calls[TOOLS].total / episodes if TOOLS in row.calls else 0.0
        spread = self._table["longest_over_mean"]["value"]
        rollout = turns / episodes * (first + longest * each) * waves + tools * spread
        update = self._training(trained)
        # Scores of a reference model and after the update, the next sampler: a wait for each.
        after = 3 * update
        asynchronous = "sampling_time" in row.calls
        step = update + after + (0.0 if asynchronous else rollout)
        return Expected(update, (first + mean * each) * waves, step)


def sampled_tokens(row: MetricRow) -> float | None:
    """Tokens that the samples of a step have."""
    return next((row.values[name] for name in _SAMPLED if name in row.values), None)


def trained_tokens(row: MetricRow) -> float | None:
    """Tokens of the batch that a step trains on."""
    values = row.values
    for name in ("num_tokens", "tokens/trained"):
        if name in values:
            return values[name]
    parts = ("env/all/total_ac_tokens", "env/all/total_ob_tokens")
    return sum(values[name] for name in parts) if set(parts) <= values.keys() else None
