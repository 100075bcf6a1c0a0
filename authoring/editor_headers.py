"""The first line of a knowledge file that tells editors which schema it follows."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from ..facts import ModelMedicError
from ..facts.strict_yaml import load

_MARK = "# yaml-language-server: $schema="


def header(path: Path, text: str, schemas: Path) -> str:
    """The line for a file with this text; empty if it is not a readable knowledge file."""
    try:
        data = load(text, str(path)).data
    except ModelMedicError:
        return ""
    named = data.get("schema") if isinstance(data, dict) else None
    form = named.split("/")[1] if isinstance(named, str) and named.count("/") == 2 else ""
    schema = schemas / f"{form}.json"
    if not form or not schema.is_file():
        return ""
    return _MARK + os.path.relpath(schema, path.parent).replace(os.sep, "/") + "\n"


def with_header(path: Path, text: str, schemas: Path) -> str:
    """The text with the right header, whatever header it had."""
    first, newline, rest = text.partition("\n")
    body = rest if first.startswith(_MARK) and newline else text
    line = header(path, body, schemas)
    return line + body if line else text


def add_headers(folders: Iterable[Path], schemas: Path) -> int:
    """Give every YAML file below the folders its header; return how many changed."""
    changed = 0
    for path in sorted(path for folder in folders for path in folder.rglob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        new = with_header(path, text, schemas)
        if new != text:
            _replace(path, new)
            changed += 1
    return changed


def _replace(path: Path, text: str) -> None:
    """Write in one step: an editor or another command may be reading the file."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    Path(name).chmod(path.stat().st_mode)
    Path(name).replace(path)
