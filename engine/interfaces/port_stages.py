"""Where the check of a model port stands: its stages, the next one, and what is cleared already.

Everything comes from the facts of a report; which stage is due, with which action, and what it
lacks, the knowledge has derived (``stage_step``, ``stage_lacks``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from ...facts import Fact
from ..report import Diagnosis, Report
from .layout import Line

_TITLES = (
    "structural scaffolding", "smoke test (device)", "component tests", "fault localisation",
    "debug and patch", "end to end (device)", "distribution (device)", "downstream (device)",
)  # fmt: skip
_STATES = {"missing": "not run"}
_ALARMING = frozenset({"failed", "stale"})
_SCAFFOLD = re.compile(r"model_tree/|component_mapping|class_divergence")
MAX_NAMES = 6
_VARIABLE = re.compile(r"\$\{?([A-Z][A-Z0-9_]*)\}?", re.ASCII)


Facts = dict[str, list[Fact]]
_Evidence = Callable[[Facts], str]


class StageRow(NamedTuple):
    """One line of the stage table; ``due`` marks the stage that comes next."""

    stage: int
    title: str
    state: str
    evidence: str
    due: bool


class NextStage(NamedTuple):
    """What comes next: the finding that says so, the action, the next command (of this action, or
    of the later one that ``then`` tells), the files that are missing, and the variables to set
    before the command runs."""

    finding: Diagnosis
    do: str
    then: str
    command: str
    missing: tuple[str, ...]
    unset: tuple[str, ...]


def stage_rows(report: Report) -> tuple[StageRow, ...]:
    """The eight stages; none where no fact tells the state of a stage."""
    facts = _by_kind(report)
    results = {int(str(f.get("stage"))): f for f in facts.get("stage_result", ())}
    if not results:
        return ()
    due = {f.get("stage") for f in facts.get("stage_due", ())}
    return tuple(
        StageRow(stage, title, _state(stage, results), _EVIDENCE[stage](facts), stage in due)
        for stage, title in enumerate(_TITLES)
    )


def next_stage(report: Report) -> NextStage | None:
    """The one stage that is due, with its action; None where another problem comes first."""
    facts = _by_kind(report)
    concluded = {d.id: d for d in report.diagnoses}
    steps = [f for f in facts.get("stage_step", ()) if f.get("finding") in concluded]
    if len(steps) != 1:
        return None
    finding = concluded[str(steps[0].get("finding"))]
    actions = finding.actions[int(str(steps[0].get("action"))) - 1 :]
    if not actions:
        return None
    runs = next((action for action in actions if action.get("command")), actions[0])
    command = str(runs.get("command", ""))
    then = "" if runs is actions[0] else str(runs["do"])
    missing = sorted(str(f.get("name")) for f in facts.get("stage_lacks", ()))
    unset = tuple(dict.fromkeys(_VARIABLE.findall(command)))
    return NextStage(finding, str(actions[0]["do"]), then, command, tuple(missing), unset)


def stage_lines(report: Report) -> Iterator[Line]:
    """The stage table, what comes next, and which components are cleared, as text."""
    rows = stage_rows(report)
    if not rows:
        return
    yield Line("Where the port stands:", style="heading")
    for row in rows:
        style = "warning" if row.state in _ALARMING else ""
        text = f"{row.title:23}{row.state:11}{row.evidence}"
        yield Line(text, 2, style, mark=f"{'->' if row.due else '  '} {row.stage}  ")
    yield from _next_lines(report)
    results = _by_kind(report).get("component_result", ())
    passed = _names(f for f in results if f.get("status") == "pass")
    if passed and rows[2].state != "stale":
        yield Line(passed, 2, "good", mark="Cleared: ")


def _next_lines(report: Report) -> Iterator[Line]:
    step = next_stage(report)
    if step is None:
        first = next((d for d in report.diagnoses if d.kind != "benign"), None)
        if first is not None:
            text = f"no stage, before this is settled: {first.title}  ({first.id})"
            yield Line(text, 2, "heading", mark="Next: ")
            for action in first.actions[:1]:
                yield Line(str(action["do"]), 4)
                if action.get("command"):
                    yield Line(str(action["command"]), 6, "command", mark="$ ", keep=True)
        return
    yield Line(step.finding.title.removeprefix("Next: "), 2, "heading", mark="Next: ")
    yield Line(step.do, 4)
    if step.then:
        yield Line(step.then, 4, mark="Then: ")
    if step.command:
        yield Line(step.command, 6, "command", mark="$ ", keep=True)
    if step.missing:
        yield Line(", ".join(step.missing), 4, mark="Missing: ")
    if step.unset:
        yield Line(", ".join(step.unset), 4, mark="Set first: ")


def _state(stage: int, results: dict[int, Fact]) -> str:
    found = results.get(stage)
    if found is not None:
        status = str(found.get("status") or "not known")
        return _STATES.get(status, status)
    passed = 2 in results and results[2].get("status") == "done"
    return "not needed" if stage == 4 and passed else "not known"


def _by_kind(report: Report) -> Facts:
    found: Facts = {}
    for _, fact, _ in report.facts:
        found.setdefault(fact.kind, []).append(fact)
    return found


def _scaffold(facts: Facts) -> str:
    counts = {f.get("side"): f.get("count") for f in facts.get("layer_count", ())}
    wrong = sorted(str(f.get("problem")) for f in facts.get("mapping_check", ())
                   if f.get("present"))  # fmt: skip
    files = [f for f in facts.get("workflow_file", ()) if _SCAFFOLD.match(str(f.get("name")))]
    there = sum(f.get("present") is True for f in files)
    parts = [f"{there} of {len(files)} files"] if files else []
    if counts:
        parts.append(f"layers {counts.get('source', '?')} and {counts.get('target', '?')}")
    if wrong:
        parts.append(f"mapping: {', '.join(wrong)}")
    return "; ".join(parts)


def _smoke(facts: Facts) -> str:
    for fact in facts.get("smoke_result", ()):
        if fact.get("match_rate") is not None:
            prompts = f" over {fact.get('prompts')} prompts" if fact.get("prompts") else ""
            return f"match rate {_figure(fact.get('match_rate'))}{prompts}"
        if fact.get("error"):
            return f"error: {str(fact.get('error'))[:120]}"
    return ""


def _components(facts: Facts) -> str:
    rows = facts.get("component_result", ())
    bad = [f for f in rows if f.get("status") in ("fail", "error")]
    if not rows:
        return ""
    return f"{len(rows) - len(bad)} of {len(rows)} pass" + (f"; not: {_names(bad)}" if bad else "")


def _faults(facts: Facts) -> str:
    if not any(f.get("stage") == 3 and f.get("status") in ("done", "failed", "stale")
               for f in facts.get("stage_result", ())):  # fmt: skip
        return ""
    faults = [f for f in facts.get("fault", ()) if f.get("table") != "intermediates"]
    if not faults:
        return "no faults"
    ranked = sorted((f for f in faults if f.get("rank")), key=lambda f: int(str(f.get("rank"))))
    names = [f"{f.get('component')} ({f.get('shape')})" for f in ranked]
    count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
    return count + (f"; suspects in order: {_listed(names)}" if names else "")


def _patches(facts: Facts) -> str:
    return _listed([str(f.get("name")) for f in facts.get("patch_state", ())])


def _figures(*metrics: tuple[str, str]) -> _Evidence:
    def evidence(facts: Facts) -> str:
        known = {f.get("metric"): f.get("value") for f in facts.get("e2e_result", ())}
        return ", ".join(f"{shown} {_figure(known[name])}" for name, shown in metrics
                         if known.get(name) is not None)  # fmt: skip

    return evidence


def _benchmarks(facts: Facts) -> str:
    tasks = facts.get("benchmark_result", ())
    losses = [(float(str(f.get("delta"))), str(f.get("task"))) for f in tasks
              if f.get("delta") is not None]  # fmt: skip
    if not tasks:
        return ""
    count = "1 task" if len(tasks) == 1 else f"{len(tasks)} tasks"
    worst = f"; largest loss {_figure(max(losses)[0])} ({max(losses)[1]})" if losses else ""
    return count + worst


def _names(rows: Iterable[Fact]) -> str:
    """Components in their order, with their R-ratios."""
    ordered = sorted(rows, key=lambda f: (float(str(f.get("index") or 0)), str(f.get("component"))))
    return _listed([
        str(f.get("component"))
        + (f" {_figure(f.get('r_ratio'))}" if f.get("r_ratio") is not None else "")
        for f in ordered
    ])  # fmt: skip


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(names[:MAX_NAMES]) + more


def _figure(value: object) -> str:
    return f"{float(str(value)):.4g}"


# What speaks for the state of each stage, by its number.
_EVIDENCE: tuple[_Evidence, ...] = (
    _scaffold, _smoke, _components, _faults, _patches,
    _figures(("r_ratio_p95", "R p95"), ("top1_agreement", "top-1")),
    _figures(("cosine_p5", "cosine p5"), ("kl_p95", "KL p95"), ("kl_max", "KL max")),
    _benchmarks,
)  # fmt: skip
