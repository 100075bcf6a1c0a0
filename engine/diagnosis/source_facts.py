"""The source behind an error message, for the report. It is not evidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...facts import Fact

SITE, ARGUMENT = "source_site", "source_argument"
MESSAGE_KEPT = 500
"""How much of a message the facts repeat, to say what they belong to."""
_BASES = ("traceback", "text", "class")
_SHOWN = ("package", "version", "module", "function", "file", "line", "guard", "statement",
          "template", "around", "basis")  # fmt: skip


class SourceFacts:
    """The places that messages come from, by the text and the class of the message."""

    def __init__(self, known: Iterable[Fact]) -> None:
        self._sites: dict[tuple[str, str], list[Fact]] = {}
        self._arguments: dict[tuple[Any, ...], list[Fact]] = {}
        for fact in known:
            if fact.kind == SITE:
                key = (str(fact.get("message")), str(fact.get("exception") or ""))
                self._sites.setdefault(key, []).append(fact)
            elif fact.kind == ARGUMENT:
                self._arguments.setdefault(_place(fact), []).append(fact)

    def of(self, error: Fact) -> Mapping[str, Any] | None:
        """The source behind an error message; None if it was not read."""
        text = str(error.get("text") or "")[:MESSAGE_KEPT]
        found = self._sites.get((text, str(error.get("exception") or "")), [])
        if not found:
            return None
        found = sorted(found, key=_rank)
        first = found[0]
        shown = {name: value for name in _SHOWN if (value := first.get(name)) is not None}
        arguments = [_argument(fact) for fact in self._arguments.get(_place(first), ())]
        arguments.sort(key=lambda each: ("value" not in each, each["name"]))
        note = _note(first, found[1:])
        return shown | {"arguments": arguments} | ({"note": note} if note else {})


def _place(fact: Fact) -> tuple[Any, ...]:
    return fact.get("message"), fact.get("file"), fact.get("line")


def _rank(site: Fact) -> tuple[int, str, int]:
    line = site.get("line")
    basis = _BASES.index(str(site.get("basis"))) if site.get("basis") in _BASES else len(_BASES)
    return basis, str(site.get("file")), line if isinstance(line, int) else 0


def _argument(fact: Fact) -> dict[str, Any]:
    return {name: value for name in ("name", "value", "doc")
            if (value := fact.get(name)) is not None}  # fmt: skip


def _note(first: Fact, rest: list[Fact]) -> str:
    """The reasons why the place may not be the only one."""
    others = first.get("others")
    notes = []
    if isinstance(others, int):
        places = "place has" if others == 1 else "places have"
        notes.append(f"{others} more {places} the same message")
    if rest:
        named = ", ".join(f"{site.get('file')}:{site.get('line')}" for site in rest)
        notes.append(f"the message fits {named} as well")
    if first.get("basis") == "class":
        notes.append("found by the class of the exception only")
    return "; ".join(notes)
