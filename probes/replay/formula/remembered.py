"""Products that most hypotheses about a module have in common: of its input, and its weights as
they should be."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

MAX_NUMBERS = 1 << 26


class Remembered:
    """Cache of results by the arrays that they were computed from. Only results of ``kept`` arrays
    are stored; these arrays live as long as the cache, so their ids stay valid."""

    def __init__(self, kept: Iterable[Any]) -> None:
        self._kept = {id(each): each for each in kept}
        self._found: dict[tuple[Any, ...], Any] = {}
        self._numbers = 0
        self._last: dict[str, tuple[tuple[Any, ...], Any]] = {}

    def get(self, arrays: tuple[Any, ...], word: Any, make: Callable[[], Any]) -> Any:
        """Return the result of ``make``, which depends only on these arrays and the word; compute
        it once."""
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

    def again(self, word: str, of: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """Return the last result of ``make`` under this word if it came from the very same objects;
        compute it otherwise."""
        known = self._last.get(word)
        if known is None or any(a is not b for a, b in zip(known[0], of, strict=True)):
            known = self._last[word] = (of, make())
        return known[1]

    def like(self, array: Any) -> Remembered:
        """Another cache, for results of the same weights and of ``array``."""
        return Remembered((*self._kept.values(), array))
