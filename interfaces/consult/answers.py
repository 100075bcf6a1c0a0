"""Parses typed answers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ...engine.diagnosis.next_step.answers import is_unsure
from ...facts import Attribute, ModelMedicError, Problem

__all__ = ["choose", "consent", "is_unsure", "value_of"]

_SAID = {"yes": ("y", "yes", "true", "yep", "yeah"), "no": ("n", "no", "false", "nope")}
_SECONDS = {"ms": 0.001, "s": 1, "sec": 1, "seconds": 1, "min": 60, "minutes": 60, "h": 3600}
_GROUPED = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+")
_QUANTITY = re.compile(r"([+-]?[\d.,]+(?:[eE][+-]?\d+)?)\s*([a-zA-Z%]*)")
_RATIO = re.compile(r"\s*/\s*|\s+(?:out )?of\s+")
_DIFFERENCE = re.compile(r"(?<=[0-9])\s*[-\u2212]\s*(?=[0-9])")
_LONGEST = 100
_WORD = re.compile(r"\w+")


def consent(text: str) -> bool | None:
    """True for yes, False for no, else None."""
    word = text.strip().lower()
    return next((said == "yes" for said, forms in _SAID.items() if word in forms), None)


def choose(text: str, choices: Mapping[str, str]) -> str | None:
    """The choice meant by a number, a name or its beginning, or words found only in its meaning;
    ``yes`` means the one choice that starts with it."""
    word = " ".join(text.lower().split())
    names = list(choices)
    exact = next((name for name in names if name.lower() == word), None)
    if exact or not word:
        return exact
    number = word.rstrip(".)")
    if number.isdecimal():
        return names[int(number) - 1] if 1 <= int(number) <= len(names) else None
    said = next((said for said, forms in _SAID.items() if word in forms), None)
    if said:
        return _only(n for n in names if n == said or _starts(choices[n], said))
    return (
        _only(n for n in names if n.lower().startswith(word))
        or _only(n for n in names if choices[n].lower() == word)
        or _only(n for n in names if len(word) > 3 and word in choices[n].lower())
    )


def value_of(text: str, attribute: Attribute | None) -> str:
    """A typed value in the attribute's unit: ``2 min`` is 120 s, ``30 %`` of a share is 0.3, and
    so is ``3 of 10``.

    Raises :class:`ModelMedicError` (MM312) if it is ambiguous.
    """
    typed = text.strip()
    if attribute is None or attribute.type not in ("integer", "number") or len(typed) > _LONGEST:
        return typed
    return _calculated(typed, attribute) or _converted(typed, attribute) or typed


def _calculated(typed: str, attribute: Attribute) -> str | None:
    """Calculate several numbers: ``3 of 12`` as a share, ``80 / 30`` as a ratio, and a difference
    if the value may be negative."""
    parts, whole = _RATIO.split(typed), not attribute.unit
    if whole and len(parts) == 2:
        part, of = (_amount(each) for each in parts)
        same = part and of and (part[1] == of[1] or {part[1], of[1]} <= _SECONDS.keys())
        if part and of and same and of[0]:
            scale = _SECONDS.get(part[1], 1) / _SECONDS.get(of[1], 1)
            return f"{part[0] * scale / of[0]:.12g}"
    parts = _DIFFERENCE.split(typed)
    if whole and len(parts) > 1 and attribute.minimum is None:
        numbers = [_amount(each) for each in parts]
        if all(n is not None and not n[1] for n in numbers):
            first, *others = (n[0] for n in numbers if n is not None)
            return f"{first - sum(others):.12g}"
    return None


def _amount(typed: str) -> tuple[float, str] | None:
    """A number and its unit in small letters."""
    found = _QUANTITY.fullmatch(typed.strip())
    try:
        return (float(_plain(found[1])), found[2].lower()) if found else None
    except ValueError:
        return None


def _converted(typed: str, attribute: Attribute) -> str | None:
    found = _QUANTITY.fullmatch(typed)
    if not found:
        return None
    amount, unit = _plain(found[1]), found[2].lower()
    if unit in ("", attribute.unit.lower()):
        return amount
    factor = _factor(unit, attribute)
    try:
        return None if factor is None else f"{float(amount) * factor:.12g}"
    except ValueError:
        return None


def _plain(number: str) -> str:
    """A number with a decimal point."""
    if _GROUPED.fullmatch(number):
        plain, decimal = number.replace(",", ""), number.replace(",", ".")
        hint = f"write {plain}, or {decimal} if the comma is a decimal one"
        raise ModelMedicError(Problem("MM312", f"{number!r} could be read in two ways", None, hint))
    return number.replace(",", ".")


def _factor(unit: str, attribute: Attribute) -> float | None:
    """The factor from a unit to the attribute's own, or None."""
    if unit == "%" and not attribute.unit and attribute.maximum == 1:
        return 0.01
    own = attribute.unit.lower()
    if unit in _SECONDS and own in _SECONDS:
        return _SECONDS[unit] / _SECONDS[own]
    return None


def _starts(meaning: str, word: str) -> bool:
    first = _WORD.match(meaning.lower())
    return first is not None and first[0] == word


def _only(found: Iterable[str]) -> str | None:
    names = list(found)
    return names[0] if len(names) == 1 else None
