"""Faults of the third set: rotary embeddings, and norms of queries and keys."""

import torch

from .breaking import (
    replace_norm,
    rope_of,
    width,
    wrap_attention,
    wrap_rotary,
    wrap_table,
)
from .faults_third import CACHE, PLACE
from .port import fault

PLACES, LAYOUT, PARTIAL = "rope-positions-wrong", "rope-layout-wrong", "rope-partial-wrong"
SCALING, FACTOR, QK = "rope-scaling-missing", "rope-attention-factor-wrong", "qk-norm-wrong"
PAIRED = ("cohere", "glm4")  # channels that are rotated together lie side by side
TABLE = "(rotary_emb|self_attn|attention)"


def share(port):
    """The part of a head's channels that is rotated."""
    return (rope_of(port) or {}).get("partial_rotary_factor") or 1.0


def frequencies(port, change):
    """``change(inverse frequencies, unscaled ones)`` gives those of the port."""
    given = rope_of(port)
    size = int(width(port.config) * share(port))

    def add(model):
        module = next(m for n, m in model.named_modules() if n.endswith("rotary_emb"))
        plain = given["rope_theta"] ** -(torch.arange(0, size, 2) / size)
        now = module.inv_freq
        module.inv_freq = change(now.float(), plain).to(now.dtype)

    port.changes.append(add)


def norm_of(port, weight):
    return weight + (1 if port.config.model_type.startswith("gemma") else 0)


def replace_qk_norms(port, make):
    """``make(norm)`` gives another function for the norm of queries, and that of keys."""
    for each in ("q_norm", "k_norm"):
        if replace_norm(port, f"self_attn.{each}", make) is False:
            return False
    return None


@fault("third-rope-cos-sin-exchanged", LAYOUT, PLACE, everywhere=True)
def _(port):
    return wrap_rotary(port, lambda original, q, k, cos, sin: original(q, k, sin, cos))


@fault("third-rope-decode-from-zero", PLACES, TABLE, everywhere=True)
def _(port):
    """Positions of decoded tokens count from the first of them."""
    kept = {}

    def change(places):
        if places.shape[-1] > 1:
            kept["prompt"] = places.shape[-1]
            return places
        return places - kept["prompt"]

    wrap_table(port, change)


@fault("third-rope-decode-stands", PLACES, TABLE, everywhere=True)
def _(port):
    """All decoded tokens have the position of the last one of the prompt."""
    kept = {}

    def change(places):
        if places.shape[-1] > 1:
            kept["last"] = places[..., -1:]
            return places
        return kept["last"]

    wrap_table(port, change)


@fault("third-rope-chunks-from-zero", PLACES, TABLE, everywhere=True)
def _(port):
    """The prompt is run in chunks, and each starts at position 0."""
    wrap_table(port, lambda places: places % 8 if places.shape[-1] > 1 else places)


@fault("third-rope-theta-of-global-layers", "rope-theta-wrong", TABLE, everywhere=True)
def _(port):
    given = getattr(port.config, "rope_parameters", None) or {}
    if "sliding_attention" not in given:
        return False
    given["sliding_attention"]["rope_theta"] = given["full_attention"]["rope_theta"]


@fault("third-rope-exponent-half", "rope-theta-wrong", TABLE, everywhere=True)
def _(port):
    """Exponents of i / d instead of 2 i / d."""
    given = rope_of(port)
    if not given or given["rope_type"] != "default":
        return False
    frequencies(port, lambda now, plain: now.sqrt())


@fault("third-rope-partial-of-whole-head", ("rope-theta-wrong", PARTIAL), TABLE, everywhere=True)
def _(port):
    """Some channels are rotated, but exponents are divided by the size of the whole head."""
    if share(port) == 1.0:
        return False
    frequencies(port, lambda now, plain: now ** share(port))


@fault("third-rope-partial-last-channels", PARTIAL, PLACE, everywhere=True)
def _(port):
    if share(port) == 1.0 or port.config.model_type == "stablelm":
        return False

    def change(original, q, k, cos, sin):
        size = cos.shape[-1]
        found = original(q.roll(size, -1), k.roll(size, -1), cos, sin)
        return tuple(each.roll(-size, -1) for each in found)

    return wrap_rotary(port, change)


@fault("third-rope-partial-added", PARTIAL, PLACE, everywhere=True)
def _(port):
    """Only the first half of the channels is rotated, with the frequencies of that size."""
    if share(port) < 1.0 or port.config.model_type in (*PAIRED, "gpt_oss", "stablelm", "gpt_neox"):
        return False

    def change(original, q, k, cos, sin):
        size = cos.shape[-1] // 2
        c, s = (torch.cat((x[..., :size:2], x[..., :size:2]), -1) for x in (cos, sin))
        found = original(q[..., :size], k[..., :size], c, s)
        return tuple(torch.cat((one, x[..., size:]), -1)
                     for one, x in zip(found, (q, k), strict=True))  # fmt: skip

    return wrap_rotary(port, change)


@fault("third-rope-halves-for-pairs", LAYOUT, PLACE, everywhere=True)
def _(port):
    if port.config.model_type not in PAIRED:
        return False

    def change(original, q, k, cos, sin):
        size = cos.shape[-1]
        if port.config.model_type == "cohere":
            cos, sin = (torch.cat((x[..., ::2], x[..., ::2]), -1) for x in (cos, sin))
        cos, sin = cos[:, None], sin[:, None]

        def turned(x):
            x, rest = x[..., :size], x[..., size:]
            one, two = x.chunk(2, -1)
            return torch.cat((x * cos + torch.cat((-two, one), -1) * sin, rest), -1)

        return turned(q), turned(k)

    return wrap_rotary(port, change)


