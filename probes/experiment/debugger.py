"""Reads the output of vLLM-Neuron's accuracy debugger in an experiment folder: its reports, and the
figures of each module from its tensor comparison. Only the documented keys of its JSON files are
read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from .components import family_of, normal_name
from .reading import MAX_ENTRIES, Folder, share, size, text_of

KV_ANALYSIS, PROMPT_DIAGNOSIS = "results/kv_analysis", "results/stage7/prompt_diagnosis"
REPORT = "accuracy_report"
_REPORTS = (KV_ANALYSIS, PROMPT_DIAGNOSIS, REPORT)
_SUMMARY = "tensor_compare/comparison_summary.json"
_FIGURES = ("linf_ratio", "l2_ratio", "bc")
MAX_DEPTH = 12


class Figures(NamedTuple):
    """The worst figures of a module over steps and tokens."""

    linf: float | None
    l2: float | None
    bc: float | None

    def and_worse(self, other: Figures) -> Figures:
        """The worse of both, figure by figure."""
        return Figures(
            _pick(max, self.linf, other.linf),
            _pick(max, self.l2, other.l2),
            _pick(min, self.bc, other.bc),
        )


def _pick(worse: Any, one: float | None, other: float | None) -> float | None:
    known = [each for each in (one, other) if each is not None]
    return worse(known) if known else None


def add_debugger(folder: Folder) -> None:
    """Add the reports that exist, and a ``component_result`` for each compared module. Reports are
    written after failures only, so a missing report is not a finding."""
    for name in _REPORTS:
        if not folder.is_closed(name) and folder.has(name):
            folder.collector.add("workflow_file", folder.place(name), name=name, present=True)
            _add_modules(folder, f"{name}/{_SUMMARY}")


def _add_modules(folder: Folder, name: str) -> None:
    found: dict[str, Figures] = {}
    for module, figures in _modules(folder.json(name), "", 0):
        if module in found or len(found) < MAX_ENTRIES:
            found[module] = figures.and_worse(found.get(module, figures))
    for module, worst in found.items():
        folder.collector.add(
            "component_result", folder.place(name), component=module,
            family=family_of(normal_name(module)), l_inf=worst.linf, l2=worst.l2, bc=worst.bc,
        )  # fmt: skip


def _modules(node: Any, name: str, depth: int) -> Iterator[tuple[str, Figures]]:
    """(module, figures) of every object that has such figures; its name is its ``module_name``,
    else the key that holds it."""
    if depth > MAX_DEPTH:
        return
    if isinstance(node, list):
        for each in node[:MAX_ENTRIES]:
            yield from _modules(each, "", depth + 1)
    elif isinstance(node, dict):
        module = text_of(node.get("module_name")) or name
        figures = Figures(size(node.get("linf_ratio")), size(node.get("l2_ratio")),
                          share(node.get("bc")))  # fmt: skip
        if module and any(each is not None for each in figures):
            yield module.partition("/token")[0], figures
        for key, value in list(node.items())[:MAX_ENTRIES]:
            if key not in _FIGURES:
                yield from _modules(value, key, depth + 1)
