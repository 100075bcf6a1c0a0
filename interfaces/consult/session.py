"""Saves consultations in the user's state folder, readable only by the user."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...engine.diagnosis.dialogue.dialogue import HistoryEntry
from ...facts import Location, ModelMedicError, Problem, Provenance, Vocabulary
from ...facts.regular_files import replace_file
from ..reports.output_guard import redacted

SCHEMA = "modelmedic/session/1"
_MAX_BYTES = 32_000_000
_DAMAGED = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


def state_folder() -> Path | None:
    """The folder, created if missing; None if it cannot be."""
    from platformdirs import user_state_path

    try:
        folder = user_state_path("modelmedic", appauthor=False)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return None
    return folder


class SessionFile:
    """The entries of a consultation."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def save(self, entries: Sequence[HistoryEntry]) -> None:
        """Save the entries. A failure, such as a full disk, loses the session but not the
        consultation."""
        plain = {
            "schema": SCHEMA,
            "entries": [
                {
                    "question": entry.question,
                    "answer": entry.answer,
                    "facts": [fact.plain() for fact in entry.facts],
                }
                for entry in entries
            ],
        }
        text = json.dumps(redacted(plain).value, ensure_ascii=True) + "\n"
        with contextlib.suppress(OSError):
            replace_file(self.path, text.encode("ascii"))

    def load(self, vocabulary: Vocabulary) -> tuple[HistoryEntry, ...]:
        """The saved entries. Raises :class:`ModelMedicError` (MM313) if this version can read
        none."""
        from ...facts.fact_file import read_text

        if not self.path.exists():
            raise _error(self.path, "no consultation is kept", "start one with `diagnose`")
        text = read_text(self.path, _MAX_BYTES)
        try:
            plain = json.loads(text)
            if plain["schema"] != SCHEMA:
                raise ValueError("another schema")
            return tuple(self._entry(item, vocabulary) for item in plain["entries"])
        except (*_DAMAGED, ModelMedicError) as error:
            reason = error.problems[0].message if isinstance(error, ModelMedicError) else "damaged"
            hint = "start a new consultation with `diagnose`"
            what = f"the consultation that is kept cannot be read: {reason}"
            raise _error(self.path, what, hint) from None

    def _entry(self, item: Any, vocabulary: Vocabulary) -> HistoryEntry:
        where, source = Location(str(self.path)), Provenance("answer", certainty="stated")
        facts = tuple(vocabulary.read(fact, where, source) for fact in item["facts"])
        return HistoryEntry(str(item["question"]), str(item["answer"]), facts)


def _error(path: Path, message: str, hint: str) -> ModelMedicError:
    return ModelMedicError(Problem("MM313", message, Location(str(path)), hint))
