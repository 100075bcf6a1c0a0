"""A folder with the tensors of three runs -> R-ratio, cosine and more of every module.

R = ||target - ref_fp32|| / (||ref_bf16 - ref_fp32|| + 1e-12) over all numbers of a tensor.
Problems: MM510 a run is missing or nothing has a counterpart, MM511 to MM513 and MM515 also from
:mod:`.stored`, MM514 tensors have no counterpart in another run.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from ...facts.kinds import Vocabulary
from ...facts.problems import Location, Problem
from ..experiment.components import family_of, normal_name
from ..experiment.limits import Limits
from ..outcome import Collector, Outcome, not_available
from .comparison import BLOCK, MAX_WIDTH, Result, align, compare
from .naming import Name, is_logits, name_all
from .roles import Roles, find_roles
from .stored import Stored, list_stored

MAX_ELEMENTS = 2**31
"""Numbers that are compared in all, some 20 million a second."""
MAX_RESULTS = 2_000
_EXAMPLES = 3


class _Row(NamedTuple):
    name: Name
    stored: Stored
    result: Result


def gather_tensors(
    path: Path | str,
    vocabulary: Vocabulary,
    *,
    block_elements: int = BLOCK,
    max_elements: int = MAX_ELEMENTS,
) -> Outcome:
    """One ``component_result`` fact for every module that all three runs below ``path`` captured
    (``ref_fp32``, ``ref_bf16``, ``target``: folders or files; safetensors, npy, npz), in model
    order; ``fault`` facts where a failure begins in a forward pass of several modules; and
    ``e2e_result`` facts for logits at several positions.

    Reads ``block_elements`` numbers of a tensor at a time (logits: at least a row), whatever its
    size. Pickles are refused. Never raises over its input.
    """
    collector = Collector(vocabulary, "probe:tensors")
    roles = find_roles(Path(path))
    missing = [role for role, found in roles._asdict().items() if found is None]
    if missing:
        hint = "put the tensors of each run into the folders ref_fp32, ref_bf16 and target"
        text = f"there are no tensors of the runs {', '.join(missing)}"
        collector.problem("MM510", text, Location(str(path)), hint)
        return collector.outcome()
    if find_spec("numpy") is None:
        return not_available("numpy", "tensors")
    runs = _read(roles, collector)
    rows = _compare_all(runs, collector, Location(str(path)), max(64, block_elements), max_elements)
    for index, row in enumerate(rows):
        _add_result(collector, index, row)
    _add_faults(collector, rows)
    _add_logits(collector, rows)
    return collector.outcome()


def _read(roles: Roles, collector: Collector) -> list[dict[Name, Stored]]:
    runs = []
    for path in roles:
        problems: list[Problem] = []
        runs.append(name_all(list_stored(path, problems)) if path else {})
        collector.extend(problems)
    return runs


def _compare_all(
    runs: Sequence[Mapping[Name, Stored]],
    collector: Collector,
    where: Location,
    block: int,
    elements: int,
) -> list[_Row]:
    shared = set(runs[0]) & set(runs[1]) & set(runs[2])
    alone = (set(runs[0]) | set(runs[1]) | set(runs[2])) - shared
    if alone:
        shown = ", ".join(sorted(name.shown for name in alone)[:_EXAMPLES])
        code, text = "MM514", f"{len(alone):,} modules are not in all three runs, such as {shown}"
        if not shared:
            code, text = "MM510", f"no module is in all three runs; there are {shown}"
        hint = "capture the same modules in all three runs, under the same names"
        collector.problem(code, text, where, hint)
    elif not shared:
        collector.problem("MM510", "there are no tensors that can be compared", where)
    rows: list[_Row] = []
    names = sorted(shared, key=Name.order)
    for at, name in enumerate(names):
        three = [run[name] for run in runs]
        elements -= three[0].size
        if elements < 0 or at >= MAX_RESULTS:
            text = f"{len(names) - at:,} of {len(names):,} tensors are left out, from {name.shown}"
            collector.problem("MM515", text, where, "give fewer or smaller tensors")
            break
        result = _compare_one(name, three, block, collector)
        if result is not None:
            rows.append(_Row(name, three[2], result))
    return rows


def _compare_one(
    name: Name, three: Sequence[Stored], block: int, collector: Collector
) -> Result | None:
    fp32, bf16, target = three
    logits = is_logits(name.module) and bool(fp32.shape) and fp32.shape[-1] <= MAX_WIDTH
    place, hint = Location(str(target.file)), ""
    if fp32.shape != bf16.shape:
        reason = f"the references have the shapes {list(fp32.shape)} and {list(bf16.shape)}"
        hint = "run both references on the same inputs"
    else:
        shape = align(fp32.shape, target.shape, is_logits(name.module))
        if not isinstance(shape, str):
            try:
                return compare(fp32, bf16, target, shape, logits, block)
            except (OSError, ValueError, EOFError, RuntimeError, MemoryError,
                    zipfile.BadZipFile, zlib.error) as error:  # fmt: skip
                collector.problem("MM511", f"reading {name.shown} failed: {error}", place)
                return None
        reason = shape
    collector.problem("MM513", f"{name.shown} cannot be compared: {reason}", place, hint)
    return None


def _add_result(collector: Collector, index: int, row: _Row) -> None:
    result = row.result
    collector.add(
        "component_result",
        str(row.stored.file),
        component=row.name.shown,
        family=family_of(normal_name(row.name.module)),
        index=index,
        r_ratio=result.r_ratio,
        state=result.state,
        cosine=result.cosine,
        norm_ratio=result.norm_ratio,
        baseline_rel=result.baseline_rel,
        bit_equal=result.bit_equal,
        l_inf=result.l_inf,
        rel_l2=result.rel_l2,
        max_abs=result.max_abs,
        **_by_position(result),
    )


def _by_position(result: Result) -> dict[str, Any]:
    """Percentiles over positions, where there is more than one and all are numbers."""
    import numpy as np

    found = result.per_position
    if found is None or len(found["cosine"]) < 2:
        return {}
    ratios, cosines = found["r_ratio"], found["cosine"]
    values: dict[str, Any] = {"positions": len(cosines)}
    if np.isfinite(cosines).all():
        values["cosine_p5"] = float(np.clip(np.percentile(cosines, 5), -1, 1))
        values["worst_position"] = int(cosines.argmin())
    if result.r_ratio is not None and np.isfinite(ratios).all():
        values["r_p50"], values["r_p95"] = (float(v) for v in np.percentile(ratios, [50, 95]))
    return values


def _add_faults(collector: Collector, rows: Sequence[_Row]) -> None:
    """Where a failure begins: the next module is back under the limit (spike), all later ones
    stay above it (step), or some of them (mixed). Without a denominator a module says nothing."""
    limit = Limits().tau_r
    passes: dict[tuple[str, int], list[tuple[int, _Row]]] = {}
    for index, row in enumerate(rows):
        if row.result.state in (None, "nan", "infinite"):
            passes.setdefault((row.name.phase, row.name.step), []).append((index, row))
    for chain in passes.values():
        fails = [row.result.r_ratio is None or row.result.r_ratio >= limit for _, row in chain]
        for at, (index, row) in enumerate(chain):
            if not fails[at] or (at and fails[at - 1]) or len(chain) < 2:
                continue
            later = fails[at + 1 :]
            shape = "mixed"
            if not later:
                shape = "unknown"
            elif all(later):
                shape = "step"
            elif not later[0]:
                shape = "spike"
            collector.add("fault", str(row.stored.file), component=row.name.shown, shape=shape,
                          r_ratio=row.result.r_ratio, index=index, table="intermediates",
                          step_order=1 if shape == "step" else None)  # fmt: skip


def _add_logits(collector: Collector, rows: Sequence[_Row]) -> None:
    """The end-to-end figures over all positions of all logits."""
    import numpy as np

    found = [row for row in rows if row.result.per_position and "kl" in row.result.per_position]
    parts = [row.result.per_position or {} for row in found]
    if sum(len(part["kl"]) for part in parts) < 2:
        return
    joined = {key: np.concatenate([part[key] for part in parts])
              for key in ("r_ratio", "cosine", "kl", "top1")}  # fmt: skip
    cosines = np.nan_to_num(joined["cosine"], nan=0.0)
    low = np.flatnonzero(cosines < Limits().theta)
    figures = {
        "r_ratio_p95": np.percentile(joined["r_ratio"], 95),
        "r_ratio_mean": joined["r_ratio"].mean(),
        "cosine_p5": np.clip(np.percentile(cosines, 5), -1, 1),
        "cosine_tail": len(low) / len(cosines),
        "kl_p95": np.percentile(joined["kl"], 95),
        "kl_max": joined["kl"].max(),
        "top1_agreement": np.mean([part["top1"].mean() for part in parts]),
    }
    for metric in sorted(figures):
        value = float(figures[metric])
        if np.isfinite(value):
            position = int(low[0]) if metric == "cosine_tail" and len(low) else None
            collector.add("e2e_result", str(found[0].stored.file), metric=metric, value=value,
                          position=position)  # fmt: skip
