"""The figures of one piece of tensors on a GPU, if torch sees one. In float64 throughout."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

WORTH_IT = 1 << 28
"""Numbers to compare from which on starting torch and its GPU takes less time than it saves."""
GPU_BLOCK = 1 << 24
"""Elements of a piece; some ten float64 arrays of this size are on the GPU at a time."""


class Figures(NamedTuple):
    """Figures of each row: the squares of target - fp32, bf16 - fp32, fp32, target and the
    product fp32 * target. Figures of all: the largest magnitudes of both differences, and
    whether target and fp32 are equal. For logits, the KL divergence and whether the best token
    agrees, else None."""

    rows: Any
    largest: float
    largest_baseline: float
    equal: bool
    kl: Any = None
    top1: Any = None


Compute = Callable[[Any, Any, Any, bool], Figures]


def find_gpu(wanted: str, numbers: int) -> Compute | None:
    """The function that computes figures on the device ``wanted``: ``auto`` uses a GPU from some
    size on, ``cuda`` a GPU at any size, ``cpu`` none. None if numpy must compute them."""
    if wanted == "cpu" or (wanted == "auto" and numbers < WORTH_IT) or not find_spec("torch"):
        return None
    try:
        import torch

        return figures_on("cuda") if torch.cuda.is_available() else None
    except (ImportError, OSError, RuntimeError):  # a torch that does not fit this machine
        return None


def figures_on(device: str) -> Compute:
    """A function that computes figures with torch on ``device``."""
    import torch

    def compute(fp32: Any, bf16: Any, target: Any, logits: bool) -> Figures:
        with torch.inference_mode():
            a, b, c = (torch.from_numpy(x).to(device).double() for x in (fp32, bf16, target))
            off, base = c - a, b - a
            pairs = ((off, off), (base, base), (a, a), (c, c), (a, c))
            rows = torch.stack([torch.linalg.vecdot(left, right) for left, right in pairs])
            found = Figures(
                rows.cpu().numpy(), float(off.abs().max()), float(base.abs().max()),
                bool(torch.equal(a, c)),
            )  # fmt: skip
            if not logits:
                return found
            p, q = a.log_softmax(-1), c.log_softmax(-1)
            kl = (p.exp() * (p - q)).sum(-1).clamp(min=0)
            top1 = (a.argmax(-1) == c.argmax(-1)).double()
            return found._replace(kl=kl.cpu().numpy(), top1=top1.cpu().numpy())

    return compute
