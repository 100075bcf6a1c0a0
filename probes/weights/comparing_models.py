"""Compares whole models and adds the facts; see :mod:`.probe`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ...facts.problems import Location, excerpt
from ...facts.progress import Progress
from ...reading.tensors.safetensors_files import Tensor, open_weights
from ..outcome import Collector
from .adapters import Adapter, open_adapter
from .comparing_tensors import Comparing
from .comparison_facts import Found, add_comparisons
from .form.alignment import align, unwrap
from .form.export_form import add_form, tied_head
from .form.tied_head import one_head
from .merge_facts import Findings, add_merge
from .targets import Family, Plan, canonical, plan_targets, recognise_family


def compare_models(
    base_path: Path | None, adapter_path: Path | None, merged_path: Path | None, *,
    collector: Collector, elements: int, per_tensor: int, progress: Progress,
) -> None:  # fmt: skip
    """Read the given files and add the facts and problems to the collector."""
    base = open_weights(base_path) if base_path else None
    adapter = open_adapter(adapter_path) if adapter_path else None
    merged = open_weights(merged_path) if merged_path else None
    for part in (base, adapter, merged):
        collector.extend(part.problems if part else ())
    family = recognise_family(base.config, base.tensors) if base else None
    found: list[Found] = []
    if base and merged and base.tensors and merged.tensors:
        plain = unwrap(merged.tensors, base.tensors)
        head = one_head(base, merged._replace(tensors=plain.tensors))
        aligned = align(head.base, head.merged)
        plan = _plan(aligned.base, adapter, family, collector)
        comparing = Comparing(aligned, adapter, plan, merged.path, elements=elements,
                              per_tensor=per_tensor)  # fmt: skip
        found = comparing.run(collector, progress)
        copies = tied_head(head, plan.targets.get(head.name), found, per_tensor)
        if copies == "head-only":  # reported separately; the embedding did not miss its update
            found = [each for each in found if each.tensor != head.name]
        add_comparisons(collector, found, merged.path)
        add_form(collector, base, merged, plain, aligned, copies)
    else:
        plan = _plan(base.tensors if base else {}, adapter, family, collector)
        if merged and not (base and base.tensors):
            text = "nothing was compared: the base model's weights are needed besides the merged"
            collector.problem("MM439", f"{text} ones", Location(str(merged.path)),
                              "give the base model too")  # fmt: skip
    signatures = {each.tensor: each.signature for each in found if each.verdict}
    arithmetic = {each.verdict.arithmetic for each in found if each.verdict} - {""}
    add_merge(collector, base, adapter, plan, family, Findings(signatures, arithmetic))


def _plan(
    base: Mapping[str, Tensor], adapter: Adapter | None, family: Family | None,
    collector: Collector,
) -> Plan:  # fmt: skip
    if not base or adapter is None or family is None:
        return Plan({}, (), ())
    plan = plan_targets(adapter.modules, base, family)
    where = Location(str(adapter.files.path))
    known = {canonical(name) for name in base}
    stray = [name for name in adapter.whole if canonical(name) not in known]
    for modules, what in (((*plan.homeless, *stray), "have no tensor in the base model"),
                          (plan.misfits, "have other shapes than the base model")):  # fmt: skip
        if modules:
            text = f"{len(modules):,} modules {what}, such as {excerpt(modules[0])}"
            hint = "is this the base model of the adapter?"
            collector.problem("MM437", text, where, hint)
    return plan
