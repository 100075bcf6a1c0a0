"""The effect of overlays on a report: the findings and exit code without their changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....facts import Problem
from ...compiler.knowledge_base import KnowledgeBase
from ..report import Diagnosis, Report

_VERBS = {
    "silences": "silence",
    "tightens": "tighten",
    "replaces": "replace",
    "rules_out": "rule out",
    "explains": "explain",
    "refines": "refine",
}


def idle_changes(base: KnowledgeBase) -> tuple[Problem, ...]:
    """Changes of overlays that do not apply: those that have ended (MM351), and those that the user
    does not trust an overlay with (MM352)."""
    found = []
    for overlay in base.overlays:
        name = overlay["name"] or overlay["path"]
        for change in overlay.get("expired", ()):
            verb = _VERBS[change.get("how", "silences")]
            message = f"{name} does not {verb} {change['id']} any more: that ended"
            message += f" on {change['until']} ({change['reason']})"
            found.append(Problem("MM351", message, None, "decide again, or remove it"))
        for change in overlay.get("withheld", ()):
            verb = _VERBS[change.get("how", "silences")]
            message = f"{name} may only add, and does not {verb} {change['id']}"
            hint = f"its reason: {change['reason']} (until {change['until']})"
            found.append(Problem("MM352", message, None, hint))
    return tuple(found)


def with_effect(report: Report, without: Report) -> Report:
    """The report with what ``without``, that of the same facts without the changes of overlays,
    finds and it does not."""
    now = {d.id: d for d in report.diagnoses}
    before = {d.id: d for d in without.diagnoses}
    effect = {
        "worst": report.worst() or "none",
        "worst_without": without.worst() or "none",
        "left_open_without": bool(without.unexplained or without.errors),
        "without": [_plain(d) for name, d in before.items() if _differs(d, now.get(name))],
        "only_with": [_plain(d) for name, d in now.items() if name not in before],
    }
    return report._replace(knowledge={**report.knowledge, "effect": effect})


def _differs(left: Diagnosis, right: Diagnosis | None) -> bool:
    return right is None or _weight(left) != _weight(right)


def _weight(d: Diagnosis) -> tuple[object, ...]:
    return d.severity, d.confidence, d.conflicting, d.kind, d.explained_by


def _plain(d: Diagnosis) -> Mapping[str, Any]:
    return {"id": d.id, "title": d.title, "severity": d.severity, "confidence": d.confidence}
