"""Answers of the user's own for the samples of a stand-in."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from ...facts.problems import Location, ModelMedicError, Problem
from ...facts.regular_files import read_regular

_MOST_BYTES = 16_000_000


class Given:
    """Lists of token ids, given in turn to each prompt."""

    def __init__(self, answers: Sequence[tuple[int, ...]]) -> None:
        self._answers = answers
        self._turns: dict[int, int] = {}

    def __call__(self, prompt: Sequence[int], number: int) -> Sequence[int]:
        """The next answer to a prompt."""
        key = hash(tuple(prompt))
        turn = self._turns.get(key, 0)
        self._turns[key] = turn + 1
        return self._answers[turn % len(self._answers)]


def read_answers(path: Path) -> Given:
    """The answers in a file: each line a JSON list of token ids. Raises :class:`ModelMedicError`
    (MM473)."""
    try:
        lines = read_regular(path, _MOST_BYTES)[:_MOST_BYTES].splitlines()
        answers = [tuple(json.loads(line)) for line in lines if line.strip()]
    except (OSError, ValueError, TypeError):
        answers = []
    if not answers or not all(type(token) is int for each in answers for token in each):
        hint = "write one JSON list of token ids on each line: [9707, 151645]"
        problem = Problem("MM473", "these are not answers", Location(str(path)), hint)
        raise ModelMedicError([problem])
    return Given(answers)
