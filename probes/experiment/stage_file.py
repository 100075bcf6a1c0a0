"""Reads one file of stage results that lies by itself: the facts of an experiment folder that holds
nothing else, without those about files that may lie elsewhere."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from ...facts import Fact
from ..outcome import Outcome, relocated

SIGNS = {
    "stage1.json": b'"token_matching"', "stage2.json": b'"r_ratio"',
    "stage3.json": b'"faults"', "teacher_forced.json": b'"per_prompt"',
}  # fmt: skip
"""The files by name, with a key that each of them has."""


def is_stage_file(path: Path, head: bytes) -> bool:
    """Whether a file that starts with ``head`` has the results of a stage."""
    sign = SIGNS.get(path.name)
    return sign is not None and sign in head


def gather_stage_file(path: Path, gather: Callable[[str], Outcome]) -> Outcome:
    """The facts of one such file, which ``gather`` reads in a folder that has only this file."""
    with tempfile.TemporaryDirectory() as root:
        copy = Path(root, "results", path.name)
        copy.parent.mkdir()
        shutil.copyfile(path, copy)
        found = gather(root)
        own = tuple(fact for fact in found.facts if _is_of(fact, copy))
        return relocated(Outcome(own, found.problems), str(copy), str(path))


def _is_of(fact: Fact, copy: Path) -> bool:
    return any(source.location.startswith(str(copy)) for source in fact.provenance)
