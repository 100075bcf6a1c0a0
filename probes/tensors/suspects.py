"""Reads the signs of the error of those tensors at which a failure may begin."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from ..experiment.components import family_of, normal_name
from .faults import Fault, Row
from .naming import Name
from .relations import relate
from .rotary import frequencies
from .samples import Sample, Samples
from .signatures import attention_weights, describe, extra_digits

_BEHIND_ATTENTION = re.compile(r"(attn|attention)\.(o_proj|c_proj|out_proj|dense|wo)$", re.ASCII)
MAX_SUSPECTS = 64
"""So many tensors are looked at closely."""


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
    """Cosines and sines are two tensors of one tuple, or two modules called so."""
    pair = [other for other in samples.names if other.module == name.module
            and (other.phase, other.step) == (name.phase, name.step)]  # fmt: skip
    if len(pair) < 2 and "cos" in name.module:
        partner = name._replace(module=name.module.replace("cos", "sin"))
        pair = [name, partner] if partner in samples.names else []
    if len(pair) < 2:
        return {}
    cos, sin = (samples.get(other) for other in pair[:2])
    return frequencies(cos, sin) if cos is not None and sin is not None else {}
