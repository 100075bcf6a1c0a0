"""Fingerprints of tensors that do not depend on their layout, and digests of the rows of
weights."""

from __future__ import annotations

import math
from typing import Any

from .quantity import Moments

MASKED = 9e3
"""Larger numbers stand for "masked": with them all masked scores would be alike."""
BLOCK = 1 << 21
"""Numbers that are turned into float64 at a time."""


def moments(tensor: Any) -> tuple[Moments | None, float | None, float]:
    """Moments over the root mean square, and its logarithm: the same for a permuted, transposed,
    repeated or, as zeros are left out, padded tensor; or the one number that it consists of. And
    the share of numbers that stand for "masked"."""
    import torch

    flat = tensor.detach().reshape(-1)
    exact = not tensor.is_floating_point()
    if flat.is_complex():
        flat = torch.view_as_real(flat).reshape(-1)
        exact = False
    count = masked = 0
    sums = [0.0, 0.0, 0.0, 0.0]
    high, low = -math.inf, math.inf
    for start in range(0, flat.numel(), BLOCK):
        x = flat[start : start + BLOCK].to(torch.float64)
        if not exact:
            masked += int((x.abs() >= MASKED).sum())
            x = x[(x.abs() < MASKED) & (x != 0)]
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
    if not count:
        return None, 0.0, share
    if high - low < 1e-12 * max(1.0, abs(high)):
        return None, high, share
    rms = math.sqrt(sums[2] / count)
    mean, size, third = sums[0] / count / rms, sums[1] / count / rms, sums[3] / count / rms**3 / 3
    return (mean, size, third, high / rms, low / rms, math.log(rms)), None, share
