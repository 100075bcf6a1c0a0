"""Checkpoint paths (``tinker://...``) in a script, a log, any text, or checkpoints.jsonl -> facts.

A path is ``tinker://<run-id>/<weights|sampler_weights|external_weights>/<name>``, three parts.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from ...facts.kinds import Vocabulary
from ...facts.problems import Location, ModelMedicError
from ...facts.progress import UNWATCHED, Progress
from ...facts.regular_files import open_regular
from ...reading.text.files import Ending, LineProblems, decode, parse_row, read_lines, read_text
from ...reading.text.values import parse_json
from ..outcome import Collector, Outcome
from .recognition import LISTED, START, looks_like_checkpoint, looks_like_checkpoint_list

MAX_BYTES = 50_000_000
HEAD = 65_536
MAX_PRINTED_BYTES = 20_000_000
MAX_PATHS = 100
MAX_PRINTED = 200
# Newest entries of a run's own list that are kept; they are all alike.
MAXLISTED = 10
MAX_PATH = 500
_TYPES = {"weights": "state", "sampler_weights": "sampler", "external_weights": "external"}
# Ends at blanks, quotes and brackets; f-string and shell placeholders are part of the path.
_PATH = re.compile(r"tinker:/{1,3}(?:\{[^{}\s]*\}|<[\w .-]*>|[^\s\"'`<>()\[\]{}|\\,;])*")
_SENTENCE_END = ".:!?"
_PLACEHOLDER = re.compile(r"[{}<>$*]|\.\.\.|…")
# The call around a path in code shows its purpose.
_USES = (
    ("sampling", re.compile(r"\b(create_sampling_client|get_sampler_handle)\b|\bmodel_path\s*=")),
    ("resume", re.compile(r"\b(create_training_client_from_state\w*|load_state\w*|load_weights|"
                          r"load_checkpoint_path)\b")),
    ("export", re.compile(r"\b(weights\.download|checkpoint\s+(download|push-hf)|push_hf|"
                          r"get_checkpoint_archive_url\w*|get_external_weights_urls|"
                          r"build_hf_model|build_lora_adapter|tinker_path)\b")),
)  # fmt: skip

_PRINTED = b'"tinker_path"'
_LISTS = ("checkpoints", "runs")
_LAST_OF_RUN = ("last_checkpoint", "last_sampler_checkpoint")


class _Found(NamedTuple):
    path: str
    used_for: str
    saved_by: str


def gather_checkpoint(
    path: Path | str, vocabulary: Vocabulary, *, progress: Progress = UNWATCHED
) -> Outcome:
    """The ``checkpoint`` facts of a file: path, type, and purpose if the same line, or the one
    before it, names the call.

    Paths with placeholders (``{run_id}``, ``<name>``) are skipped: their values are
    unknown. Of checkpoints.jsonl, the list that the cookbook writes, the newest are kept. Problems:
    MM440 the file cannot be read, MM441 a line, or what the CLI printed, cannot be used, MM442 the
    file was cut, MM476 paths were left out, MM477 there is none in the file.
    """
    path = Path(path)
    collector = Collector(vocabulary, "probe:checkpoint")
    try:
        listed = looks_like_checkpoint_list(_head(path))
        if not listed and _is_listing(_start(path)):
            count = _add_listing(collector, path)
        else:
            count = (add_listed if listed else _add_named)(collector, path, progress)
    except ModelMedicError as error:
        collector.extend(error.problems)
        return collector.outcome()
    if not count:
        where, hint = Location(str(path)), "give a script, a log or checkpoints.jsonl"
        collector.problem("MM477", "the file holds no tinker:// path", where, hint)
    return collector.outcome()


def add_listed(collector: Collector, path: Path, progress: Progress = UNWATCHED) -> int:
    """Add the checkpoints that checkpoints.jsonl lists; returns how many saves it has."""
    ending = Ending()
    bad = LineProblems(path, "its checkpoint is left out")
    rows: list[tuple[int, dict[str, Any]]] = []
    saves = 0
    for line in read_lines(path, MAX_BYTES, ending, progress):
        if not line.raw.strip() and not line.too_long:
            continue
        row = parse_row(line.number, line.raw)
        if line.too_long or row.error or not isinstance(row.value, dict):
            bad.add(line.number, row.error or "the line is not a JSON object")
            continue
        saves += 1
        rows = [*rows[1 - MAXLISTED :], (line.number, row.value)]
    for number, value in rows:
        for key, call in LISTED:
            text = value.get(key)
            if isinstance(text, str) and text:
                collector.add("checkpoint", f"{path}:{number}", path=text[: MAX_PATH * 2],
                              type=type_of(text), saved_by=call)  # fmt: skip
    collector.extend(bad.all())
    _report_cut(collector, path, ending)
    return saves


def _add_named(collector: Collector, path: Path, progress: Progress) -> int:
    ending = Ending()
    seen: dict[_Found, int] = {}
    left_out, before = 0, ""
    for line in read_lines(path, MAX_BYTES, ending, progress):
        if START in line.raw:
            text = decode(line.raw)
            for found in _in_line(text, before):
                if found not in seen and len(seen) >= MAX_PATHS:
                    left_out += 1
                else:
                    seen.setdefault(found, line.number)
            before = text
        elif line.raw.strip():
            before = decode(line.raw[:4096])
    for found, number in seen.items():
        collector.add("checkpoint", f"{path}:{number}", path=found.path, type=type_of(found.path),
                      used_for=found.used_for or None)  # fmt: skip
    if left_out:
        text = f"more than {MAX_PATHS} different paths; {left_out:,} mentions were left out"
        collector.problem("MM476", text, Location(str(path)))
    _report_cut(collector, path, ending)
    return len(seen)


def _is_listing(head: bytes) -> bool:
    """Whether ``head`` is the start of the CLI's output with ``-f json`` for ``checkpoint list``
    and ``info``, ``run list`` and ``info``: checkpoints with their expiry."""
    return head.lstrip()[:1] == b"{" and _PRINTED in head


def _add_listing(collector: Collector, path: Path) -> int:
    """Add the checkpoints; returns how many there are. One is ``expired`` if it was when the output
    was written. Raises MM440 if the file cannot be read."""
    text, cut = read_text(path, MAX_PRINTED_BYTES)
    data = None if cut else parse_json(text)
    if not isinstance(data, dict):
        what = "the file is too long" if cut else "this is not a JSON object"
        collector.problem("MM441", f"{what}; its checkpoints are left out", Location(str(path)))
        return 0
    written = os.stat(path).st_mtime
    entries = list(_entries_of(data))
    for entry in entries[:MAX_PRINTED]:
        _add_entry(collector, path, text, entry, written)
    if len(entries) > MAX_PRINTED:
        message = f"{len(entries):,} checkpoints; {MAX_PRINTED} are kept"
        collector.problem("MM476", message, Location(str(path)))
    return len(entries)


def _entries_of(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The checkpoints of an output, those of its runs included."""
    if isinstance(data.get("tinker_path"), str):
        yield data
    inner = [data.get(key) for key in _LAST_OF_RUN]
    for key in _LISTS:
        listed = data.get(key)
        inner += listed if isinstance(listed, list) else []
    for entry in inner:
        if isinstance(entry, dict):
            yield from _entries_of(entry)


