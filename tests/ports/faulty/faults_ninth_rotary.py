"""Faults of the ninth set: rotary embeddings and positions."""

import math
from typing import Any

import torch
from torch import Tensor

from .breaking import heads, rope_of, wrap_rotary, wrap_table
from .fifth_making import (
    PAIRWISE,
    change_rows,
    of_frequencies,
    of_table,
    rewrite,
    share,
    to_halves,
    to_pairs,
)
from .ninth_making import HALVED, LAYOUT, LOW, SCALE, decoded_table, eight_bits, ninth, within_layer
from .port import Port

TABLE = "rotary_emb"
THETA, PLACES, PARTIAL = "rope-theta-wrong", "rope-positions-wrong", "rope-partial-wrong"
SCALED, ATTENTION_FACTOR = "rope-scaling-missing", "rope-attention-factor-wrong"
TURNED = "rope-layout-wrong"
Two = tuple[Tensor, Tensor]


def scaled(port: Port, kind: str) -> dict[str, Any] | None:
    """The scaling of this kind that the configuration asks for; None if there is none."""
    given = rope_of(port)
    return given if given and given["rope_type"] == kind else None


def plain(given: dict[str, Any], now: Tensor) -> Tensor:
    """Frequencies as they are without scaling."""
    return torch.as_tensor(given["rope_theta"] ** (-torch.arange(len(now)) / len(now)))


def blended(given: dict[str, Any], base: Tensor, swapped: bool) -> Tensor:
    """Frequencies of Llama 3, made from others; ``swapped``: with the shares exchanged."""
    low, high, factor = (given[f"{key}factor"] for key in ("low_freq_", "high_freq_", ""))
    turns = given["original_max_position_embeddings"] * base / (2 * math.pi)
    share_of_plain = ((turns - low) / (high - low)).clamp(0, 1)
    band = (turns > low) & (turns < high)
    if swapped:
        share_of_plain = torch.where(band, 1 - share_of_plain, share_of_plain)
    found: Tensor = base * share_of_plain + base / factor * (1 - share_of_plain)
    return found


@ninth("llama3-band-blended-the-wrong-way", SCALED, TABLE, everywhere=True,
       report="ml-explore/mlx-examples/pull/907")  # fmt: skip
def _(port: Port) -> bool | None:
    """Between the fast and the slow frequencies the shares of the scaled and of the plain one are
    exchanged."""
    given = scaled(port, "llama3")
    if given is None:
        return False
    of_frequencies(port, lambda now: blended(given, plain(given, now), True))
    return None


@ninth("llama3-scaled-by-converter-and-model", SCALED, TABLE, everywhere=True)
def _(port: Port) -> bool | None:
    """The converter stores frequencies that are scaled, and the model scales them once more."""
    given = scaled(port, "llama3")
    if given is None:
        return False
    of_frequencies(port, lambda now: blended(given, now, False))
    return None


@ninth("yarn-factor-inverted", (ATTENTION_FACTOR, SCALE), TABLE, everywhere=True,
       report="ggml-org/llama.cpp/pull/17945")  # fmt: skip
def _(port: Port) -> bool | None:
    """The port divides by the attention factor of YaRN, as if its kernel had applied it before."""
    given = scaled(port, "yarn")
    if given is None:
        return False
    given["attention_factor"] = 1 / (0.1 * math.log(given["factor"]) + 1)
    return None


@ninth("decoded-without-yarn-factor", (ATTENTION_FACTOR, SCALE), TABLE, everywhere=True)
def _(port: Port) -> bool | None:
    """The graph that decodes has a table of its own, to which the attention factor of YaRN was
    not carried over."""
    given = scaled(port, "yarn")
    if given is None:
        return False
    factor = 0.1 * math.log(given["factor"]) + 1

    def change(cos: Tensor, sin: Tensor, places: Tensor, table: Any) -> Two:
        return (cos, sin) if places.shape[-1] > 1 else (cos / factor, sin / factor)

    of_table(port, change)
    return None


@ninth("decoded-frequencies-multiplied-by-factor", (SCALED, PLACES), TABLE, everywhere=True,
       report="mit-han-lab/llm-awq/pull/334")  # fmt: skip
def _(port: Port) -> bool | None:
    """The fused kernel for one token multiplies by the factor by which it should divide."""
    given = scaled(port, "llama3")
    if given is None:
        return False
    factor = given["factor"]

    def angles(now: Tensor, places: Tensor) -> Tensor:
        base = plain(given, now)
        return torch.where(now < base, base * factor, base) * places

    decoded_table(port, angles)
    return None


@ninth("turned-part-halved-by-each-layer", PARTIAL, "self_attn",
       report="vllm-project/vllm/pull/11883")  # fmt: skip
