"""Compiled knowledge in the user's cache folder, by content digest.

The file is lines of JSON, never code: a header, the parts that every run needs, then one line for
each pattern, rule and catalogue entry, which stay text until they are asked for. It is read only if
it is a regular file of this user that nobody else may write, holds the digest asked for, and its
body has the checksum that it claims; otherwise it counts as absent and is rebuilt.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from ..knowledge_base import VERSION

FORMAT = 4
MAX_BYTES = 256_000_000
MAX_HEADER = 1_000
KEPT = 8
"""So many knowledge bases are kept; the oldest go when a new one is written."""


def read(folder: Path, digest: str) -> dict[str, Any] | None:
    """The cached knowledge, or None if there is none that can be trusted."""
    try:
        with open_own(_path(folder, digest)) as file:
            header, body = file.readline(MAX_HEADER), file.read()
        return _unpack(body) if json.loads(header) == _header(digest, body) else None
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


def open_own(path: Path) -> BinaryIO:
    """Open a file of ours. Raises OSError if it is anything else, or too large."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)  # a pipe would wait for a writer
    file = open(os.open(path, flags), "rb")  # noqa: SIM115 - the caller closes it
    status = os.fstat(file.fileno())
    if _own(status) and status.st_size <= MAX_BYTES:
        return file
    file.close()
    raise PermissionError(f"not a file of this user alone: {path}")


def write(folder: Path, digest: str, plain: Mapping[str, Any]) -> None:
    """Store; a cache that cannot be written is no error."""
    body = b"\n".join(_pack(plain))
    header = _header(digest, body)
    with suppress(OSError):
        replace_file(_path(folder, digest), json.dumps(header).encode() + b"\n" + body)
        _forget_old(folder)


def replace_file(path: Path, content: bytes) -> None:
    """Write a file in one step, with its folder, for this user alone. Raises OSError."""
    import tempfile

    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def forget(folder: Path) -> bool:
    """Remove everything stored; says whether there was anything that could be removed."""
    removed = False
    for path in (*folder.glob("knowledge-*.jsonl"), *folder.glob("documents-*.jsonl")):
        with suppress(OSError):
            path.unlink()
            removed = True
    return removed


class _Entries(Mapping[str, Any]):
    """Catalogue entries that stay JSON text until they are asked for: few are, in one run."""

    def __init__(self, lines: dict[str, bytes]) -> None:
        self._lines = lines
        self._known: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = json.loads(self._lines[name])
        return known

    def __contains__(self, name: object) -> bool:
        return name in self._lines

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)


def _header(digest: str, body: bytes) -> dict[str, Any]:
    checksum = hashlib.sha256(body).hexdigest()
    return {"format": FORMAT, "version": VERSION, "digest": digest, "sha256": checksum}


def _pack(plain: Mapping[str, Any]) -> Iterator[bytes]:
    program, catalogue = plain["program"], plain["catalogue"]
    head = {
        **{part: plain[part] for part in ("vocabulary", "summaries", "overlays", "span")},
        **{part: program[part] for part in ("aggregates", "strata", "index")},
        "patterns": len(program["patterns"]),
        "rules": len(program["rules"]),
        "catalogue": {part: list(entries) for part, entries in catalogue.items()},
    }
    yield _line(head)
    yield from map(_line, program["patterns"])
    yield from map(_line, program["rules"])
    for entries in catalogue.values():
        yield from map(_line, entries.values())


def _unpack(body: bytes) -> dict[str, Any] | None:
    first, *lines = body.split(b"\n")
    head = json.loads(first)
    names = [(part, name) for part, known in head["catalogue"].items() for name in known]
    if len(lines) != head["patterns"] + head["rules"] + len(names):
        return None
    end = head["patterns"] + head["rules"]
    patterns, rules = lines[: head["patterns"]], lines[head["patterns"] : end]
    entries: dict[str, dict[str, bytes]] = {part: {} for part in head["catalogue"]}
    for (part, name), line in zip(names, lines[end:], strict=True):
        entries[part][name] = line
    catalogue = {part: _Entries(lines) for part, lines in entries.items()}
    program = {part: head[part] for part in ("aggregates", "strata", "index")}
    return {
        "vocabulary": head["vocabulary"],
        "summaries": head["summaries"],
        "overlays": head["overlays"],
        "span": head["span"],
        "program": program | {"patterns": patterns, "rules": rules},
        "catalogue": catalogue,
    }


def _line(plain: Any) -> bytes:
    return json.dumps(plain, ensure_ascii=True, separators=(",", ":")).encode()


def _forget_old(folder: Path) -> None:
    found = sorted(folder.glob("knowledge-*.jsonl"), key=lambda p: p.stat().st_mtime)
    for path in found[:-KEPT]:
        path.unlink(missing_ok=True)


def _path(folder: Path, digest: str) -> Path:
    return folder / f"knowledge-{FORMAT}-{digest}.jsonl"


def _own(status: os.stat_result) -> bool:
    if not stat.S_ISREG(status.st_mode):
        return False
    if not hasattr(os, "getuid"):
        return True
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
