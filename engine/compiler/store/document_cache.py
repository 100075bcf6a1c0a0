"""Parsed YAML files in the user's cache folder, each by the digest of its text.

Maintainers check the knowledge after every edit, and parsing unchanged files is most of that work.
The cache is one file of JSON lines, never code, trusted like :mod:`.cache`; an entry counts only
for the same text.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path

from ....facts.regular_files import open_own, replace_file
from ....facts.strict_yaml import Document, load
from ..source.expressions import Expression, remember, results
from .compiled import VERSION

FORMAT = 2
MAX_KEPT = 2_000
"""How many documents are kept; the least recently read go first."""
_EXPRESSIONS = b"expressions"
"""Stands for a digest on the line of what is known of regular expressions."""


class DocumentCache:
    """Reads YAML like :func:`load`, but each text only once. Without a folder it caches nothing."""

    def __init__(self, folder: Path | str | None) -> None:
        self._path = Path(folder) / f"documents-{FORMAT}.jsonl" if folder else None
        self._lines = _read(self._path) if self._path else {}
        with suppress(ValueError, TypeError):
            known = json.loads(self._lines.pop(_EXPRESSIONS, b"{}"))
            remember(
                {p: Expression(problem, text, tuple(t)) for p, (problem, text, t) in known.items()}
            )
        self._used: dict[bytes, bytes] = {}
        self._new = False

    def __call__(self, text: str, path: str) -> Document:
        """The document of ``text``. Raises :class:`ModelMedicError` if it is not valid YAML."""
        if self._path is None:
            return load(text, path)
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest().encode()
        line = self._lines.get(digest)
        if line is not None:
            with suppress(ValueError, RecursionError):
                data, places = json.loads(line)
                self._used[digest] = line
                return Document(path, data, places)
        document = load(text, path)
        plain = [document.data, document.places]
        self._used[digest] = json.dumps(plain, separators=(",", ":")).encode()
        self._new = True
        return document

    def save(self) -> None:
        """Write the documents of this run, followed by earlier ones."""
        if self._path is None or not self._new:
            return
        kept = {**self._used, **{d: x for d, x in self._lines.items() if d not in self._used}}
        kept = {_EXPRESSIONS: json.dumps(results(), separators=(",", ":")).encode(), **kept}
        lines = [digest + b" " + line for digest, line in list(kept.items())[:MAX_KEPT]]
        body = b"\n".join(lines)
        with suppress(OSError):
            replace_file(self._path, _header(body) + b"\n" + body)


def _header(body: bytes) -> bytes:
    return f"{VERSION} {hashlib.sha256(body).hexdigest()}".encode()


def _read(path: Path) -> dict[bytes, bytes]:
    """The stored lines by digest; none if the file cannot be trusted."""
    try:
        with open_own(path) as file:
            header, _, body = file.read().partition(b"\n")
    except OSError:
        return {}
    if header != _header(body):
        return {}
    pairs = (line.partition(b" ") for line in body.split(b"\n"))
    return {digest: rest for digest, _, rest in pairs}
