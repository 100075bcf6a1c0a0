"""Reads facts files strictly: JSON, all problems with their places, nothing half-done."""

from __future__ import annotations

import os
from collections.abc import Iterator

from .fact import Fact, Provenance
from .json_text import loads, reader
from .kinds import Vocabulary
from .problems import Location, ModelMedicError, Problem, did_you_mean, excerpt
from .regular_files import NotRegularError, read_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

SCHEMA = "modelmedic/facts/1"
MAX_BYTES = 32_000_000
MAX_FACTS = 100_000
MAX_PROBLEMS = 50
MAX_CONTAINERS = 1_000_000

_FORM = "facts files are JSON"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_GAP = r"[ \t\r\n,:]*"
_TEXT = r'"(?:[^"\\]|\\.)*"'
_TEXT_OR_START = _TEXT + r"|[\[{]"
_WORD = r'"(?:[^"\\]|\\.)*"|(-?Infinity|NaN)'


def read_facts(path: Path | str, vocabulary: Vocabulary) -> tuple[Fact, ...]:
    """The facts of one file. Raises :class:`ModelMedicError` (MM10x, MM11x)."""
    return parse_facts(read_text(path, MAX_BYTES), str(path), vocabulary)


def read_text(path: Path | str, limit: int, form: str = _FORM) -> str:
    """The text of a regular UTF-8 file of at most ``limit`` bytes, else a clear error; ``form``
    says what is expected of the file."""
    where = Location(str(path))
    try:
        size = os.stat(path).st_size
        raw = read_regular(path, limit) if size <= limit else b""
    except NotRegularError as error:
        raise _error("MM102", str(error.strerror), where, f"name a file: {form}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        hint = "check the path" if isinstance(error, FileNotFoundError) else "check its permissions"
        raise _error("MM101", f"cannot read the file: {reason}", where, hint) from None
    if max(size, len(raw)) > limit:  # it may have grown meanwhile, or not tell its size
        message = f"the file is too large: {max(size, len(raw)):,} bytes (limit {limit:,})"
        raise _error("MM103", message, where, "split it into several files")
    return decode(raw, where, form)


def decode(raw: bytes, where: Location, form: str = _FORM) -> str:
    """UTF-8 text (a byte order mark is dropped), else a clear error."""
    try:
        return raw.removeprefix(_BYTE_ORDER_MARK).decode()
    except UnicodeDecodeError as error:
        message = f"not a text file in UTF-8 (byte {error.start} is {raw[error.start]:#04x})"
        raise _error("MM104", message, where, form) from None


def parse_facts(text: str, name: str, vocabulary: Vocabulary) -> tuple[Fact, ...]:
    """The facts in a JSON text; ``name`` appears in messages and provenance."""
    items, prefix = _items(strict_json(text, name), name)
    if len(items) > MAX_FACTS:
        message = f"too many facts: {len(items):,} (limit {MAX_FACTS:,})"
        raise _error("MM103", message, Location(name), "split the file")
    facts: list[Fact] = []
    broken: list[tuple[int, Problem]] = []
    source = Provenance("file", name)
    for index, item in enumerate(items):
        found = vocabulary.problems(item, Location(name))
        broken.extend((index, problem) for problem in found)
        if not found and not broken:
            facts.append(vocabulary.trusted(item, source))
        if len(broken) >= MAX_PROBLEMS:
            break
    if broken:
        raise ModelMedicError(_placed(broken, text, name, prefix))
    return tuple(facts)


def _items(data: Any, name: str) -> tuple[list[Any], tuple[str, ...]]:
    if isinstance(data, list):
        return data, ()
    where = Location(name, 1, 1)
    if not isinstance(data, dict):
        message = f"a facts file holds an object or a list, not {excerpt(data)}"
        raise _error("MM106", message, where, f'write {{"schema": "{SCHEMA}", "facts": [...]}}')
    for key in data:
        if key not in ("schema", "facts", "note"):
            hint = did_you_mean(key, ("schema", "facts", "note")) or "remove it"
            raise _error("MM107", f"a facts file has no field {excerpt(key)}", where, hint)
    if data.get("schema") != SCHEMA:
        message = f"the schema is {excerpt(data.get('schema'))}, not {SCHEMA!r}"
        raise _error("MM105", message, where, f'write "schema": "{SCHEMA}"')
    if not isinstance(data.get("facts"), list):
        raise _error("MM106", "'facts' must be a list", where, 'write "facts": [...]')
    return data["facts"], ("facts",)


def strict_json(text: str, name: str) -> Any:
    """The value of a JSON text without duplicate keys and non-finite numbers; ``name`` appears in
    messages. Raises :class:`ModelMedicError` (MM108, MM109, MM118, MM119)."""
    if not text.strip():
        hint = f'write {{"schema": "{SCHEMA}", "facts": []}}'
        raise _error("MM108", "the file is empty", Location(name, 1, 1), hint)
    if _containers(text) > MAX_CONTAINERS:
        message = f"more than {MAX_CONTAINERS:,} objects and lists"
        raise _error("MM103", message, Location(name), "split it into several files")
    try:
        return loads(text, _unique, _no_constant)
    except (ValueError, RecursionError, _DuplicateKeyError, _ConstantError) as error:
        raise _refused(error, text, name) from None


def _refused(error: Exception, text: str, name: str) -> ModelMedicError:
    """The problem with a text that cannot be read."""
    if isinstance(error, _DuplicateKeyError):
        line, column = _second_place(text, error.args[0])
        message = f"the key {excerpt(error.args[0])} stands twice in one object"
        return _error("MM118", message, Location(name, line, column), "remove one")
    if isinstance(error, _ConstantError):
        import re

        at = next((found.start() for found in re.finditer(_WORD, text) if found[1]), 0)
        line, column = _line_and_column(text, at)
        message = f"{error.args[0]} is not a finite number"
        hint = "leave the attribute out, or use the attribute that names the case"
        return _error("MM119", message, Location(name, line, column), hint)
    import json

    if isinstance(error, json.JSONDecodeError):
        where = Location(name, error.lineno, error.colno)
        hint = "JSON has double quotes, no comments and no comma after the last item"
        return _error("MM109", f"not valid JSON: {error.msg}", where, hint)
    deep = isinstance(error, RecursionError)
    reason = "nested too deep" if deep else "a number with thousands of digits"
    hint = "a fact is flat: one object with plain values"
    return _error("MM109", f"not usable as JSON: {reason}", Location(name), hint)


def _containers(text: str) -> int:
    """The number of objects and lists, before any is built: each takes many times the memory of its
    two characters. Braces in strings are subtracted only where the count is over the limit."""
    count = text.count("{") + text.count("[")
    if count > MAX_CONTAINERS:
        import re

        count = len(re.findall(_TEXT_OR_START, text)) - len(re.findall(_TEXT, text))
    return count


class _DuplicateKeyError(Exception):
    """The key is the only argument."""


class _ConstantError(Exception):
    """The word is the only argument."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    built = dict(pairs)
    if len(built) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _DuplicateKeyError(key)
            seen.add(key)
    return built


def _no_constant(word: str) -> Any:
    raise _ConstantError(word)


def _line_and_column(text: str, at: int) -> tuple[int, int]:
    return text.count("\n", 0, at) + 1, at - (text.rfind("\n", 0, at) + 1) + 1


def _second_place(text: str, key: str) -> tuple[int, int]:
    """Line and column of the duplicate key: the YAML reader finds it, JSON being YAML."""
    from .strict_yaml import load

    try:
        load(text, "")
    except ModelMedicError as error:
        where = error.problems[0].where
        if error.problems[0].code == "MM207" and where:
            return where.line, where.column
    import json

    return _line_and_column(text, max(text.find(json.dumps(key)), 0))


def _placed(
    broken: list[tuple[int, Problem]], text: str, name: str, prefix: tuple[str, ...]
) -> list[Problem]:
    """Problems with line and column. Only on this path is the text read a second time."""
    starts = list(_starts(text, prefix))
    return [
        Problem(
            problem.code,
            f"facts[{index}]: {problem.message}",
            Location(name, *_line_and_column(text, starts[index])),
            problem.hint,
        )
        for index, problem in broken
    ]


def _starts(text: str, prefix: tuple[str, ...]) -> Iterator[int]:
    """The start of each fact in the text of a facts file."""
    scan = reader()
    at = _past(text, 0)
    for wanted in prefix:
        key, at = scan(text, _past(text, at + 1))
        while key != wanted:
            _, at = scan(text, _past(text, at))
            key, at = scan(text, _past(text, at))
        at = _past(text, at)
    at = _past(text, at + 1)
    while text[at] != "]":
        yield at
        _, at = scan(text, at)
        at = _past(text, at)


def _past(text: str, at: int) -> int:
    """The place after white space, commas and colons."""
    import re

    found = re.compile(_GAP).match(text, at)
    return found.end() if found else at


def _error(code: str, message: str, where: Location, hint: str) -> ModelMedicError:
    return ModelMedicError(Problem(code, message, where, hint))
