"""The ``merge`` fact: what the files say about base model, adapter and merge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from ...reading.tensors.number_formats import SIZES
from ...reading.tensors.safetensors_files import WeightFiles
from ..outcome import Collector
from .adapters import Adapter
from .form.model_names import base_names
from .targets import Family, Plan, canonical

_FAMILIES = ("qwen3", "qwen3-vl", "qwen3.5", "gpt-oss", "deepseek", "kimi", "nemotron", "llama",
             "other")  # fmt: skip
_DTYPES = {"BF16": "bfloat16", "F16": "float16", "F32": "float32"}


class Findings(NamedTuple):
    """Signatures of the compared targets, and the low-precision formats that were recognised."""

    signatures: Mapping[str, str]
    arithmetic: set[str]


def add_merge(
    collector: Collector, base: WeightFiles | None, adapter: Adapter | None, plan: Plan,
    family: Family | None, findings: Findings,
) -> None:  # fmt: skip
    """Add one ``merge`` fact with everything that is known; none if nothing is."""
    values: dict[str, str | int | float | bool | None] = {}
    place = ""
    if base and family and base.tensors:
        place = str(base.path)
        values |= _of_base(base, family)
    if adapter and (adapter.modules or adapter.files.config):
        place = str(adapter.files.path)
        values |= {
            "rank": adapter.rank, "alpha": adapter.alpha, "adapter_base": adapter.base_name or None,
            "empty_expert_tensors": adapter.empty_experts or None,
        }  # fmt: skip
    if base and adapter and adapter.base_name:
        values |= base_names(base, adapter.base_name)
    if plan.misfits:
        values["base_matches"] = False
    if findings.signatures and adapter:
        values |= _of_merge(plan, adapter, findings)
    if any(value is not None for value in values.values()):
        collector.add("merge", place, **values)


def _of_base(base: WeightFiles, family: Family) -> dict[str, str | int | float | bool | None]:
    config = base.config
    size = sum(tensor.size * SIZES.get(tensor.dtype, 1) for tensor in base.tensors.values())
    formats = Counter(tensor.dtype for tensor in base.tensors.values())
    name = config.get("_name_or_path")
    layout, axis = _expert_layout(base, family)
    return {
        "model": name if isinstance(name, str) and name else None,
        "family": family.name if family.name in _FAMILIES else None, "moe": family.moe,
        "vision": family.vision, "base_layout": layout, "base_fused_axis": axis,
        "base_gb": float(f"{size / 1e9:.3g}"),
        "base_dtype": _DTYPES.get(max(sorted(formats), key=lambda each: formats[each])),
    }  # fmt: skip


def _expert_layout(base: WeightFiles, family: Family) -> tuple[str | None, str | None]:
    """How gate and up of the experts lie; the axis only if shapes tell it."""
    for name, tensor in base.tensors.items():
        if name.endswith(".experts.gate_up_proj") and len(tensor.shape) == 3:
            _, height, width = tensor.shape
            down = base.tensors.get(name.replace("gate_up_proj", "down_proj"))
            axis = None
            if down is not None and len(down.shape) == 3:
                inner = {size for size in down.shape[1:] if 2 * size in (height, width)}
                axis = None if len(inner) != 1 else \
                    "middle" if height == 2 * inner.pop() else "last"  # fmt: skip
            return ("interleaved" if family.interleaved else "concatenated"), axis
        if ".experts.0." in name:
            return "separate", None
    return None, None


def _of_merge(
    plan: Plan, adapter: Adapter, findings: Findings
) -> dict[str, str | int | float | bool | None]:
    signatures = findings.signatures
    modules: dict[str, set[str]] = {}
    for name, target in plan.targets.items():
        for piece in target.pieces:
            modules.setdefault(piece.lora.module, set()).add(signatures.get(name, "missing"))
    applied = sum(1 for found in modules.values() if found - {"unchanged", "missing"})
    values: dict[str, str | int | float | bool | None] = {
        "applied_share": float(f"{applied / max(1, len(adapter.modules)):.6g}")
    }
    kinds = set(signatures.values())
    if kinds == {"correct"}:
        values["dtype"] = "float32"
    elif "low-precision" in kinds and len(findings.arithmetic) == 1:
        values["dtype"] = next(iter(findings.arithmetic))
    gate = {
        signature
        for name, signature in signatures.items()
        if ".experts" in name
        and canonical(name).rpartition(".")[2] in ("gate_up_proj", "gate_proj", "up_proj")
    }
    if gate == {"swapped"}:
        values["w1_target"] = "up"
    elif gate == {"correct"} and adapter.modules:
        values["w1_target"] = "gate"
    return values
