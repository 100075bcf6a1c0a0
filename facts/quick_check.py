"""The common case of the vocabulary's checks, quickly: facts that are plainly in order.

What is not plainly in order may still be; :meth:`Vocabulary.problems` decides. So this can only be
too strict, never too lenient.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .kinds import MAX_STRING, MAX_TEXT, Attribute, Kind, Vocabulary

_LARGEST = 1e300
_WHOLE = 2**63 - 1
MAX_FORMS = 4096

_Form = tuple[Any, ...]
"""A kind with the names and the classes of a fact's values, in their order."""


class _Text(NamedTuple):
    """A text: how long it may be, and what it may be (none: anything)."""

    attribute: str
    longest: int
    choices: frozenset[str] | None


class _Number(NamedTuple):
    attribute: str
    low: float
    high: float


_Checks = tuple[tuple[_Text, ...], tuple[_Number, ...]]


class QuickCheck:
    """Tells the facts in flat JSON form that need a closer look. Most sets of facts repeat a few
    forms (the same attributes with values of the same classes), which are judged once."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._kinds = {n: kind for n, kind in vocabulary.kinds.items() if not kind.derived}
        self._forms: dict[_Form, _Checks] = {}

    def doubtful(self, items: Sequence[Mapping[str, Any]]) -> list[int]:
        """The places of the facts that are not plainly in order."""
        forms = self._forms
        found = []
        for place, item in enumerate(items):
            try:
                form = (item["kind"], *item, *map(type, item.values()))
                checks = forms.get(form)
            except (TypeError, KeyError, AttributeError):
                found.append(place)  # not an object, or one without a kind
                continue
            if checks is None:
                checks = self._judge(form, item)
                if checks is None:
                    found.append(place)
                    continue
            for attribute, longest, choices in checks[0]:
                value = item[attribute]
                if (
                    len(value) > longest
                    or not value.isascii()
                    or (choices is not None and value not in choices)
                ):
                    found.append(place)
                    break
            else:
                for attribute, low, high in checks[1]:
                    if not low <= item[attribute] <= high:
                        found.append(place)
                        break
        return found

    def _judge(self, form: _Form, item: Mapping[str, Any]) -> _Checks | None:
        """What is left to check of facts of a form; None if they are not plainly in order."""
        kind = self._kinds.get(item["kind"])
        if kind is None or not _required(kind) <= item.keys():
            return None
        texts: list[_Text] = []
        numbers: list[_Number] = []
        for name, value in item.items():
            if name == "kind":
                continue
            attribute = kind.attributes.get(name)
            if attribute is None or type(value) not in _CLASSES[attribute.type]:
                return None
            if isinstance(value, str):
                texts.append(_text(attribute))
            elif not isinstance(value, bool):
                numbers.append(_number(attribute))
        if len(self._forms) < MAX_FORMS:
            self._forms[form] = tuple(texts), tuple(numbers)
        return tuple(texts), tuple(numbers)


_CLASSES: Mapping[str, frozenset[type]] = {
    "boolean": frozenset({bool}),
    "integer": frozenset({int}),
    "number": frozenset({int, float}),
    **{name: frozenset({str}) for name in ("string", "text", "path", "version")},
}


def _required(kind: Kind) -> frozenset[str]:
    return frozenset(a.name for a in kind.attributes.values() if a.required)


def _text(attribute: Attribute) -> _Text:
    longest = MAX_TEXT if attribute.type == "text" else MAX_STRING
    choices = None if attribute.values is None else frozenset(attribute.values)
    return _Text(attribute.name, longest, choices)


def _number(attribute: Attribute) -> _Number:
    most = _WHOLE if attribute.type == "integer" else min(_LARGEST, _WHOLE)
    low = -most if attribute.minimum is None else max(attribute.minimum, -most)
    high = most if attribute.maximum is None else min(attribute.maximum, most)
    return _Number(attribute.name, low, high)
