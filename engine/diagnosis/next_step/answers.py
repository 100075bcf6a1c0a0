"""Interprets answers: the choice that is named, or a value in the attribute's type."""

from __future__ import annotations

from collections.abc import Mapping

from ....facts import Attribute, ModelMedicError, Problem
from ....facts.records import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_YES, _NO = ("yes", "y", "true"), ("no", "n", "false")
_UNSURE = lazy(
    r"\?+|unknown|unsure|dunno|idk|n/?a"
    r"|(?:i )?(?:really |honestly |just )?(?:do not|don'?t|dunno|can'?t|cannot|could not|couldn'?t)"
    r"(?: really)? (?:know|say|tell|remember)(?: that| this| it| yet| either| now| for sure)?"
    r"|(?:i(?:'?m| am) )?(?:really )?not sure(?: about (?:that|this|it))?"
    r"|(?:i have |i'?ve )?(?:really )?(?:no|not the faintest) (?:idea|clue)"
    r"|(?:i(?:'?m| am) )(?:really )?unsure"
    r"|who knows"
)


def is_unsure(text: str) -> bool:
    """Whether the text means "I do not know"."""
    word = " ".join(text.lower().replace("\u2019", "'").split()).rstrip(" .!,")
    return _UNSURE.fullmatch(word) is not None


def choose(word: str, choices: Mapping[str, str]) -> str | None:
    """The choice meant by a name, a number from 1, or a yes/no word."""
    names = list(choices)
    if word in names:
        return word
    if word.isdecimal() and 1 <= int(word) <= len(names):
        return names[int(word) - 1]
    lowered = word.lower()
    for group in (_YES, _NO):
        if lowered in group and group[0] in names:
            return group[0]
    starting = [name for name in names if name.startswith(lowered)]
    return starting[0] if len(starting) == 1 else None


def typed(attribute: Attribute, value: str) -> Any:
    """The value in the attribute's type; what does not fit is refused by the vocabulary."""
    if attribute.type == "boolean":
        return value.lower() in _YES if value.lower() in (*_YES, *_NO) else value
    if attribute.type in ("integer", "number"):
        number = value.removesuffix(attribute.unit).strip().replace(",", ".")
        try:
            return int(number) if attribute.type == "integer" else float(number)
        except ValueError:
            unit = f" in {attribute.unit}" if attribute.unit else ""
            raise wrong(f"{value!r} is not a number{unit}") from None
    return value


def wrong(message: str) -> ModelMedicError:
    """The problem of an answer that does not fit."""
    return ModelMedicError(Problem("MM310", message, None, "or answer 'unknown'"))
