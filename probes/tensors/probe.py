"""A folder with the tensors of three runs -> R-ratio, cosine and more of every module.

R = ||target - ref_fp32|| / (||ref_bf16 - ref_fp32|| + 1e-12) over all numbers of a tensor.
Problems: MM510 a run is missing or nothing has a counterpart, MM511 to MM513 and MM515 also from
the reader of tensors, MM514 tensors have no counterpart in another run, MM516 from
:mod:`..replay.replaying`, MM517 and MM518 from the reader of captures, MM519 from :mod:`.given`,
MM407 interrupted.
"""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ...facts.kinds import Vocabulary
from ...facts.problems import Location, Problem
from ...facts.progress import UNWATCHED, Progress, interrupted
from ...facts.regular_files import read_regular
from ...reading.tensors import np
from ...reading.tensors.captures import Name, is_logits, name_all
from ...reading.tensors.stored import Stored, list_stored
from ...reading.text.values import parse_json
from ..outcome import Collector, Outcome, not_available
from .comparison import BLOCK, MAX_WIDTH, Result, align, compare
from .device import Compute, find_gpu
from .emission import add_faults, add_logits, add_results, add_signatures
from .faults import Row, find_faults
from .given import other_tokens
from .replays import Replays, of_rounding, only_rounding
from .roles import Roles, find_roles
from .samples import Samples
from .signatures import signatures
from .ties import Ties

MAX_ELEMENTS = 2**31
"""Numbers that are compared in all, some hundred million a second."""
MAX_RESULTS = 2_000
MAX_THREADS = 4
_EXAMPLES = 3


def gather_tensors(
    path: Path | str, vocabulary: Vocabulary, *, block_elements: int = BLOCK,
    max_elements: int = MAX_ELEMENTS, device: str = "auto", progress: Progress = UNWATCHED,
) -> Outcome:  # fmt: skip
    """One ``component_result`` fact for every module that all three runs below ``path`` captured
    (``ref_fp32``, ``ref_bf16``, ``target``: folders or files; safetensors, npy, npz), in model
    order; ``fault`` facts where a failure begins in a forward pass of several modules;
    ``error_signature`` facts of what the error looks like there; and ``e2e_result`` facts for
    logits at several positions. If the reference does not run in FP32, ``ref_bf16`` takes its
    place and ``ref_perturbed`` (the same, on an input off by a machine epsilon) gives the baseline.

    Reads ``block_elements`` numbers of a tensor at a time (logits: at least a row), whatever its
    size. ``device`` is ``auto`` (a GPU for much data if torch sees one), ``cpu`` or ``cuda``.
    Pickles are refused. Never raises over its input.
    """
    collector = Collector(vocabulary, "probe:tensors")
    roles = find_roles(Path(path))
    three = roles.three
    if os.path.isdir(path) and not os.access(path, os.R_OK | os.X_OK):
        hint = "give yourself the right to read it: chmod u+rx FOLDER"
        text = "this folder may not be read; nothing is known of the tensors in it"
        collector.problem("MM511", text, Location(str(path)), hint)
        return collector.outcome()
    if three is None:
        missing = [role for role in ("ref_fp32", "ref_bf16", "target")
                   if getattr(roles, role) is None]  # fmt: skip
        hint = "put the tensors of each run into the folders ref_fp32, ref_bf16 and target"
        text = f"there are no tensors of the runs {', '.join(missing)}"
        collector.problem("MM510", text, Location(str(path)), hint)
        return collector.outcome()
    if find_spec("numpy") is None:
        return not_available("numpy", "tensors")
    runs = _read(three, collector)
    if mixed := other_tokens(runs):
        collector.extend(mixed)
        return collector.outcome()
    compute = find_gpu(device, sum(tensor.size for tensor in runs[0].values()))
    block = max(64, block_elements)
    where = Location(str(path))
    rows = _compare_all(runs, collector, where, block, max_elements, compute, progress)
    if roles.falls_back and rows:
        collector.add("component_test", str(path), component="captured modules", method="2-tensor",
                      reference_fp32=False)  # fmt: skip
    _add_settings(collector, Path(path), roles.target)
    faults = find_faults(rows)
    samples = Samples(runs, [row.name for row in rows])
    known = _replayed(runs, Path(path), roles, collector, progress)
    known = known.beside(rows)
    kept = [fault for fault in faults if not known.tells(fault.row)]
    add_results(collector, rows, faults, known)
    add_faults(collector, kept)
    with np.errstate(all="ignore"):
        open_rows = [row for row in rows if known.open_to_signs(row)]
        add_signatures(collector, list(signatures(open_rows, kept, samples)))
    if not known.only_ties:
        add_logits(collector, rows, known)
    return collector.outcome()


