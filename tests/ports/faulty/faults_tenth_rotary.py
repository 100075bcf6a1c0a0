"""Rotary embeddings of the tenth set."""

from torch import Tensor

from .breaking import heads, rope_of, wrap_table
from .fifth_making import share, to_halves, to_pairs
from .port import Port
from .tenth_making import LAYOUT, PAIRS, every, of_family, padded, tenth


@tenth("theta-of-global-layers", "rope-theta-wrong", "rotary_emb", everywhere=True)
def theta_of_global_layers(port: Port) -> bool | None:
    """Local layers of Gemma 3 use the base of the global ones: the library has one rope_theta."""
    if not of_family(port, "gemma3_text"):
        return False
    given = port.config.rope_parameters
    given["sliding_attention"]["rope_theta"] = given["full_attention"]["rope_theta"]
    return None


@tenth("keys-permuted-as-queries", (LAYOUT, PAIRS), "self_attn.k_proj", everywhere=True)
def keys_permuted_as_queries(port: Port) -> bool | None:
    """Converting weights from pairs to halves, keys are cut into as many heads as queries have."""
    if not of_family(port, "llama", "mistral", "mixtral") or port.name(r"k_proj\.bias"):
        return False
    count, groups = heads(port.config)

    def change(w: Tensor) -> Tensor:
        as_stored: Tensor = to_pairs(w, groups)
        return to_halves(as_stored, count)  # type: ignore[no-any-return, unused-ignore]

    return every(port, r"self_attn\.k_proj\.weight", change)


@tenth("partial-share-default", "rope-partial-wrong", "(rotary_emb|self_attn)", everywhere=True)
def partial_share_default(port: Port) -> bool | None:
    """The share of a head that is turned is looked for as rotary_pct, is not found, and is then
    that of GPT-NeoX, a quarter."""
    if (share(port) or 0.25) == 0.25:
        return False
    port.config.rope_parameters["partial_rotary_factor"] = 0.25
    return None


@tenth("llama3-scaling-as-linear", "rope-scaling-missing", "rotary_emb", everywhere=True)
def llama3_scaling_as_linear(port: Port) -> bool | None:
    """Only the factor of rope_scaling is read: all frequencies are divided by it."""
    given = rope_of(port)
    if not given or given["rope_type"] != "llama3":
        return False
    kept = {key: given[key] for key in ("rope_theta", "factor")}
    port.config.rope_parameters = {"rope_type": "linear", **kept}
    return None


@tenth("positions-behind-bucket", "rope-positions-wrong", "rotary_emb", everywhere=True)
def positions_behind_bucket(port: Port) -> bool | None:
    """Positions of decoded tokens go on behind the padded prompt, in buckets of 32."""
    prompt = {"length": 0}

    def positions(places: Tensor) -> Tensor:
        if places.shape[-1] > 1:
            prompt["length"] = int(places.max()) + 1
            return places
        return places - prompt["length"] + padded(prompt["length"])

    wrap_table(port, positions)
    return None