@fault("third-rope-layout-of-keys-only", LAYOUT, "self_attn(.k_proj)?")
def _(port):
    size = width(port.config)
    if port.config.model_type in (*PAIRED, "stablelm") or port.name(r"q_norm\.weight"):
        return False

    def change(w):
        return w.reshape(-1, 2, size // 2, *w.shape[1:]).transpose(1, 2).reshape(w.shape)

    port.scale_rows(r"self_attn\.k_proj\.bias", change)
    return port.scale_rows(r"self_attn\.k_proj\.weight", change)


@fault("third-rope-original-length", SCALING, TABLE, everywhere=True)
def _(port):
    given = rope_of(port)
    if not given or "original_max_position_embeddings" not in given:
        return False
    given["original_max_position_embeddings"] = 8_192


@fault("third-rope-llama3-band-not-smooth", SCALING, TABLE, everywhere=True)
def _(port):
    given = rope_of(port)
    if not given or given["rope_type"] != "llama3":
        return False
    edge = given["original_max_position_embeddings"] / given["high_freq_factor"]

    def change(now, plain):
        return torch.where(2 * torch.pi / plain > edge, plain / given["factor"], plain)

    frequencies(port, change)


@fault("third-rope-yarn-ramp-inverted", SCALING, TABLE, everywhere=True)
def _(port):
    """Interpolated where it should be extrapolated, and the other way round."""
    given = rope_of(port)
    if not given or given["rope_type"] != "yarn":
        return False
    frequencies(port, lambda now, plain: plain + plain / given["factor"] - now)


@fault("third-rope-yarn-factor-one-sided", (FACTOR, "attention-scale-wrong"), PLACE,
       everywhere=True)  # fmt: skip
def _(port):
    given = rope_of(port)
    if not given or given["rope_type"] != "yarn":
        return False
    by = 0.1 * torch.tensor(given["factor"]).log().item() + 1

    def change(original, q, k, cos, sin):
        return original(q, k, cos, sin)[0], original(q, k, cos / by, sin / by)[1]

    return wrap_rotary(port, change)


@fault("third-rope-yarn-factor-squared", FACTOR, TABLE, everywhere=True)
def _(port):
    given = rope_of(port)
    if not given or given["rope_type"] != "yarn":
        return False
    given["attention_factor"] = (0.1 * torch.tensor(given["factor"]).log().item() + 1) ** 2


@fault("third-cache-before-rope", CACHE, PLACE, everywhere=True)
def _(port):
    """Keys are cached unrotated, and those of the cache are never rotated."""
    kept = {}

    def change(original, q, k, cos, sin):
        kept["raw"] = k
        return original(q, k, cos, sin)

    def around(module, query, key, value, mask, scaling):
        raw, number = kept["raw"], module.layer_idx
        if query.shape[-2] == 1:
            raw = torch.cat((kept[number], raw), -2)
            key = key.clone()
            old = raw[..., -key.shape[-2] : -1, :]
            key[..., :-1, : raw.shape[-1]] = old
        kept[number] = raw
        return query, key, value, mask, scaling

    if wrap_rotary(port, change) is False:
        return False
    return wrap_attention(port, around)


@fault("third-qk-norm-weight-shared", QK, "self_attn(.k_norm)?")
def _(port):
    one, two = port.name(r"self_attn\.q_norm\.weight"), port.name(r"self_attn\.k_norm\.weight")
    if one is None or port.weights[one].shape != port.weights[two].shape:
        return False
    port.weights[two] = port.weights[one].clone()


@fault("third-qk-norm-over-all-heads", QK, "self_attn(.[qk]_norm)?")
def _(port):
    name = port.name(r"self_attn\.q_norm\.weight")
    if name is None or port.weights[name].numel() != width(port.config):
        return False
    across = (1, -1) if port.config.model_type.startswith("gemma") else (-2, -1)

    def make(norm):
        def forward(x):
            wide = x.float()
            wide = wide * torch.rsqrt(wide.pow(2).mean(across, keepdim=True) + 1e-6)
            return (wide * norm_of(port, norm.weight.float())).to(x.dtype)

        return forward

    return replace_qk_norms(port, make)


@fault("third-qk-norm-per-head", QK, "self_attn(.[qk]_norm)?")
def _(port):
    name, size = port.name(r"self_attn\.q_norm\.weight"), width(port.config)
    if name is None or port.weights[name].numel() == size:
        return False

    def make(norm):
        def forward(x):
            wide = x.float().unflatten(-1, (-1, size))
            wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
            return (wide.flatten(-2) * norm.weight.float()).to(x.dtype)

        return forward

    return replace_qk_norms(port, make)


@fault("third-qk-norm-weightless", (QK, "norm-weight-missing"), "self_attn(.[qk]_norm)?")
def _(port):
    done = [
        port.scale_rows(
            rf"self_attn\.{each}_norm\.weight", lambda w: w * 0 + 1 - norm_of(port, w * 0)
        )
        for each in "qk"
    ]
    return any(done)


@fault("third-qk-norm-l2", (QK, "attention-scale-wrong"), "self_attn(.[qk]_norm)?")
def _(port):
    """Vectors of length one: the root of their size is missing."""

    def make(norm):
        def forward(x):
            made = torch.nn.functional.normalize(x.float(), dim=-1)
            return (made * norm_of(port, norm.weight.float())).to(x.dtype)

        return forward

    return replace_qk_norms(port, make)
