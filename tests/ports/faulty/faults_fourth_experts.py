"""Faults of the fourth set: routers, experts, and the expert that is shared."""

import torch

from .breaking import exchange, normalises
from .faults_third_last import NORMAL, ORDER, chosen, routed, whole
from .faults_third_rest import INPUT, LAYOUT, MIXED, of_mlp, part
from .port import fault

SCORE, IGNORED, TOP = "router-score-wrong", "routing-ignored", "router-top-k-wrong"
SHARED, PLACE = "shared-expert-wrong", "mlp"


def normed(port, values):
    return values / values.sum(-1, keepdim=True) if normalises(port) else values


def of_experts(port, change):
    """Let experts give ``change(experts, hidden, numbers, weights, own function)``."""
    if port.config.model_type not in MIXED:
        return False

    def add(model):
        experts = part(model, f"layers.{port.layer}.mlp.experts")
        inner = experts.forward
        experts.forward = lambda hidden, numbers, weights: change(
            experts, hidden, numbers, weights, inner
        )

    port.changes.append(add)
    return None


def of_shared(port, change):
    """Let the block give ``change(whole output, part of the shared expert)``."""
    if not port.name(r"shared_expert\.down_proj\.weight"):
        return False

    def around(mlp, x, inner):
        flat = x.reshape(-1, x.shape[-1])
        extra = mlp.shared_expert_gate(flat).sigmoid() * mlp.shared_expert(flat)
        return whole(inner(x), lambda found: change(found, extra.reshape(found.shape)))

    of_mlp(port, around)
    return None


@fault("fourth-router-softmax-twice", SCORE, PLACE)
def _(port):
    def change(logits, bias):
        values, numbers = logits.softmax(-1).softmax(-1).topk(port.config.num_experts_per_tok, -1)
        return normed(port, values), numbers

    return routed(port, change)


@fault("fourth-router-weights-of-logits", SCORE, PLACE)
def _(port):
    """The logits themselves are the weights."""
    return routed(port, lambda logits, bias: logits.topk(port.config.num_experts_per_tok, -1))


@fault("fourth-router-weights-all-one", ("moe-binary-affinity", IGNORED, NORMAL), PLACE)
def _(port):
    def change(logits, bias):
        values, numbers = chosen(port, logits)
        return torch.ones_like(values), numbers

    return routed(port, change)


@fault("fourth-router-always-the-first", IGNORED, PLACE)
def _(port):
    """The numbers of experts are lost: the first ones are taken."""

    def change(logits, bias):
        values, numbers = chosen(port, logits)
        return values, torch.arange(numbers.shape[-1]).expand_as(numbers)

    return routed(port, change)


@fault("fourth-router-takes-the-least", (SCORE, IGNORED, TOP), PLACE)
def _(port):
    """Sorted upwards where it should be sorted downwards."""

    def change(logits, bias):
        values, numbers = logits.softmax(-1).topk(port.config.num_experts_per_tok, -1, False)
        return normed(port, values), numbers

    return routed(port, change)


@fault("fourth-router-one-expert-late", (TOP, SCORE), PLACE)
def _(port):
    """The best expert is skipped: the second and third are taken."""

    def change(logits, bias):
        values, numbers = logits.softmax(-1).topk(port.config.num_experts_per_tok + 1, -1)
        return normed(port, values[..., 1:]), numbers[..., 1:]

    return routed(port, change)


@fault("fourth-router-scores-of-token-before", INPUT, PLACE)
def _(port):
    """Weights and numbers belong to the token before."""

    def change(logits, bias):
        values, numbers = chosen(port, logits)
        return values.roll(1, 0), numbers.roll(1, 0)

    return routed(port, change)


@fault("fourth-router-read-transposed", "weights-untransposed", PLACE)
def _(port):
    return port.scale_rows(r"mlp\.(gate|router)\.weight", lambda w: w.T.reshape(w.shape))


@fault("fourth-router-softmax-over-tokens", SCORE, PLACE)
def _(port):
    """Softmax along the wrong axis."""

    def change(logits, bias):
        values, numbers = logits.softmax(0).topk(port.config.num_experts_per_tok, -1)
        return normed(port, values), numbers

    return routed(port, change)


