"""Faults of the fifth set, each with its report: the rotary embedding."""

import torch

from .breaking import heads, wrap_attention, wrap_rotary, wrap_table
from .fifth_making import (
    CACHE,
    LAYOUT,
    PAIRS,
    PAIRWISE,
    change_rows,
    decoding,
    of_frequencies,
    of_partial_heads,
    of_table,
    reported,
    share,
    to_halves,
    to_pairs,
    turn_half,
)

PLACES, SCALED, PARTIAL = "rope-positions-wrong", "rope-scaling-missing", "rope-partial-wrong"
TABLE = "rotary_emb"


@reported("keys-permuted-as-queries", (LAYOUT, PAIRS), "self_attn.k_proj",
          "huggingface/transformers/pull/31788")  # fmt: skip
def _(port):
    """The pairs of keys are taken apart with the number of query heads, not with their own."""
    count, groups = heads(port.config)
    if count == groups or port.config.model_type in PAIRWISE:
        return False
    return change_rows(port, "k_proj", lambda rows: to_halves(to_pairs(rows, groups), count))


@reported("permuted-in-shards", (PAIRS, LAYOUT), "self_attn.(q_proj|k_proj)",
          "huggingface/transformers/pull/48519")  # fmt: skip
def _(port):
    """The permutation for the rotary embedding takes the size of a head from a shard of two."""
    if port.config.model_type in PAIRWISE or share(port):
        return False

    def change(count):
        return lambda rows: torch.cat(
            [to_halves(shard, count) for shard in to_pairs(rows, count).chunk(2)])  # fmt: skip

    count, groups = heads(port.config)
    return change_rows(port, "q_proj", change(count)) and change_rows(
        port, "k_proj", change(groups)
    )


@reported("bias-not-permuted", (LAYOUT, PAIRS), "self_attn.(q_proj|k_proj)",
          "vllm-project/vllm/pull/55335")  # fmt: skip
def _(port):
    """Rows of queries and keys are permuted for the rotary embedding, and their biases are not."""
    if port.config.model_type in PAIRWISE:
        return False
    count, groups = heads(port.config)
    queries = port.scale_rows(r"self_attn\.q_proj\.bias", lambda b: to_halves(b, count))
    return queries and port.scale_rows(r"self_attn\.k_proj\.bias", lambda b: to_halves(b, groups))


@reported("linear-scaling-where-none", (PLACES, SCALED), TABLE,
          "vllm-project/vllm/pull/29111", everywhere=True)  # fmt: skip
def _(port):
    """The linear scaling of the layers with full attention is applied to layers that have none."""
    given = port.config.rope_parameters
    plain = given.get("sliding_attention", given)
    if plain.get("rope_type") != "default":
        return False
    plain |= {"rope_type": "linear", "factor": 8.0}


@reported("positions-doubled", (PLACES, SCALED), TABLE,
          "lablup/mlxcel/issues/1324", everywhere=True)  # fmt: skip
def _(port):
    """Positions are multiplied by two, though the configuration asks for no linear scaling."""
    wrap_table(port, lambda places: places * 2)


@reported("partial-frequencies-of-head", (PARTIAL, "rope-theta-wrong"), TABLE,
          "pie-project/pie/issues/602", everywhere=True)  # fmt: skip
def _(port):
    """Frequencies fall with the width of the head, not with that of the part that is turned."""
    part = share(port)
    if part is None:
        return False
    of_frequencies(port, lambda frequencies: frequencies**part)


@reported("partial-pairs-of-head", (PARTIAL, PAIRS), "self_attn",
          "apple/coreai-models/issues/66", everywhere=True)  # fmt: skip
def _(port):
    """Channel i is turned with the one half a head away, not half the turned part away."""

    def change(original, x, cos, sin):
        half, size = cos.shape[-1] // 2, x.shape[-1] // 2
        cos, sin = (each[..., :half].unsqueeze(1) for each in (cos, sin))
        ones = torch.ones(*cos.shape[:-1], size - half, dtype=cos.dtype)
        cos, sin = torch.cat((cos, ones), -1), torch.cat((sin, ones * 0), -1)
        return x * cos.repeat(1, 1, 1, 2) + turn_half(x) * sin.repeat(1, 1, 1, 2)

    return of_partial_heads(port, change)


@reported("sine-padded-with-ones", (PARTIAL, "missing-algorithm"), "self_attn",
          "vllm-project/vllm/issues/55204", everywhere=True)  # fmt: skip
