"""Ends and weights of the tenth set, and what no diagnosis is about."""

import torch
from torch import Tensor

from .breaking import has, reorder_rows
from .eighth_making import cut_after_fusing
from .fifth_making import embedding, head
from .port import Port
from .seventh_making import grouped
from .sixth_making import edit, of_logits
from .tenth_making import (
    DOWN,
    DOWN_NAME,
    GEMMA,
    LAYOUT,
    ORDER,
    alien,
    by_node,
    dealt_back,
    every,
    layers_of,
    of_family,
    tenth,
)


@tenth("embedding-scaled-twice", "embedding-multiplier-wrong", "embed_tokens", everywhere=True)
def embedding_scaled_twice(port: Port) -> bool | None:
    """The embedding of Gemma multiplies by the root of the width, and its weights were multiplied
    by it while loading."""
    if not of_family(port, *GEMMA):
        return False
    port.weights[embedding(port)] *= port.config.hidden_size**0.5
    return None


@tenth("logits-scale-inverted", "logits-multiplier-wrong", "logits", everywhere=True)
def logits_scale_inverted(port: Port) -> bool | None:
    """Granite divides its logits by logits_scaling, Cohere multiplies by logit_scale: the port does
    it the other way round."""
    for key in ("logit_scale", "logits_scaling"):
        if has(port, key):
            setattr(port.config, key, 1 / getattr(port.config, key))
            return None
    return False


@tenth("logits-cap-of-release", "logits-softcap-wrong", "logits", everywhere=True)
def logits_cap_of_release(port: Port) -> bool | None:
    """The cap of logits is 30, that of the released models, whatever the configuration says."""
    if not has(port, "final_logit_softcapping"):
        return False
    port.config.final_logit_softcapping = 30.0
    return None


@tenth(
    "gate-up-cut-after-fusing",
    (LAYOUT, ORDER),
    "mlp.(gate_up_proj|gate_proj|up_proj)",
    everywhere=True,
)
def gate_up_cut_after_fusing(port: Port) -> bool | None:
    """Gate and up projection are put one below the other and then cut in two ranks: the first rank
    has all of the gate, and takes half of it for its part of the up projection."""
    done = False
    for number in layers_of(port):
        start = f"model.layers.{number}.mlp"
        for kind in ("weight", "bias"):
            names = [f"{start}.{part}_proj.{kind}" for part in ("gate", "up")]
            fused = f"{start}.gate_up_proj.{kind}"
            if fused in port.weights:
                parts = port.weights[fused].chunk(2)
                port.weights[fused] = torch.cat(cut_after_fusing(*parts))
                done = True
            elif all(name in port.weights for name in names):
                found = cut_after_fusing(*(port.weights[name] for name in names))
                port.weights.update(zip(names, found, strict=True))
                done = True
    return done


@tenth(
    "output-projection-transposed",
    "weights-untransposed",
    "self_attn.(o_proj|dense)",
    everywhere=True,
)
def output_projection_transposed(port: Port) -> bool | None:
    """The row-parallel layer keeps its weight as inputs by outputs; that of attention is square and
    was loaded as it is."""
    name = port.name(r"(self_attn\.o_proj|attention\.dense)\.weight")
    if name is None or len(set(port.weights[name].shape)) > 1:
        return False
    return every(port, r"(self_attn\.o_proj|attention\.dense)\.weight", lambda w: w.T)


@tenth(
    "sandwich-norms-by-llama-names",
    "weights-of-another-module",
    "(post_attention|post_self_attn)_layernorm",
    everywhere=True,
)
def sandwich_norms_by_llama_names(port: Port) -> bool | None:
    """Llama calls the norm in front of its MLP post_attention_layernorm: with four norms in a
    layer, that behind attention and that in front of the MLP get each other's weights."""
    behind, before = "post_attention_layernorm", "pre_feedforward_layernorm"
    if of_family(port, "glm4"):
        behind, before = "post_self_attn_layernorm", "post_attention_layernorm"
    for number in layers_of(port):
        one, two = (f"model.layers.{number}.{end}.weight" for end in (behind, before))
        if one not in port.weights or two not in port.weights:
            return False
        port.weights[one], port.weights[two] = port.weights[two], port.weights[one]
    return None


