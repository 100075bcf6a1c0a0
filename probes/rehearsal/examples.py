"""Figures of a batch: how its targets relate to its inputs, and how much of it carries loss."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from .learner import ONE_TOKEN_LOSSES
from .wire import Batch, Example

OFFSETS = (0, 1, 2)
_ENOUGH = 4  # positions that say how targets lie
_MOST = 2_000  # positions of one example that are compared


class Digests(NamedTuple):
    """Digests of the prompt, the answer, the whole and the input tokens of an example."""

    prompt: int
    answer: int
    whole: int
    tokens: int


class Pull(NamedTuple):
    """Weights of an example of a custom loss: the largest size, their number, and their sign (0 if
    both signs occur)."""

    size: float
    places: int
    sign: int


class Look(NamedTuple):
    """Counts of examples in a batch, unless said otherwise. ``offsets`` are positions that carry
    loss whose target is the input token so many places on, of ``compared`` ones. ``kept`` are the
    first examples of a run themselves, ``pulls`` those of a custom loss, ``moved`` whether the
    model has changed what it says to them since the first batch of such a loss."""

    loss: str
    examples: int
    content: int
    empty: int = 0
    other_length: int = 0
    lacking: int = 0
    non_finite: int = 0
    negative: int = 0
    unscored: int = 0
    compared: int = 0
    offsets: tuple[int, ...] = (0, 0, 0)
    used: Any = None
    digests: Sequence[Digests] = ()
    kept: tuple[Example, ...] = ()
    pulls: tuple[Pull, ...] = ()
    moved: bool = False


def look_at(batch: Batch) -> Look:
    """The counts of a batch."""
    counts = dict.fromkeys(
        ("empty", "other_length", "lacking", "non_finite", "negative", "unscored"), 0
    )
    offsets, compared = [0] * len(OFFSETS), 0
    needed = _needed(batch.loss)
    for example in batch.examples:
        length = len(example.tokens)
        given = example.inputs
        counts["empty"] += not length
        counts["other_length"] += any(len(v) != length for k, v in given.items() if k in _BY_TOKEN)
        counts["lacking"] += any(name not in given for name in needed)
        counts["non_finite"] += not all(math.isfinite(sum(v)) for v in given.values())
        counts["negative"] += any(t < 0 for t in given.get("target_tokens", ()))
        counts["unscored"] += not any(pull_of(example))
        found, of = _lie(example)
        if of >= _ENOUGH:
            compared += of
            offsets = [a + b for a, b in zip(offsets, found, strict=True)]
    return Look(batch.loss, len(batch.examples), _digest(batch), compared=compared,
                offsets=tuple(offsets), digests=[_digests(e) for e in batch.examples],
                kept=(), pulls=(), moved=False, **counts)  # fmt: skip


_BY_TOKEN = frozenset({"target_tokens", "weights", "logprobs", "advantages"})


def _needed(loss: str) -> tuple[str, ...]:
    if loss == "cross_entropy":
        return ("target_tokens",)
    return ("target_tokens", "logprobs", "advantages") if loss in ONE_TOKEN_LOSSES else ()


def pull_of(example: Example) -> Sequence[float]:
    """The weight or advantage of each position; 1 if neither is given."""
    for name in ("advantages", "weights"):
        if name in example.inputs:
            return example.inputs[name]
    return (1.0,) * len(example.tokens)


def _lie(example: Example) -> tuple[list[int], int]:
    """How many targets that carry loss are the input so many places on, and of how many."""
    tokens, targets = example.tokens, example.inputs.get("target_tokens", ())
    found, compared = [0] * len(OFFSETS), 0
    if len(targets) != len(tokens):
        return found, 0
    last = len(tokens) - max(OFFSETS)
    pulls = pull_of(example)
    for place in range(min(last, _MOST)):
        if place < len(pulls) and pulls[place] and tokens[place] >= 0:
            compared += 1
            for number, offset in enumerate(OFFSETS):
                found[number] += tokens[place + offset] == targets[place]
    return found, compared


def first_scored(example: Example) -> int:
    """The first position that carries loss, or the length."""
    return next((n for n, pull in enumerate(pull_of(example)) if pull), len(example.tokens))


def _digests(example: Example) -> Digests:
    first, targets = first_scored(example), example.inputs.get("target_tokens", ())
    whole = (*example.tokens, *targets[-1:])
    return Digests(hash(example.tokens[: first + 1]), hash(tuple(targets[first:])), hash(whole),
                   hash(example.tokens))  # fmt: skip


def custom_pull(example: Example) -> Pull:
    """The weights that a custom loss gives an example."""
    weights = [w for w in pull_of(example) if w]
    signs = {w > 0 for w in weights}
    sign = 0 if len(signs) != 1 else 1 if signs == {True} else -1
    return Pull(max(map(abs, weights), default=0.0), len(weights), sign)


def _digest(batch: Batch) -> int:
    return hash(tuple(sorted(hash(each.tokens) for each in batch.examples)))


def problem_of(look: Look) -> str:
    """Why the service would refuse a batch; an empty text if it would not."""
    if not look.examples or look.empty:
        return "max() iterable argument is empty"
    if look.lacking:
        return f"the loss function {look.loss} lacks inputs in {look.lacking} examples"
    if look.other_length:
        return f"loss inputs of {look.other_length} examples have another length than the tokens"
    if look.non_finite:
        return f"loss inputs of {look.non_finite} examples are not finite"
    return ""
