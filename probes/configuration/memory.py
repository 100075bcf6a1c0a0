"""Memory that a core needs, estimated from sizes and settings.

Per core, with T the tensor parallel degree (times the expert degree for experts), H the heads after
padding to a multiple of T and K the KV heads after replication, as the attention layers of NxD
Inference pad and replicate them:

* weights: (2 V D + L (D d (2 H + 2 K) + M)) / T, and 2 L D + D for norms on every core; M is 3 D I,
  or experts times 3 D I and the router. A tied head is counted, since a copy of it is kept.
* KV cache: 2 L (K / T) d times sequence length times sequences in the cache.
* activations of the context graph: residual, its norm and the attention output (3 B C D), the gate
  and up projections (2 B C I / T) and the logits in float32 (B V / T).

Not counted: scratchpad and spills of the compiler, DMA rings, code, and what collectives hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .settings import Configuration, whole

GIB = float(1 << 30)
_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2, "int8": 1, "f8e4m3": 1, "f8e5m2": 1,
          "float8_e4m3fn": 1, "float8_e5m2": 1, "f4e2m1fn_x4": 0.5, "mxfp4": 0.5}  # fmt: skip
ASSUMES = (
    "every layer alike and with a full KV cache; without scratchpad, spills, DMA rings and "
    "collectives"
)


@dataclass(frozen=True, slots=True)
class Estimate:
    """GiB on each core, and the parameters of the model in 1e9."""

    weights: float
    kv_cache: float
    activations: float
    parameters: float

    @property
    def total(self) -> float:
        """The sum of all parts."""
        return self.weights + self.kv_cache + self.activations


def sharded_heads(tp: int, heads: int, kv_heads: int) -> tuple[int, int]:
    """Heads and KV heads over all ranks after padding and replication."""
    padded = -(-heads // tp) * tp
    if heads == kv_heads:
        return padded, padded
    if kv_heads % tp == 0:
        return padded, kv_heads
    return padded, tp if tp % kv_heads == 0 else padded


def estimate(found: Configuration, settings: Mapping[str, Any]) -> Estimate | None:
    """The estimate, or None if a size that it needs is unknown."""
    sizes = found.sizes
    needed = ("heads", "kv_heads", "head_dim", "hidden", "vocabulary", "layers")
    width = sizes.get("moe_intermediate") or sizes.get("intermediate")
    tp = whole(settings.get("tp_degree"), 1)
    if any(name not in sizes for name in needed) or not width or tp is None:
        return None
    heads, kv_heads, dim, hidden, vocabulary, layers = (sizes[name] for name in needed)
    experts = sizes.get("experts", 0)
    ranks = tp * (whole(settings.get("ep_degree"), 1) or 1)
    mlp = 3 * hidden * width * (experts or 1)
    router = hidden * experts
    padded, replicated = sharded_heads(tp, heads, kv_heads)
    norms = 2 * layers * hidden + hidden
    head = 0 if found.tied else vocabulary * hidden
    own = 2 * dim * hidden * (heads + kv_heads)
    total = vocabulary * hidden + head + layers * (own + mlp + router) + norms
    on_core = (
        2 * vocabulary * hidden / tp
        + layers * (2 * dim * hidden * (padded + replicated) / tp + mlp / ranks + router)
        + norms
    )
    width_w = _width(settings, quantized=settings.get("quantized") is True)
    width_a = _width(settings, quantized=False)
    batch = whole(settings.get("batch_size"), 1) or 1
    rows = (whole(settings.get("ctx_batch_size"), batch) or 1) * (
        whole(settings.get("max_context_length"), 1) or 1
    )
    cached = (whole(settings.get("kv_cache_batch_size"), batch) or 1) * (
        whole(settings.get("seq_len"), 1) or 1
    )
    width_kv = 1 if settings.get("kv_cache_quant") is True else width_a
    kv_cache = 2 * layers * (replicated / tp) * dim * cached * width_kv
    split = tp if settings.get("sequence_parallel_enabled") is True else 1
    activations = (
        3 * rows * hidden / split + 2 * rows * min(width, mlp // (3 * hidden)) / tp
    ) * width_a + 4 * batch * vocabulary / tp
    return Estimate(on_core * width_w / GIB, kv_cache / GIB, activations / GIB, total / 1e9)


def _width(settings: Mapping[str, Any], *, quantized: bool) -> float:
    """Bytes of a number."""
    name = settings.get("quantization_dtype", "int8") if quantized else settings.get("torch_dtype")
    text = str(name or "bfloat16").removeprefix("torch.")
    return _BYTES.get(text, 2)
