"""Products that most hypotheses about a module have in common: of its input, and its weights as
they should be."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

MAX_NUMBERS = 1 << 26


class Remembered:
    """Results by the arrays that they were made of. Only those of ``kept`` arrays are remembered,
    which live as long as this does, so that their ids stay theirs."""

    def __init__(self, kept: Iterable[Any]) -> None:
        self._kept = {id(each): each for each in kept}
        self._found: dict[tuple[Any, ...], Any] = {}
        self._numbers = 0

    def get(self, arrays: tuple[Any, ...], word: Any, make: Callable[[], Any]) -> Any:
        """What ``make`` gives, which depends on nothing but these."""
        if any(id(each) not in self._kept for each in arrays):
            return make()
        key = (word, *(id(each) for each in arrays))
        if key not in self._found:
            made = make()
            self._numbers += made.size
            if self._numbers > MAX_NUMBERS:
                return made
            self._found[key] = made
        return self._found[key]
