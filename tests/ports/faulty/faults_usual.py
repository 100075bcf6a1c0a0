"""Seen faults: usual mistakes of ports of the common families, in attention and its embeddings.

Those of experts, weights and blocks are in ``faults_usual_more``.
"""

import torch
from torch.nn import functional

from .breaking import has, rope_of, width, wrap_attention
from .faults_third import PLACE
from .faults_third_more import TABLE, replace_qk_norms
from .fifth_making import of_cache, of_table, rewrite
from .port import fault
from .seventh_making import of_attention, scores_of, values_of

LOW, SINKS, CACHE = "precision-ordering", "attention-sinks-wrong", "kv-cache-wrong"
E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2


def low(x, kind=E4M3):
    return x.to(kind).to(x.dtype)


def whole_numbers(x, axis=-1, bits=8):
    """One step for each stretch of an axis, or for all."""
    most = 2 ** (bits - 1) - 1
    top = x.abs().amax(axis, keepdim=True) if axis is not None else x.abs().max()
    step = top.clamp(min=1e-9).float() / most
    return ((x.float() / step).round() * step).to(x.dtype)


def of_parts(port, change):
    """Let attention compute from ``change(query, key, value)``."""
    if port.config.model_type == "gemma3_text":  # its scores are too small to tell
        return False

    def given(_, query, key, value, mask, scaling):
        return *change(query, key, value), mask, scaling

    return wrap_attention(port, given)


def part_fault(name, change):
    @fault(f"seen-{name}", LOW, PLACE, everywhere=True)
    def _(port):
        return of_parts(port, change)


part_fault("queries-and-keys-e4m3", lambda q, k, v: (low(q), low(k), v))
part_fault("queries-and-keys-e5m2", lambda q, k, v: (low(q, E5M2), low(k, E5M2), v))
part_fault("queries-e4m3", lambda q, k, v: (low(q), k, v))
part_fault("keys-and-values-e4m3", lambda q, k, v: (q, low(k), low(v)))
part_fault("attention-all-e4m3", lambda q, k, v: (low(q), low(k), low(v)))
part_fault("queries-and-keys-integers", lambda q, k, v: (whole_numbers(q), whole_numbers(k), v))
part_fault("values-e5m2", lambda q, k, v: (q, k, low(v, E5M2)))
part_fault("values-integers-of-heads", lambda q, k, v: (q, k, whole_numbers(v, (-2, -1))))


def shares_fault(name, change):
    @fault(f"seen-{name}", LOW, PLACE, everywhere=True)
    def _(port):
        if has(port, "attn_logit_softcapping") or port.config.model_type == "gpt_oss":
            return False

        def attend(_, query, key, value, mask, scaling):
            return change(scores_of(query, key, mask, scaling), values_of(query, value))

        return of_attention(port, attend)


def product(shares, value):
    return shares.to(value.dtype) @ value


shares_fault("shares-e4m3", lambda s, v: product(low(s.softmax(-1)), v))
shares_fault("shares-e5m2", lambda s, v: product(low(s.softmax(-1), E5M2), v))
shares_fault("shares-and-values-e4m3", lambda s, v: product(low(s.softmax(-1)), low(v)))
shares_fault("scores-e4m3", lambda s, v: product(
    low(s.clamp(min=-448)).where(s > -1e4, s).softmax(-1), v))  # fmt: skip


def softmax_of_steps(s, v):
    """Every step of the softmax is rounded, its sum too."""
    powers = (s.bfloat16() - s.bfloat16().amax(-1, keepdim=True)).exp()
    total = torch.zeros_like(powers[..., :1])
    for one in powers.split(1, -1):
        total = total + one
    return product(powers / total, v)


shares_fault("softmax-in-sixteen-bits", softmax_of_steps)


@fault("seen-rope-parameters-not-read", ("rope-theta-wrong", "rope-scaling-missing"), TABLE,
       everywhere=True)  # fmt: skip
def _(port):
    """Base and scaling lie in one entry, which the port does not know: both are as usual."""
    given = rope_of(port)
    if not given or given["rope_type"] == "default" or given["rope_theta"] == 10_000.0:
        return False
    port.config.rope_parameters = {"rope_type": "default", "rope_theta": 10_000.0}
    return None


def partial(port):
    given = rope_of(port)
    return given if given and (given.get("partial_rotary_factor") or 1) < 1 else None