def _replayed(
    runs: Sequence[Mapping[Name, Stored]], folder: Path, roles: Roles, collector: Collector,
    progress: Progress,
) -> Replays:  # fmt: skip
    """The modules that can be recomputed, if the folder holds the configuration of the
    reference."""
    from ...reading.tensors.captures import changed_files, read_manifest

    problems: list[Problem] = []
    manifest = read_manifest(folder, problems) if not roles.falls_back else None
    if manifest is None:
        collector.extend(problems)
        return Replays(())
    changed_files(folder, manifest, problems, progress)
    from ..replay.emission import add_replayed
    from ..replay.replaying import replay
    from ..trace.facts import add_trace

    judged = add_trace(collector, folder, manifest.config)
    with np.errstate(all="ignore"):
        found = replay(runs, folder, manifest, problems, progress)
    if judged.equal:
        found = [one._replace(trials=only_rounding(one.trials)) for one in of_rounding(found)]
    collector.extend(problems)
    add_replayed(collector, found, str(folder / "capture.json"))
    return Replays(found, judged.equal and judged.same_digits)


def _read(roles: Sequence[Path], collector: Collector) -> list[dict[Name, Stored]]:
    runs = []
    for path in roles:
        problems: list[Problem] = []
        runs.append(name_all(list_stored(path, problems)))
        collector.extend(problems)
    return runs


def _compare_all(
    runs: Sequence[Mapping[Name, Stored]], collector: Collector, where: Location, block: int,
    elements: int, compute: Compute | None, progress: Progress,
) -> list[Row]:  # fmt: skip
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
    names = sorted(shared, key=Name.order)
    taken = 0
    for name in names[:MAX_RESULTS]:
        elements -= runs[0][name].size
        if elements < 0:
            break
        taken += 1
    if taken < len(names):
        text = f"{len(names) - taken:,} of {len(names):,} tensors are left out, from "
        hint = "give fewer or smaller tensors"
        collector.problem("MM515", text + names[taken].shown, where, hint)
    rows: list[Row] = []
    size = sum(runs[0][name].size for name in names[:taken])
    part = progress.part(where.path.rpartition("/")[2], size, ends_early=True)
    # Threads, because numpy computes without the interpreter lock.
    with part as step, ThreadPoolExecutor(min(MAX_THREADS, os.cpu_count() or 1)) as pool:
        work = [(name, [run[name] for run in runs]) for name in names[:taken]]
        ties = Ties(Samples(runs, names[:taken]))
        found = pool.map(lambda item: _compare_one(item[0], item[1], block, ties, compute), work)
        for done, ((name, three), result) in enumerate(zip(work, found, strict=True), 1):
            if isinstance(result, Problem):
                collector.extend([result])
            else:
                place = str(three[2].file)
                rows.append(Row(len(rows), name, place, result, *ties.touch(name)))
            if not step(three[0].size) and done < taken:
                left = f"{taken - done:,} of {len(names):,} tensors were not compared"
                collector.extend([interrupted(left, where)])
                pool.shutdown(cancel_futures=True)
                break
    return rows


def _compare_one(
    name: Name, three: Sequence[Stored], block: int, ties: Ties, compute: Compute | None
) -> Result | Problem:
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
                keep = ties.kept(name, shape)
                return compare(fp32, bf16, target, shape, logits, block, keep, compute)
            except (OSError, ValueError, EOFError, RuntimeError, MemoryError,
                    zipfile.BadZipFile, zlib.error) as error:  # fmt: skip
                return Problem("MM511", f"reading {name.shown} failed: {error}", place)
        reason = shape
    return Problem("MM513", f"{name.shown} cannot be compared: {reason}", place, hint)


SETTINGS = "neuron_config.json"
MAX_SETTINGS_BYTES = 1 << 20


def _add_settings(collector: Collector, folder: Path, target: Path | None) -> None:
    """A ``port_run`` fact with the settings that change the reading of R: TP degree and number
    format. A file that cannot be read is ignored. Never raises."""
    places = [folder / SETTINGS, *([target / SETTINGS] if target is not None else [])]
    for place in places:
        found = _read_settings(place)
        if not found:
            continue
        degree, dtype = found.get("tp_degree"), found.get("torch_dtype")
        known = {
            "tp_degree": degree if type(degree) is int and 1 <= degree <= 1 << 16 else None,
            "dtype": dtype.removeprefix("torch.")[:32] if isinstance(dtype, str) else None,
        }
        if any(value is not None for value in known.values()):
            collector.add("port_run", str(place), **known)
        return


def _read_settings(place: Path) -> dict[str, Any]:
    try:
        raw = read_regular(place, MAX_SETTINGS_BYTES)
    except (OSError, ValueError):
        return {}
    found = parse_json(raw) if len(raw) <= MAX_SETTINGS_BYTES else None
    inner = found.get("neuron_config", found) if isinstance(found, dict) else None
    return inner if isinstance(inner, dict) else {}
