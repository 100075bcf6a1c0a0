"""Whether a row of an error table listens to a message, by whose it is: part of the oracle."""

from __future__ import annotations

from collections.abc import Mapping

from ...engine.compiler.source.knowledge_source import Item
from ...facts import Value
from ...facts.owners import Owner

Values = Mapping[str, Value]


class Hearing:
    """Judges by the declared ``owners``."""

    def __init__(self, owners: Mapping[str, Owner]) -> None:
        self._owners = owners

    def may_doubt(self, item: Item) -> bool:
        """Whether there are messages of unclear origin that the row takes with reserve."""
        row = item.entry
        statuses = row.match.http_status and not row.match.operation
        others = row.match.exception or row.match.template or row.match.pattern
        return bool(self._mine(item) and (statuses or (others and row.emitter.wording != "own")))

    def surely(self, item: Item, kind: str, values: Values) -> bool | None:
        """True if the message counts in full, False if it is of unclear origin, None if it
        is another's."""
        row, mine, owner = item.entry, self._mine(item), values.get("owner")
        if not mine or owner in mine:
            return True
        known = self._owners.get(str(owner)) if owner is not None else None
        generic = owner is None or (known is not None and known.generic)
        if kind == "http_response":
            if owner is not None:
                return None
            return bool(row.match.operation) or values.get("operation") in self._operations(mine)
        if row.emitter.wording == "own":
            passed_on = generic or owner in row.emitter.via or (known is not None and known.relays)
            return True if passed_on or values.get("owner_confidence") != "certain" else None
        return False if generic or owner in row.emitter.via or _is_true_of_all(item) else None

    def _mine(self, item: Item) -> list[str]:
        stated = item.entry.emitter.owners
        emitter = item.entry.emitter.package.replace("-", "_")
        if stated or emitter not in self._owners:
            return list(stated)
        family = self._owners[emitter].family
        same = [name for name, owner in self._owners.items() if family and owner.family == family]
        return [emitter, *same]

    def _operations(self, mine: list[str]) -> set[str]:
        declared = (self._owners[name] for name in mine if name in self._owners)
        return {operation for owner in declared for operation in owner.operations}


def _is_true_of_all(item: Item) -> bool:
    row = item.entry
    return row.emitter.wording == "anybody" and not any(cause.when is None for cause in row.causes)
