"""Scores a text for each symptom, by weights of signs learned from phrases."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping

from ....facts.records import NamedTuple
from .signs import signs_of

NOTHING = "nothing"  # what a text complains of that complains of nothing
ALWAYS = "always"  # the sign that every text has
SHARES = {"=": 0.5, "_": 1.0}
"""How long the vector of each family of signs is."""
LEVELS = ".ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""The letter of a weight: its place, squared, times the unit; lower case is negative."""
_VALUE = {letter: place * place for place, letter in enumerate(LEVELS)}
_VALUE |= {letter.lower(): -value for letter, value in _VALUE.items() if value}


class Score(NamedTuple):
    """The chances of the symptoms, the best first, and that of no complaint. ``known`` is the share
    of the words that the weights know."""

    ranked: tuple[tuple[float, str], ...] = ()
    nothing: float = 0.0
    known: float = 0.0

    @property
    def best(self) -> str:
        """The likeliest symptom."""
        return self.ranked[0][1] if self.ranked else ""

    @property
    def chance(self) -> float:
        """That of the likeliest symptom."""
        return self.ranked[0][0] if self.ranked else 0.0

    @property
    def best_of_rest(self) -> float:
        """The share of the likeliest symptom of the chances of all symptoms."""
        return self.chance / (1 - self.nothing) if self.nothing < 1 else 0.0

    def of(self, symptom: str) -> float:
        """The chance of a symptom."""
        return next((chance for chance, name in self.ranked if name == symptom), 0.0)


class Scorer:
    """Weighs texts. ``weights``: ``of`` are the symptoms, ``unit`` is that of a weight, and each
    line of ``signs`` is a sign, how rare it is, and a letter for each symptom."""

    def __init__(self, weights: Mapping[str, object]) -> None:
        self.names = str(weights.get("of", "")).split()
        self._unit = float(str(weights.get("unit", 0)))
        lines = str(weights.get("signs", "")).split("\n")
        self._rows = dict(line.rsplit(" ", 1) for line in lines if line)

    def __bool__(self) -> bool:
        return bool(self.names)

    def knows(self, word: str) -> bool:
        """Whether there are weights for a word."""
        return f"={word}" in self._rows

    def score(self, text: str) -> Score:
        """The chances of all symptoms."""
        sums = [0.0] * len(self.names)
        self._add(sums, ALWAYS, 1.0)
        signs = signs_of(text)
        for family, counts in signs.items():
            for sign, size in self._vector(counts, SHARES[family]):
                self._add(sums, sign, size)
        words = [sign for sign in signs["="] if " " not in sign]
        known = sum(sign in self._rows for sign in words) / max(1, len(words))
        return _score(dict(zip(self.names, sums, strict=True)), known)

    def _vector(self, counts: Counter[str], share: float) -> Iterable[tuple[str, float]]:
        """The known signs of a family, weighted, as a vector of a given length."""
        sizes = {
            sign: rarity(self._rows[sign][0]) * (1 + math.log(count))
            for sign, count in sorted(counts.items())
            if sign in self._rows
        }
        length = math.sqrt(math.fsum(size * size for size in sizes.values()))
        return [(sign, share * size / length) for sign, size in sizes.items()]

    def _add(self, sums: list[float], sign: str, size: float) -> None:
        for number, letter in enumerate(self._rows.get(sign, "")[1:]):
            if letter != ".":
                sums[number] += size * self._unit * _VALUE[letter]


def rarity(letter: str) -> float:
    """The rarity of a sign, from its letter."""
    return 1 + LEVELS.index(letter) / 3


def letter_of(weight: float, unit: float) -> str:
    """The letter of a weight."""
    place = min(len(LEVELS) - 1, round(math.sqrt(abs(weight) / unit)))
    return LEVELS[place] if weight > 0 else LEVELS[place].lower()


def _score(levels: dict[str, float], known: float) -> Score:
    highest = max(levels.values(), default=0.0)
    raised = {name: math.exp(level - highest) for name, level in levels.items()}
    whole = math.fsum(raised.values())
    nothing = raised.pop(NOTHING, 0.0) / whole if whole else 0.0
    ranked = sorted(((part / whole, name) for name, part in raised.items()), key=_best_first)
    return Score(tuple(ranked), nothing, known)


def _best_first(chance: tuple[float, str]) -> tuple[float, str]:
    return -chance[0], chance[1]
