"""Fingerprints of tensors that do not depend on their layout, and digests of the rows of
weights."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

from .quantity import Moments

MASKED = 9e3
"""Larger numbers stand for "masked": with them all masked scores would be alike."""
BLOCK = 1 << 21
"""Numbers that are turned into float64 at a time."""


class Print(NamedTuple):
    """``moments`` over the root mean square, and its logarithm: the same for a permuted,
    transposed, repeated or, as zeros are left out, padded tensor; or the one ``value`` that it
    consists of. The share of numbers that stand for "masked", ``patterns`` of these for a row, and
    a figure for the ``order`` of the numbers."""

    moments: Moments | None = None
    value: float | None = None
    masked: float = 0.0
    order: float = 0.0
    patterns: tuple[int, ...] = ()


@cache
def _weights() -> Any:
    import torch

    return torch.randn(BLOCK, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def fingerprint(tensor: Any) -> Print:
    """Return the figures that identify the numbers of ``tensor``."""
    import torch

    flat = tensor.detach().reshape(-1)
    exact = not tensor.is_floating_point()
    if flat.is_complex():
        flat = torch.view_as_real(flat).reshape(-1)
        exact = False
    count = masked = 0
    order = 0.0
    sums = [0.0, 0.0, 0.0, 0.0]
    high, low = -math.inf, math.inf
    for start in range(0, flat.numel(), BLOCK):
        x = flat[start : start + BLOCK].to(torch.float64)
        if not exact:
            masked += int((x.abs() >= MASKED).sum())
            x = torch.where(x.abs() < MASKED, x, 0.0)
        order += float(x @ _weights().to(x.device)[: len(x)]) * (1 + start // BLOCK)
        x = x if exact else x[x != 0]
        if not x.numel():
            continue
        square = x * x
        found = torch.stack(
            (x.sum(), x.abs().sum(), square.sum(), (square * x).sum(), x.max(), x.min())
        )
        *parts, top, bottom = found.tolist()
        sums = [a + b for a, b in zip(sums, parts, strict=True)]
        count, high, low = count + x.numel(), max(high, top), min(low, bottom)
    share = float(f"{masked / max(1, flat.numel()):.6g}")
    patterns = _patterns(tensor) if masked or tensor.dtype == torch.bool else ()
    if not count:
        return Print(None, 0.0, share, 0.0, patterns)
    if high - low < 1e-12 * max(1.0, abs(high)):
        return Print(None, high, share, 0.0, patterns)
    rms = math.sqrt(sums[2] / count)
    mean, size, third = sums[0] / count / rms, sums[1] / count / rms, sums[3] / count / rms**3 / 3
    found = (mean, size, third, high / rms, low / rms, math.log(rms))
    return Print(found, None, share, order / rms / math.sqrt(count), patterns)


def _patterns(tensor: Any) -> tuple[int, ...]:
    """Digests of how many numbers of a row a mask leaves, whatever their order and however often
    the row is there; if it is not known which of two values masks, for both."""
    import torch

    if tensor.dim() < 1 or not tensor.numel():
        return ()
    kept = tensor if tensor.dtype == torch.bool else tensor.abs() < MASKED
    counts = kept.reshape(-1, kept.shape[-1]).sum(1).unique()
    both = (counts, kept.shape[-1] - counts) if tensor.dtype == torch.bool else (counts,)
    return tuple(sum(pow(31, int(n), (1 << 31) - 1) for n in each.tolist() if n) for each in both)
