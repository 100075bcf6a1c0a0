"""What to do where a reason says it: the right form of a call, or a repair that fits these facts.
The actions of a finding are for all that leads to it."""

from __future__ import annotations

from collections.abc import Mapping

from ....engine.diagnosis.report import Diagnosis
from ....facts.lazy_pattern import lazy
from .words import RIGHT_FORM, TO_DO

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


COMMAND = " Command: "
"""Stands behind that sentence before a command in place of the first action's own."""
NONE = "none"
WORKED = " Worked if: "
"""Stands at the end before how to see that it worked."""
_NAMES = lazy(r"[a-z]{1,40}_[a-z_]{1,40}(?==|\()")
_ENDS = lazy(r"(?=[;,.]? (?:or|and|for|then|with|to|instead) |[;,] |\.? \(|\.?$)")
"""Where code may end and words on it begin."""
_GOES_ON = lazy(r"(?:or|and|if|which|with|before|then|so|being|but)\b")
_PLACE = lazy(r"(\S+\.\w+):\d+")
INSPECT = "diagnose inspect train.py"


def first_action(d: Diagnosis, repair: str, where: str) -> list[Mapping[str, Any]]:
    """What to do where a reason names the ``repair``."""
    own: Mapping[str, Any] = d.actions[0] if d.actions else {}
    if repair.startswith(TO_DO):
        repair, _, check = repair.removeprefix(TO_DO).partition(WORKED)
        do, _, command = repair.partition(COMMAND)
        command = "" if command == NONE else command or str(own.get("command", ""))
        return [{"do": do, "command": command, "verify": check or own.get("verify", "")}]
    return [_corrected(repair.removeprefix(RIGHT_FORM), own, where)]


def _corrected(form: str, own: Mapping[str, Any], where: str) -> dict[str, str]:
    """A line that is to be written otherwise."""
    code, aside = _code_of(form)
    command = str(own.get("command", ""))
    fits = any(name in command for name in _NAMES.findall(form))
    if fits and (not code or "..." in code):
        code, aside = command, "" if code else aside or form
    place = _PLACE.match(where)
    inspect = INSPECT.replace("train.py", place[1]) if place else INSPECT
    at = "the line after Where" if place else "the line that the command names"
    dots = " (...: your own values)" if "..." in code else ""
    do = (
        f"Put what stands below in place of {at}{dots}"
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
    """Words on code, behind a sentence."""
    if not words:
        return ""
    return f", {words}" if _GOES_ON.match(words) else f" ({words})"


def _code_of(form: str) -> tuple[str, str]:
    """The code that a form begins with, and the words behind it."""
    form = form.strip()
    for end in sorted({found.start() for found in _ENDS.finditer(form)}, reverse=True):
        code = form[:end].rstrip(" ,;.")
        if _is_code(code):
            words = form[end:].strip(" .;,")
            words = words[1:-1] if words.startswith("(") and words.endswith(")") else words
            return code, words
    return "", form.rstrip(".")


def _is_code(text: str) -> bool:
    """Whether Python reads it, as something other than a word or a list of words."""
    import ast

    try:
        found = ast.parse(text).body
    except SyntaxError:
        return False
    plain = (ast.Name, ast.Tuple, ast.Constant)
    return bool(found) and not any(
        isinstance(each, ast.Expr) and isinstance(each.value, plain) for each in found
    )
