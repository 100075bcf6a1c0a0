"""A command, run against a stand-in -> facts about what it asks of the service."""

from __future__ import annotations

import shlex

from ...facts.kinds import Vocabulary
from ...facts.progress import UNWATCHED, Progress
from ..outcome import Outcome


def gather_rehearsal(
    command: str, vocabulary: Vocabulary, *, progress: Progress = UNWATCHED
) -> Outcome:
    """The facts of a run of ``command``; see :func:`.command.run_rehearsal`."""
    from .command import run_rehearsal

    return run_rehearsal(shlex.split(command), vocabulary, progress=progress).outcome
