"""Faults of the fourth set that no canonical cause is about: of these no cause may be firm."""

import torch

from .breaking import UNKNOWN, has, wrap_attention
from .faults_fourth import PLACE
from .faults_third import own_attention
from .faults_third_last import routed, whole
from .faults_third_rest import DOWN, after_logits, final_norm, gated, of_mlp, part
from .port import fault

DOWNS = "mlp.(down_proj|c_proj|dense_4h_to_h)"


def uncapped(port, weigh):
    return False if has(port, "attn_logit_softcapping") else own_attention(port, weigh)


def of_down(port, change):
    return port.scale_rows(rf"{DOWN}\.weight", change)


def rms(x):
    return (x.float() * (x.float().pow(2).mean(-1, keepdim=True) + 1e-6).rsqrt()).to(x.dtype)


@fault("alien-fourth-softmax-over-queries", UNKNOWN, PLACE, everywhere=True)
def _(port):
    """Softmax along the wrong axis."""
    return uncapped(port, lambda x, mask, s, cap: (x * s + mask).softmax(-2))


@fault("alien-fourth-attention-of-relu", UNKNOWN, PLACE, everywhere=True)
def _(port):
    """Scores are cut off at zero and divided by their sum."""

    def weigh(x, mask, s, cap):
        found = (x * s + mask).relu()
        return found / (found.sum(-1, keepdim=True) + 1e-2)

    return uncapped(port, weigh)


@fault("alien-fourth-splits-averaged", UNKNOWN, PLACE, everywhere=True)
def _(port):
    """Keys are split in two, and what both parts give is averaged, whatever their weight."""

    def weigh(x, mask, s, cap):
        x = x * s + mask
        half = x.shape[-1] // 2
        first, second = x[..., :half].softmax(-1), x[..., half:].softmax(-1)
        seen = ((mask > -1)[..., half:]).any(-1, keepdim=True)
        return torch.cat((first * (1 - 0.5 * seen), second * 0.5 * seen), -1)

    if has(port, "sliding_window"):
        return False
    return uncapped(port, weigh)


@fault("alien-fourth-heads-talk", UNKNOWN, PLACE, everywhere=True)
def _(port):
    """Weights of a head are mixed with those of the head beside it."""

    def weigh(x, mask, s, cap):
        found = (x * s + mask).softmax(-1)
        return 0.7 * found + 0.3 * found.roll(1, 1)

    return uncapped(port, weigh)


@fault("alien-fourth-values-normed", UNKNOWN, PLACE, everywhere=True)
def _(port):
    """Values are normalised, as in other architectures queries and keys are."""
    return wrap_attention(port, lambda module, q, k, v, mask, s: (q, k, rms(v), mask, s))


@fault("alien-fourth-recent-tokens-favoured", UNKNOWN, PLACE, everywhere=True)
def _(port):
    """Values of earlier tokens fade away, as in retention."""

    def weigh(x, mask, s, cap):
        total, count = x.shape[-1], x.shape[-2]
        far = torch.arange(total - count, total)[:, None] - torch.arange(total)[None]
        return (x * s + mask).softmax(-1) * 0.9 ** far.clamp(min=0)

    return uncapped(port, weigh)


@fault("alien-fourth-final-norm-twice", UNKNOWN, "norm|final_layer_norm", everywhere=True)
def _(port):
    name = final_norm(port)
    if name is None:
        return False

    def add(model):
        norm = model.get_submodule(name)
        inner = norm.forward
        norm.forward = lambda x: inner(inner(x))

    port.changes.append(add)


@fault("alien-fourth-embedding-normed", UNKNOWN, "embed", everywhere=True)
def _(port):
    """A norm without weights behind the embedding."""

    def add(model):
        table = part(model, "embed_tokens") or part(model, "embed_in")
        inner = table.forward
        table.forward = lambda ids: rms(inner(ids))

    port.changes.append(add)


@fault("alien-fourth-gate-added", UNKNOWN, "mlp")
def _(port):
    """The gated value is added to the gate, not multiplied."""
    if not gated(port):
        return False
    of_mlp(port, lambda mlp, x, inner: (
        mlp.down_proj(mlp.act_fn(mlp.gate_proj(x)) + mlp.up_proj(x))))  # fmt: skip


