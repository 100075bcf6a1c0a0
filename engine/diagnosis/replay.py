"""Replays a report: whether its own facts, derived again, say the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

_OF_DIAGNOSIS = ("severity", "kind", "confidence", "conflicting", "explains", "explained_by")
_WORDS = ("title", "summary", "actions", "packet")
_PARTS = (("ruled_out", "id"), ("unknown", "id"), ("next", "id"), ("messages", "row"))
_ADVICE = ("unknown", "next")


class ReplayDifference(NamedTuple):
    """A value in the report (``was``) and the value today (``now``). It ``counts`` if conclusions
    differ; other wording or advice does not make a report wrong."""

    part: str
    id: str
    was: str
    now: str
    counts: bool = True


def differences(report: Mapping[str, Any], again: Mapping[str, Any]) -> list[ReplayDifference]:
    """The differences of two reports in their JSON form, the first one as it was recorded. Ids of
    facts may differ, since redaction changes their order."""
    return [*_origins(report, again), *_diagnoses(report, again), *_others(report, again)]


def _origins(was: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[ReplayDifference]:
    for part in ("version", "digest"):
        if was["knowledge"].get(part) != now["knowledge"].get(part):
            old, new = str(was["knowledge"].get(part, "")), str(now["knowledge"].get(part, ""))
            yield ReplayDifference("knowledge", part, old, new, counts=False)
    if was["tool"].get("version") != now["tool"].get("version"):
        versions = str(was["tool"].get("version", "")), str(now["tool"].get("version", ""))
        yield ReplayDifference("tool", "version", *versions, counts=False)


def _diagnoses(was: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[ReplayDifference]:
    old, new = _by(was["diagnoses"], "id"), _by(now["diagnoses"], "id")
    for name in sorted(old.keys() | new.keys()):
        if name not in old or name not in new:
            words = ("concluded", "not concluded")
            yield ReplayDifference("diagnosis", name, *(words if name in old else words[::-1]))
            continue
        one, two = old[name], new[name]
        for part in (*_OF_DIAGNOSIS, *_WORDS):
            if one.get(part) != two.get(part):
                said = _shown(one.get(part)), _shown(two.get(part))
                yield ReplayDifference(part, name, *said, counts=part in _OF_DIAGNOSIS)
        rests_on = _evidence(one, was), _evidence(two, now)
        if rests_on[0] != rests_on[1]:
            more, less = (" ".join(sorted(a - b)) for a, b in (rests_on, rests_on[::-1]))
            yield ReplayDifference("evidence", name, _shown(more), _shown(less))


def _others(was: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[ReplayDifference]:
    for part, key in _PARTS:
        old, new = _by(was[part], key), _by(now[part], key)
        for name in sorted(old.keys() ^ new.keys()):
            words = ("listed", "not listed")
            said = words if name in old else words[::-1]
            item = old.get(name) or new[name]
            # A message without a cause is not a conclusion, only what its row says.
            counts = part not in _ADVICE and not (part == "messages" and not item["causes"])
            yield ReplayDifference(part, name, *said, counts=counts)


def _by(items: Sequence[Mapping[str, Any]], key: str) -> dict[str, Mapping[str, Any]]:
    return {str(item[key]): item for item in items}


def _evidence(diagnosis: Mapping[str, Any], report: Mapping[str, Any]) -> set[str]:
    """The facts themselves: their ids may differ, and so may redacted short texts."""
    facts = {fact["id"]: fact for fact in report["facts"]}
    found = (facts.get(e["fact"], {"kind": e["fact"]}) for e in diagnosis["evidence"])
    return {
        " ".join(f"{n}={v!r}" for n, v in sorted(fact.items()) if n not in ("id", "provenance"))
        for fact in found
    }


def _shown(value: Any, limit: int = 200) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= limit else text[: limit - 3] + "..."
