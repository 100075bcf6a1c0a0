"""The state of the check of a model port: its stages, the next step, and the components that
passed.

Everything comes from the facts of a report. The due stage, its action and missing inputs are
derived by the knowledge (``stage_step``, ``stage_lacks``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...engine.diagnosis.report import Diagnosis, Report
from ...facts import Fact
from ...facts.records import NamedTuple
from .layout import Line, counted

_TITLES = (
    "structural scaffolding", "smoke test (device)", "component tests", "fault localisation",
    "debug and patch", "end to end (device)", "distribution (device)", "downstream (device)",
)  # fmt: skip
UNKNOWN = "not known"
_VARIABLE = r"\$\{?([A-Z][A-Z0-9_]*)\}?"
_SCAFFOLD = r"model_tree/|component_mapping|class_divergence"
MAX_NAMES = 6
UNSET = "Set first: "
"""Stands before the variables without a value."""

Facts = dict[str, list[Fact]]
"""The facts of each kind."""
_Evidence = Callable[[Facts], str]


class StageRow(NamedTuple):
    """One line of the stage table; ``due`` marks the stage that comes next."""

    stage: int
    title: str
    state: str
    evidence: str
    due: bool

    @property
    def alarming(self) -> bool:
        return self.state in ("failed", "stale")


class NextStage(NamedTuple):
    """The next step, from ``finding``: the action, the next command (of this action, or of the
    later one, ``then``) and its check; the files that are missing, and the variables to set before
    the command runs."""

    title: str
    finding: str
    do: str
    then: str = ""
    command: str = ""
    verify: str = ""
    missing: tuple[str, ...] = ()
    unset: tuple[str, ...] = ()


class Port(NamedTuple):
    """The eight stages, what comes next, and the components that are in order."""

    rows: tuple[StageRow, ...]
    next: NextStage | None
    cleared: str


def port_of(report: Report) -> Port | None:
    """The port that a report is about; None if no fact gives the state of a stage."""
    facts: Facts = {}
    for _, fact, _ in report.facts:
        facts.setdefault(fact.kind, []).append(fact)
    results = {int(str(f.get("stage"))): f for f in facts.get("stage_result", ())}
    if not results:
        return None
    due = {f.get("stage") for f in facts.get("stage_due", ())}
    rows = tuple(
        StageRow(stage, title, _state(stage, results), _EVIDENCE[stage](facts), stage in due)
        for stage, title in enumerate(_TITLES)
    )
    passed = (f for f in facts.get("component_result", ()) if f.get("status") == "pass")
    return Port(rows, _next(report, facts), names(passed) if rows[2].state != "stale" else "")


def _state(stage: int, results: Mapping[int, Fact]) -> str:
    if stage in results:
        status = str(results[stage].get("status") or UNKNOWN)
        return "not run" if status == "missing" else status
    passed = 2 in results and results[2].get("status") == "done"
    return "not needed" if stage == 4 and passed else UNKNOWN


def _next(report: Report, facts: Facts) -> NextStage | None:
    """The one stage that is due, with its action; else what has to be settled before any stage.
    None if nothing is known to come next."""
    concluded = {d.id: d for d in report.diagnoses}
    steps = [f for f in facts.get("stage_step", ()) if f.get("finding") in concluded]
    if len(steps) == 1:
        finding = concluded[str(steps[0].get("finding"))]
        actions = finding.actions[int(str(steps[0].get("action"))) - 1 :]
        missing = sorted(str(f.get("name")) for f in facts.get("stage_lacks", ()))
        return _step(finding.title.removeprefix("Next: "), finding, actions, missing)
    first = next((d for d in report.diagnoses if d.kind != "benign"), None)
    if first is not None:
        return _step(f"no stage, before this is settled: {first.title}", first, first.actions[:1])
    if report.errors:
        lost = report.errors[0]
        what = "no stage, before everything can be read"
        return NextStage(what, lost.code, lost.hint or lost.message)
    return None


def _step(
    title: str,
    finding: Diagnosis,
    actions: Sequence[Mapping[str, Any]],
    missing: Sequence[str] = (),
) -> NextStage | None:
    if not actions:
        return None
    runs = next((action for action in actions if action.get("command")), actions[0])
    command = str(runs.get("command", ""))
    then = "" if runs is actions[0] else str(runs["do"])
    named = dict.fromkeys(re.findall(_VARIABLE, command))
    unset = tuple(name for name in named if name != "PYTHONPATH")  # may stay empty
    do, verify = str(actions[0]["do"]), str(runs.get("verify", ""))
    return NextStage(title, finding.id, do, then, command, verify, tuple(missing), unset)


def port_lines(port: Port) -> Iterator[Line]:
    """The stage table, what comes next, and which components are cleared, as text."""
    yield Line("Where the port stands:", style="heading")
    for row in port.rows:
        style = "warning" if row.alarming else ""
        text = f"{row.title:23}{row.state:11}{row.evidence}"
        yield Line(text, 2, style, mark=f"{'->' if row.due else '  '} {row.stage}  ")
    if port.next:
        yield from next_stage_lines(port.next)
    if port.cleared:
        yield Line(port.cleared, 2, "good", mark="Cleared: ")


def next_stage_lines(step: NextStage) -> Iterator[Line]:
    """The next step, with its command and missing inputs."""
    yield Line(f"{step.title}  ({step.finding})", 2, "heading", mark="Next: ")
    yield Line(step.do, 4)
    if step.then:
        yield Line(step.then, 4, mark="Then: ")
    if step.command:
        yield Line(step.command, 6, "command", mark="$ ", keep=True)
    for mark, listed in (("Missing: ", step.missing), (UNSET, step.unset)):
        if listed:
            yield Line(", ".join(listed), 4, mark=mark)
    if step.verify:
        yield Line(step.verify, 4, mark="Verify: ")


def _scaffold(facts: Facts) -> str:
    counts = {f.get("side"): f.get("count") for f in facts.get("layer_count", ())}
    wrong = sorted(str(f.get("problem")) for f in facts.get("mapping_check", ())
                   if f.get("present"))  # fmt: skip
    files = [f for f in facts.get("workflow_file", ()) if re.match(_SCAFFOLD, str(f.get("name")))]
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
    return f"{len(rows) - len(bad)} of {len(rows)} pass" + (f"; not: {names(bad)}" if bad else "")


def _faults(facts: Facts) -> str:
    if not any(f.get("stage") == 3 and f.get("status") in ("done", "failed", "stale")
               for f in facts.get("stage_result", ())):  # fmt: skip
        return ""
    faults = [f for f in facts.get("fault", ()) if f.get("table") != "intermediates"]
    if not faults:
        return "no faults"
    ranked = sorted((f for f in faults if f.get("rank")), key=lambda f: int(str(f.get("rank"))))
    suspects = _listed([f"{f.get('component')} ({f.get('shape')})" for f in ranked])
    return counted(len(faults), "fault") + (f"; suspects in order: {suspects}" if ranked else "")


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
    worst = f"; largest loss {_figure(max(losses)[0])} ({max(losses)[1]})" if losses else ""
    return counted(len(tasks), "task") + worst


def names(rows: Iterable[Fact]) -> str:
    """Components in their order, with their R-ratios."""
    return _listed([
        str(f.get("component"))
        + (f" {_figure(f.get('r_ratio'))}" if f.get("r_ratio") is not None else "")
        for f in sorted(rows, key=component_order)
    ])  # fmt: skip


def component_order(fact: Fact) -> tuple[float, str]:
    """Sorts ``component_result`` facts as the model has its components."""
    return float(str(fact.get("index") or 0)), str(fact.get("component"))


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(names[:MAX_NAMES]) + more


def _figure(value: object) -> str:
    return f"{float(str(value)):.4g}"


# Indexed by stage.
_EVIDENCE: tuple[_Evidence, ...] = (
    _scaffold, _smoke, _components, _faults, _patches,
    _figures(("r_ratio_p95", "R p95"), ("top1_agreement", "top-1")),
    _figures(("cosine_p5", "cosine p5"), ("kl_p95", "KL p95"), ("kl_max", "KL max")),
    _benchmarks,
)  # fmt: skip
