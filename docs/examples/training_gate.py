"""A pytest plugin that fails a test run over what a training run left behind.

``pytest -p training_gate --run-folder runs/latest`` inspects the folder at the end and fails if a
problem is found that is certain.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from modelmedic.engine import Diagnoser
from modelmedic.interfaces.inspection import gather


def pytest_addoption(parser: Any) -> None:
    """``--run-folder FOLDER``."""
    parser.addoption("--run-folder", type=Path, help="the folder of a training run to inspect")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: Any) -> None:
    """Inspect, report and fail."""
    folder = session.config.getoption("--run-folder")
    if folder is None:
        return
    doctor = Diagnoser.load()
    facts, problems, _ = gather([folder], doctor.base.vocabulary)
    report = doctor.diagnose(facts, problems)
    severe = [d for d in report.diagnoses if d.severity in ("error", "blocker")]
    certain = [d for d in severe if d.confidence == "certain"]
    for diagnosis in certain:
        print(f"\ntraining gate: {diagnosis.title} ({diagnosis.id})")
        for action in diagnosis.actions[:1]:
            print(f"training gate:   {action['do']}")
    if certain and session.exitstatus == 0:
        session.exitstatus = 1