@fault("alien-fourth-norm-inside-mlp", UNKNOWN, "mlp")
def _(port):
    """A norm before the last projection, as in models of one bit."""
    if not gated(port):
        return False
    of_mlp(port, lambda mlp, x, inner: (
        mlp.down_proj(rms(mlp.act_fn(mlp.gate_proj(x)) * mlp.up_proj(x)))))  # fmt: skip


@fault("alien-fourth-sequence-shards-exchanged", UNKNOWN, "mlp")
def _(port):
    """Positions are shared out, and gathered in the wrong order of ranks."""
    of_mlp(port, lambda mlp, x, inner: whole(inner(x), lambda found: (
        found.roll(found.shape[1] // 2, 1))))  # fmt: skip


@fault("alien-fourth-scales-of-blocks-transposed", UNKNOWN, DOWNS)
def _(port):
    """Weights in blocks with a factor each; the table of factors is read transposed."""

    def change(w):
        rows, columns = w.shape[0] // 8, w.shape[1] // 8
        blocks = w.unflatten(1, (8, columns)).unflatten(0, (8, rows))
        largest = blocks.abs().amax((1, 3), keepdim=True)
        return (blocks / largest * largest.transpose(0, 2)).reshape(w.shape)

    return of_down(port, change)


@fault("alien-fourth-adapter-merged", UNKNOWN, DOWNS)
def _(port):
    """An adapter of low rank is merged that does not belong to the reference."""

    def change(w):
        torch.manual_seed(4)
        extra = torch.randn(len(w), 4) @ torch.randn(4, w.shape[1])
        return (w + 0.3 * w.std() / extra.std() * extra).bfloat16().float()

    return of_down(port, change)


@fault("alien-fourth-two-of-four", UNKNOWN, DOWNS)
def _(port):
    """The two smallest of four weights are left out."""

    def change(w):
        four = w.unflatten(1, (-1, 4))
        least = four.abs().argsort(-1)[..., :2]
        return four.scatter(-1, least, 0).flatten(1)

    return of_down(port, change)


@fault("alien-fourth-outliers-clipped", UNKNOWN, DOWNS)
def _(port):
    return of_down(port, lambda w: w.clamp(-w.std(), w.std()))


@fault("alien-fourth-rotation-not-undone", UNKNOWN, DOWNS)
def _(port):
    """Weights are rotated against outliers, and what goes into them is not."""

    def change(w):
        angles = torch.linspace(0.2, 1.2, w.shape[1] // 2)
        one, two = w[:, ::2], w[:, 1::2]
        both = (one * angles.cos() - two * angles.sin(), one * angles.sin() + two * angles.cos())
        return torch.stack(both, -1).flatten(1).bfloat16().float()

    return of_down(port, change)


@fault("alien-fourth-logits-are-log-probabilities", UNKNOWN, "logits", everywhere=True)
def _(port):
    after_logits(port, lambda logits: logits.float().log_softmax(-1).to(logits.dtype))


@fault("alien-fourth-end-of-vocabulary-masked", UNKNOWN, "logits", everywhere=True)
def _(port):
    """The last tokens are taken to be padding of the vocabulary."""
    after_logits(port, lambda logits: torch.cat(
        (logits[..., :-16], torch.full_like(logits[..., -16:], -30)), -1))  # fmt: skip


@fault("alien-fourth-router-penalises-repetition", UNKNOWN, "mlp")
def _(port):
    """An expert is less likely the more tokens it had: a state of training that was kept."""

    def change(logits, bias):
        made = logits.softmax(-1)
        before = (made.cumsum(0) - made) / (torch.arange(len(made))[:, None] + 1)
        values, numbers = (logits - 8 * before).softmax(-1).topk(
            port.config.num_experts_per_tok, -1)  # fmt: skip
        return values / values.sum(-1, keepdim=True), numbers

    return routed(port, change)


@fault("alien-fourth-token-shift", UNKNOWN, "mlp")
def _(port):
    """Half of the channels that go into the MLP are those of the token before."""

    def change(mlp, x, inner):
        half = x.shape[-1] // 2
        before = torch.cat((x[:, :1], x[:, :-1]), 1)
        return inner(torch.cat((before[..., :half], x[..., half:]), -1))

    of_mlp(port, change)
