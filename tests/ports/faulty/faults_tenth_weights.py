"""Ends and weights of the tenth set, and what no diagnosis is about."""

from .port import Port
from .tenth_making import LAYOUT, ORDER, alien, tenth


@tenth("embedding-scaled-twice", "embedding-multiplier-wrong", "embed_tokens", everywhere=True)
def embedding_scaled_twice(port: Port) -> bool | None:
    """The embedding of Gemma multiplies by the root of the width, and its weights were multiplied
    by it while loading."""
    raise NotImplementedError


@tenth("logits-scale-inverted", "logits-multiplier-wrong", "logits", everywhere=True)
def logits_scale_inverted(port: Port) -> bool | None:
    """Granite divides its logits by logits_scaling, Cohere multiplies by logit_scale: the port does
    it the other way round."""
    raise NotImplementedError


@tenth("logits-cap-of-release", "logits-softcap-wrong", "logits", everywhere=True)
def logits_cap_of_release(port: Port) -> bool | None:
    """The cap of logits is 30, that of the released models, whatever the configuration says."""
    raise NotImplementedError


@tenth(
    "gate-up-cut-after-fusing",
    (LAYOUT, ORDER),
    "mlp.(gate_up_proj|gate_proj|up_proj)",
    everywhere=True,
)
def gate_up_cut_after_fusing(port: Port) -> bool | None:
    """Gate and up projection are put one below the other and then cut in two ranks: the first rank
    has all of the gate, and takes half of it for its part of the up projection."""
    raise NotImplementedError


@tenth(
    "output-projection-transposed",
    "weights-untransposed",
    "(self_attn.o_proj|attention.dense)",
    everywhere=True,
)
def output_projection_transposed(port: Port) -> bool | None:
    """The row-parallel layer keeps its weight as inputs by outputs; that of attention is square and
    was loaded as it is."""
    raise NotImplementedError


@tenth(
    "sandwich-norms-by-llama-names",
    "weights-of-another-module",
    "(post_attention|post_self_attn)_layernorm",
    everywhere=True,
)
def sandwich_norms_by_llama_names(port: Port) -> bool | None:
    """post_attention_layernorm is what Llama calls the norm in front of its MLP: with four norms in
    a layer, that behind attention and that in front of the MLP get each other's weights."""
    raise NotImplementedError


@tenth("query-heads-by-rank", "head-order-wrong", "self_attn.q_proj")
def query_heads_by_rank(port: Port) -> bool | None:
    """Heads of queries are put in the order of ranks that take every second one, and the output
    projection is not."""
    raise NotImplementedError


@tenth("down-reduction-missing", "tp-reduction-missing", "mlp.(down_proj|c_proj|dense_4h_to_h)")
def down_reduction_missing(port: Port) -> bool | None:
    """The output of the MLP is that of the first of four ranks: reduce_output was left off."""
    raise NotImplementedError


@tenth("down-shards-by-node", ORDER, "mlp.(down_proj|c_proj|dense_4h_to_h)")
def down_shards_by_node(port: Port) -> bool | None:
    """Eight ranks on two nodes are numbered across the nodes while the columns of the down
    projection are handed out, and within them else."""
    raise NotImplementedError


@tenth("tied-by-class-default", "tied-head-wrong", "lm_head", everywhere=True)
def tied_by_class_default(port: Port) -> bool | None:
    """tie_word_embeddings is not in the dictionary that the port reads, and is then what the class of
    the family has: true."""
    raise NotImplementedError


@alien("repetition-penalty-left-on", "logits", everywhere=True)
def repetition_penalty_left_on(port: Port) -> bool | None:
    """The repetition penalty of generation_config is applied within the model: logits of tokens of
    the prompt are divided by 1.15, or multiplied where they are below zero."""
    raise NotImplementedError


@alien("scales-of-next-block", "mlp.(down_proj|c_proj|dense_4h_to_h)")
def scales_of_next_block(port: Port) -> bool | None:
    """Rows of a quantised matrix get the scales of the next block of 8 rows."""
    raise NotImplementedError


@alien("adapter-merged", "self_attn.(q_proj|v_proj)")
def adapter_merged(port: Port) -> bool | None:
    """A LoRA adapter was merged into queries and values before the checkpoint was exported."""
    raise NotImplementedError
