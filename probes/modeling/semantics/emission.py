"""Facts from the comparison of reference and port."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ....reading.python.sources import Code
from ...outcome import Collector
from .comparison import compare_models
from .findings import Finding, Place
from .mapping import Fault, find_faults, read_mapping
from .tree import Model, read_model
from .values import Settings

_MISSING = frozenset({"softcap", "clip", "query-norm", "key-norm", "multiplier"})
MAX_DETAIL = 5


def add_semantics(
    collector: Collector, reference: Code, port: Code, config: Mapping[str, Any] | None,
    keys: Iterable[str] | None,
) -> None:  # fmt: skip
    """``code_difference`` and ``weight_mapping``, and what follows from them:
    ``formula_difference`` and ``e2e_check``. Nothing for models that cannot be followed."""
    settings = Settings(config)
    try:
        theirs = read_model(reference, settings)
        ours = read_model(port, settings)
        if theirs is None or ours is None:
            return
        mapping = read_mapping(theirs, ours, keys)
        findings = compare_models(theirs, ours, mapping)
        faults = find_faults(theirs, ours, mapping) if mapping and config is not None else []
    except RecursionError:  # values nested too deep are not compared
        return
    _add_differences(collector, findings)
    _add_formulas(collector, findings)
    _add_mapping(collector, ours, faults)


def _add_differences(collector: Collector, findings: list[Finding]) -> None:
    chosen: dict[tuple[str, str], Finding] = {}
    for each in findings:  # one place of each is enough, one that differs before those that agree
        key = (each.component, each.operation)
        if key not in chosen or (each.differs and not chosen[key].differs):
            chosen[key] = each
    for each in chosen.values():
        at = each.port_at.code.at(each.port_at.node)
        collector.add(
            "code_difference", at, component=each.component, operation=each.operation,
            differs=each.differs, difference=each.difference if each.differs else None,
            reference=each.reference, port=each.port, reference_at=_place(each.reference_at),
            port_at=_place(each.port_at), setting=each.setting or None,
        )  # fmt: skip


def _add_formulas(collector: Collector, findings: list[Finding]) -> None:
    missing: dict[str, list[Finding]] = {}
    for each in findings:
        if each.differs and each.operation in _MISSING:
            missing.setdefault(each.component, []).append(each)
        if each.operation == "attention-scale":
            _add_formula(collector, "scale-missing", [each], each.differs)
    for group in missing.values():
        _add_formula(collector, "operation-missing", group, True)


def _add_formula(
    collector: Collector, difference: str, group: list[Finding], present: bool
) -> None:
    first = group[0]
    detail = "; ".join(
        f"{each.operation}: {each.reference} ({_place(each.reference_at)}), "
        f"in the port {each.port} ({_place(each.port_at)})"
        for each in group[:MAX_DETAIL]
    )
    collector.add("formula_difference", first.port_at.code.at(first.port_at.node),
                  component=first.component, difference=difference, present=present,
                  detail=detail)  # fmt: skip


def _add_mapping(collector: Collector, port: Model, faults: list[Fault]) -> None:
    code = port.reader.code
    for each in faults:
        collector.add("weight_mapping", code.at(each.node), tensor=each.tensor, fault=each.fault,
                      present=True, port_at=_place(Place(code, each.node)),
                      detail=each.detail)  # fmt: skip
    if faults:
        names = ", ".join(f"{each.tensor} ({each.fault})" for each in faults[:MAX_DETAIL])
        collector.add("e2e_check", code.at(faults[0].node), check="weights-equal", ok=False,
                      detail=names)  # fmt: skip


def _place(place: Place) -> str:
    return f"{Path(place.code.name).name}:{place.code.line(place.node)}"
