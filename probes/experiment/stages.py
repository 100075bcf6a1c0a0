"""The state of each stage, and the files that the workflow expects.

File times are used only if they are meaningful: a copy or a checkout writes all files within
moments, which no run of the stages does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from . import benchmarks, components, divergences, end_to_end, faults, mapping, patches, smoke
from .reading import Folder

MIN_SPAN_S = 60.0
"""Results written within less than this were copied; their times are left out."""

_TREES = tuple(f"model_tree/model_tree_{side}{end}" for side in ("source", "target")
               for end in (".json", "_full.json", "_pretty.txt", "_flat_paths.txt"))  # fmt: skip
_STAGE0 = (*_TREES, mapping.NAME, divergences.NAME)
_LATER = (
    smoke.NAME, components.NAME, faults.NAME, end_to_end.NAME, "results/stage7", benchmarks.CONFIG,
    "tests/conftest.py", "tests/tensor_compare.py", "EQUIVALENCE_REPORT.md",
)  # fmt: skip
_MAY_BE_EMPTY = ("results/stage7",)
# A stage -> the stages whose results must be older than its own.
_RESTS_ON = {1: (0,), 2: (0, 1, 4), 3: (0, 1), 5: (0, 1, 2, 4), 6: (0, 1, 2, 4),
             7: (0, 1, 2, 4, 5, 6)}  # fmt: skip


class State(NamedTuple):
    """State of a stage as a ``stage_result`` fact has it; ``files`` are the files that it wrote."""

    stage: int
    status: str
    files: tuple[str, ...]
    reason: str | None = None
    faults: int | None = None


def add_files(folder: Folder) -> None:
    """Add the ``workflow_file`` facts. An empty file counts as present and not readable."""
    for name in (*_STAGE0, *_LATER):
        if folder.is_closed(name):
            continue
        present = folder.has(name)
        readable = None
        if present and name not in _MAY_BE_EMPTY:
            text = folder.text(name)
            readable = name not in folder.unreadable and bool(text and text.strip())
            if name.endswith(".json") and readable:
                readable = folder.json(name) is not None
        folder.collector.add("workflow_file", folder.place(name), name=name, present=present,
                             readable=readable)  # fmt: skip


def scaffold(folder: Folder) -> State:
    """Stage 0: done with both trees, the mapping and the report; further tree files that are
    missing show as such."""
    wrong = [name for name in _STAGE0 if name in folder.unreadable]
    if wrong:
        return State(0, "failed", _STAGE0, "error")
    sides = [any(folder.has(name) for name in half) for half in (_TREES[:4], _TREES[4:])]
    complete = all(sides) and folder.has(mapping.NAME) and folder.has(divergences.NAME)
    return State(0, "done" if complete else "missing", _STAGE0)


def smoke_state(folder: Folder, found: smoke.Smoke | None) -> State:
    """Stage 1. The older script writes no verdict: its result is done when tokens were compared."""
    if found is None:
        return _without(folder, 1, smoke.NAME)
    broken = found.error is not None and not found.compared
    reason = "gate" if found.passed is False and not broken else None
    return _ended(1, smoke.NAME, reason if found.compared or reason else "error")


def component_state(folder: Folder, rows: list[components.Component]) -> State:
    """Stage 2, by the verdicts of the tests."""
    if not rows:
        return _without(folder, 2, components.NAME)
    statuses = {row.status for row in rows}
    reason = "gate" if "fail" in statuses else "error" if "error" in statuses else None
    return _ended(2, components.NAME, reason)


def fault_state(folder: Folder) -> State:
    """Stage 3: failed if the script found faults (its exit status is 1 then)."""
    found = folder.json(faults.NAME)
    if found is None:
        return _without(folder, 3, faults.NAME)
    count = found.get("num_faults")
    listed = found.get("faults")
    if type(count) is not int or count < 0:
        count = len(listed) if isinstance(listed, list) else None
    if count is None:
        folder.form(faults.NAME, "there should be num_faults or faults")
        return _ended(3, faults.NAME, "error")
    return _ended(3, faults.NAME, "gate" if count else None)._replace(faults=count)


def patch_state(folder: Folder, stage2: State) -> State | None:
    """Stage 4: done with patch files, missing if components fail; else it is void."""
    files = tuple(patches.patch_files(folder))
    if folder.is_closed("patches"):
        return None
    if files:
        return State(4, "done", files)
    return State(4, "missing", ()) if stage2.status == "failed" else None


def end_states(folder: Folder, verdict: end_to_end.Verdict) -> list[State]:
    """Stages 5 and 6; they share one run and usually one file."""
    states = []
    for stage, passed, own in ((5, verdict.stage5, end_to_end.STAGE5),
                               (6, verdict.stage6, end_to_end.STAGE6)):  # fmt: skip
        file = own if not folder.has(end_to_end.NAME) and folder.has(own) else end_to_end.NAME
        states.append(_without(folder, stage, file) if passed is None
                      else _ended(stage, file, None if passed else "gate"))  # fmt: skip
    return states


def benchmark_state(folder: Folder, passed: bool | None) -> State:
    """Stage 7, by the verdict of its summary; a summary without one counts as done."""
    if passed is None and (benchmarks.NAME in folder.unreadable or not folder.has(benchmarks.NAME)):
        return _without(folder, 7, benchmarks.NAME)
    return _ended(7, benchmarks.NAME, "gate" if passed is False else None)


def _ended(stage: int, name: str, reason: str | None) -> State:
    """A stage with a result, done unless there is a reason why it failed."""
    return State(stage, "failed" if reason else "done", (name,), reason)


def _without(folder: Folder, stage: int, name: str) -> State:
    """A stage whose result is missing or unusable."""
    return _ended(stage, name, "error") if folder.has(name) else State(stage, "missing", (name,))


def times_of(folder: Folder, states: Sequence[State], use_times: bool | None) -> dict[int, float]:
    """The time when each stage wrote its last file; empty if times are meaningless."""
    found = {state.stage: time for state in states
             if (time := _written(folder, state)) is not None}  # fmt: skip
    if use_times is None:
        use_times = len(found) > 1 and max(found.values()) - min(found.values()) >= MIN_SPAN_S
    return found if use_times else {}


def add_states(folder: Folder, states: Sequence[State], times: Mapping[int, float]) -> None:
    """Add the ``stage_result`` facts; none for a stage whose files may not be read."""
    patched = any(state.stage == 4 and state.status == "done" for state in states)
    for state in states:
        if any(folder.is_closed(name) for name in state.files):
            continue
        values: dict[str, Any] = {"stage": state.stage, "status": state.status}
        if state.status in ("done", "failed") and _is_stale(state.stage, times, patched):
            values["status"] = "stale"
        if state.status != "missing" and state.files:
            values["artefact"] = state.files[0] if state.stage else "model_tree"
            values["written"] = times.get(state.stage)
        folder.collector.add("stage_result", folder.place(state.files[0] if state.files else ""),
                             **values, reason=state.reason, faults=state.faults)  # fmt: skip


def _is_stale(stage: int, times: Mapping[int, float], patched: bool) -> bool:
    """Whether something that the stage rests on was written after it."""
    rests_on = _RESTS_ON.get(stage, ())
    if stage == 3 and not patched:
        rests_on = (*rests_on, 2)  # with patches, Stage 2 runs again and Stage 3 need not
    mine = times.get(stage)
    return mine is not None and any(times.get(other, mine) > mine + 1 for other in rests_on)


def _written(folder: Folder, state: State) -> float | None:
    if state.status == "missing":
        return None
    times = [time for name in state.files if (time := folder.written(name)) is not None]
    return max(times, default=None)