def _(port: Port) -> bool | None:
    """Layers share one rotary module, and one of them halves the width that it turns."""
    if share(port) is None:
        return False
    here = within_layer(port)

    def change(original: Any, q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> Two:
        if here():
            half = cos.shape[-1] // 2
            still = torch.arange(cos.shape[-1]) % half >= half // 2
            cos, sin = cos.masked_fill(still, 1), sin.masked_fill(still, 0)
        found: Two = original(q, k, cos, sin)
        return found

    return bool(wrap_rotary(port, change))


@ninth("turned-part-halved-twice", PARTIAL, "rotary_emb|self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """The kernel is given the width of the part that is turned, and takes half of it."""
    part = share(port)
    if part is None:
        return False
    port.config.rope_parameters["partial_rotary_factor"] = part / 2
    return None


@ninth("bases-of-two-kinds-of-layers-exchanged", THETA, TABLE, everywhere=True)
def _(port: Port) -> bool | None:
    """Layers with windows have the base of those without, and the reverse."""
    given = getattr(port.config, "rope_parameters", None) or {}
    if "sliding_attention" not in given:
        return False
    one, two = given["sliding_attention"], given["full_attention"]
    one["rope_theta"], two["rope_theta"] = two["rope_theta"], one["rope_theta"]
    return None


@ninth("decoded-with-usual-base", THETA, TABLE, everywhere=True,
       report="google/gemma.cpp/issues/986")  # fmt: skip
def _(port: Port) -> bool | None:
    """The path for one token has the usual base written into it; that of prompts reads the
    configuration."""
    given = scaled(port, "default")
    if given is None or given["rope_theta"] == 10_000 or port.config.model_type not in HALVED:
        return False
    decoded_table(port, lambda now, places: plain({"rope_theta": 1e4}, now) * places)
    return None


@ninth("exponents-counted-from-one", (THETA, PLACES, SCALED), TABLE, everywhere=True,
       report="stanford-cs336/assignment1-basics/issues/22")  # fmt: skip
def _(port: Port) -> bool | None:
    """Pairs of channels are counted from one in the exponents of the base."""
    given = rope_of(port)
    if given is None:
        return False
    of_frequencies(port, lambda now: now * given["rope_theta"] ** (-1 / len(now)))
    return None


@ninth("table-in-eight-bits", (LOW, "rope-frequencies-rounded"), TABLE, everywhere=True)
def _(port: Port) -> bool | None:
    """The table of sines and cosines is kept in the type of the cache, which has eight bits."""
    of_table(port, lambda cos, sin, places, table: (eight_bits(cos), eight_bits(sin)))
    return None


@ninth("permuted-on-first-rank-only", (TURNED, LAYOUT), "self_attn.(q_proj|k_proj)")
def _(port: Port) -> bool | None:
    """Rows of queries and keys are permuted for the other form of the rotation on the first of
    two ranks."""
    order = to_halves if port.config.model_type in PAIRWISE else to_pairs

    def change(count: int) -> Any:
        def moved(w: Tensor) -> Tensor:
            one, two = w.chunk(2)
            return torch.cat((order(one, count // 2), two))

        return moved

    count, groups = heads(port.config)
    if groups % 2:
        return False
    return bool(change_rows(port, "q_proj", change(count))) and bool(
        change_rows(port, "k_proj", change(groups))
    )


@ninth("positions-dealt-as-to-ranks", PLACES, TABLE, everywhere=True)
def _(port: Port) -> bool | None:
    """Parts of a prompt go to two ranks in a zigzag so that both have as much to do. Positions
    have that order, and tokens have their own."""

    def change(places: Tensor) -> Tensor:
        if places.shape[-1] < 4:
            return places
        one, two, three, four = places.tensor_split(4, -1)
        return torch.cat((one, four, two, three), -1)

    wrap_table(port, change)
    return None


@ninth("decoded-local-positions-by-slot", PLACES, TABLE, everywhere=True)
def _(port: Port) -> bool | None:
    """In layers with windows a decoded token has the number of its slot in the ring for its
    position."""
    if port.config.model_type != "gemma3_text":
        return False
    window = int(port.config.sliding_window)

    def make(_: Any, inner: Any) -> Any:
        def forward(x: Tensor, position_ids: Tensor, *args: Any, **kwargs: Any) -> Any:
            local = "sliding_attention" in (*args, *kwargs.values())
            if local and position_ids.shape[-1] == 1:
                position_ids = position_ids % window
            return inner(x, position_ids, *args, **kwargs)

        return forward

    rewrite(port, r"rotary_emb\Z", make)
    return None
