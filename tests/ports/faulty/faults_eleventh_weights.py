"""Weights, blocks and the ends of the model, of the eleventh set."""

from .eleventh_making import LAYOUT, ORDER, eleventh
from .port import Port


@eleventh("layer-norm-as-rms", "norm-kind-wrong", "[a-z_]*norm", everywhere=True)
def _(port: Port) -> bool | None:
    """The library has RMS norms only: weight and bias are loaded, the mean is not subtracted."""
    raise NotImplementedError


@eleventh("gate-up-cut-per-rank", (LAYOUT, ORDER), "mlp.(gate_up_proj|experts)")
def _(port: Port) -> bool | None:
    """The fused matrix of gate and up is cut in four as it lies, and each rank takes the first half of
    what it has for gate."""
    raise NotImplementedError


@eleventh("activation-default-silu", "activation-mismatch", "mlp(.act)?", everywhere=True)
def _(port: Port) -> bool | None:
    """The activation is looked up under a key that the configuration does not have, and SiLU is what
    the library falls back on."""
    raise NotImplementedError


@eleventh("q-transposed", "weights-untransposed", "self_attn.q_proj")
def _(port: Port) -> bool | None:
    """The converter transposes query weights for a layer that takes them as they are; they are square."""
    raise NotImplementedError


@eleventh("k-permuted-by-query-heads", LAYOUT, "self_attn.k_proj")
def _(port: Port) -> bool | None:
    """The converter from Meta's layout permutes the rows of keys by the number of heads of queries."""
    raise NotImplementedError


@eleventh("o-heads-dealt", "head-order-wrong", "self_attn.o_proj")
def _(port: Port) -> bool | None:
    """The output projection is reordered for heads that are dealt one from each group in turn; queries
    stay in their order."""
    raise NotImplementedError


@eleventh("down-shards-of-mesh", ORDER, "mlp.(down_proj|c_proj|dense_4h_to_h)")
def _(port: Port) -> bool | None:
    """Four ranks form a mesh of two by two, and shards of the row-parallel layer are read by column."""
    raise NotImplementedError


@eleventh("residual-multiplier-one-branch", "residual-multiplier-wrong", "sum", everywhere=True)
def _(port: Port) -> bool | None:
    """The residual multiplier is applied to the MLP branch alone, and attention is added as it is."""
    raise NotImplementedError


@eleventh("embedding-multiplier-forgotten", "embedding-multiplier-wrong", "sum", everywhere=True)
def _(port: Port) -> bool | None:
    """The port of Granite is made from that of Llama, which does not multiply embeddings."""
    raise NotImplementedError


@eleventh("logits-scaling-inverted", "logits-multiplier-wrong", "logits", everywhere=True)
def _(port: Port) -> bool | None:
    """Logits are multiplied where this family divides them, or divided where it multiplies."""
    raise NotImplementedError


@eleventh("logits-softcap-other-key", "logits-softcap-wrong", "logits", everywhere=True)
def _(port: Port) -> bool | None:
    """The cap of logits is read from a key that the configuration does not have, and the usual 30 is
    taken."""
    raise NotImplementedError


@eleventh("tied-head-by-default", "tied-head-wrong", "lm_head|embed_out", everywhere=True)
def _(port: Port) -> bool | None:
    """The library ties the head to the embedding unless it is told otherwise, and skips its weight."""
    raise NotImplementedError
