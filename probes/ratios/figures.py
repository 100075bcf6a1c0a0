"""R-ratio, cosine, KL divergence and agreement of the best tokens, in float64."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ...reading.tensors import np

EPS = 1e-12
TOP = (1, 5, 10)
BINS = 100
"""Own choice: the definition of BC names no number of bins."""


def r_ratio(fp32: Any, bf16: Any, target: Any) -> float:
    """||target - fp32|| / (||bf16 - fp32|| + 1e-12), over all numbers of three arrays of a shape.
    About 1 if the port adds nothing to the rounding of the low precision. Not a number if
    one of them has such; raises ``ValueError`` if the shapes differ."""
    first, second, third = (np.asarray(each, dtype=np.float64) for each in (fp32, bf16, target))
    if not first.shape == second.shape == third.shape:
        raise ValueError(f"the shapes differ: {first.shape}, {second.shape}, {third.shape}")
    with np.errstate(all="ignore"):
        off, base = (float(np.linalg.norm((each - first).ravel())) for each in (third, second))
    return off / (base + EPS)


def bhattacharyya(fp32: Any, bf16: Any, target: Any, bins: int = BINS) -> float:
    """How far the errors of ``target`` overlap those of ``bf16``, both against ``fp32``: the sum of
    sqrt(p q) over histograms p and q of the single errors on common bins. 1 if they are distributed
    alike, 0 if nothing overlaps.

    NaN if one of the errors is not finite; raises ``ValueError`` if the shapes differ."""
    first, second, third = (np.asarray(each, dtype=np.float64) for each in (fp32, bf16, target))
    if not first.shape == second.shape == third.shape or not first.size:
        raise ValueError(f"the shapes differ: {first.shape}, {second.shape}, {third.shape}")
    with np.errstate(all="ignore"):
        base, off = ((each - first).ravel() for each in (second, third))
    if not (np.isfinite(base).all() and np.isfinite(off).all()):
        return math.nan
    low, high = min(base.min(), off.min()), max(base.max(), off.max())
    if low == high:
        return 1.0
    p, q = (np.histogram(each, bins, (low, high))[0] / each.size for each in (base, off))
    return float(min(1.0, np.sqrt(p * q).sum()))


class LogitFigures(NamedTuple):
    """Figures at every position (arrays), the share of common best tokens by their number, and
    the overlap of the errors of all logits (:func:`bhattacharyya`)."""

    r_ratio: Any
    cosine: Any
    kl: Any
    top: dict[int, float]
    bc: float = math.nan


def logit_figures(fp32: Any, bf16: Any, target: Any) -> LogitFigures:
    """The logits of three runs, (positions, vocabulary) each, cut to the smallest vocabulary.

    R = ||g - f|| / (||b - f|| + max(1e-12, 1e-7 ||f||)); KL = sum p (ln p - ln q), p of the FP32
    reference and q of the target, natural logarithm, clipped at 0. NaN in ``bf16`` and ``target``
    counts as 0, infinite ones as a million, as the workflow has it.
    """
    width = min(np.shape(each)[-1] for each in (fp32, bf16, target))
    f, b, g = (np.asarray(each, dtype=np.float64)[..., :width] for each in (fp32, bf16, target))
    if not f.shape == b.shape == g.shape or f.ndim != 2:
        raise ValueError(f"the shapes differ: {f.shape}, {b.shape}, {g.shape}")
    b, g = (np.nan_to_num(each, nan=0.0, posinf=1e6, neginf=-1e6) for each in (b, g))
    size, base, off = (np.linalg.norm(each, axis=-1) for each in (f, b - f, g - f))
    norms = size * np.linalg.norm(g, axis=-1)
    p, q = _log_softmax(f), _log_softmax(g)
    return LogitFigures(
        off / (base + np.maximum(EPS, 1e-7 * size)),
        np.where(norms > 0, (f * g).sum(axis=-1) / np.where(norms > 0, norms, 1), 0.0),
        np.maximum(0, (np.exp(p) * (p - q)).sum(axis=-1)),
        {k: _agreement(f, g, k) for k in TOP if k <= width},
        bhattacharyya(f, b, g) if f.size else math.nan,
    )


def _log_softmax(x: Any) -> Any:
    shifted = x - x.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def _agreement(f: Any, g: Any, k: int) -> float:
    """Mean share of the best ``k`` tokens that both have."""
    first, second = (np.argsort(-each, axis=-1, kind="stable")[:, :k] for each in (f, g))
    both = (first[:, :, None] == second[:, None, :]).any(axis=-1)
    return float(both.mean()) if both.size else math.nan