@fault("fourth-experts-weighted-before", (INPUT, IGNORED), PLACE)
def _(port):
    """The input of an expert is multiplied by its weight, not its output."""

    def change(experts, hidden, numbers, weights, inner):
        return sum(
            inner((hidden * weights[:, [each]]).to(hidden.dtype), numbers[:, [each]],
                  torch.ones_like(weights[:, [each]]))
            for each in range(numbers.shape[-1])
        )  # fmt: skip

    return of_experts(port, change)


@fault("fourth-experts-overwrite", (TOP, IGNORED), PLACE)
def _(port):
    """The output of an expert is written, not added: the last one stays."""

    def change(experts, hidden, numbers, weights, inner):
        last = numbers == numbers.amax(-1, keepdim=True)
        return inner(hidden, numbers, weights * last)

    return of_experts(port, change)


@fault("fourth-experts-dealt-out", ORDER, "mlp")
def _(port):
    """Dealt out to two ranks in turn, and numbered as if each had a block."""
    found = [n for n in port.weights if f"layers.{port.layer}." in n and ".experts." in n]
    for name in found:
        value = port.weights[name]
        port.weights[name] = torch.cat((value[::2], value[1::2]))
    return bool(found)


@fault("fourth-experts-gate-up-of-ranks", (LAYOUT, "shard-order-wrong"), "mlp")
def _(port):
    """Stored rank by rank, gate and up of each; read as all gates and all ups."""
    if port.config.model_type == "gpt_oss":
        return False
    return port.scale_rows(r"experts\.gate_up_proj", lambda w: (
        torch.cat([w.chunk(4, 1)[each] for each in (0, 2, 1, 3)], 1)))  # fmt: skip


@fault("fourth-experts-share-the-first-down", ("weights-of-another-module", ORDER), "mlp")
def _(port):
    """The loader writes the first expert into all places."""
    return port.scale_rows(r"experts\.down_proj", lambda w: w[:1].expand_as(w))


@fault("fourth-experts-bias-unweighted", ("bias-repeated", IGNORED), "mlp")
def _(port):
    """The bias of an expert is added as it is, not by the weight of the expert."""
    if port.config.model_type != "gpt_oss":
        return False

    def change(experts, hidden, numbers, weights, inner):
        bias = experts.down_proj_bias[numbers]
        return inner(hidden, numbers, weights) + ((1 - weights)[..., None] * bias).sum(-2)

    return of_experts(port, change)


@fault("fourth-experts-up-bias-missing", "bias-missing", "mlp")
def _(port):
    return port.scale_rows(r"experts\.gate_up_proj_bias", lambda b: b * 0)


@fault("fourth-experts-one-not-added-to-up", "activation-mismatch", "mlp")
def _(port):
    """The usual gated unit, of an architecture that adds one to what is gated."""
    if port.config.model_type != "gpt_oss":
        return False

    def add(model):
        experts = part(model, f"layers.{port.layer}.mlp.experts")

        def gate(both):
            first, second = both[..., ::2], both[..., 1::2]
            return second * first * (first * experts.alpha).sigmoid()

        experts._apply_gate = gate

    port.changes.append(add)


@fault("fourth-shared-expert-on-each-rank", SHARED, "mlp")
def _(port):
    """Each of two ranks adds the whole of it."""
    return of_shared(port, lambda found, extra: found + extra)


@fault("fourth-shared-expert-averaged", (SHARED, "missing-multiplier"), "mlp")
def _(port):
    """The mean of both kinds of experts, not the sum."""
    return of_shared(port, lambda found, extra: found / 2)


@fault("fourth-shared-expert-scaled-with-routed", SHARED, "mlp")
def _(port):
    """A factor that belongs to routed experts is divided out of the shared one."""
    return of_shared(port, lambda found, extra: found - 0.6 * extra)


@fault("fourth-shared-expert-gate-up-exchanged",
       (LAYOUT, SHARED, "weights-of-another-module"), "mlp")  # fmt: skip
def _(port):
    return exchange(port, r"shared_expert\.gate_proj", r"shared_expert\.up_proj")