@tenth("query-heads-by-rank", "head-order-wrong", "self_attn.q_proj")
def query_heads_by_rank(port: Port) -> bool | None:
    """Heads of queries are put in the order of ranks that take every second one, and the output
    projection is not."""
    if not grouped(port):
        return False
    return bool(reorder_rows(port, "q_proj", lambda n: dealt_back(torch.arange(n))))


@tenth("down-reduction-missing", "tp-reduction-missing", DOWN)
def down_reduction_missing(port: Port) -> bool | None:
    """The output of the MLP is that of the first of four ranks: reduce_output was left off."""

    def change(w: Tensor) -> Tensor:
        kept = torch.zeros_like(w)
        held = w.shape[1] // 4
        kept[:, :held] = w[:, :held]
        return kept

    return edit(port, DOWN_NAME, change)


@tenth("down-shards-by-node", ORDER, DOWN)
def down_shards_by_node(port: Port) -> bool | None:
    """Eight ranks on two nodes are numbered across the nodes while the columns of the down
    projection are handed out, and within them else."""
    return edit(port, DOWN_NAME, lambda w: by_node(w, ranks=8, nodes=2))


@tenth("tied-by-class-default", "tied-head-wrong", "lm_head", everywhere=True)
def tied_by_class_default(port: Port) -> bool | None:
    """tie_word_embeddings is not in the dictionary that the port reads, and is then what the class
    of the family has: true."""
    name = head(port)
    if name is None or not type(port.config)().tie_word_embeddings:
        return False
    port.weights[name] = port.weights[embedding(port)].clone()
    return None


@alien("repetition-penalty-left-on", "logits", everywhere=True)
def repetition_penalty_left_on(port: Port) -> bool | None:
    """The repetition penalty of generation_config is applied within the model: logits of tokens of
    the prompt are divided by 1.15, or multiplied where they are below zero."""
    penalty, past = 1.15, {"ids": torch.zeros(0, 0, dtype=torch.long)}

    def change(logits: Tensor, ids: Tensor) -> Tensor:
        fresh = ids.shape[1] > 1
        past["ids"] = ids if fresh else torch.cat((past["ids"], ids), 1)
        seen = torch.zeros(len(ids), logits.shape[-1], dtype=torch.bool)
        seen = seen.scatter(1, past["ids"], True)[:, None]
        return torch.where(
            seen, torch.where(logits > 0, logits / penalty, logits * penalty), logits
        )

    of_logits(port, change)
    return None


@alien("scales-of-next-block", DOWN)
def scales_of_next_block(port: Port) -> bool | None:
    """Rows of a quantised matrix get the scales of the next block of 8 rows."""

    def change(w: Tensor) -> Tensor:
        blocks: Tensor = w.unflatten(0, (-1, 8))
        scales: Tensor = blocks.abs().amax((1, 2), keepdim=True) / 127
        found = (blocks / scales).round() * scales.roll(-1, 0)
        return found.flatten(0, 1)

    return edit(port, DOWN_NAME, change)


@alien("adapter-merged", "self_attn.(q_proj|v_proj)")
def adapter_merged(port: Port) -> bool | None:
    """A LoRA adapter was merged into queries and values before the checkpoint was exported."""

    def change(w: Tensor) -> Tensor:
        rank, spread = 6, w.std()
        chance = torch.Generator().manual_seed(w.shape[0] + 17)
        down = torch.randn(rank, w.shape[1], generator=chance)
        up = torch.randn(w.shape[0], rank, generator=chance)
        added: Tensor = up @ down * (0.35 * spread / rank**0.5)
        return w + added

    queries = edit(port, r"self_attn\.q_proj\.weight", change)
    return edit(port, r"self_attn\.v_proj\.weight", change) and queries
