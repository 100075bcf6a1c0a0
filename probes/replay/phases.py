"""Faults that show in one phase only: in the prefill, or in the steps of decoding."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...reading.tensors import np
from .spec import Reading

FLOOR = 5e-4
WHERE = {
    "decode": "while decoding only", "prefill": "in the prefill only",
    "prompt": "in the prefill (what is wrong while decoding is not this alone)",
}  # fmt: skip
_WITH_POSITIONS = (
    "attention",
    "linear",
    "mlp",
    "norm",
    "moe",
    "rotary",
    "logits",
    "activation",
    "embedding",
)


class Phase(NamedTuple):
    """The positions at which alone a module fails, and the noise of the reference there."""

    name: str
    rows: slice
    noise: float


def failing_phase(
    reading: Reading, reference: tuple[Any, Any], target: tuple[Any, Any], limit: float
) -> Phase | None:
    """The phase in which a module fails, if it fails in one only. ``reference`` and ``target`` are
    pairs: the computed and the captured output."""
    failing = _failing(reading, reference, target, limit)
    return failing[0] if len(failing) == 1 else None


def prompt_phase(
    reading: Reading, reference: tuple[Any, Any], target: tuple[Any, Any], limit: float
) -> Phase | None:
    """The prefill, if a module fails there and while decoding, too."""
    failing = _failing(reading, reference, target, limit)
    return failing[0]._replace(name="prompt") if len(failing) == 2 else None


def _failing(
    reading: Reading, reference: tuple[Any, Any], target: tuple[Any, Any], limit: float
) -> list[Phase]:
    start = reading.spec.get("decode_from")
    made, output = target
    if reading.family not in _WITH_POSITIONS or not start or output.ndim < 3:
        return []
    if output.shape[1] <= start or output.shape != made.shape:
        return []
    phases = {"prefill": slice(None, start), "decode": slice(start, None)}
    found = []
    for name, rows in phases.items():
        noise = max(
            _off(reference[0], reference[1], rows), FLOOR * _norm(reference[1][:, rows]), 1e-20
        )
        found.append((_off(made, output, rows) / noise, Phase(name, rows, noise)))
    return [phase for ratio, phase in found if not ratio < limit]


def limited(reading: Reading, plain: Reading, phase: Phase) -> Reading:
    """A reading limited to one phase: faults of decoding alone leave keys and values of the prompt
    unchanged."""
    if phase.name != "decode" or reading.family != "attention":
        return reading
    return reading._replace(spec=reading.spec | {"prompt": (plain.spec, plain.weights)})


def error_within(made: Any, output: Any, phase: Phase) -> float:
    """R at the positions of a phase."""
    return _off(made.reshape(output.shape), output, phase.rows) / phase.noise


def _off(made: Any, output: Any, rows: slice) -> float:
    return _norm(made[:, rows].astype(np.float64) - output[:, rows])


def _norm(values: Any) -> float:
    return float(np.linalg.norm(np.asarray(values, np.float64)))
