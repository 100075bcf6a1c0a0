"""An experiment folder -> facts: stages, files, trees, mapping, components, faults, figures.

Problems: MM500 to MM503 from :mod:`.reading`, MM504 there is no such folder. Faults are located by
arithmetic on the results; what they mean is left to the knowledge.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ...facts.kinds import Vocabulary
from ...facts.problems import Location
from ..outcome import Collector, Outcome
from . import components, debugger, divergences, end_to_end, faults, inputs, patches, smoke, stages
from .benchmarks import read_benchmarks
from .component_tests import add_coverage, add_tests
from .limits import read_limits
from .mapping import read_mapping
from .reading import Folder, entries
from .stage_file import SIGNS, gather_stage_file
from .structure import add_differences
from .tests_folder import read_tests
from .trees import add_layers, read_tree

_OPEN_ENTRY = re.compile(r"\b(pending|deferred|tbd|todo)\b", re.IGNORECASE)


def gather_experiment(
    path: Path | str, vocabulary: Vocabulary, *, use_times: bool | None = None
) -> Outcome:
    """The facts of the experiment folder at ``path``, in both revisions of its files; of a file of
    stage results, those that it has itself.

    ``use_times`` states that the times of the files are those of the runs; by default they count
    only if the results were not all written within a minute (a copy or a checkout). A file that is
    missing is a fact, one that cannot be read is a problem and costs that file only. Reads nothing
    outside the folder and runs nothing. Never raises over its input.
    """
    collector = Collector(vocabulary, "probe:experiment")
    root = Path(path)
    if root.name in SIGNS and root.is_file():
        return gather_stage_file(root, lambda folder: gather_experiment(folder, vocabulary))
    try:
        is_folder = root.is_dir()
    except (OSError, ValueError):
        is_folder = False
    if not is_folder:
        hint = "give the experiment folder (EXP_DIR)"
        collector.problem("MM504", "there is no such folder", Location(str(path)), hint)
        return collector.outcome()
    folder = Folder(root, collector)
    if folder.is_closed("."):
        return collector.outcome()
    source, target = read_tree(folder, "source"), read_tree(folder, "target")
    mapping = read_mapping(folder, source, target)
    add_layers(folder, source, target)
    if source is not None and target is not None:
        add_differences(folder, source, target, mapping)
    tests = read_tests(folder)
    divergences.add_divergences(folder, tests)
    found = smoke.read_smoke(folder)
    rows = components.read_components(folder, mapping)
    limits = read_limits(folder, [row.name for row in rows])
    components.add_components(folder, rows, limits.tau_r)
    add_tests(folder, rows, tests, target)
    add_coverage(folder, rows, tests, mapping)
    before = faults.add_faults(folder, rows, limits.tau_r)
    verdict = end_to_end.read_end_to_end(folder, limits)
    passed = read_benchmarks(folder)
    _add_run(folder, found, inputs.add_inputs(folder))
    stages.add_files(folder)
    debugger.add_debugger(folder)
    states = _states(folder, found, rows, verdict, passed)
    times = stages.times_of(folder, states, use_times)
    stages.add_states(folder, states, times)
    patches.add_patches(folder, rows, before, limits.tau_r, bool(times))
    return collector.outcome()


def _states(
    folder: Folder, found: smoke.Smoke | None, rows: list[components.Component],
    verdict: end_to_end.Verdict, passed: bool | None,
) -> list[stages.State]:  # fmt: skip
    stage2 = stages.component_state(folder, rows)
    patched = stages.patch_state(folder, stage2)
    return [
        stages.scaffold(folder), stages.smoke_state(folder, found), stage2,
        stages.fault_state(folder), *([patched] if patched else []),
        *stages.end_states(folder, verdict), stages.benchmark_state(folder, passed),
    ]  # fmt: skip


def _add_run(folder: Folder, found: smoke.Smoke | None, settings: dict[str, Any]) -> None:
    """Stack and revision, by the signs that only one of them leaves, else by the settings."""
    forced = folder.json(end_to_end.NAME) or {}
    rows = [row for row in entries(folder.json(components.NAME), "results")
            if isinstance(row, dict)]  # fmt: skip
    method, revision, stack = forced.get("method"), None, None
    if isinstance(method, str) or any(row.get("bc") is not None for row in rows):
        stack, revision = "vllm-neuron", "current"
    elif "per_prompt" in forced:
        stack = "nxdi"
    if found is not None and found.older:
        revision = "older"
    elif any("sigma_ratio" in row for row in rows):
        revision = "current"
    stack = stack or inputs.stack_of(settings)
    degree = inputs.degree_of(settings)
    report = folder.text("EQUIVALENCE_REPORT.md")
    state = None
    if report:
        state = "pending" if _OPEN_ENTRY.search(report) else "complete"
    if stack or revision or state or degree:
        folder.collector.add("port_run", str(folder.root), target_stack=stack, tp_degree=degree,
                             script_revision=revision, report=state)  # fmt: skip
