"""Records: read, parsed, and passed to workers in chunks.

A record is a facts file with an optional id and time, or a bare list of facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from ...facts import Location, Problem
from ...facts.fact_file import MAX_FACTS, SCHEMA, decode, strict_json
from ...facts.problems import did_you_mean, excerpt
from .tally import Tally
from .trouble import failure

FIELDS = ("schema", "facts", "note", "id", "time")
MAX_ID = 200
MAX_VERSION = 60
_FORM = "a record is one JSON document in one line"


class Position(NamedTuple):
    """A position in the inputs: the input, the line in it (or index in a folder), and the byte at
    which the next record begins, counted after decompression."""

    source: int = 0
    line: int = 0
    offset: int = 0


class Record(NamedTuple):
    """A record as read. ``line`` is 0 if it is a file or folder of its own; ``problem`` says why it
    could not be read. A problem without a record (a truncated input) is not counted as a record."""

    source: str
    line: int
    data: bytes = b""
    problem: Problem | None = None


class Read(NamedTuple):
    """A record, the position after it, and the stored bytes read so far."""

    record: Record
    after: Position
    stored: int


class Limits(NamedTuple):
    """The maximum size of a chunk."""

    records: int = 500
    size: int = 1_000_000


class Chunk(NamedTuple):
    """Records that a worker processes together."""

    records: tuple[Record, ...]
    after: Position
    stored: int


class Result(NamedTuple):
    """The result of a chunk: lines for the output and for the errors, and the counts."""

    output: bytes
    errors: bytes
    tally: Tally


def chunks(reads: Iterable[Read], limits: Limits) -> Iterator[Chunk]:
    """Group records, in order."""
    held: list[Record] = []
    size = 0
    last: Read | None = None
    for last in reads:
        held.append(last.record)
        size += len(last.record.data)
        if len(held) >= limits.records or size >= limits.size:
            yield Chunk(tuple(held), last.after, last.stored)
            held, size = [], 0
    if held and last is not None:
        yield Chunk(tuple(held), last.after, last.stored)


def halves(chunk: Chunk) -> Sequence[Chunk]:
    """The two halves of a chunk of more than one record."""
    middle = len(chunk.records) // 2
    return [
        chunk._replace(records=part) for part in (chunk.records[:middle], chunk.records[middle:])
    ]


def joined(parts: Iterable[Result]) -> Result:
    """Results of consecutive chunks as one."""
    tally = Tally()
    output: list[bytes] = []
    errors: list[bytes] = []
    for part in parts:
        output.append(part.output)
        errors.append(part.errors)
        tally.merge(part.tally)
    return Result(b"".join(output), b"".join(errors), tally)


class Opened(NamedTuple):
    """The content of a record. ``time`` is as written, ``day`` in UTC."""

    facts: Sequence[Any]
    id: str | int | None = None
    time: str = ""
    day: str = ""


def open_record(record: Record) -> Opened:
    """Parse a record. Raises :class:`ModelMedicError`, without the location of the record."""
    text = decode(record.data, Location(record.source), _FORM)
    value = strict_json(text, record.source)
    opened = Opened(value) if isinstance(value, list) else _opened(value)
    if len(opened.facts) > MAX_FACTS:
        message = f"too many facts: {len(opened.facts):,} (limit {MAX_FACTS:,})"
        raise failure("MM103", message, "split the record")
    return opened


def _opened(value: Any) -> Opened:
    if not isinstance(value, dict):
        message = f"a record is an object or a list, not {excerpt(value)}"
        hint = f'write {{"schema": "{SCHEMA}", "facts": [...]}}'
        raise failure("MM106", message, hint)
    for key in value:
        if key not in FIELDS:
            hint = did_you_mean(key, FIELDS) or "remove it"
            message = f"a record has no field {excerpt(key)}"
            raise failure("MM107", message, hint)
    if value.get("schema") != SCHEMA:
        message = f"the schema is {excerpt(value.get('schema'))}, not {SCHEMA!r}"
        raise failure("MM105", message, f'write "schema": "{SCHEMA}"')
    facts = value.get("facts")
    if not isinstance(facts, list):
        raise failure("MM106", "'facts' must be a list", 'write "facts": []')
    time = value.get("time", "")
    return Opened(facts, _checked_id(value.get("id")), time, _day(time))


def _checked_id(value: Any) -> str | int | None:
    if value is None or (isinstance(value, str) and len(value) <= MAX_ID):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63:
        return value
    raise failure("MM334", f"'id' is {excerpt(value)}", f"a text of at most {MAX_ID} characters")


def _day(time: Any) -> str:
    if time == "":
        return ""
    try:
        moment = datetime.fromisoformat(time)
        if moment.tzinfo is not None:
            moment = moment.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        hint = 'write ISO 8601, such as "2026-01-31T12:00:00Z"'
        raise failure("MM334", f"'time' is {excerpt(time)}", hint) from None
    return moment.date().isoformat()


def packages(facts: Iterable[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Names and versions of the packages among valid facts, each once."""
    found: dict[tuple[str, str], None] = {}
    for fact in facts:
        if fact["kind"] == "package":
            name, version = fact.get("name"), fact.get("version")
            if isinstance(name, str) and isinstance(version, str) and version:
                found[name[:MAX_VERSION], version[:MAX_VERSION]] = None
    return list(found)


def placed(problems: Iterable[Problem], record: Record) -> list[Problem]:
    """Problems located at their record; a location inside it goes into the message."""
    found = []
    for problem in problems:
        inside, where = problem.where, Location(record.source, record.line)
        message = problem.message
        if inside is not None and inside.path != record.source:
            message = f"{inside.path}: {message}"
        elif inside is not None and inside.line:
            column = inside.column if inside.line == 1 or not record.line else 0
            where = Location(record.source, record.line or inside.line, column)
        found.append(problem._replace(message=message, where=where))
    return found