@fault("seen-rope-share-and-base-not-read", ("rope-theta-wrong", "rope-partial-wrong"), TABLE,
       everywhere=True)  # fmt: skip
def _(port):
    """A quarter of a head for what the configuration says, and the base of another model."""
    given = partial(port)
    if given is None or given["partial_rotary_factor"] == 0.25:
        return False
    given["partial_rotary_factor"], given["rope_theta"] = 0.25, 1e6
    return None


@fault("seen-qk-norm-of-each-rank", "qk-norm-wrong", "self_attn(.[qk]_norm)?")
def _(port):
    """Each of two ranks takes the figure of its own heads."""
    if port.config.model_type != "olmo2":
        return False

    def make(norm):
        def forward(x):
            wide = x.float().unflatten(-1, (2, -1))
            wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)
            return (norm.weight * wide.flatten(-2)).to(x.dtype)

        return forward

    return replace_qk_norms(port, make)


@fault("seen-sinks-by-group", SINKS, "self_attn")
def _(port):
    """Sinks are cut as keys are, and repeated for the heads that share them."""
    if port.config.model_type != "gpt_oss":
        return False
    return port.scale_rows(r"self_attn\.sinks", lambda s: s[: len(s) // 2].repeat_interleave(2))


@fault("seen-sinks-in-bf16-range-of-one-rank", SINKS, "self_attn")
def _(port):
    return port.scale_rows(r"self_attn\.sinks", lambda s: s[: len(s) // 2].repeat(2))


@fault("seen-output-bias-divided", "bias-missing", "(self_attn|attention)(.o_proj|.dense)?")
def _(port):
    """The bias is added on one rank, and divided by the number of ranks as well."""
    return port.scale_rows(r"(self_attn|attention)\.(o_proj|dense)\.bias", lambda b: b / 2)


@fault("seen-cache-slot-left-free", CACHE, PLACE, everywhere=True)
def _(port):
    """The first token behind the prompt is written one slot too late: an empty one is read."""
    if has(port, "sliding_window"):
        return False
    prompt = {"length": 0}

    def change(module, query, key, value, mask, scaling):
        if query.shape[-2] > 1:
            prompt["length"] = key.shape[-2]
            return query, key, value, mask, scaling
        at = prompt["length"]
        key, value = (torch.cat((x[:, :, :at], x[:, :, :1] * 0, x[:, :, at:]), 2)
                      for x in (key, value))  # fmt: skip
        mask = None if mask is None else functional.pad(mask, (0, 1))
        return query, key, value, mask, scaling

    return wrap_attention(port, change)


@fault("seen-cache-in-prefill-e5m2", (LOW, CACHE), PLACE, everywhere=True)
def _(port):
    return of_cache(port, lambda k, v: (low(k, E5M2), low(v, E5M2)))


@fault("seen-angles-as-half-numbers", "rope-frequencies-rounded", TABLE, everywhere=True)
def _(port):
    """Positions times frequencies are kept in sixteen bits before their cosine is taken."""

    def make(module, inner):
        if not hasattr(module, "inv_freq"):
            return inner

        def forward(x, position_ids, *args, **kwargs):
            plain = inner(x, position_ids, *args, **kwargs)
            if plain[0].shape[-1] != 2 * len(module.inv_freq):
                return plain
            angles = position_ids[..., None].bfloat16() * module.inv_freq.bfloat16()
            angles = torch.cat((angles, angles), -1).float()
            factor = module.attention_scaling
            return (angles.cos() * factor).to(x.dtype), (angles.sin() * factor).to(x.dtype)

        return forward

    if port.config.model_type in ("cohere", "glm4", "gpt_oss"):
        return False
    rewrite(port, r"rotary_emb\Z", make)
    return None


@fault("seen-sine-of-half-the-angle", "rope-layout-wrong", TABLE, everywhere=True)
def _(port):
    """The sine is used where the cosine should be, and the reverse."""
    of_table(port, lambda cos, sin, places, table: (sin, cos))


@fault("seen-scale-of-turned-channels", "attention-scale-wrong", PLACE, everywhere=True)
def _(port):
    """The root of the channels that are turned, not of the head."""
    given = partial(port)
    if given is None:
        return False
    size = width(port.config) * given["partial_rotary_factor"]
    return wrap_attention(port, lambda module, q, k, v, mask, s: (q, k, v, mask, size**-0.5))
