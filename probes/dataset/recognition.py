"""Recognises data sets of conversations by their first bytes."""

from __future__ import annotations

from pathlib import Path

from ...reading.text.files import first_value
from .tables import is_table, is_table_folder

_MESSAGES = b'"messages"'
_OTHER_FORMS = ({"prompt", "completion"}, {"chosen", "rejected"})


def looks_like_dataset(path: Path, head: bytes) -> bool:
    """Whether the head of a file is a row of conversations: ``messages``, ShareGPT's form, prompt
    and completion, or a preference pair; or a table, or a folder of HuggingFace datasets."""
    if not head and path.is_dir():
        return is_table_folder(path)
    if is_table(head, path.name):
        return True
    value = first_value(head)
    if isinstance(value, dict):
        if "messages" in value or isinstance(value.get("conversations"), list):
            return True
        return any(names <= value.keys() for names in _OTHER_FORMS)
    return value is None and _is_part_of_a_row(head.lstrip()[:4096])


def _is_part_of_a_row(start: bytes) -> bool:
    """The first row may be longer than the head, or broken, or written over many lines."""
    if not start.startswith(b"{") or b'"role"' not in start:
        return False
    return _MESSAGES in start.partition(b"\n")[0] or start[1:].lstrip().startswith(_MESSAGES)
