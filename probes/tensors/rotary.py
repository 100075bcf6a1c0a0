"""The frequencies of a captured rotary embedding, read back from its cosines and sines."""

from __future__ import annotations

from typing import Any

from ...reading.tensors import np
from .samples import Sample

_TURNS = 0.2
"""Smallest angle over all positions that shows a frequency (BF16 is exact to about 0.004)."""


def frequencies(cos: Sample, sin: Sample) -> dict[str, Any]:
    """Attributes of the kind ``error_signature``: how the target's frequencies and amplitude
    compare with the reference, and whether each is a plain geometric sequence from 1."""
    if cos.fp32.shape != sin.fp32.shape or cos.positions < 8:
        return {}
    half = _halved(cos.fp32)
    f, t = (_phasors(c, s, half, cos.positions) for c, s in ((cos.fp32, sin.fp32),
                                                           (cos.target, sin.target)))  # fmt: skip
    size = float(np.abs(f).mean())
    if not size:
        return {}
    found = {"amplitude_ratio": float(np.abs(t).mean()) / size}
    own, other = _rates(f), _rates(t)
    told = np.flatnonzero((own * len(f) > _TURNS) & (other * len(f) > _TURNS))
    if len(told) < 3:
        return found
    ratios = other[told] / own[told]
    found |= {"frequency_low": float(ratios.min()), "frequency_high": float(ratios.max()),
              "reference_bend": _bend(own, told), "target_bend": _bend(other, told),
              "reference_first": float(own[0]), "target_first": float(other[0])}  # fmt: skip
    return found


def _halved(cos: Any) -> slice:
    """The slice that holds each frequency once: halves repeat, or neighbours do, or nothing
    does."""
    width = cos.shape[1]
    if width % 2 == 0 and np.allclose(cos[:, : width // 2], cos[:, width // 2 :]):
        return slice(0, width // 2)
    if width % 2 == 0 and np.allclose(cos[:, ::2], cos[:, 1::2]):
        return slice(0, width, 2)
    return slice(0, width)


def _phasors(cos: Any, sin: Any, half: slice, positions: int) -> Any:
    return cos[:positions, half] + 1j * sin[:positions, half]


def _rates(phasors: Any) -> Any:
    """Angle for one position, of each channel. Lags double, and each settles the whole turns of the
    next: a long lag is exact, a short one is unambiguous."""
    rates = np.zeros(phasors.shape[1])
    lag = 1
    while lag < len(phasors):
        turned = (phasors[lag:] * phasors[:-lag].conj()).sum(axis=0)
        angle = np.angle(turned)
        whole = np.round((rates * lag - angle) / (2 * np.pi)) if lag > 1 else 0
        rates = (angle + 2 * np.pi * whole) / lag
        lag *= 2
    return rates


def _bend(rates: Any, told: Any) -> float:
    """How far the logarithms of frequencies are from a straight line through their first."""
    logs = np.log(rates[told])
    steps = told - told[0]
    slope = float((steps * (logs - logs[0])).sum() / (steps**2).sum())
    return float(np.abs(logs - logs[0] - slope * steps).max())
