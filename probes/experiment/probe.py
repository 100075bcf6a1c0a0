"""An experiment folder -> facts: stages, files, trees, mapping, components, faults, figures.

Problems: MM500 to MM503 from :mod:`.reading`, MM504 there is no such folder. Faults are located by
arithmetic on the results; what they mean is left to the knowledge.
"""

from __future__ import annotations

import re
from pathlib import Path

from ...facts.kinds import Vocabulary
from ...facts.problems import Location
from ..outcome import Collector, Outcome
from . import components, divergences, end_to_end, faults, smoke, stages
from .benchmarks import read_benchmarks
from .limits import read_limits
from .mapping import read_mapping
from .reading import Folder, entries
from .structure import add_differences
from .tests_folder import FoundTests, read_tests
from .trees import Tree, read_tree

_OPEN_ENTRY = re.compile(r"\b(pending|deferred|tbd|todo)\b", re.IGNORECASE)
_GUARD = re.compile(r"\b_patched\b")


def gather_experiment(
    path: Path | str, vocabulary: Vocabulary, *, use_times: bool | None = None
) -> Outcome:
    """The facts of the experiment folder at ``path``, in both revisions of its files.

    ``use_times`` says whether the times of the files are those of the runs; by default they count
    only where the results were not all written within a minute (a copy or a checkout). A file that
    is missing is a fact, one that cannot be read is a problem and costs that file only. Reads
    nothing outside the folder and runs nothing. Never raises over its input.
    """
    collector = Collector(vocabulary, "probe:experiment")
    root = Path(path)
    try:
        is_folder = root.is_dir()
    except (OSError, ValueError):
        is_folder = False
    if not is_folder:
        hint = "give the experiment folder (EXP_DIR)"
        collector.problem("MM504", "there is no such folder", Location(str(path)), hint)
        return collector.outcome()
    folder = Folder(root, collector)
    source, target = read_tree(folder, "source"), read_tree(folder, "target")
    mapping = read_mapping(folder, source, target)
    _add_layers(folder, source, target)
    if source is not None and target is not None:
        add_differences(folder, source, target, mapping)
    tests = read_tests(folder)
    divergences.add_divergences(folder, tests)
    limits = read_limits(folder)
    found = smoke.read_smoke(folder)
    rows = components.read_components(folder, mapping)
    components.add_components(folder, rows, limits.tau_r)
    _add_tests(folder, rows, tests)
    faults.add_faults(folder, rows, limits.tau_r)
    verdict = end_to_end.read_end_to_end(folder, limits)
    passed = read_benchmarks(folder)
    _add_run(folder, found)
    _add_patches(folder)
    stages.add_files(folder)
    _add_states(folder, found, rows, verdict, passed, use_times)
    return collector.outcome()


def _add_states(
    folder: Folder,
    found: smoke.Smoke | None,
    rows: list[components.Component],
    verdict: end_to_end.Verdict,
    passed: bool | None,
    use_times: bool | None,
) -> None:
    stage2 = stages.component_state(folder, rows)
    patched = stages.patch_state(folder, stage2)
    states = [
        stages.scaffold(folder),
        stages.smoke_state(folder, found),
        stage2,
        stages.fault_state(folder),
        *([patched] if patched else []),
        *stages.end_states(folder, verdict),
        stages.benchmark_state(folder, passed),
    ]
    stages.add_states(folder, states, use_times)


def _add_layers(folder: Folder, source: Tree | None, target: Tree | None) -> None:
    for side, tree in (("source", source), ("target", target)):
        if tree is not None:
            folder.collector.add("layer_count", folder.place(tree.name), side=side,
                                 count=tree.layers())  # fmt: skip


def _add_tests(folder: Folder, rows: list[components.Component], tests: FoundTests) -> None:
    """Whether each tested component has a device-algorithm test beside it."""
    for row in rows:
        name = components.normal_name(row.name)
        if name in tests.device:
            folder.collector.add("component_test", folder.place("tests"), component=row.name,
                                 device_test=True)  # fmt: skip


def _add_run(folder: Folder, found: smoke.Smoke | None) -> None:
    """Stack and revision, by the signs that only one of them leaves."""
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
    report = folder.text("EQUIVALENCE_REPORT.md")
    state = None
    if report:
        state = "pending" if _OPEN_ENTRY.search(report) else "complete"
    if stack or revision or state:
        folder.collector.add("port_run", str(folder.root), target_stack=stack,
                             script_revision=revision, report=state)  # fmt: skip


def _add_patches(folder: Folder) -> None:
    for name in folder.names("patches", ".py"):
        text = folder.text(name) or ""
        if name.endswith("/__init__.py"):
            continue
        guarded = True if _GUARD.search(text) else None
        folder.collector.add("patch_state", folder.place(name), name=name, guarded=guarded)