def _(port):
    """The table is filled up with ones, sines too: channels that stay are turned and stretched."""

    def change(original, x, cos, sin):
        width = cos.shape[-1]
        turned = original(x[..., :width], x[..., :width], cos, sin)[0]
        rest = x[..., width:]
        return torch.cat((turned, rest + turn_half(rest)), -1)

    return of_partial_heads(port, change)


@reported("table-in-pairs", PAIRS, TABLE, "Dao-AILab/flash-attention/issues/45",
          everywhere=True)  # fmt: skip
def _(port):
    """Each angle stands twice side by side in the table, and halves of a head are turned."""
    kind = port.config.model_type
    if kind == "gpt_oss":
        return False

    def other(each):
        if kind == "cohere":
            return each[..., ::2].repeat(1, 1, 2)
        return each[..., : each.shape[-1] // 2].repeat_interleave(2, -1)

    of_table(port, lambda cos, sin, places, table: (other(cos), other(sin)))


@reported("decoded-at-position-zero", PLACES, TABLE,
          "Blaizzy/mlx-vlm/issues/1983", everywhere=True)  # fmt: skip
def _(port):
    """Positions are counted from the start of what is run: each decoded token has position 0."""
    wrap_table(port, lambda places: places * 0 if places.shape[-1] == 1 else places)


@reported("table-too-short", PLACES, TABLE,
          "pegainfer-project/pegainfer/issues/220", everywhere=True)  # fmt: skip
def _(port):
    """Behind its last position the table is read on: sines for cosines, then nothing."""
    length = 16

    def change(cos, sin, places, table):
        late = (places >= length)[..., None]
        behind = table((places - length).clamp(min=0))[1]
        return torch.where(late, behind, cos), torch.where(late, 0, sin).to(sin.dtype)

    of_table(port, change)


@reported("cached-keys-of-older-base", ("rope-theta-wrong", SCALED), TABLE,
          "huggingface/transformers/issues/25104", everywhere=True)  # fmt: skip
def _(port):
    """The base grows with the length while decoding; cached keys were turned with the older one."""

    def make(module):
        kept = dict(module.named_buffers(recurse=False))
        inner = module.forward

        def forward(x, position_ids, *args, **kwargs):
            grown = 2 * (int(position_ids.max()) + 1) / 8 - 1
            for name, value in kept.items():
                width = 2 * len(value)
                falls = torch.arange(0, width, 2) / (width - 2)
                now = value.float() * grown**-falls if position_ids.shape[-1] == 1 else value
                setattr(module, name, now)
            return inner(x, position_ids, *args, **kwargs)

        return forward

    def add(model):
        for name, module in model.named_modules():
            if name.endswith("rotary_emb"):
                module.forward = make(module)

    port.changes.append(add)


@reported("current-key-not-turned", "rope-missing", "self_attn",
          "kvcache-ai/sglang/pull/66", everywhere=True)  # fmt: skip
def _(port):
    """The fused kernel turns keys into the cache only; attention to the current ones is to keys
    that are not turned."""
    plain = {}

    def rotary(original, q, k, cos, sin):
        plain["key"] = k
        return original(q, k, cos, sin)

    def attend(module, query, key, value, mask, scaling):
        given = plain["key"]
        key = key.clone()
        key[..., -given.shape[-2] :, : given.shape[-1]] = given
        return query, key, value, mask, scaling

    return wrap_rotary(port, rotary) and wrap_attention(port, attend)


@reported("cached-keys-turned-again", (PLACES, CACHE), "self_attn",
          "NeuraLegion/shainet/pull/110", everywhere=True)  # fmt: skip
def _(port):
    """Keys are cached turned, and those from the cache are turned once more."""
    if getattr(port.config, "sliding_window", None):
        return False
    prompt = {}

    def rotary(original, q, k, cos, sin):
        if q.shape[-2] > 1:
            prompt["again"] = lambda key: original(key, key, cos, sin)[1], cos.shape[-1]
        return original(q, k, cos, sin)

    def attend(module, query, key, value, mask, scaling):
        if decoding(query, key):
            again, width = prompt["again"]
            count = prompt.setdefault("count", key.shape[-2] - 1)
            key = key.clone()
            key[..., :count, :width] = again(key[..., :count, :width])
        return query, key, value, mask, scaling

    return wrap_rotary(port, rotary) and wrap_attention(port, attend)