def _add_entry(
    collector: Collector, path: Path, text: str, entry: dict[str, Any], written: float
) -> None:
    name = entry["tinker_path"][:MAX_PATH]
    ends = _time(entry.get("expires_at"))
    line = text.count("\n", 0, max(text.find(json.dumps(name)), 0)) + 1
    collector.add("checkpoint", f"{path}:{line}", path=name, type=type_of(name),
                  expired=ends < written if ends is not None else None)  # fmt: skip


def _time(value: Any) -> float | None:
    """Seconds since 1970; None if the value is not a time."""
    if not isinstance(value, str) or not 10 <= len(value) <= 40:
        return None
    try:
        found = datetime.fromisoformat(value.replace("Z", "+00:00"))
    except ValueError:
        return None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def _in_line(text: str, before: str) -> Iterator[_Found]:
    code = text.partition("#")[0] if text.lstrip().startswith("#") else text
    for match in _PATH.finditer(text):
        path = match.group().rstrip(_SENTENCE_END)
        if _PLACEHOLDER.search(path) or len(path) > MAX_PATH or path.rstrip("/") == "tinker:":
            continue
        yield _Found(path, _use(code[: match.start()]) or _use(_open_call(before)), "")


def _open_call(line: str) -> str:
    """The line before, if its call continues in the next line."""
    return line if line.rstrip().endswith(("(", ",")) else ""


def _use(text: str) -> str:
    """The purpose for which the last call named in ``text`` uses a path; empty if no call is
    named."""
    found = [(match.end(), use) for use, call in _USES for match in call.finditer(text[-2_000:])]
    return max(found)[1] if found else ""


def type_of(path: str) -> str:
    """The type of a checkpoint with this path, in the words of the vocabulary."""
    parts = path.removeprefix("tinker://").split("/")
    whole = path.startswith("tinker://") and len(parts) == 3 and all(parts)
    return _TYPES.get(parts[1], "invalid") if whole else "invalid"


def names_checkpoints(path: Path) -> bool:
    """Whether a file names checkpoints at its start."""
    with open_regular(path) as file:
        return looks_like_checkpoint(path, file.read(HEAD))


def _start(path: Path) -> bytes:
    try:
        with open_regular(path) as file:
            return file.read(HEAD)
    except (OSError, ValueError):
        return b""  # the reader reports the reason


def _head(path: Path) -> bytes:
    line = next(iter(read_lines(path, HEAD)), None)
    return line.raw if line else b""


def _report_cut(collector: Collector, path: Path, ending: Ending) -> None:
    if ending.cut:
        text = f"the file is long: what follows its first {MAX_BYTES:,} bytes is left out"
        collector.problem("MM442", text, Location(str(path)))
