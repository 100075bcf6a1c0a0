"""Relations that are functions of whole values: normalisations, softmaxes, lower precision."""

from __future__ import annotations

from typing import Any

from ....reading.tensors import np
from ..formula.basics import activate, capped, normalise
from ..formula.few_bits import in_format
from ..formula.masking import seen_as_it_should
from .values import Found, Value

TINY = 1e-12
BLOCK = 32


def normed(value: Value) -> Found:
    """Normalise over the channels or over all heads."""
    x = value.array
    axes: dict[str, tuple[int, ...]] = {"over its channels": (-1,)}
    if value.axes.startswith("bhp"):
        axes["over all heads"] = (1, -1)
    for words, axis in axes.items():
        centred = x - x.mean(axis=axis, keepdims=True)
        yield f"normalised {words}", x / np.sqrt((x * x).mean(axis=axis, keepdims=True) + 1e-6)
        yield f"centred and normalised {words}", centred / np.sqrt(
            (centred * centred).mean(axis=axis, keepdims=True) + 1e-6)  # fmt: skip
        yield f"without its mean {words}", centred
        yield f"of length one {words}", x / np.sqrt((x * x).sum(axis=axis, keepdims=True) + 1e-6)
    if value.axes.endswith("c"):
        half = x.shape[-1] // 2
        if half:
            part = x[..., :half]
            yield "normalised by its first half", x / np.sqrt(
                (part * part).mean(axis=-1, keepdims=True) + 1e-6)  # fmt: skip


def softmaxes(value: Value) -> Found:
    """Other functions from scores to shares, for correctly masked scores."""
    x = value.others.get("scores")
    if x is None or x.shape != value.array.shape:
        return
    seen, there = seen_as_it_should(value.spec, x.shape[-1])
    low = np.where(seen, x, -np.inf)
    powers = np.exp(low - low.max(axis=-1, keepdims=True))
    yield "not divided by its sum", powers
    yield "a sigmoid of the scores", np.where(seen, activate("sigmoid", x), 0)
    yield "to the base of two", _divided(np.exp2(low - low.max(axis=-1, keepdims=True)))
    yield (
        "with one more term",
        powers / (powers.sum(-1, keepdims=True) + np.exp(-low.max(-1, keepdims=True))),
    )
    yield "over the queries", _divided(powers, -2)
    positive = np.where(seen, x.clip(0), 0)
    for eps in (1e-6, 1e-2, 1.0):
        yield (
            "a relu of the scores, divided by their sum",
            positive / (positive.sum(-1, keepdims=True) + eps),
        )
    yield "even over what is seen", _divided(np.where(seen, np.ones_like(x), 0))
    largest = (low == low.max(axis=-1, keepdims=True)).astype(np.float32)
    yield "the largest score alone", largest
    yield "squared", value.array * value.array
    yield (
        "with hidden positions in its sum",
        np.where(seen, _divided(np.exp(x - x.max(-1, keepdims=True)) * there), 0),
    )


def _divided(powers: Any, axis: int = -1) -> Any:
    return powers / (powers.sum(axis=axis, keepdims=True) + TINY)


def rounded(value: Value) -> Found:
    """Round to a format of few bits."""
    x = value.array
    for bits in (8, 4):
        most = 2.0 ** (bits - 1) - 1
        kinds: dict[str, Any] = {"": None, " of each token": (-1,)}
        if x.ndim > 2:
            kinds[" of each head"] = (-2, -1)
        if x.ndim > 1:
            kinds[" of each channel"] = (-2,)
        for words, axis in kinds.items():
            step = np.abs(x).max(axis=axis, keepdims=axis is not None) / most + TINY
            yield f"rounded to {bits} bits{words}", np.rint(x / step) * step
        if x.shape[-1] % BLOCK == 0 and x.shape[-1] > BLOCK:
            cut = x.reshape(*x.shape[:-1], -1, BLOCK)
            step = np.abs(cut).max(axis=-1, keepdims=True) / most + TINY
            yield f"rounded to {bits} bits in blocks of {BLOCK}", (
                np.rint(cut / step) * step).reshape(x.shape)  # fmt: skip
    for name, words in (("F8_E4M3", "FP8 (E4M3)"), ("F8_E5M2", "FP8 (E5M2)")):
        yield f"rounded to {words}", in_format(in_format(x, "BF16"), name)
    fraction, power = np.frexp(x)
    yield "rounded to FP4", np.ldexp(np.rint(fraction * 4) / 4, power)


def shares_of_one(value: Value) -> Found:
    """Divide by the sum of the last axis."""
    x = value.array
    yield "divided by their sum", x / (x.sum(axis=-1, keepdims=True) + TINY)


def softmaxed(value: Value) -> Found:
    """Apply one more softmax."""
    powers = np.exp(value.array - value.array.max(axis=-1, keepdims=True))
    yield "through a softmax", _divided(powers)


def over_rows(value: Value) -> Found:
    """Apply a softmax along the tokens to the output of the router."""
    x = value.others.get("router.logits")
    if x is not None and x.shape == value.array.shape:
        yield "a softmax over the tokens", _divided(np.exp(x - x.max(axis=0, keepdims=True)), 0)


def log_softmax(value: Value) -> Found:
    """Probabilities of the last axis, or their logarithms."""
    x = value.array - value.array.max(axis=-1, keepdims=True)
    yield "as log probabilities", x - np.log(np.exp(x).sum(axis=-1, keepdims=True))
    yield "as probabilities", _divided(np.exp(x))


def by_own_norm(value: Value) -> Found:
    """Apply a norm of the module once more."""
    for part in ("q_norm", "k_norm"):
        weight = value.weights.get(f"{part}.weight")
        if weight is not None and weight.shape[-1] == value.array.shape[-1]:
            again = normalise(value.spec, value.weights, part, value.array)
            yield f"through {part} once more", again


def capped_again(value: Value) -> Found:
    """Apply the soft cap of the module once more, or leave it out."""
    if value.spec.get("softcap"):
        yield "through the soft cap once more", capped(value.spec, value.array, "softcap")
