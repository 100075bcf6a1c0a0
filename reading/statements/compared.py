"""Compares the two sides in the records of a text: scores of tasks and modules. Reads the figures
that have a name."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.statements import Statement
from .records import Record
from .series import Series, Told, last, words

Pair = tuple[Record, Record]
_NOTHING = frozenset(("", "none", "null", "missing", "n/a", "absent", "0"))
_ALLOWED = frozenset(("logits", "logit", "agree", "agreement", "value"))
_LEAST = 3
_TEN = 10


def scores(series: Series) -> Iterator[Told]:
    """The score of each task on the port, with that of the reference."""
    statement = series.behaving.get("score")
    if statement is None:
        return
    told = set()
    tasks = {record.group for pair in series.pairs for record in pair if not record.is_line
             and series.known_subject(statement, record)}  # fmt: skip
    for reference, port in series.pairs:
        if port.is_line and not series.side(port.label):
            continue  # the words around them tell
        task = series.known_subject(statement, port) or series.known_subject(statement, reference)
        if not task and port.group in tasks and not series.are("total-words", port.label):
            task = last(port.label)  # of a table of tasks
        before, now = _fraction(reference), _fraction(port)
        if port.unit != "%" and 1 < max(float(reference.value), float(port.value)) <= _TEN:
            continue  # points of a scale of its own
        is_other = series.are("error-words", port.column) or series.are("count-words", port.column)
        if task and task not in told and not is_other and max(before, now) <= 1:
            told.add(task)
            yield Told(statement, now, task, port.line, before)


def _fraction(record: Record) -> float:
    value = float(record.value)
    value = value / record.of if record.of else value / 100 if value > 1 else value
    return float(f"{value:.6g}")


def structure(series: Series) -> Iterator[Told]:
    """The modules that differ between both sides of a table."""
    missing, differs = series.behaving.get("missing"), series.behaving.get("differs")
    told = set()
    for pairs in _tables(series):
        for reference, port in pairs:
            module = last(reference.label)
            source, target = _plain(reference), _plain(port)
            if module in told or source == target or series.are("total-words", module):
                continue
            if missing and _is_nothing(target):
                told.add(module)
                yield Told(missing, source, module, port.line)
            elif differs and (not isinstance(reference.value, str) or source.startswith("[")):
                told.add(module)
                yield Told(differs, target, module, port.line, source)


def _tables(series: Series) -> Iterator[list[Pair]]:
    """The pairs of columns of two sides that are alike in most rows, those that differ. Where the
    port has rows of its own, those that it lacks may be fused in them."""
    rows: dict[tuple[str, str, str], dict[str, Record]] = {}
    for record in series.records:
        side = series.side(record.column)
        if side and not record.is_line and not record.broken:
            key = record.group, record.label, series.rest(record.column)
            rows.setdefault(key, {}).setdefault(side, record)
    tables: dict[tuple[str, str, bool], list[Pair]] = {}
    for (group, _, rest), row in rows.items():
        if len(row) > 1:
            reference, port = row["reference"], row["port"]
            is_text = isinstance(reference.value, str) and not reference.value.startswith("[")
            tables.setdefault((group, rest, is_text), []).append((reference, port))
    moved = {
        group
        for (group, _, _), pairs in tables.items()
        if any(_is_nothing(_plain(a)) > _is_nothing(_plain(b)) for a, b in pairs)
    }
    for (group, _, is_text), pairs in tables.items():
        apart = [
            (a, b)
            for a, b in pairs
            if a.value != b.value
            and not _is_explained(b)
            and (not is_text or _is_nothing(_plain(b)) > _is_nothing(_plain(a)))
        ]
        if len(pairs) >= _LEAST and 2 * len(apart) < len(pairs) and group not in moved:
            yield apart


def _is_explained(record: Record) -> bool:
    """Whether the row of a figure has a note."""
    note = record.beside.replace(record.label, "")
    return len(note.split()) >= _LEAST and "?" not in note


def _plain(record: Record) -> str:
    return f"{record.value:g}" if isinstance(record.value, float) else record.value


def _is_nothing(value: str) -> bool:
    return value.strip(" -–—*").lower() in _NOTHING


def named(series: Series) -> Iterator[Told]:
    """The worst figure of the port of each end-to-end observable that has a name."""
    worst: dict[str, Told] = {}
    for record in series.figures:
        statement = None if record.is_line else _named(series, record)
        if statement is None or statement.kind != "e2e_result" or series.is_limit(record):
            continue
        texts = (record.column, record.label)
        if any(series.side(text) == "reference" for text in texts):
            continue
        value = float(record.value) * dict(statement.units).get(record.unit, 1.0)
        value = float(record.value) / record.of if record.of else value
        known = worst.get(statement.name)
        better_high = statement.maximum == 1
        if statement.fits(value) and (known is None or (value > float(known.value)) != better_high):
            limit = series.limit(0, 1e6, statement) if statement.limit else None
            worst[statement.name] = Told(statement, float(f"{value:.6g}"), "", record.line, limit)
    yield from worst.values()


def _named(series: Series, record: Record) -> Statement | None:
    """The observable that a column names, or a label, with no other words but a side or a total."""
    for text in (record.column, f"{last(record.label)} {record.column}"):
        statement = series.named(text)
        if statement is not None:
            own = words(" ".join(statement.names)) | _ALLOWED
            if all(w in own or series.are("total-words", w) for w in words(series.rest(text))):
                return statement
    return None
