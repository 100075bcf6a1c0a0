"""Facts: immutable, typed observations with provenance."""

from __future__ import annotations

from collections.abc import Iterable

from .records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn


Value = str | int | float | bool


class Provenance(NamedTuple):
    """The origin of a fact: ``source`` (``probe:environment``, ``answer``, ``file``, ``derived``),
    ``location`` (``train.py:12``), ``at`` (ISO 8601 time, given by the producer) and ``certainty``
    (``measured``, ``stated`` by a person, or ``inferred`` from other data)."""

    source: str = ""
    location: str = ""
    at: str = ""
    certainty: str = "measured"

    def plain(self) -> dict[str, str]:
        """The JSON form; empty parts are left out."""
        parts = (("source", self.source), ("location", self.location), ("at", self.at))
        known = {name: value for name, value in parts if value}
        return known | ({} if self.certainty == "measured" else {"certainty": self.certainty})


class Fact:
    """An instance of a fact kind; immutable. ``values`` is sorted by attribute. Equality ignores
    provenance: two sources that say the same make one fact."""

    __slots__ = ("_hash", "_order", "kind", "provenance", "values")

    kind: str
    values: tuple[tuple[str, Value], ...]
    provenance: tuple[Provenance, ...]

    def __init__(
        self,
        kind: str,
        values: tuple[tuple[str, Value], ...],
        provenance: tuple[Provenance, ...] = (),
    ) -> None:
        _set_kind(self, kind)
        _set_values(self, values)
        _set_provenance(self, provenance)
        _set_hash(self, hash((kind, values)))
        _set_order(self, None)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a fact is immutable; make a new one with another {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a fact is immutable; {name!r} cannot be deleted")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Fact):
            return NotImplemented
        return self.kind == other.kind and self.values == other.values

    def __hash__(self) -> int:
        value: int = self._hash  # type: ignore[attr-defined]
        return value

    def __reduce__(self) -> tuple[object, ...]:
        return Fact, (self.kind, self.values, self.provenance)

    def __repr__(self) -> str:
        return f"Fact({self.kind!r}, {self.values!r})"

    @staticmethod
    def of(kind: str, provenance: Iterable[Provenance] = (), **values: Value) -> Fact:
        """A fact from attribute values; not checked against the vocabulary."""
        return Fact.from_items(kind, values.items(), provenance)

    @staticmethod
    def from_items(
        kind: str, items: Iterable[tuple[str, Value]], provenance: Iterable[Provenance] = ()
    ) -> Fact:
        """A fact from (attribute, value) pairs; 2.0 becomes 2, so that equal facts are one fact."""
        return Fact(kind, tuple(sorted((n, normal(v)) for n, v in items)), tuple(provenance))

    def get(self, attribute: str) -> Value | None:
        """The value of an attribute, or None if the fact does not state it."""
        for name, value in self.values:
            if name == attribute:
                return value
        return None

    def plain(self) -> dict[str, Any]:
        """The flat JSON form that a facts file holds."""
        flat: dict[str, Any] = {"kind": self.kind, **dict(self.values)}
        if self.provenance:
            flat["provenance"] = [source.plain() for source in self.provenance]
        return flat

    def sort_key(self) -> str:
        """A total order over facts of any types (numbers by type and text, not by value): kind,
        then attributes, types and values one after the other. One text is compared, and looked up,
        much faster than nested tuples."""
        known: str | None = self._order  # type: ignore[attr-defined]
        if known is None:
            parts = [part for n, v in self.values for part in (n, type(v).__name__, repr(v))]
            known = "\0".join([self.kind, *parts])
            _set_order(self, known)
        return known

    def __str__(self) -> str:
        inside = ", ".join(f"{name}={_shown(value)}" for name, value in self.values)
        return f"{self.kind}({inside})"


# The one way past immutability: the slots themselves.
_set_kind, _set_values, _set_provenance, _set_hash, _set_order = (
    vars(Fact)[slot].__set__ for slot in ("kind", "values", "provenance", "_hash", "_order")
)


def canonical(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    """Facts in canonical order, equal ones merged with the union of their provenance.

    Distinguishes ``1``, ``1.0`` and ``true``, which Python calls equal.
    """
    merged: dict[str, Fact] = {}
    stated: dict[str, set[Provenance]] = {}
    for fact in facts:
        key = fact.sort_key()
        seen = merged.setdefault(key, fact)
        if seen is not fact or len(fact.provenance) > 1:
            stated.setdefault(key, set(seen.provenance)).update(fact.provenance)
    for key, sources in stated.items():
        merged[key] = Fact(merged[key].kind, merged[key].values, tuple(sorted(sources)))
    return tuple(map(merged.__getitem__, sorted(merged)))


def normal(value: Value) -> Value:
    """The one form of equal numbers: integral values become int, within the range of facts."""
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 2**63
    return int(value) if whole else value


def _shown(value: Value) -> str:
    if isinstance(value, str):
        text = value if len(value) <= 80 else value[:77] + "..."
        return repr(text)
    return "true" if value is True else "false" if value is False else repr(value)
