"""Repairs that a reason names: the right form of a call, or a fix for these facts. The actions of a
finding fit all of its causes."""

from __future__ import annotations

from collections.abc import Mapping

from ....engine.diagnosis.report import Diagnosis
from ....facts.records import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ....engine.inference.program import Repair


NONE = "none"
"""In place of a command: none is shown."""
_NAMES = lazy(r"[a-z]{1,40}_[a-z_]{1,40}(?==|\()")
_GOES_ON = lazy(r"(?:or|and|if|which|with|before|then|so|being|but)\b")
_PLACE = lazy(r"(\S+\.\w+):\d+")
INSPECT = "diagnose inspect train.py"


def first_action(d: Diagnosis, repair: Repair, where: str) -> list[Mapping[str, Any]]:
    """The action if a reason names the ``repair``."""
    own: Mapping[str, Any] = d.actions[0] if d.actions else {}
    if not repair.do:
        return [_corrected(repair, own, where)]
    command = "" if repair.command == NONE else repair.command or str(own.get("command", ""))
    verify = repair.verify or own.get("verify", "")
    return [{"do": repair.do, "command": command, "verify": verify}]


def _corrected(repair: Repair, own: Mapping[str, Any], where: str) -> dict[str, str]:
    """A line that is to be written otherwise."""
    code, aside = repair.code, repair.note.strip("()") if repair.note[:1] == "(" else repair.note
    command = str(own.get("command", ""))
    fits = any(name in command for name in _NAMES.findall(f"{code} {aside}"))
    if fits and (not code or "..." in code):
        code, aside = command, "" if code else aside
    place = _PLACE.match(where)
    inspect = INSPECT.replace("train.py", place[1]) if place else INSPECT
    at = "the line after Where" if place else "the line that the command names"
    dots = " (...: your own values)" if "..." in code else ""
    do = (
        f"Replace {at}{dots} by the lines below"
        if code
        else f"At {at}: {aside[:1].lower()}{aside[1:]}"
    )
    return {
        "do": f"{do}{_aside(aside) if code else ''}.",
        "command": "" if place else inspect,
        "code": code,
        "verify": str(own["verify"])
        if fits and own.get("verify")
        else f"`{inspect}` no longer names this.",
    }


def _aside(words: str) -> str:
    """A note on code, after a sentence."""
    if not words:
        return ""
    return f", {words}" if _GOES_ON.match(words) else f" ({words})"
