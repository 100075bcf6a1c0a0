"""Whether the runs were given the same tokens: figures of different texts say nothing of a port.

Problem: MM519 a run was given other tokens.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ...facts.problems import Location, Problem
from ...reading.tensors import np
from ...reading.tensors.captures import Name
from ...reading.tensors.stored import Stored

ROLES = ("ref_fp32", "ref_bf16", "target")
MAX_TOKENS = 1 << 20
OTHER_SHARE = 0.5
"""Share of the positions with another token: fewer may be a fault of the port (padding, BOS)."""
_EMBEDDING = re.compile(r"(?:^|\.)(?:embed_tokens|wte|embed_in|word_embeddings|tok_embeddings)\Z")


def other_tokens(runs: Sequence[Mapping[Name, Stored]]) -> list[Problem]:
    """A problem for each run that embeds other tokens than the first one, as far as they can be
    compared. Never raises."""
    shared = set(runs[0]) & set(runs[1]) & set(runs[2])
    names = sorted((n for n in shared if n.side == "in" and _EMBEDDING.search(n.module)),
                   key=Name.order)  # fmt: skip
    found = []
    for role, run in zip(ROLES[1:], runs[1:], strict=True):
        for name in names:
            share = _share(runs[0][name], run[name])
            if share is not None and share >= OTHER_SHARE:
                seen = f"{share:.0%} of {name.shown}"
                text = (
                    f"{role} was given other tokens than {ROLES[0]} ({seen}); nothing is compared"
                )
                hint = "capture all three runs with the same token numbers and seed"
                found.append(Problem("MM519", text, Location(str(run[name].file)), hint))
                break
    return found


def _share(one: Stored, other: Stored) -> float | None:
    if one.shape != other.shape or not 0 < one.size <= MAX_TOKENS:
        return None
    try:
        a, b = _numbers(one), _numbers(other)
    except (OSError, ValueError, EOFError):
        return None
    whole = bool(np.isfinite(a).all() and np.isfinite(b).all())
    if not whole or bool((a % 1).any()) or bool((b % 1).any()):
        return None  # no token numbers
    return float((a != b).mean())


def _numbers(stored: Stored) -> Any:
    with stored.open() as reader:
        return np.array(reader.read(stored.size), dtype=np.float64)
