"""Rotary embeddings and aliens of the eleventh set."""

from collections.abc import Callable

import torch
from torch import Tensor

from .breaking import rope_of, wrap_rotary, wrap_table
from .eighth_making import behind_prompt
from .eleventh_making import PLACES, alien, eleventh
from .fifth_making import PAIRWISE, has_experts, of_experts, of_frequencies, share, turn_half
from .port import Port


@eleventh("theta-of-old-key", "rope-theta-wrong", "rotary_emb", everywhere=True)
def _(port: Port) -> bool | None:
    """The base is looked up as rope_theta of the configuration itself; it lies in rope_parameters,
    and so 10000 is taken."""
    given = rope_of(port)
    if not given or given["rope_theta"] == 10_000.0:
        return False
    given["rope_theta"] = 10_000.0
    return None


@eleventh("pairwise-family-in-halves", "rope-layout-wrong", "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """A family that turns channels 2i and 2i + 1 together is run through the library's usual
    function, which turns i with i + d/2."""
    kind = port.config.model_type
    if kind not in PAIRWISE:
        return False

    def table(x: Tensor) -> Tensor:
        angles = x[..., ::2] if kind == "cohere" else x[..., : x.shape[-1] // 2]
        return torch.cat((angles, angles), -1)[:, None]

    def change(_: object, q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
        cos, sin = table(cos), table(sin)
        size = cos.shape[-1]

        def turned(x: Tensor) -> Tensor:
            part = x[..., :size].float()
            part = part * cos + turn_half(part) * sin
            return torch.cat((part.to(x.dtype), x[..., size:]), -1)

        return turned(q), turned(k)

    return bool(wrap_rotary(port, change))


@eleventh(
    "partial-frequencies-of-head",
    ("rope-partial-wrong", "rope-theta-wrong"),
    "rotary_emb",
    everywhere=True,
)
def _(port: Port) -> bool | None:
    """Frequencies of a partial embedding are spread over the whole head: theta ** (-2i / head_dim),
    where the reference divides by the number of channels that are turned."""
    part = share(port)
    if part is None:
        return False
    of_frequencies(port, lambda frequencies: frequencies**part)
    return None


@eleventh("llama3-as-linear", "rope-scaling-missing", "rotary_emb", everywhere=True)
def _(port: Port) -> bool | None:
    """Any rope scaling with a factor is taken for the linear kind: all frequencies are divided by
    it, the high ones as well, which the kind of Llama 3 leaves."""
    given = rope_of(port)
    if not given or given["rope_type"] != "llama3":
        return False
    kept = {key: given[key] for key in ("factor", "rope_theta")}
    port.config.rope_parameters = {"rope_type": "linear", **kept}
    return None


@eleventh("decode-position-late", PLACES, "rotary_emb", everywhere=True)
def _(port: Port) -> bool | None:
    """Decoded tokens get the length of the cache after their key was added as their position, one
    more than their place."""
    wrap_table(port, behind_prompt(lambda decoded: decoded + 1))
    return None


@alien("expert-capacity", "mlp")
def _(port: Port) -> bool | None:
    """Each expert takes as many tokens as it would have if all had equally many; what comes later
    in the batch than that is dropped."""
    if not has_experts(port):
        return False
    count = getattr(port.config, "num_local_experts", None) or port.config.num_experts

    def change(inner: Callable[..., Tensor], x: Tensor, numbers: Tensor, weights: Tensor) -> Tensor:
        capacity = -(-numbers.numel() // count)
        chosen = torch.nn.functional.one_hot(numbers.flatten(), count)
        turn = (chosen.cumsum(0) * chosen).sum(-1).view_as(numbers)
        return inner(x, numbers, weights * (turn <= capacity))

    of_experts(port, change)
    return None


@alien("adapter-merged", "self_attn.v_proj")
def _(port: Port) -> bool | None:
    """The checkpoint that is converted has a low-rank adapter merged into it, which the reference
    lacks."""

    def change(w: Tensor) -> Tensor:
        source = torch.Generator().manual_seed(11)
        down = torch.randn(3, w.shape[1], generator=source) / w.shape[1] ** 0.5
        up = torch.randn(w.shape[0], 3, generator=source)
        found: Tensor = w + 0.27 * up @ down
        return found

    return bool(port.scale_rows(r"self_attn\.v_proj\.weight", change))


@alien("block-scales-transposed", "self_attn.(o_proj|dense)")
def _(port: Port) -> bool | None:
    """Scales of blocks of an eight-bit checkpoint are read by column and row for row and column."""

    def change(w: Tensor) -> Tensor:
        blocks: Tensor = w.unflatten(0, (4, -1)).unflatten(2, (4, -1))
        scales: Tensor = blocks.abs().amax((1, 3), keepdim=True)
        found: Tensor = blocks / scales * scales.transpose(0, 2)
        return found.flatten(2).flatten(0, 1)

    return bool(port.scale_rows(r"(self_attn\.o_proj|attention\.dense)\.weight", change))
