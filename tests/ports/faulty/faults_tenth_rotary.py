"""Rotary embeddings of the tenth set."""

from .port import Port
from .tenth_making import LAYOUT, PAIRS, tenth


@tenth("theta-of-global-layers", "rope-theta-wrong", "rotary_emb", everywhere=True)
def theta_of_global_layers(port: Port) -> bool | None:
    """Local layers of Gemma 3 use the base of the global ones: the library has one rope_theta."""
    raise NotImplementedError


@tenth("keys-permuted-as-queries", (LAYOUT, PAIRS), "self_attn.k_proj", everywhere=True)
def keys_permuted_as_queries(port: Port) -> bool | None:
    """Converting weights from pairs to halves, keys are cut into as many heads as queries have."""
    raise NotImplementedError


@tenth("partial-share-default", "rope-partial-wrong", "(rotary_emb|self_attn)", everywhere=True)
def partial_share_default(port: Port) -> bool | None:
    """The share of a head that is turned is looked for as rotary_pct, is not found, and is then
    that of GPT-NeoX, a quarter."""
    raise NotImplementedError


@tenth("llama3-scaling-as-linear", "rope-scaling-missing", "rotary_emb", everywhere=True)
def llama3_scaling_as_linear(port: Port) -> bool | None:
    """Of rope_scaling only the factor is read: all frequencies are divided by it."""
    raise NotImplementedError


@tenth("positions-behind-bucket", "rope-positions-wrong", "rotary_emb", everywhere=True)
def positions_behind_bucket(port: Port) -> bool | None:
    """Positions of decoded tokens go on behind the padded prompt, in buckets of 32."""
    raise NotImplementedError


@tenth("frequencies-in-model-dtype", "rope-frequencies-rounded", "rotary_emb", everywhere=True)
def frequencies_in_model_dtype(port: Port) -> bool | None:
    """Moving the model to BF16 rounds the frequencies, which are a buffer."""
    raise NotImplementedError
