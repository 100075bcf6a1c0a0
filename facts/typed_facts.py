"""Facts out of JSON text, checked against the vocabulary while msgspec reads them.

For facts that it refuses, :meth:`.Vocabulary.problems` finds the problems.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import compress
from operator import attrgetter
from typing import Annotated, Any, Literal, Union

import msgspec

from .fact import Fact, normal
from .fact_file import SCHEMA
from .kinds import MAX_STRING, MAX_TEXT, Attribute, Kind, Vocabulary

_WHOLE = 2**63 - 1
_LARGEST = 1e300

TypedFact = Any
"""A fact of one kind: its attributes as attributes, None if it is silent; ``get`` reads them as
that of a mapping does."""

KeyOf = Callable[[str], tuple[str, Collection[Any]] | None]
"""For a kind: an attribute, and its values that are of interest; None if every fact is."""


class TypedFacts:
    """Reads fact sets for one vocabulary. Facts whose ``key`` says that they are of no interest are
    passed over without a step of Python for each."""

    def __init__(self, vocabulary: Vocabulary, key: KeyOf) -> None:
        kinds = {name: kind for name, kind in vocabulary.kinds.items() if not kind.derived}
        classes = {name: _class(kind) for name, kind in kinds.items()}
        for name, made in classes.items():
            _interest(made, key(name))
        facts: Any = list[Union[tuple(classes.values())]]  # type: ignore[misc]  # noqa: UP007
        document: Any = msgspec.defstruct(
            "Document",
            [("facts", facts), ("schema", Literal[SCHEMA]), ("note", str, "")],
            forbid_unknown_fields=True,
        )
        self._list = msgspec.json.Decoder(facts)
        self._document = msgspec.json.Decoder(document)

    def read(self, data: bytes) -> Sequence[TypedFact] | None:
        """The facts of a facts file or a list of facts; None if they are not plainly in order."""
        try:
            if data.lstrip()[:1] == b"[":
                return self._list.decode(data)  # type: ignore[no-any-return]
            return self._document.decode(data).facts  # type: ignore[no-any-return]
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None

    def read_items(self, items: Sequence[Mapping[str, Any]]) -> Sequence[TypedFact] | None:
        """Read flat facts, like :meth:`read`."""
        try:
            return self.read(json.dumps(list(items), allow_nan=False).encode())
        except (TypeError, ValueError, RecursionError):
            return None

    def fact(self, kind: str, typed: TypedFact) -> Fact:
        """The fact, without its provenance."""
        stated = zip(typed.__struct_fields__[:-1], msgspec.structs.astuple(typed), strict=False)
        values = [(name, normal(value)) for name, value in stated if value is not None]
        return Fact(kind, tuple(sorted(values)))

    def of_interest(self, facts: Sequence[TypedFact]) -> Iterator[tuple[int, str, TypedFact]]:
        """Place, kind and fact of those that are of interest."""
        wanted = map(frozenset.__contains__, map(_VALUES, facts), map(_KEY, facts))
        for place in compress(range(len(facts)), wanted):
            fact = facts[place]
            yield place, fact.__struct_config__.tag, fact


_KEY, _VALUES = attrgetter("_key"), attrgetter("_values")


def _interest(made: Any, key: tuple[str, Collection[Any]] | None) -> None:
    """``_key`` of a fact is in ``_values`` where the fact is of interest."""
    if key is None or not key[0]:
        made._key = None
        made._values = frozenset([None] if key is None else [])
    else:
        made._key = vars(made)[key[0]]  # the descriptor, under a name that all classes share
        made._values = frozenset(key[1])


def _class(kind: Kind) -> Any:
    """The class of a kind's facts, with the kind as its tag."""
    source: Any = msgspec.defstruct(
        "Source",
        [(n, Annotated[str, msgspec.Meta(max_length=MAX_STRING)], "") for n in _PROVENANCE],
        forbid_unknown_fields=True,
    )
    fields: list[Any] = []
    for attribute in sorted(kind.attributes.values(), key=lambda a: not a.required):
        # An optional attribute may be missing, but not null: a default need not be of the type.
        default = [] if attribute.required else [None]
        fields.append((attribute.name, _type(attribute), *default))
    fields.append(("provenance", Union[list[source], source], None))  # noqa: UP007
    return msgspec.defstruct(
        kind.name,
        fields,
        namespace={"get": object.__getattribute__},
        tag_field="kind",
        tag=kind.name,
        forbid_unknown_fields=True,
        gc=False,
    )


_PROVENANCE = ("source", "location", "at", "certainty")


def _type(attribute: Attribute) -> Any:
    meta = msgspec.Meta
    if attribute.type == "boolean":
        return bool
    if attribute.type in ("integer", "number"):
        low = -_WHOLE if attribute.minimum is None else attribute.minimum
        high = _WHOLE if attribute.maximum is None else attribute.maximum
        whole = Annotated[int, meta(ge=_ceiling(low), le=_floor(high))]
        if attribute.type == "integer":
            return whole
        lowest = -_LARGEST if attribute.minimum is None else attribute.minimum
        highest = _LARGEST if attribute.maximum is None else attribute.maximum
        return Union[whole, Annotated[float, meta(ge=float(lowest), le=float(highest))]]  # noqa: UP007
    if attribute.values is not None:
        return Literal[tuple(attribute.values)]
    return Annotated[str, meta(max_length=MAX_TEXT if attribute.type == "text" else MAX_STRING)]


def _ceiling(bound: float) -> int:
    return int(bound) + (bound > int(bound))


def _floor(bound: float) -> int:
    return int(bound) - (bound < int(bound))
