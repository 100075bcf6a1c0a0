"""Facts out of JSON, checked while they are read, where msgspec is installed.

msgspec turns text into typed values in one pass; what it refuses takes the slow way, which says
what is wrong. It is an extra (``modelmedic[fast]``): without it everything works, but slower.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, NamedTuple, Union

from ..facts import Vocabulary
from ..facts.fact_file import SCHEMA
from ..facts.kinds import MAX_STRING, MAX_TEXT, Attribute, Kind
from .inference.alpha import AlphaLayer
from .inference.working_memory import WorkingMemory

_WHOLE = 2**63 - 1
_LARGEST = 1e300


class _Way(NamedTuple):
    """How facts of a class are matched: by the texts of one attribute, or (no attribute) in full.
    No table: no rule asks for them."""

    kind: str
    attribute: str
    table: Any


class TypedFacts:
    """Reads fact sets for one vocabulary. Raises ImportError where msgspec is missing."""

    def __init__(self, vocabulary: Vocabulary, alpha: AlphaLayer) -> None:
        import msgspec

        self._unset = msgspec.UNSET
        self._as_dict = msgspec.structs.asdict
        self._wrong: type[Exception] = msgspec.MsgspecError
        kinds = {name: kind for name, kind in vocabulary.kinds.items() if not kind.derived}
        classes = {_class(msgspec, kind): name for name, kind in kinds.items()}
        facts: Any = list[Union[tuple(classes)]]  # type: ignore[misc]  # noqa: UP007
        document: Any = msgspec.defstruct(
            "Document",
            [("facts", facts), ("schema", Literal[SCHEMA]), ("note", str, "")],
            forbid_unknown_fields=True,
        )
        self._list = msgspec.json.Decoder(facts)
        self._document = msgspec.json.Decoder(document)
        self._ways = {made: _way(name, alpha) for made, name in classes.items()}

    def read(self, data: bytes) -> Sequence[Any] | None:
        """The facts of a JSON text; None if they are not plainly in order."""
        try:
            if data.lstrip()[:1] == b"[":
                found: Sequence[Any] = self._list.decode(data)
            else:
                found = self._document.decode(data).facts
        except self._wrong:
            return None
        return found

    def file(self, facts: Sequence[Any], memory: WorkingMemory) -> None:
        """Put facts under their signals, by their places."""
        ways, matches, unset = self._ways, memory.matches, self._unset
        for place, fact in enumerate(facts):
            kind, attribute, table = ways[fact.__class__]
            if attribute:
                entries = table.get(getattr(fact, attribute))
                if not entries:
                    continue
            elif table is None:
                continue
            values = self._as_dict(fact)
            if unset in values.values():
                values = {n: v for n, v in values.items() if v is not unset}
            if not attribute:
                memory.file_one(place, {"kind": kind, **values})
                continue
            for signal, check in entries:
                if check is None or check(values) is True:
                    known = matches.get(signal)
                    if known is None:
                        matches[signal] = [(place, values)]
                    else:
                        known.append((place, values))


def _way(kind: str, alpha: AlphaLayer) -> _Way:
    gate = alpha.gate(kind)
    if gate is None:
        return _Way(kind, "", ())
    return _Way(kind, gate.attribute, gate.by_value) if gate.by_value else _Way(kind, "", None)


def _class(msgspec: Any, kind: Kind) -> Any:
    """The class of a kind's facts: its attributes, the kind as its tag, and the provenance."""
    unset = msgspec.UNSET
    source: Any = msgspec.defstruct(
        "Source",
        [(n, Annotated[str, msgspec.Meta(max_length=MAX_STRING)], "") for n in _PROVENANCE],
        forbid_unknown_fields=True,
    )
    fields: list[Any] = []
    for attribute in sorted(kind.attributes.values(), key=lambda a: not a.required):
        of_type = _type(msgspec.Meta, attribute)
        if attribute.required:
            fields.append((attribute.name, of_type))
        else:
            fields.append((attribute.name, Union[of_type, msgspec.UnsetType], unset))  # noqa: UP007
    fields.append(("provenance", Union[list[source], source, msgspec.UnsetType], unset))  # noqa: UP007
    return msgspec.defstruct(
        kind.name, fields, tag_field="kind", tag=kind.name, forbid_unknown_fields=True, gc=False
    )


_PROVENANCE = ("source", "location", "at", "certainty")


def _type(meta: Any, attribute: Attribute) -> Any:
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
