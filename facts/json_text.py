"""JSON by the C half of the standard module alone: its Python half compiles expressions that take a
tenth of a short run. Texts that this half refuses go to :mod:`json`, which reports the error.
"""

from __future__ import annotations

from collections.abc import Callable

try:
    from _json import encode_basestring_ascii as _quoted
    from _json import make_scanner
except ImportError:  # a Python without it
    make_scanner = None  # type: ignore[assignment, misc]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Pairs = Callable[[list[tuple[str, Any]]], Any]

_SPACE = " \t\n\r"


class _Context:
    """The attributes that the scanner needs."""

    strict = True
    object_hook = None
    parse_float = float
    parse_int = int

    def __init__(self, pairs: Pairs | None, constant: Callable[[str], Any]) -> None:
        self.object_pairs_hook = pairs
        self.parse_constant = constant


def reader(
    pairs: Pairs | None = None, constant: Callable[[str], Any] = float
) -> Callable[[str, int], tuple[Any, int]]:
    """Return a function that reads the value at a place and returns it with its end; ``pairs``
    converts objects, ``constant`` numbers that are not finite. The function raises StopIteration if
    no value begins there, and :class:`json.JSONDecodeError`."""
    if make_scanner is None:
        import json

        decoder = json.JSONDecoder(object_pairs_hook=pairs, parse_constant=constant)
        return decoder.scan_once  # type: ignore[attr-defined, no-any-return]
    context: Any = _Context(pairs, constant)
    scan: Callable[[str, int], tuple[Any, int]] = make_scanner(context)
    return scan


_READ = reader()


def loads(text: str, pairs: Pairs | None = None, constant: Callable[[str], Any] = float) -> Any:
    """Like :func:`json.loads`, with the same errors."""
    read = _READ if pairs is None and constant is float else reader(pairs, constant)
    stripped = text.strip(_SPACE)
    try:
        value, end = read(stripped, 0)
        if end == len(stripped):
            return value
    except (StopIteration, ValueError):
        pass
    import json

    # Raises, with the place in the whole text.
    return json.loads(text, object_pairs_hook=pairs, parse_constant=constant)


def dumps(value: Any) -> str:
    """Like :func:`json.dumps` with ``indent=2``."""
    parts: list[str] = []
    try:
        if make_scanner is not None:
            _put(value, "\n", parts.append)
            return "".join(parts)
    except TypeError:
        pass
    import json

    return json.dumps(value, indent=2)


def _put(value: Any, line: str, put: Callable[[str], None]) -> None:
    """The parts of a value that begins in a line with this indent. Raises TypeError for what is
    rare."""
    if isinstance(value, str):
        put(_quoted(value))
    elif isinstance(value, dict):
        inner = line + "  "
        lead = "{" + inner
        for key, item in value.items():
            put(f"{lead}{_quoted(key)}: ")
            _put(item, inner, put)
            lead = "," + inner
        put(line + "}" if value else "{}")
    elif isinstance(value, list | tuple):
        inner = line + "  "
        lead = "[" + inner
        for item in value:
            put(lead)
            _put(item, inner, put)
            lead = "," + inner
        put(line + "]" if value else "[]")
    else:
        put(_plain(value))


def _plain(value: Any) -> str:
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float) and value - value == 0:  # finite
        return float.__repr__(value)
    raise TypeError
