"""Compiled knowledge in the user's cache folder, by content digest.

The file is lines of JSON, never code: a header, the parts that every run needs, then sections with
one line for each fact kind, pattern, rule and catalogue entry, which stay text until they are asked
for. It is read only if
it is a regular file of this user that nobody else may write, holds the digest asked for, and its
body has the checksum that it claims; otherwise it counts as absent and is rebuilt. (The checksum of
a file that has not changed is not computed again.)
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ...facts.lazy import LazyMapping
from ..knowledge_base import VERSION
from .digest_memory import NAME as DIGESTS
from .digest_memory import DigestMemory, look_at
from .own_files import open_own, replace_file

if TYPE_CHECKING:
    from pathlib import Path

FORMAT = 5
MAX_HEADER = 1_000
KEPT = 8
"""So many knowledge bases are kept; the oldest go when a new one is written."""


def read(folder: Path | str, digest: str, memory: DigestMemory) -> dict[str, Any] | None:
    """The cached knowledge, or None if there is none that can be trusted."""
    path = _path(folder, digest)
    try:
        with open_own(path) as file:
            look = look_at([("", file.fileno())])
            header, body = file.readline(MAX_HEADER), file.read()
        checksum = memory.digest(path, look, lambda: _checksum(body))
        return _unpack(body) if json.loads(header) == _header(digest, checksum) else None
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


def write(folder: Path | str, digest: str, plain: Mapping[str, Any]) -> None:
    """Store; a cache that cannot be written is no error."""
    body = _pack(plain)
    header = _header(digest, _checksum(body))
    with suppress(OSError):
        replace_file(_path(folder, digest), json.dumps(header).encode() + b"\n" + body)
        _forget_old(folder)


def forget(folder: Path | str) -> bool:
    """Remove everything stored; says whether there was anything that could be removed."""
    from pathlib import Path

    removed = False
    for name in ("knowledge-*.jsonl", "documents-*.jsonl", DIGESTS):
        for path in Path(folder).glob(name):
            with suppress(OSError):
                path.unlink()
                removed = True
    return removed


class _Section(Mapping[str, Any]):
    """Named lines of JSON, cut and decoded when they are asked for: few are, in one run. The first
    line holds the names."""

    def __init__(self, text: bytes) -> None:
        self._text = text

    @cached_property
    def _lines(self) -> Mapping[str, bytes]:
        names, *lines = self._text.split(b"\n")
        return dict(zip(json.loads(names), lines, strict=True))

    def __getitem__(self, name: str) -> Any:
        return json.loads(self._lines[name])

    def __contains__(self, name: object) -> bool:
        return name in self._lines

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)


def _checksum(body: bytes) -> str:
    import hashlib  # with OpenSSL; seldom needed, see DigestMemory

    return hashlib.sha256(body).hexdigest()


def _header(digest: str, checksum: str) -> dict[str, Any]:
    return {"format": FORMAT, "version": VERSION, "digest": digest, "sha256": checksum}


def _pack(plain: Mapping[str, Any]) -> bytes:
    program, vocabulary = plain["program"], plain["vocabulary"]
    sections = {
        "kinds": _named(vocabulary["kinds"]),
        "tables": _named(program["index"]["alpha"]),
        **{part: b"\n".join(map(_line, program[part])) for part in ("patterns", "rules")},
        **{part: _named(entries) for part, entries in plain["catalogue"].items()},
    }
    head = {
        "sizes": {name: len(text) for name, text in sections.items()},
        **{part: plain[part] for part in ("summaries", "overlays", "span")},
        **{part: program[part] for part in ("aggregates", "strata")},
        "vocabulary": _without(vocabulary, "kinds"),
        "index": _without(program["index"], "alpha"),
    }
    return b"\n".join([_line(head), *sections.values()])


def _unpack(body: bytes) -> dict[str, Any]:
    """Raises ValueError or another error of a lookup where it is not what :func:`_pack` makes."""
    at = body.index(b"\n")
    head = json.loads(body[:at])
    sections = {}
    for name, size in head["sizes"].items():
        sections[name] = body[at + 1 : at + 1 + size]
        at += 1 + size
    if at != len(body):
        raise ValueError("sections of other sizes")
    program = {part: head[part] for part in ("aggregates", "strata")}
    program |= {part: sections.pop(part).split(b"\n") for part in ("patterns", "rules")}
    return {
        **{part: head[part] for part in ("summaries", "overlays", "span")},
        "vocabulary": head["vocabulary"] | {"kinds": _Section(sections.pop("kinds"))},
        "program": program | {"index": head["index"] | {"alpha": _Section(sections.pop("tables"))}},
        "catalogue": {name: LazyMapping(_Section(text), _same) for name, text in sections.items()},
    }


def _named(plain: Mapping[str, Any]) -> bytes:
    return b"\n".join([_line(list(plain)), *map(_line, plain.values())])


def _without(plain: Mapping[str, Any], part: str) -> dict[str, Any]:
    return {name: value for name, value in plain.items() if name != part}


def _same(_name: str, value: Any) -> Any:
    return value


def _line(plain: Any) -> bytes:
    return json.dumps(plain, ensure_ascii=True, separators=(",", ":")).encode()


def _forget_old(folder: Path | str) -> None:
    from pathlib import Path

    found = sorted(Path(folder).glob("knowledge-*.jsonl"), key=lambda p: p.stat().st_mtime)
    for path in found[:-KEPT]:
        path.unlink(missing_ok=True)


def _path(folder: Path | str, digest: str) -> str:
    return os.path.join(folder, f"knowledge-{FORMAT}-{digest}.jsonl")

