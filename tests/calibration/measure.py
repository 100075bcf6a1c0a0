"""Conclusions of the shipped knowledge about a run, from its facts of metrics and logs."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from modelmedic.engine import Diagnoser
from modelmedic.engine.diagnosis.report import Diagnosis
from modelmedic.probes import load_probe

from .healthy_runs import Run

WARNS = ("warning", "error")


class Examiner:
    """Reads runs as `diagnose inspect` does, and keeps the diagnoses."""

    def __init__(self) -> None:
        self._doctor = Diagnoser.load()
        self._probes = [load_probe("metrics"), load_probe("logs")]

    def findings(self, run: Run) -> list[Diagnosis]:
        """The findings in the order of the report, without what is benign."""
        with tempfile.TemporaryDirectory() as folder:
            place = run.write(Path(folder) / "run")
            vocabulary = self._doctor.base.vocabulary
            metrics, logs = self._probes
            facts = [*metrics(place, vocabulary).facts, *logs(place / "logs.log", vocabulary).facts]
        report = self._doctor.diagnose(facts, plan=False)
        return [each for each in report.diagnoses if each.kind != "benign"]


def is_blind(name: str) -> bool:
    """Whether a run belongs to the half that nothing was tuned on."""
    return hashlib.sha256(name.encode()).digest()[0] % 2 == 1


def halves(runs: Iterator[Run], blind: bool | None) -> Iterator[Run]:
    return (run for run in runs if blind is None or is_blind(run.name) == blind)
