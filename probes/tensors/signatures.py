"""Figures of the error of one tensor: its share in rows, channels and positions.

Every figure is a ratio of sums over the sample, in float64. None of them is a verdict; the
knowledge interprets them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from ...reading.tensors import np
from ...reading.tensors.captures import Name
from ..experiment.components import family_of, normal_name
from .faults import Fault, Row
from .relations import relate
from .rotary import frequencies
from .samples import Sample, Samples

CLEAN = 3.0
"""A position is called clean below this R: single positions scatter more than whole tensors."""
_FLOOR = 1e-30


def describe(sample: Sample, keep: Any = None) -> dict[str, Any]:
    """The figures that any tensor has (attributes of the kind ``error_signature``), over the rows
    that ``keep`` marks (None: all)."""
    f, b, t = (x if keep is None else x[keep[: len(x)]] for x in sample[:3])
    if not len(f):
        return {}
    error = t - f
    energy = float((error**2).sum())
    square = float((f**2).sum())
    if not energy or not square:
        return {}
    rows = len(f)
    shift = error.mean(axis=0)
    moved = float((shift**2).sum())
    norms = np.sqrt((error**2).mean(axis=1))
    found = {
        "rows": rows, "scale": float((t * f).sum()) / square, "difference_rms": float(norms.mean()),
        "difference_spread": float(norms.std() / norms.mean()), **_row_scale(f, b, t),
    }  # fmt: skip
    if rows >= 8:
        found["channel_shift_share"] = rows * moved / energy
        found["channel_scale_share"] = _channel_scale(f, t, energy)
        if moved:
            found["shift_in_reference"] = -float((f.mean(axis=0) * shift).sum()) / moved
    return found | (_profile(sample) if keep is None else {})


def _row_scale(f: Any, b: Any, t: Any) -> dict[str, float]:
    """How far the length of single rows is off, in the target and compared with the baseline."""
    squares = (f**2).sum(axis=1)
    known = squares > 0
    if not known.any():
        return {}
    off = ((t - f) * f).sum(axis=1)[known] / squares[known]
    base = ((b - f) * f).sum(axis=1)[known] / squares[known]
    size, usual = (float(np.sqrt((values**2).mean())) for values in (off, base))
    found = {"row_scale": size}
    if usual > 0:
        found["row_scale_ratio"] = size / usual
    return found


def _channel_scale(f: Any, t: Any, energy: float) -> float:
    """Share of the error that one factor for each channel accounts for."""
    squares = (f**2).sum(axis=0)
    factors = (t * f).sum(axis=0) / np.where(squares > 0, squares, 1)
    return 1 - float(((t - factors * f) ** 2).sum()) / energy


def _profile(sample: Sample) -> dict[str, Any]:
    """The R-ratio at the first and the last position, and how many clean ones come first."""
    f, b, t, positions = sample
    batches = len(f) // positions
    if positions < 4 or not batches:
        return {}
    form = (batches, positions, -1)
    whole = batches * positions
    off, base = (((x[:whole] - f[:whole]) ** 2).reshape(form).sum(axis=(0, 2)) for x in (t, b))
    ratios = np.sqrt(off / np.maximum(base, _FLOOR))
    ratios[off == 0] = 0
    ratios = np.minimum(ratios, 1e6)
    failing = np.flatnonzero(ratios >= CLEAN)
    clean = int(failing[0]) if len(failing) else positions
    found = {"r_first": float(ratios[0]), "r_last": float(ratios[-1]), "clean_positions": clean}
    if 0 < clean < positions:
        found["onset"] = float(ratios[clean] / np.median(ratios[clean:]))
    return found


def attention_weights(sample: Sample) -> dict[str, Any]:
    """The shape of attention weights (the mask), and the factor by which their logits are off.

    softmax(s x) has logarithms that grow with s: within a row, log target = s log fp32 + constant.
    """
    f, _, t, positions = sample
    if f.shape[1] != positions or positions < 4 or f.min() < 0 or t.min() < 0:
        return {}
    if np.abs(f.sum(axis=1) - 1).max() > 0.02:
        return {}
    found: dict[str, Any] = {
        "mass_gained": float(t[f == 0].sum() / len(t)),
        "mass_lost": float(f[t == 0].sum() / len(f)),
    }
    both = (f > _FLOOR) & (t > _FLOOR)
    both[both.sum(axis=1) < 3] = False
    count = both.sum(axis=1, keepdims=True)
    logs = [np.log(np.where(both, x, 1)) for x in (f, t)]
    x, y = (np.where(both, v - v.sum(axis=1, keepdims=True) / np.maximum(count, 1), 0)
            for v in logs)  # fmt: skip
    xx, yy, xy = float((x * x).sum()), float((y * y).sum()), float((x * y).sum())
    if xx > 0 and yy > 0:
        # Rounding takes an exact fit just past 1, which the vocabulary refuses.
        found["logit_scale"], found["logit_fit"] = xy / xx, min(1.0, xy * xy / (xx * yy))
    return found


def extra_digits(sample: Sample) -> float | None:
    """Share of the target's numbers that BF16 cannot hold, if the low-precision reference has
    none; None if it has some itself."""
    shares = []
    for values in (sample.bf16, sample.target):
        bits = values.astype(np.float32).view(np.uint32)
        shares.append(float(((bits & 0xFFFF) != 0).mean()))
    return shares[1] if shares[0] == 0 else None


_BEHIND_ATTENTION = re.compile(r"(attn|attention)\.(o_proj|c_proj|out_proj|dense|wo)$", re.ASCII)
MAX_SUSPECTS = 64
"""Number of tensors that are examined closely."""


def signatures(
    rows: Sequence[Row], faults: Sequence[Fault], samples: Samples
) -> Iterator[tuple[Row, dict[str, Any]]]:
    """Attributes of the kind ``error_signature`` for every suspect: where a failure begins, norms,
    and tensors with more digits than the low-precision reference has."""
    begins = {fault.row.name for fault in faults}
    passes = Counter(row.name[1:3] for row in rows)
    left = MAX_SUSPECTS
    upcast: set[tuple[str, int]] = set()
    for row in rows:
        if left <= 0:
            return
        if row.result.bit_equal or row.result.state == "zero-denominator":
            continue
        suspect = row.name in begins or passes[row.name[1:3]] == 1
        if row.fails and not suspect:
            continue
        family = family_of(normal_name(row.name.module))
        closely = suspect or family == "norm"
        sample = samples.get(row.name) if closely else samples.head(row.name)
        if sample is None:
            continue
        found = _of_one(samples, row, sample, family) if closely else {}
        digits = extra_digits(sample)
        if digits:
            found |= {"extra_digits": digits, "digits_first": row.name[1:3] not in upcast}
            upcast.add(row.name[1:3])
        if found:
            left -= 1
            yield row, found


def _of_one(samples: Samples, row: Row, sample: Sample, family: str) -> dict[str, Any]:
    name = row.name
    found = describe(sample, row.keep)
    if family == "attention":
        found |= attention_weights(sample)
    if family == "attention" or _BEHIND_ATTENTION.search(name.module.lower()):
        found["mixing"] = True
    if family == "rotary":
        found |= _rotary(samples, name)
    return found | relate(samples, name, sample, row.keep)


def _rotary(samples: Samples, name: Name) -> dict[str, Any]:
    """Compare cosines and sines: two tensors of one tuple, or two modules with these names."""
    pair = [other for other in samples.names if other.module == name.module
            and (other.phase, other.step) == (name.phase, name.step)]  # fmt: skip
    if len(pair) < 2 and "cos" in name.module:
        partner = name._replace(module=name.module.replace("cos", "sin"))
        pair = [name, partner] if partner in samples.names else []
    if len(pair) < 2:
        return {}
    cos, sin = (samples.get(other) for other in pair[:2])
    return frequencies(cos, sin) if cos is not None and sin is not None else {}
