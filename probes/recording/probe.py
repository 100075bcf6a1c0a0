"""The record of a run -> the facts that `diagnose watch` gives when the run has ended."""

from __future__ import annotations

from pathlib import Path

from ...facts.kinds import Vocabulary
from ..outcome import Outcome
from ..watch.probe import gather_watch


def gather_recording(path: Path | str, vocabulary: Vocabulary) -> Outcome:
    """The facts in a record, see :func:`.watch.probe.gather_watch`.

    Problems: MM463 the file cannot be read or is not a record.
    """
    return gather_watch(path, vocabulary, source="probe:recording")
