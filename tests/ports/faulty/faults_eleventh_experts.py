"""Experts and routers of the eleventh set."""

from .eleventh_making import eleventh
from .port import Port


@eleventh("experts-down-bias-per-rank", "bias-repeated", "mlp")
def _(port: Port) -> bool | None:
    """Each of eight ranks adds the bias of the experts' second layer before the sum over ranks."""
    raise NotImplementedError


@eleventh("experts-dealt-to-ranks", "expert-order-wrong", "mlp")
def _(port: Port) -> bool | None:
    """Four ranks hold every fourth expert, and the router takes them to hold two neighbours each."""
    raise NotImplementedError


@eleventh("router-without-normalisation", "router-normalisation-wrong", "mlp(.gate|.router)?", everywhere=True)
def _(port: Port) -> bool | None:
    """Softmax over all experts, then the best ones, as they are: the reference has weights that add up
    to one."""
    raise NotImplementedError


@eleventh("router-bias-in-choice-only", "router-bias-missing", "mlp(.router)?", everywhere=True)
def _(port: Port) -> bool | None:
    """The bias of the router decides which experts are chosen, as with DeepSeek, and is left out of
    their weights."""
    raise NotImplementedError


@eleventh("router-top-k-default", "router-top-k-wrong", "mlp", everywhere=True)
def _(port: Port) -> bool | None:
    """The number of experts of each token is that of the library's default for the family: four."""
    raise NotImplementedError


@eleventh("experts-of-other-layer", "weights-of-another-layer", "mlp(.experts)?")
def _(port: Port) -> bool | None:
    """The loop that stacks experts keeps the number of a layer from outside of it, and so loads those of
    another layer; the router is right."""
    raise NotImplementedError


@eleventh("experts-reduction-missing", "tp-reduction-missing", "mlp")
def _(port: Port) -> bool | None:
    """Experts are cut in four along their inner width, and the sum over ranks is left out."""
    raise NotImplementedError
