"""Recognises training scripts and notebooks by their first bytes; long programs by more of them."""

from __future__ import annotations

import os
import re
from pathlib import Path

from ...facts.regular_files import read_regular

HEAD = 65_536
WHOLE = 1_000_000
"""Size limit for a program whose head does not decide; functions may import anywhere in the file.
"""
MAX_LOOKED_AT = 30

_IMPORT = re.compile(
    rb"^[ \t]{0,48}(?:from|import)[ \t]{1,12}(?:[\w., \t]{0,200}[ \t,])?(?:tinker|tinker_cookbook)"
    rb"(?:[ \t.,;\r\n]|$)",
    re.MULTILINE,
)
_IN_NOTEBOOK = re.compile(  # a line of a cell, in a list of lines or in one text
    rb'(?:"|\\n)[ \t]{0,12}(?:from|import)[ \t]{1,12}(?:[\w., \t]{0,200}[ \t,])?'
    rb"(?:tinker|tinker_cookbook)\b"
)
_OTHERWISE = re.compile(  # imported by its name, or reached through another module
    rb"(?:__import__|import_module|importorskip|find_spec)"
    rb"\([ \t]{0,4}[\"']tinker(?:_cookbook)?[\"'.]"
    rb"|\btinker\.(?:types\.)?(?:AdamParams|Datum|ModelInput|SamplingParams|ServiceClient"
    rb"|TrainingClient|SamplingClient|RestClient|TensorData)\b"
)
_ADAPTER = re.compile(rb"lora_[AB]\b|PeftModel\b|merge_and_unload\b")
_MODULE = re.compile(rb"^(?:from|import)[ \t]+(\.?[\w.]{1,100})", re.MULTILINE)
_PYTHON = re.compile(rb"^(?:from|import)[ \t]+\w+|^(?:async )?def \w+\(", re.MULTILINE)


def looks_like_script(path: Path, head: bytes) -> bool:
    """Whether a file is a Python script or notebook about Tinker, by its first bytes.

    Logs and documents that quote code do not count: the name must be that of a script, or the
    file must begin like one.
    """
    if b"\0" in head:
        return False
    head = head.removeprefix(b"\xef\xbb\xbf")
    if head.lstrip()[:1] == b"{":
        return b'"cell_type"' in head and bool(_IN_NOTEBOOK.search(head))
    named = path.suffix in (".py", ".pyw") or head.startswith(b"#!")
    if not named and (path.suffix or not _PYTHON.match(head.lstrip())):
        return False
    if _IMPORT.search(head) or (_OTHERWISE.search(head) and _PYTHON.search(head)):
        return True
    if _ADAPTER.search(head) and _PYTHON.search(head):
        return True
    return path.suffix == ".py" and (_imports_later(path, head) or _uses_one(path, head))


def _imports_later(path: Path, head: bytes) -> bool:
    if len(head) < HEAD:
        return False
    try:
        return bool(_IMPORT.search(read_regular(path, WHOLE)[:WHOLE]))
    except (OSError, ValueError):
        return False


def _uses_one(path: Path, head: bytes) -> bool:
    """Whether a file imports a neighbouring one that uses Tinker, directly or through another."""
    waiting, seen = [*_imported(path, head)], {path}
    while waiting and len(seen) < MAX_LOOKED_AT:
        beside = waiting.pop()
        if beside in seen:
            continue
        seen.add(beside)
        try:
            head = read_regular(beside, HEAD)[:HEAD]
        except (OSError, ValueError):
            continue
        if _IMPORT.search(head) or _OTHERWISE.search(head):
            return True
        waiting += _imported(beside, head)
    return False


def _imported(path: Path, head: bytes) -> list[Path]:
    names = (match[1].decode("ascii", "ignore") for match in _MODULE.finditer(head))
    parts = (name.strip(".").split(".") for name in dict.fromkeys(names))
    files = (path.parent.joinpath(*above, f"{last}.py") for *above, last in parts if last)
    return [file for file in files if os.path.isfile(file)]
