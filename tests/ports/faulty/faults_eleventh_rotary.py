"""Rotary embeddings and aliens of the eleventh set."""

from .eleventh_making import PLACES, alien, eleventh
from .port import Port


@eleventh("theta-of-old-key", "rope-theta-wrong", "rotary_emb", everywhere=True)
def _(port: Port) -> bool | None:
    """The base is looked up as rope_theta of the configuration itself; it lies in rope_parameters, and
    so 10000 is taken."""
    raise NotImplementedError


@eleventh("pairwise-family-in-halves", "rope-layout-wrong", "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """A family that turns channels 2i and 2i + 1 together is run through the library's usual function,
    which turns i with i + d/2."""
    raise NotImplementedError


@eleventh("partial-frequencies-of-head", ("rope-partial-wrong", "rope-theta-wrong"), "rotary_emb", everywhere=True)
def _(port: Port) -> bool | None:
    """Frequencies of a partial embedding are spread over the whole head: theta ** (-2i / head_dim),
    where the reference divides by the number of channels that are turned."""
    raise NotImplementedError


@eleventh("llama3-as-linear", "rope-scaling-missing", "rotary_emb", everywhere=True)
def _(port: Port) -> bool | None:
    """Any rope scaling with a factor is taken for the linear kind: all frequencies are divided by it,
    the high ones as well, which the kind of Llama 3 leaves."""
    raise NotImplementedError


@eleventh("decode-position-late", PLACES, "rotary_emb", everywhere=True)
def _(port: Port) -> bool | None:
    """Decoded tokens get the length of the cache after their key was added as their position, one more
    than their place."""
    raise NotImplementedError


@eleventh("frequencies-in-bf16", "rope-frequencies-rounded", "rotary_emb", everywhere=True)
def _(port: Port) -> bool | None:
    """The whole model is cast to BF16 with its buffers, the inverse frequencies among them."""
    raise NotImplementedError


@alien("expert-capacity", "mlp")
def _(port: Port) -> bool | None:
    """Each expert takes as many tokens as it would have if all had equally many; what comes later in
    the batch than that is dropped."""
    raise NotImplementedError


@alien("adapter-merged", "self_attn.v_proj")
def _(port: Port) -> bool | None:
    """The checkpoint that is converted has a low-rank adapter merged into it, which the reference lacks."""
    raise NotImplementedError


@alien("block-scales-transposed", "self_attn.(o_proj|dense)")
def _(port: Port) -> bool | None:
    """Scales of blocks of an eight-bit checkpoint are read by column and row for row and column."""
    raise NotImplementedError
