"""Redacts whole documents: finds all secrets first, then replaces them everywhere.

A password that one log line assigns and another quotes is gone from both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from ..fact import Fact
from ..records import Generic
from .look import Seen
from .search import suspicious

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    T = TypeVar("T")
    T_co = TypeVar("T_co", covariant=True)
    R = TypeVar("R")
else:
    T_co = object

_ROUNDS = 4  # each finds what the one before uncovered, which is rare
_GAP = "\t"  # between texts that are searched together
_SEAL = object()


class Redacted(Generic[T_co]):
    """A value without secrets, and how many of each kind were taken out of it.

    Cannot be made by hand: :meth:`.Redactor.redact` makes it, :meth:`map` derives others from it.
    """

    __slots__ = ("counts", "value")

    value: T_co
    counts: Mapping[str, int]

    def __init__(self, value: T_co, counts: Mapping[str, int], seal: object = None) -> None:
        if seal is not _SEAL:
            raise TypeError("only a redactor makes redacted values")
        self.value = value
        self.counts = counts

    def map(self, change: Callable[[T_co], R]) -> Redacted[R]:
        """The result of a pure function of the value; such a function adds no secrets."""
        return Redacted(change(self.value), self.counts, _SEAL)


class Redactor:
    """Makes :class:`Redacted` values. ``salt``, called only if there is something to hide, keys the
    tokens: without it candidates cannot be tested. ``homes`` become ``~``; ``hosts`` are names of
    machines to hide, ``masks`` what else of :data:`.masks.MASKS`."""

    def __init__(
        self,
        salt: Callable[[], bytes],
        *,
        homes: Sequence[str] = (),
        hosts: Sequence[str] = (),
        masks: Sequence[str] = (),
    ) -> None:
        self._masks = tuple(masks)
        self._salt = salt
        self._homes = tuple(sorted((h for h in homes if len(h) > 3), key=len, reverse=True))
        self._hosts = tuple(sorted((h for h in hosts if len(h) > 3), key=len, reverse=True))

    def redact(self, value: T) -> Redacted[T]:
        """Return the value without secrets. Raises TypeError for a value of an unknown type, which
        cannot be searched."""
        content, seen = _Content(value), Seen()
        if not self._suspects(_GAP.join(content.texts), seen) and not content.assigned:
            return Redacted(value, {}, _SEAL)
        return self._without_secrets(value, content, seen)

    def _without_secrets(self, value: T, content: _Content, seen: Seen) -> Redacted[T]:
        """Searches the result again: a token may end a value that did not look like a secret, or
        separate two that stood together."""
        from .sweep import Sweep

        clean, counts = value, Counter[str]()
        for _ in range(_ROUNDS):
            sweep = Sweep(self._salt(), self._homes, self._hosts, self._masks, seen)
            for text in content.texts:
                sweep.learn(text)
            for name, text in content.assigned:
                sweep.learn_assigned(name, text)
            found = sweep.counts()
            if not found:
                break
            counts.update(found)
            clean = _rebuilt(clean, sweep.clean)
            content = _Content(clean)
        return Redacted(clean, dict(sorted(counts.items())), _SEAL)

    def _suspects(self, text: str, seen: Seen) -> bool:
        known = any(name in text for name in (*self._homes, *self._hosts))
        return known or bool(self._masks) or suspicious(text, seen)


class _Content:
    """The content of a value: ``texts``, each once, keys of mappings included, and values that its
    structure, not its text, assigns to names (``assigned``): ``{"api_key": "..."}``, ``{"name":
    "api_key", "value": "..."}``."""

    def __init__(self, value: Any) -> None:
        self.texts: dict[str, None] = {}
        self.assigned: list[tuple[str, str]] = []
        self._hinted: dict[str, bool] = {}
        stack = [value]
        while stack:
            item = stack.pop()
            if isinstance(item, str):
                self.texts[item] = None
            elif isinstance(item, Mapping):
                self._pairs(item)
                stack.extend(item.values())
                stack.extend(item)
            elif isinstance(item, tuple | list):
                stack.extend(item)
            elif isinstance(item, Fact):
                self._pairs(dict(item.values))
                stack += (item.kind, item.values, item.provenance)
            elif not (item is None or isinstance(item, bool | int | float)):
                raise TypeError(f"cannot look for secrets in {type(item).__name__}")

    def _pairs(self, item: Mapping[Any, Any]) -> None:
        for name, text in (*item.items(), (item.get("name"), item.get("value"))):
            if isinstance(text, str) and isinstance(name, str) and self._hints(name):
                self.assigned.append((name, text))

    def _hints(self, name: str) -> bool:
        """Whether a name may be that of a secret."""
        known = self._hinted.get(name)
        if known is None:
            low = name.lower()
            known = self._hinted[name] = any(hint in low for hint in _HINTS)
        return known


_HINTS = ("key", "token", "secret", "pass", "pwd", "credential", "cookie", "authorization")


def _rebuilt(value: Any, clean: Any) -> Any:
    """The value with ``clean`` applied to every text."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Fact):
        return Fact.from_items(
            value.kind,
            ((clean(n), clean(v) if isinstance(v, str) else v) for n, v in value.values),
            _rebuilt(value.provenance, clean),
        )
    if isinstance(value, Mapping):
        return _rebuilt_mapping(value.items(), clean)
    if isinstance(value, tuple):
        parts = [_rebuilt(part, clean) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, list):
        return [_rebuilt(part, clean) for part in value]
    return value


def _rebuilt_mapping(items: Iterable[tuple[Any, Any]], clean: Any) -> dict[Any, Any]:
    rebuilt: dict[Any, Any] = {}
    for key, part in items:
        name = clean(key) if isinstance(key, str) else key
        while name in rebuilt:
            name = f"{name}'"  # two secrets as keys may have the same token
        rebuilt[name] = _rebuilt(part, clean)
    return rebuilt
