"""Compiled knowledge in the user's cache folder, by content digest.

A cache file is lines of JSON, never code: a header, then the stored form of :mod:`.compiled`. It is
read only if it is a regular file of this user that nobody else may write, has the right digest, and
its body has the checksum in its header; otherwise it counts as absent and is rebuilt.

Digests and checksums of unchanged files are remembered (:class:`DigestMemory`). A file counts as
unchanged while its size, times and inode are; the time of the last status change is set by the
system alone, so an edit shows, and so does an older copy put in place. As in the index of git, a
digest is kept only if the file was at rest before it was read: within one tick of the file system's
clock a file can change twice and look the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from mmap import ACCESS_READ, mmap

from ....facts.json_text import loads
from ....facts.regular_files import open_own, replace_file
from .compiled import VERSION, Compiled, decode, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    Stored = tuple[Compiled, bytes | mmap, int]

FORMAT = 18
KEPT = 8
"""How many knowledge bases are kept; writing a new one removes the oldest."""
DIGESTS = "digests-1.json"
MAX_DIGESTS = 50
_SECOND_NS = 1_000_000_000
_REST_NS = 100_000_000
_COARSE_REST_NS = 3 * _SECOND_NS  # where the clock of the file system counts in (two) seconds

Look = tuple[str, int]
"""The state of files in the file system, and their latest time in nanoseconds; an empty text if one
is missing."""


def read(folder: Path | str, digest: str, memory: DigestMemory) -> Stored | None:
    """The cached knowledge, or None if it is missing or cannot be trusted."""
    path = _path(folder, digest)
    try:
        with open_own(path) as file:
            look = look_at([("", file.fileno())])
            # Only the pages that are needed are read. The file is replaced, never changed.
            content = mmap(file.fileno(), 0, access=ACCESS_READ)
        return _trusted(content, digest, lambda compute: memory.digest(path, look, compute))
    except _UNSOUND:
        return None


def write(folder: Path | str, digest: str, body: bytes, below: str = "") -> None:
    """Keep a stored form; a cache that cannot be written is not an error. ``below`` is the digest
    of the knowledge below it, which stays stored."""
    from contextlib import suppress

    with suppress(OSError):
        replace_file(_path(folder, digest), _headed(body, digest))
        _forget_old(folder, _path(folder, below))


def packed(compiled: Compiled, digest: str) -> bytes:
    """The content of the file."""
    return _headed(encode(compiled), digest)


def _headed(body: bytes, digest: str) -> bytes:
    import json

    return json.dumps(_header(digest, _checksum(body))).encode() + b"\n" + body


def unpacked(content: bytes, digest: str) -> Compiled | None:
    """The knowledge in the content of a file; None if it is not what this version writes."""
    try:
        return _trusted(content, digest, lambda compute: compute())[0]
    except _UNSOUND:
        return None


def forget(folder: Path | str) -> bool:
    """Remove everything stored; return whether anything was removed."""
    from contextlib import suppress
    from pathlib import Path

    removed = False
    for name in ("knowledge-*.jsonl", "documents-*.jsonl", DIGESTS):
        for path in Path(folder).glob(name):
            with suppress(OSError):
                path.unlink()
                removed = True
    return removed


_UNSOUND = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError)


def _trusted(
    content: bytes | mmap, digest: str, known: Callable[[Callable[[], str]], str]
) -> Stored:
    """The knowledge, if its header is right; else raises ValueError. ``known`` remembers or
    computes the checksum."""
    start = content.find(b"\n") + 1
    checksum = known(lambda: _checksum(content[start:]))
    if loads(content[:start].decode()) != _header(digest, checksum):
        raise ValueError("another header")
    return decode(content, start), content, start


def _checksum(body: bytes) -> str:
    import hashlib  # with OpenSSL; seldom needed, see DigestMemory

    return hashlib.sha256(body).hexdigest()


def _header(digest: str, checksum: str) -> dict[str, Any]:
    return {"format": FORMAT, "version": VERSION, "digest": digest, "sha256": checksum}


def _forget_old(folder: Path | str, needed: str) -> None:
    from pathlib import Path

    found = sorted(Path(folder).glob("knowledge-*.jsonl"), key=lambda p: p.stat().st_mtime)
    for path in found[:-KEPT]:
        if str(path) != needed:
            path.unlink(missing_ok=True)


def _path(folder: Path | str, digest: str) -> str:
    return os.path.join(folder, f"knowledge-{FORMAT}-{digest}.jsonl")


class DigestMemory:
    """The digests in a cache folder, so that unchanged files are not read again."""

    def __init__(self, folder: Path | str) -> None:
        self._folder = folder
        self._path = os.path.join(folder, DIGESTS)
        self._known = _read_digests(self._path)

    def digest(self, key: str, look: Look, compute: Callable[[], str]) -> str:
        """The digest of files with this look, computed if it is not remembered. ``key`` names the
        files; a later look at them replaces the earlier one."""
        seen, newest = look
        known = self._known.get(key)
        if known is not None and seen and known[0] == seen:
            return known[1]
        from contextlib import suppress

        begun = 0
        with suppress(OSError):
            begun = time_in(self._folder)
        digest = compute()
        if seen and newest + _rest(newest) <= begun:
            self._keep(key, seen, digest)
        return digest

    def _keep(self, key: str, seen: str, digest: str) -> None:
        self._known.pop(key, None)
        self._known[key] = (seen, digest)
        import json
        from contextlib import suppress

        kept = dict(list(self._known.items())[-MAX_DIGESTS:])
        with suppress(OSError):
            replace_file(self._path, json.dumps(kept).encode())


def look_at(files: Iterable[tuple[str, str | int]]) -> Look:
    """The look of files, given as name and path (or handle)."""
    parts = []
    newest = 0
    try:
        for name, place in files:
            s = os.stat(place)
            newest = max(newest, s.st_mtime_ns, s.st_ctime_ns)
            parts.append(f"{name}\0{s.st_size} {s.st_mtime_ns} {s.st_ctime_ns} {s.st_ino}")
    except (OSError, ValueError):
        return "", 0
    return "\0".join(parts), newest


def _rest(newest: int) -> int:
    return _REST_NS if newest % _SECOND_NS else _COARSE_REST_NS


def _read_digests(path: str) -> dict[str, tuple[str, str]]:
    try:
        with open_own(path) as file:
            known = loads(file.read().decode())
        return {str(key): (str(look), str(digest)) for key, (look, digest) in known.items()}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return {}


def time_in(folder: Path | str) -> int:
    """The time in nanoseconds by the clock of the file system. Raises OSError if the folder is not
    writable."""
    import tempfile

    os.makedirs(folder, mode=0o700, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder) as file:
        return os.fstat(file.fileno()).st_mtime_ns
