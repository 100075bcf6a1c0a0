"""A strict reader of YAML 1.2 (core schema) that keeps the place of every value.

Refused, with ``path:line:col``: anchors, aliases, tags, duplicate keys, keys that are not text,
several documents, and inputs over the caps. ``yes``, ``on``, ``012`` and dates are plain text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import yaml

from .problems import Location, ModelMedicError, Problem, shortened

MAX_BYTES = 8_000_000
MAX_DEPTH = 40
MAX_NODES = 400_000

_NULLS = {"null": None, "Null": None, "NULL": None, "~": None, "": None}
_BOOLEANS = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = re.compile(r"[-+]?[0-9]+\Z")
_BASED = re.compile(r"0o[0-7]+\Z|0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_SPECIAL = {word: float(word.replace(".", "")) for word in (".inf", "+.inf", "-.inf", ".nan")}

_NOT_TEXT = {"", *"+-.~0123456789nNtTfF"}  # first characters of scalars that may not be text

Path = tuple[str | int, ...]
Places = int | list[Any]
"""The start of a value, as ``line << 20 | column``; for a mapping or sequence a list of its own
place and the places of its values, in order."""

_COLUMNS = (1 << 20) - 1


class Document:
    """Plain data (dict, list, str, int, float, bool, None) and the place of each value."""

    def __init__(self, path: str, data: Any, places: Places) -> None:
        self.path = path
        self.data = data
        self.places = places

    def where(self, path: Path = ()) -> Location:
        """The place of the value at ``path``, or of its nearest known parent."""
        data, place = self.data, self.places
        for part in path:
            number = _number_of(part, data)
            if number is None or not isinstance(place, list):
                break
            data, place = data[part], place[number + 1]
        mark = place[0] if isinstance(place, list) else place
        return Location(self.path, mark >> 20, mark & _COLUMNS)


def _number_of(part: str | int, data: Any) -> int | None:
    """The position of a child among the values of ``data``; None if there is no such child."""
    if isinstance(data, dict):
        return next((n for n, key in enumerate(data) if key == part), None)
    known = isinstance(data, list) and isinstance(part, int) and 0 <= part < len(data)
    return int(part) if known else None


Read = Callable[[str, str], Document]
"""Parses a text, with its path for messages: :func:`load`, or a cache in front of it."""


def load(text: str, path: str) -> Document:
    """Read one YAML document; ``path`` is only used in messages.

    Raises :class:`ModelMedicError` with one problem that names the place.
    """
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        message = f"the file is larger than {MAX_BYTES} bytes"
        raise _error("MM201", message, path, 0, 0, "split it into several files")
    try:
        return _Builder(path).build(text)
    except yaml.MarkedYAMLError as error:
        from .yaml_trouble import trouble_of

        found = trouble_of(error, text)
        raise _error("MM202", found.message, path, found.line, found.column, found.hint) from None
    except (yaml.YAMLError, UnicodeError) as error:
        reason = str(error).splitlines()[0]
        hint = "YAML is text in UTF-8"
        raise _error("MM202", f"not readable as YAML: {reason}", path, 0, 0, hint) from None


def scalar(text: str) -> Any:
    """The value of a plain (unquoted) scalar under the YAML 1.2 core schema."""
    if text[:1] not in _NOT_TEXT:
        return text
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if _INTEGER.match(text) and len(text) <= 40:
        return int(text)
    if _BASED.match(text) and len(text) <= 40:
        return int(text, 0)
    if _FLOAT.match(text) and len(text) <= 40:
        return float(text)
    return _SPECIAL.get(text.lower(), text)


class _Builder:
    """Builds data straight from parser events, so that nothing is expanded before it is checked."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._nodes = 0
        self._keys: set[str] = set()

    def build(self, text: str) -> Document:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
        self._next: Callable[[], Any] = loader.get_event
        try:
            return self._document()
        finally:
            loader.dispose()

    def _document(self) -> Document:
        self._next()  # stream start
        event = self._next()
        if isinstance(event, yaml.StreamEndEvent):
            raise _error("MM203", "the file is empty", self._path, 1, 1, "fill or remove it")
        data, places = self._value(self._next(), 0)
        self._next()  # document end
        follow = self._next()
        if not isinstance(follow, yaml.StreamEndEvent):
            hint = "one file holds one document; remove '---'"
            raise self._at(follow, "MM204", "more than one document in the file", hint)
        return Document(self._path, data, places)

    def _value(self, event: Any, depth: int) -> tuple[Any, Places]:
        self._nodes += 1
        if depth > MAX_DEPTH or self._nodes > MAX_NODES:
            raise self._at(event, "MM201", "the document is nested too deep or has too many values")
        kind = type(event)
        if kind is yaml.AliasEvent or event.anchor:
            hint = "write the value out where it is needed"
            raise self._at(event, "MM205", "anchors and aliases are not allowed", hint)
        if event.tag:
            raise self._at(event, "MM205", f"the tag {event.tag!r} is not allowed", "remove it")
        mark = event.start_mark
        place = (mark.line + 1) << 20 | min(mark.column + 1, _COLUMNS)
        if kind is yaml.ScalarEvent:
            return scalar(event.value) if event.implicit[0] else event.value, place
        build = self._sequence if kind is yaml.SequenceStartEvent else self._mapping
        return build(place, depth)

    def _sequence(self, place: int, depth: int) -> tuple[list[Any], Places]:
        items: list[Any] = []
        places: list[Any] = [place]
        while type(event := self._next()) is not yaml.SequenceEndEvent:
            item, at = self._value(event, depth + 1)
            items.append(item)
            places.append(at)
        return items, places

    def _mapping(self, place: int, depth: int) -> tuple[dict[str, Any], Places]:
        items: dict[str, Any] = {}
        places: list[Any] = [place]
        while type(event := self._next()) is not yaml.MappingEndEvent:
            key = self._key(event)
            if key in items:
                hint = "remove or rename one of the two"
                raise self._at(event, "MM207", f"the key {key!r} stands twice", hint)
            items[key], at = self._value(self._next(), depth + 1)
            places.append(at)
        return items, places

    def _key(self, event: Any) -> str:
        if type(event) is not yaml.ScalarEvent:
            raise self._at(event, "MM206", "a key must be plain text")
        if event.anchor or event.tag:
            raise self._at(event, "MM205", "anchors and tags are not allowed on a key")
        key: str = event.value
        if key not in self._keys:
            plain = scalar(key)
            if isinstance(plain, str):
                self._keys.add(key)
            elif event.implicit[0]:
                raise self._at(event, "MM206", f"the key {plain!r} is not text", "put it in quotes")
        return key

    def _at(self, event: Any, code: str, message: str, hint: str = "") -> ModelMedicError:
        mark = event.start_mark
        return _error(code, message, self._path, mark.line + 1, mark.column + 1, hint)


def _error(
    code: str, message: str, path: str, line: int, column: int, hint: str = ""
) -> ModelMedicError:
    return ModelMedicError(Problem(code, shortened(message), Location(path, line, column), hint))
