"""Dimensions over degrees: remainders, padding, and degrees nearby that divide. Arithmetic only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from .settings import Configuration, whole

_SHOWN = 4


class Split(NamedTuple):
    """A size, and the degree over which it is divided."""

    dimension: str
    degree_name: str
    size: int
    degree: int

    @property
    def padded(self) -> int:
        """The size after padding to a multiple of the degree."""
        return -(-self.size // self.degree) * self.degree


def sound_degrees(size: int, near: int) -> tuple[int, ...]:
    """Up to four divisors of ``size`` above 1, those nearest to ``near``, ascending."""
    small = [n for n in range(2, int(min(size, 1 << 24) ** 0.5) + 1) if size % n == 0]
    every = {*small, *(size // n for n in small), size} - {1}
    nearest = sorted(every, key=lambda n: (abs(n - near), n))[:_SHOWN]
    return tuple(sorted(nearest))


def splits(found: Configuration, settings: Mapping[str, Any]) -> Iterator[Split]:
    """Pair each size with the degree by which NxD Inference divides it, as far as both are
    known."""
    sizes = found.sizes
    degree = {name: whole(settings.get(name)) for name in
              ("tp_degree", "cp_degree", "attention_dp_degree", "ep_degree")}  # fmt: skip
    by_tp = (("attention-heads", "heads"), ("kv-heads", "kv_heads"), ("vocabulary", "vocabulary"),
             ("intermediate", "intermediate"), ("hidden", "hidden"))  # fmt: skip
    pairs: list[tuple[str, str, int | None]] = [
        (dimension, "tp_degree", sizes.get(name)) for dimension, name in by_tp
    ]
    pairs += [
        ("experts", "ep_degree", sizes.get("experts")),
        ("tensor-ranks", "cp_degree", degree["tp_degree"]),
        ("tensor-ranks", "attention_dp_degree", degree["tp_degree"]),
        ("context-ranks", "attention_dp_degree", degree["cp_degree"]),
        ("batch", "attention_dp_degree", whole(settings.get("tkg_batch_size"))),
        ("context", "tp_degree", whole(settings.get("max_context_length"))),
        ("chunk", "cp_degree", sizes.get("chunk")),
        ("last-chunk", "cp_degree", _last_chunk(found, settings)),
    ]
    for dimension, name, size in pairs:
        ranks = degree[name]
        if size is not None and ranks is not None:
            yield Split(dimension, name, size, ranks)


def _last_chunk(found: Configuration, settings: Mapping[str, Any]) -> int | None:
    chunk, length = found.sizes.get("chunk"), whole(settings.get("seq_len"))
    return length % chunk or None if chunk and length and chunk < length else None
