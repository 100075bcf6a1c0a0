"""Reads a text without a file, recognised by its content or declared to have a form."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..facts import ModelMedicError, Problem
from ..facts.problems import did_you_mean, excerpt
from .outcome import Outcome, relocated
from .recognition import HEAD, Artefact, Table, Unit, gather_unit

if TYPE_CHECKING:
    from ..facts import Vocabulary

_SUFFIXES = ("", ".jsonl", ".json")
_DECLARED = (*_SUFFIXES, ".py", ".csv", ".txt", ".log")


class Pasted(NamedTuple):
    """The recognised form of a text, and its facts."""

    artefact: Artefact
    outcome: Outcome


def forms(vocabulary: Vocabulary) -> dict[str, str]:
    """The forms that a text can be declared to have, with titles: the artefacts that are files."""
    rows = sorted(Table(vocabulary).rows, key=lambda row: row.name)
    return {row.name: row.title for row in rows if row.of == "file"}


def gather_pasted(raw: bytes, vocabulary: Vocabulary, name: str, form: str = "") -> Pasted | None:
    """Read a text as the given ``form``, or else as the form that a probe recognises; None if none
    does. ``name`` is used for its places."""
    table = Table(vocabulary)
    rows = [row for row in table.rows if row.of == "file" and row.name == form]
    if form and not rows:
        known = forms(vocabulary)
        hint = did_you_mean(form, known) or f"there are {', '.join(known)}"
        raise ModelMedicError(
            Problem("MM347", f"{excerpt(form)} is not a known form of text", None, hint)
        )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "text")
        for suffix in _DECLARED if form else _SUFFIXES:
            path = Path(folder, f"text{suffix}")
            path.write_bytes(raw)
            found = rows[0] if form else table.of_file(path, raw[:HEAD])
            if found is not None and (not form or found.fits(path, raw[:HEAD])):
                return _read(found, path, vocabulary, name)
        # The probe reports the fault of the text.
        return _read(rows[0], path, vocabulary, name) if form else None


def _read(artefact: Artefact, path: Path, vocabulary: Vocabulary, name: str) -> Pasted:
    outcome = gather_unit(Unit(artefact, (path,)), vocabulary)
    return Pasted(artefact, relocated(outcome, str(path), name))
