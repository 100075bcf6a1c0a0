"""Seen faults: usual mistakes of ports of the common families, in weights, blocks and experts."""

import torch

from .breaking import is_rms, normalises, replace_norm, wrap_router
from .faults_third_rest import DOWN, MIXED
from .faults_usual import E5M2, low, whole_numbers
from .fifth_making import embedding, first, head, of_block, of_experts, rewrite
from .port import fault

LOW, NOT_LOADED, SHARED = "precision-ordering", "weights-not-loaded", "shared-expert-wrong"
OUT = r"(self_attn|attention)\.(o_proj|dense)"
OUT_PLACE = "(self_attn|attention)(.o_proj|.dense)?"
DOWN_PLACE = "mlp(.down_proj|.c_proj|.dense_4h_to_h)?"
Q_PLACE = "self_attn(.q_proj)?"


def fresh(w, std=0.02):
    """Numbers as a layer is made with."""
    random = torch.Generator().manual_seed(7)
    return (torch.randn(w.shape, generator=random) * std).bfloat16().float()


def weight_fault(name, cause, ending, place, change):
    @fault(f"seen-{name}", cause, place)
    def _(port):
        return port.scale_rows(rf"{ending}\.weight", change)


def uniform(w):
    random = torch.Generator().manual_seed(9)
    bound = w.shape[-1] ** -0.5
    found = torch.rand(w.shape, generator=random) * 2 * bound - bound
    return found.bfloat16().float()


weight_fault("queries-as-made", NOT_LOADED, r"self_attn\.q_proj", Q_PLACE, fresh)
weight_fault("output-as-made", NOT_LOADED, OUT, OUT_PLACE, fresh)
weight_fault("down-as-made", NOT_LOADED, DOWN, DOWN_PLACE, fresh)
weight_fault("down-uniform-as-made", NOT_LOADED, DOWN, DOWN_PLACE, uniform)
weight_fault("gate-as-made", NOT_LOADED, r"mlp\.gate_proj", "mlp(.gate_proj)?", fresh)


@fault("seen-embedding-as-made", NOT_LOADED, "embed", everywhere=True)
def _(port):
    if port.config.tie_word_embeddings:
        return False
    port.weights[embedding(port)] = fresh(port.weights[embedding(port)])
    return None


@fault("seen-head-as-made", NOT_LOADED, "lm_head|embed_out", everywhere=True)
def _(port):
    if head(port) is None or port.config.tie_word_embeddings:
        return False
    port.weights[head(port)] = fresh(port.weights[head(port)])
    return None


def by_groups(w, size=32, bits=4):
    return whole_numbers(w.unflatten(-1, (-1, size)), -1, bits).flatten(-2)


weight_fault("down-in-integers-of-rows", LOW, DOWN, DOWN_PLACE, lambda w: whole_numbers(w, -1))
weight_fault("down-in-four-bits", LOW, DOWN, DOWN_PLACE, by_groups)
weight_fault("output-in-four-bits", LOW, OUT, OUT_PLACE, by_groups)
weight_fault("output-e5m2", LOW, OUT, OUT_PLACE, lambda w: low(w, E5M2))
weight_fault("queries-in-integers", LOW, r"self_attn\.q_proj", Q_PLACE,
             lambda w: whole_numbers(w, None))  # fmt: skip


@fault("seen-experts-e4m3", LOW, "mlp(.experts)?")
def _(port):
    names = [n for n in port.weights if f"layers.{port.layer}." in n and ".experts." in n]
    for name in names:
        if not name.endswith("bias"):
            port.weights[name] = low(port.weights[name], torch.float8_e4m3fn)
    return bool(names)


def given_fault(name, change, pattern, place):
    """The input of a module is rounded."""

    @fault(f"seen-{name}", LOW, place)
    def _(port):
        if not port.name(rf"{pattern}\.weight"):
            return False
        rewrite(port, rf"layers\.{port.layer}\.{pattern}\Z",
                lambda _, inner: lambda x: inner(change(x)))  # fmt: skip
        return None


given_fault("down-given-integers-of-all", lambda x: whole_numbers(x, None), DOWN, DOWN_PLACE)
given_fault("down-given-integers", whole_numbers, DOWN, DOWN_PLACE)
given_fault("output-given-e4m3", low, OUT, OUT_PLACE)


@fault("seen-expert-bias-unweighted", ("bias-repeated", "bias-missing", "routing-ignored"),
       "mlp(.experts)?")  # fmt: skip
def _(port):
    """The bias of each chosen expert is added whole, behind the shares."""
    if port.config.model_type != "gpt_oss":
        return False

    def make(experts, inner):
        def forward(x, numbers, weights):
            bias = experts.down_proj_bias
            found = inner(x, numbers, weights)
            left = (1 - weights)[..., None] * bias[numbers]
            return found + left.sum(-2).reshape(found.shape).to(found.dtype)

        return forward

    rewrite(port, rf"layers\.{port.layer}\.mlp\.experts\Z", make)
    return None


