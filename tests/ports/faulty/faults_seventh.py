"""Faults of the seventh set: rotary embeddings."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from .breaking import rope_of, width, wrap_attention, wrap_rotary
from .fifth_making import PAIRWISE, of_frequencies, of_table, rewrite, share
from .port import Port
from .seventh_making import seventh
from .sixth_making import one_token

SCALED, TABLE, PLACE = "rope-scaling-missing", "rotary_emb", "self_attn"
POSITIONS, LAYOUT = "rope-positions-wrong", "rope-layout-wrong"
TWO_TABLES = "gemma3_text"


def scaling_of(port: Port, *kinds: str) -> dict[str, Any] | None:
    """Parameters of the rotary embedding, if they are of such a kind."""
    given = getattr(port.config, "rope_parameters", None) or {}
    return given if given.get("rope_type") in kinds else None


def plain(theta: float, count: int) -> Tensor:
    return torch.pow(theta, -(torch.arange(count) / count))


@seventh("rope-halves-of-all-heads", LAYOUT, PLACE, everywhere=True)
def _(port: Port) -> bool | None:
    """Heads are split behind the rotation: halves are those of the whole projection."""
    if share(port) is not None or port.config.model_type in PAIRWISE:
        return False

    def turned(original: Any, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        count = x.shape[1]
        whole = x.transpose(1, 2).flatten(2)[:, None]
        wide = (table.repeat(1, 1, count) for table in (cos, sin))
        found: Tensor = original(whole, whole, *wide)[0]
        return torch.stack(found[:, 0].chunk(count, -1), 1)

    def rotary(original: Any, q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> Any:
        return tuple(turned(original, x, cos, sin) for x in (q, k))

    return bool(wrap_rotary(port, rotary))


@seventh("rope-partial-rest-lost", "rope-partial-wrong", PLACE, everywhere=True)
def _(port: Port) -> bool | None:
    """Channels that are not turned are not copied to what the rotation gives."""
    part = share(port)
    if part is None:
        return False
    size = int(width(port.config) * part)

    def given(module: Any, query: Tensor, key: Tensor, *rest: Any) -> tuple[Any, ...]:
        found = query.clone()
        found[..., size:] = 0
        return found, key, *rest

    return bool(wrap_attention(port, given))


@seventh("scaling-while-decoding-only", SCALED, TABLE, everywhere=True)
def _(port: Port) -> bool | None:
    """The table of the prompt is that of plain frequencies, the one of decoding is scaled."""
    given = scaling_of(port, "llama3", "yarn")
    if given is None:
        return False

    def change(cos: Tensor, sin: Tensor, places: Tensor, table: Any) -> tuple[Tensor, Tensor]:
        if places.shape[1] == 1:
            return cos, sin
        found = plain(given["rope_theta"], width(port.config) // 2)
        angles = places[..., None].float() * found.repeat(cos.shape[-1] // len(found))
        factor = (cos.float().square() + sin.float().square()).mean().sqrt()
        return (angles.cos() * factor).to(cos.dtype), (angles.sin() * factor).to(sin.dtype)

    of_table(port, change)
    return None


@seventh("yarn-bounds-in-channels", SCALED, TABLE, everywhere=True)
def _(port: Port) -> bool | None:
    """The bounds of the ramp are counted in channels, and each frequency has two of them."""
    given = scaling_of(port, "yarn")
    if given is None:
        return False
    theta, length = given["rope_theta"], given["original_max_position_embeddings"]

    def change(value: Tensor) -> Tensor:
        count = len(value)
        turns = (2 * math.pi * given["beta_fast"], 2 * math.pi * given["beta_slow"])
        low, high = (max(0.0, 2 * count * math.log(length / t) / math.log(theta)) for t in turns)
        ramp = ((torch.arange(count) - low) / (high - low)).clamp(0, 1)
        found = plain(theta, count)
        scaled: Tensor = found / given["factor"] * ramp + found * (1 - ramp)
        return scaled

    of_frequencies(port, change)
    return None


@seventh("rope-scaled-in-positions-too", (SCALED, POSITIONS), TABLE, everywhere=True)
def _(port: Port) -> bool | None:
    """Frequencies are scaled, and positions are divided by the same factor."""
    given = scaling_of(port, "llama3", "yarn")
    if given is None:
        return False
    factor = given["factor"]
    of_table(port, lambda cos, sin, places, table: table(places / factor))
    return None


@seventh("rope-frequency-for-each-channel", (LAYOUT, "rope-theta-wrong"), TABLE, everywhere=True)
def _(port: Port) -> bool | None:
    """Each channel has a frequency of its own: the two of a pair are turned differently."""
    given = rope_of(port)
    if given is None or scaling_of(port, "default") is None:
        return False

    def change(cos: Tensor, sin: Tensor, places: Tensor, table: Any) -> tuple[Tensor, Tensor]:
        size = cos.shape[-1]
        angles = places[..., None].float() * plain(given["rope_theta"], size)
        return angles.cos().to(cos.dtype), angles.sin().to(sin.dtype)

    of_table(port, change)
    return None


@seventh("decoded-with-local-table", "rope-theta-wrong", TABLE, everywhere=True)
def _(port: Port) -> bool | None:
    """The graph that decodes has one table, that of layers with windows."""
    if port.config.model_type != TWO_TABLES:
        return False

    def make(module: nn.Module, inner: Any) -> Any:
        def forward(x: Tensor, position_ids: Tensor, layer_type: str) -> Any:
            one = position_ids.shape[1] == 1
            return inner(x, position_ids, "sliding_attention" if one else layer_type)

        return forward

    rewrite(port, r"rotary_emb\Z", make)
    return None


@seventh("decoded-query-one-place-behind", POSITIONS, PLACE, everywhere=True)
def _(port: Port) -> bool | None:
    """The counter moves on behind the rotation of queries: keys alone have the new position."""
    if port.config.model_type == TWO_TABLES:
        return False
    before: dict[str, Any] = {}

    def change(cos: Tensor, sin: Tensor, places: Tensor, table: Any) -> tuple[Tensor, Tensor]:
        before["table"] = table(places - 1)
        return cos, sin

    def rotary(original: Any, q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> Any:
        query, key = original(q, k, cos, sin)
        if one_token(q, 2):
            query = original(q, k, *before["table"])[0]
        return query, key

    of_table(port, change)
    return bool(wrap_rotary(port, rotary))


@seventh("prompt-places-count-padding", POSITIONS, TABLE, everywhere=True)
def _(port: Port) -> bool | None:
    """The prompt is padded on the left to its bucket; decoding counts tokens without padding."""
    of_table(port, lambda cos, sin, places, table: (
        table(places + 8) if places.shape[1] > 1 else (cos, sin)))  # fmt: skip
    return None
