"""Finds the parts of a sum that a mistake affects: heads, ranks of inner channels, experts.

The output of a module is a sum over such parts. The effect of a hypothesis on each part is fitted
to the error of the output, so that least squares show the parts in which it holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ...reading.tensors import np
from .finding.parts import factors_of_parts
from .formula.attention import mixed_heads
from .formula.feedforward import expert_output, inner, routed
from .spec import Reading

RANKS = 8
MOST_PARTS = 64
MOST_NUMBERS = 1 << 24
TOWARDS = 0.25
"""Cosine of a hypothesis's change in a part with the error, from which on the part is examined."""
WHOLE, NONE = 0.7, 0.3
"""Share of its change from which on a part is affected, and up to which it is not."""


class Shares(NamedTuple):
    """The error that remains if a hypothesis holds in some parts, and the names of these parts."""

    left: Any
    words: str


def _cut(values: Any, weight: Any, count: int) -> Iterator[Any]:
    pairs = zip(np.split(values, count, axis=-1), np.split(weight, count, axis=1), strict=True)
    for some, columns in pairs:
        yield some @ columns.T


def terms(reading: Reading, given: Mapping[str, Any]) -> tuple[str, list[Any]] | None:
    """The kind of the parts of a module, and the addend of each in its output."""
    spec, weights, x = reading.spec, reading.weights, given["x"]
    if spec.get("out_scale", 1) != 1 or x.ndim != 3:
        return None
    if reading.family == "attention":
        mixed = mixed_heads(spec, weights, given)
        values = mixed.swapaxes(1, 2).reshape(*x.shape[:2], -1)
        return "heads", list(_cut(values, weights["o.weight"], mixed.shape[1]))
    if reading.family == "mlp":
        values = inner(spec, weights, x)
        weight = weights["down.weight"]
        return None if values.shape[-1] % RANKS else (
            f"{RANKS} parts of the inner channels", list(_cut(values, weight, RANKS)))  # fmt: skip
    if reading.family == "linear":
        weight = weights["own.weight"]
        return None if x.shape[-1] % RANKS else (
            f"{RANKS} parts of the input channels", list(_cut(x, weight, RANKS)))  # fmt: skip
    return _of_experts(reading, given) if reading.family == "moe" else None


def _of_experts(reading: Reading, given: Mapping[str, Any]) -> tuple[str, list[Any]]:
    spec, weights, x = reading.spec, reading.weights, given["x"]
    rows = x.reshape(-1, x.shape[-1])
    count = len(weights["experts.down"])
    if count > MOST_PARTS or count * rows.size > MOST_NUMBERS:
        raise ValueError("there are too many experts")
    found, memory = [np.zeros_like(rows) for _ in range(count)], given.get("memory")
    for expert, row, share in routed(spec, weights, rows):
        found[expert][row] += expert_output(spec, weights, expert, rows, row, memory) * share
    return "experts", [each.reshape(x.shape) for each in found]


def shared(plain: list[Any], made: list[Any], name: str, off: Any, rows: slice) -> Shares | None:
    """Find the parts in which a hypothesis holds; ``made`` are their addends under it and ``plain``
    the correct ones. None if it holds in all of them, or in none."""
    if not 1 < len(plain) <= MOST_PARTS or len(plain) * off.size > MOST_NUMBERS:
        return None
    width = off.shape[-1]
    change = [(new - old)[:, rows].reshape(-1, width)
              for new, old in zip(made, plain, strict=True)]  # fmt: skip
    there = [at for at, each in enumerate(change) if each.any()]
    wrong = off[:, rows].reshape(-1, width)
    size = float(np.linalg.norm(wrong)) or 1.0
    towards = [float((each * wrong).sum()) / (size * (float(np.linalg.norm(each)) or 1.0))
               for each in change]  # fmt: skip
    if len(there) < 2 or max(towards) < TOWARDS:
        return None
    found = factors_of_parts([change[at] for at in there], wrong)
    kept = [at for at, share in zip(there, found, strict=True) if share > WHOLE]
    if not kept or len(kept) == len(there) or ((found > NONE) & (found < WHOLE)).any():
        return None
    left = wrong - sum(change[at] for at in kept)
    return Shares(left, f"of {name} {', '.join(map(str, kept[:8]))} only")
