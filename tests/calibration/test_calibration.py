"""Healthy runs stay without warnings, and faults of a visible strength are named first."""

import json
from pathlib import Path

import pytest

from .faults import KINDS, faulty_runs
from .healthy_runs import healthy_run, healthy_runs
from .measure import WARNS, Examiner

pytestmark = pytest.mark.deep

VISIBLE = json.loads(Path(__file__).with_name("visible.json").read_text("utf-8"))
TOOLS = ("Qwen/Qwen3-235B-A22B-Instruct-2507", "rl-tools", "0.6.1")


@pytest.fixture(scope="module")
def examiner():
    return Examiner()


def test_long_steps_of_sampling_and_tools_are_no_finding(examiner):
    run = healthy_run(*TOOLS)
    assert max(row["time/total"] for row in run.rows) > 300
    assert [found.id for found in examiner.findings(run) if found.severity in WARNS] == []


def test_healthy_runs(examiner):
    worst = {
        run.name: {found.severity for found in examiner.findings(run)} for run in healthy_runs()
    }
    assert not [name for name, levels in worst.items() if "error" in levels]
    warned = [name for name, levels in worst.items() if levels & set(WARNS)]
    assert len(warned) <= len(worst) // 100, warned


def test_visible_faults(examiner):
    named = []
    for kind, level, run in faulty_runs(4):
        if VISIBLE[kind.name] == level:
            first = [found.id for found in examiner.findings(run)][:1]
            named.append((run.name, bool(set(first) & set(kind.names)), first))
    missed = [(name, first) for name, right, first in named if not right]
    assert len(named) >= 100
    assert len(missed) <= len(named) // 10, missed


def test_every_kind_is_visible_at_some_strength():
    assert VISIBLE.keys() == KINDS.keys() and len(KINDS) >= 25
    assert [name for name, level in VISIBLE.items() if level is None] == []
