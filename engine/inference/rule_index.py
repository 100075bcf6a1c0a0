"""Tables that the engine reads by number or key, computed once when knowledge is compiled.

With it a run decodes only the rules and patterns that its facts touch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from ...facts import Value
from ...facts.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    Key = TypeVar("Key")
    Found = TypeVar("Found")
else:
    Key = Found = object


PIECE = 4
"""Characters of the pieces by which texts are found."""

Signal = tuple[str, int]
"""(mode, pattern): something that a literal waits for."""


class AlphaTable(NamedTuple):
    """The patterns of one kind: by attribute and one of the values that it may have, by attribute
    and texts, one of which it must contain (lower-case ASCII, see :func:`contained`), and those
    without such a test. The texts are indexed by a piece that few others have."""

    general: Sequence[int]
    by_value: Mapping[str, Mapping[tuple[str, Value], Sequence[int]]]
    by_text: Mapping[str, Mapping[str, Sequence[tuple[str, int]]]]


class Lookup(dict[Key, Found]):
    """Found when first asked for with ``[key]``, and kept: as quick as any dict from then on."""

    def __init__(self, find: Callable[[Key], Found]) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, key: Key) -> Found:
        found = self[key] = self._find(key)
        return found


class NetworkIndex(NamedTuple):
    """Rules by the signal that they watch first, by what they conclude (see :func:`goal`), and by
    each signal that they wait for; patterns by kind (``alpha``), and those that negated literals
    need; the kinds that rules conclude."""

    first_watch: Mapping[Signal, Sequence[int]]
    always_ready: Sequence[int]
    alpha: Mapping[str, AlphaTable]
    blocking: frozenset[int]
    refutable: frozenset[int]
    concluding: Mapping[str, Sequence[int]]
    uses: Mapping[Signal, Sequence[int]]
    concluded: frozenset[str]


def goal(kind: str, values: Mapping[str, Any]) -> str:
    """The key under which rules that conclude a fact are found: its kind and telling constants."""
    telling = {
        "diagnosis": ("name", "holds"),
        "tree_node": ("tree", "node"),
        "classified": ("classification", "label"),
    }
    parts = [repr(values.get(name, True)) for name in telling.get(kind, ())]
    return " ".join([kind, *parts])


def by_piece(texts: Sequence[tuple[str, int]]) -> dict[str, list[tuple[str, int]]]:
    """Numbered texts under the piece of each that the fewest others have; short ones under an empty
    text."""
    uses = Counter(piece for text, _ in texts for piece in _pieces(text))
    found: dict[str, list[tuple[str, int]]] = {}
    for text, number in texts:
        piece = min(_pieces(text), key=lambda piece: (uses[piece], piece), default="")
        found.setdefault(piece, []).append((text, number))
    return found


def contained(texts: Mapping[str, Sequence[tuple[str, int]]], whole: str) -> list[int]:
    """The numbers of those texts that the whole contains, in either case, each once. Its own pieces
    find them, so the cost does not follow the number of texts."""
    # Two characters beyond ASCII are letters of ASCII in another case: lower() knows the Kelvin
    # sign, the long s it leaves.
    lower = whole.lower().replace("\u017f", "s")
    found: set[int] = set()
    for piece in (*(texts.keys() & _pieces(lower)), ""):
        for text, number in texts.get(piece, ()):
            if text in lower:
                found.add(number)
    return sorted(found)


def _pieces(text: str) -> set[str]:
    return {text[start : start + PIECE] for start in range(len(text) - PIECE + 1)}