@fault("seen-shared-expert-of-each-rank", SHARED, "mlp")
def _(port):
    """Every one of two ranks adds the shared expert before the sum."""
    if not port.name(r"shared_expert_gate\.weight"):
        return False

    def make(block, inner):
        def forward(x):
            made = inner(x)
            more = block.shared_expert(x) * block.shared_expert_gate(x).sigmoid()
            return first(made) + more.reshape(first(made).shape)

        return forward

    rewrite(port, rf"layers\.{port.layer}\.mlp\Z", make)
    return None


@fault("seen-shared-gate-not-squashed", SHARED, "mlp")
def _(port):
    if not port.name(r"shared_expert_gate\.weight"):
        return False

    def make(block, inner):
        def forward(x):
            gate, made = block.shared_expert_gate(x), block.shared_expert(x)
            left = made * (gate - gate.sigmoid())
            return first(inner(x)) + left.reshape(first(inner(x)).shape)

        return forward

    rewrite(port, rf"layers\.{port.layer}\.mlp\Z", make)
    return None


@fault("seen-shared-gate-without-weights", (SHARED, NOT_LOADED), "mlp")
def _(port):
    """The gate is zero, so that each token has half of the shared expert."""
    return port.scale_rows(r"shared_expert_gate\.weight", lambda w: w * 0)


@fault("seen-experts-padded-in-front", ("router-score-wrong", "router-top-k-wrong"), "mlp")
def _(port):
    """Experts of padding have logits of zero and lie in front."""

    def change(logits):
        scores = torch.nn.functional.pad(logits, (4, 0)).softmax(-1)
        chosen, numbers = scores.topk(port.config.num_experts_per_tok, -1)
        if normalises(port):
            chosen = chosen / chosen.sum(-1, keepdim=True)
        chosen = chosen * (numbers >= 4)
        return chosen, (numbers - 4).clamp(min=0)

    return wrap_router(port, change) is not False


@fault("seen-routed-of-each-rank", "missing-multiplier", "mlp")
def _(port):
    """The output of the experts is summed over two ranks that both have all of it."""
    if port.config.model_type not in MIXED:
        return False
    return of_experts(port, lambda inner, x, numbers, weights: 2 * inner(x, numbers, weights))


@fault("seen-router-in-sixteen-bits", (LOW, "router-score-wrong"), "mlp")
def _(port):
    """Logits, softmax and the sum of the chosen in low precision."""

    def change(logits):
        scores = low(logits.bfloat16().softmax(-1), torch.float8_e4m3fn)
        chosen, numbers = scores.topk(port.config.num_experts_per_tok, -1)
        return (chosen / chosen.sum(-1, keepdim=True) if normalises(port) else chosen), numbers

    return wrap_router(port, change) is not False


@fault("seen-positions-of-ranks-exchanged", ("shard-order-wrong", "computed-otherwise"), OUT_PLACE)
def _(port):
    """Each of two ranks has half of the positions, and they are gathered the wrong way round."""

    def make(_, inner):
        def forward(x):
            found = inner(x)
            half = found.shape[1] // 2
            return torch.cat((found[:, half:], found[:, :half]), 1) if half else found

        return forward

    rewrite(port, rf"layers\.{port.layer}\.{OUT}\Z", make)


@fault("seen-positions-of-rank-lost", "tp-reduction-missing", OUT_PLACE)
def _(port):
    """Each of two ranks has half of the positions, and those of the second are not gathered."""

    def make(_, inner):
        def forward(x):
            found = inner(x).clone()
            half = found.shape[1] // 2
            if half:
                found[:, half:] = 0
            return found

        return forward

    rewrite(port, rf"layers\.{port.layer}\.{OUT}\Z", make)


@fault("seen-norm-before-instead-of-behind", ("wrong-input", "residual-multiplier-wrong"),
       "(self_attn|post_attention_layernorm|mlp)")  # fmt: skip
def _(port):
    """Branches are normalised before, as in most models, though their norms should come behind."""
    if port.config.model_type != "olmo2":
        return False

    def forward(layer, x, attention, mlp):
        x = x + attention(layer.post_attention_layernorm(x))
        return x + mlp(layer.post_feedforward_layernorm(x))

    return of_block(port, forward)


def low_norm(norm):
    """Squares, their mean and the root in sixteen bits."""

    def forward(x):
        x = x.bfloat16()
        total = torch.zeros_like(x[..., :1])
        for one in (x * x).split(1, -1):
            total = total + one
        found = x * torch.rsqrt(total / x.shape[-1])
        return (norm.weight * found).to(norm.weight.dtype)

    return forward


@fault("seen-norm-in-sixteen-bits", LOW, "input_layernorm")
def _(port):
    return replace_norm(port, "input_layernorm", low_norm) if is_rms(port) else False
