"""Figures of saved logits, as the logit validation of vLLM-Neuron computes them.

Source: aws-neuron-sdk, vllm-neuron/docs/design/accuracy/logit_validation_design.md, and the module
vllm_neuron.accuracy.logit_validation that it describes. Errors are relative to the largest
reference logit of the position; a constant shift between the two is taken off by least squares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...reading.tensors import np

TOP = {"top5_error": 5, "top50_error": 50, "top1000_error": 1000, "all_error": 0}
"""How many of the best logits of the reference each error is of; 0: all."""
_FLOOR = 1e-5  # absolute tolerance of each entry of the tolerance map
_BF16_BITS = 7  # of the mantissa
_BINS = 100
_ANY = -1
_LEAST_AGREEING = 3  # tokens in a row that show where a pass of full length begins


class Start(NamedTuple):
    """The first row of the reference that the target covers, and the number of comparable rows."""

    first: int
    rows: int


def align(reference: Any, target: Any) -> Start | None:
    """Align the rows of (positions, batch, vocabulary); None if the alignment is unknown.

    The validation prompts again with the reference's tokens after each other token, and saves the
    last pass: within it, only the last token can differ. So a shorter target is the end of the
    reference, and a target of equal length begins where all tokens but the last agree.
    """
    wanted, chosen = reference.argmax(axis=2), target.argmax(axis=2)
    chosen[np.isnan(target).any(axis=2)] = _ANY  # NaN ends the validation, and chooses no token
    total, given = len(wanted), len(chosen)
    if given > total:
        return None
    if given < total:
        first = total - given
        return Start(first, given) if _agree(wanted[first:], chosen) else None
    for first in range(total):
        enough = not first or total - first > _LEAST_AGREEING
        if enough and _agree(wanted[first:], chosen[: total - first]):
            return Start(first, total - first)
    return None


def _agree(wanted: Any, chosen: Any) -> bool:
    same = (wanted == chosen) | (chosen == _ANY)
    return bool(same[:-1].all())


@dataclass
class Figures:
    """The figures over all positions and sequences."""

    errors: dict[str, float] = field(default_factory=dict)
    first_failing: int | None = None
    gap_steps: float | None = None
    not_finite: bool = False
    noise: list[Any] = field(default_factory=list)
    excess: list[Any] = field(default_factory=list)

    @property
    def ratio(self) -> float | None:
        """Root mean square error of the target by that of the low-precision reference."""
        if not self.noise:
            return None
        noise, excess = (float(np.sqrt(np.mean(np.square(np.concatenate(each)))))
                         for each in (self.noise, self.excess))  # fmt: skip
        return excess / noise if noise > 0 else None

    @property
    def overlap(self) -> float | None:
        """Bhattacharyya coefficient of the two sets of errors."""
        if not self.noise:
            return None
        noise, excess = (np.abs(np.concatenate(each)) for each in (self.noise, self.excess))
        top = float(max(noise.max(), excess.max()))
        low = float(min(noise.min(), excess.min()))
        edges = np.linspace(low, top, _BINS + 1) if top > low else np.linspace(0, 1, _BINS + 1)
        one, two = (np.histogram(each, bins=edges)[0] for each in (noise, excess))
        found = np.sqrt(one / max(one.sum(), 1) * two / max(two.sum(), 1)).sum()
        return min(float(found), 1.0)


def compare(reference: Any, target: Any, baseline: Any, start: Start) -> Figures:
    """Compare position by position."""
    found = Figures()
    for place in range(start.rows):
        for sequence in range(reference.shape[1]):
            rows = [reference[start.first + place, sequence], target[place, sequence]]
            if baseline is not None:
                rows.append(baseline[start.first + place, sequence])
            _compare_row(found, rows, start.first + place)
    return found


def least(reference: Any, target: Any) -> Figures:
    """The least errors, wherever the target begins: its first row is compared with the reference at
    each position, and the smallest error counts."""
    found = Figures()
    for sequence in range(reference.shape[1]):
        each = [Figures() for _ in reference]
        for place, figures in enumerate(each):
            _compare_row(figures, [reference[place, sequence], target[0, sequence]], place)
        for name in TOP:
            smallest = min((f.errors[name] for f in each if name in f.errors), default=0.0)
            found.errors[name] = max(found.errors.get(name, 0.0), smallest)
    return found


def _compare_row(found: Figures, rows: Sequence[Any], place: int) -> None:
    """Add the errors of one position. Logits of minus infinity are left out, as prohibited."""
    if any(np.isnan(row).any() for row in rows):
        found.not_finite = True
        found.first_failing = place if found.first_failing is None else found.first_failing
        return
    known = np.logical_and.reduce([np.isfinite(row) for row in rows])
    reference, target = (row[known].astype(np.float64) for row in rows[:2])
    if len(reference) < 2:
        return
    target = target - _shift(reference, target)
    if len(rows) > 2:
        baseline = rows[2][known].astype(np.float64)
        found.noise.append(reference - baseline)
        found.excess.append(target - baseline)
    order = np.argsort(-reference, kind="stable")
    for name, top in TOP.items():
        chosen = order[:top] if top else order
        error = _relative(reference[chosen], target[chosen])
        found.errors[name] = max(found.errors.get(name, 0.0), error)
    _choice(found, reference, target, place)


def _shift(reference: Any, target: Any) -> float:
    """The constant offset of the target from a multiple of the reference."""
    off = reference - reference.mean()
    spread = float(off @ off)
    slope = float(off @ target) / spread if spread > 0 else 0.0
    return float(target.mean() - slope * reference.mean())


def _relative(reference: Any, target: Any) -> float:
    largest = float(np.abs(reference).max())
    if largest <= 0:
        return 0.0
    return max((float(np.abs(target - reference).max()) - _FLOOR) / largest, 0.0)


def _choice(found: Figures, reference: Any, target: Any, place: int) -> None:
    """The first position at which the target prefers another token by more than a BF16 step."""
    wanted, chosen = int(reference.argmax()), int(target.argmax())
    if wanted == chosen:
        return
    largest = max(abs(float(target[wanted])), abs(float(target[chosen])))
    step = 2.0 ** (np.floor(np.log2(largest)) - _BF16_BITS) if largest > 0 else 0.0
    if step <= 0:
        return
    steps = float(target[chosen] - target[wanted]) / step
    if found.gap_steps is None:
        found.gap_steps = steps
    if steps > 1 and found.first_failing is None:
        found.first_failing = place
