"""JSON and TOML of strangers, and JSON tables beside the code that uses them."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

MAX_PARTS = 100
"""Limit for a dotted key: for each part the reader makes all keys that begin like it."""


def read_toml(text: str) -> dict[str, Any]:
    """Parse the tables. Raises ValueError, and RecursionError if values are nested deep."""
    import tomllib

    for number, line in enumerate(text.split("\n"), 1):
        if any(part.count(".") > MAX_PARTS for part in _keys(line)):
            raise ValueError(f"a key of more than {MAX_PARTS} parts (at line {number}, column 1)")
    return tomllib.loads(text)


def _keys(line: str) -> list[str]:
    """Return the possible keys in a line: a header, or the text before an equals sign."""
    return [line] if line.lstrip().startswith("[") and "=" not in line else line.split("=")[:-1]


def parse_json(text: str | bytes) -> Any:
    """The JSON value of a text; None if it is not JSON, or is nested too deep."""
    import json

    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


@cache
def json_table(module: str, file: str) -> Any:
    """The JSON file beside the module with the path ``module`` (its ``__file__``), read once."""
    import json

    with open(os.path.join(os.path.dirname(module), file), encoding="utf-8") as opened:
        return json.load(opened)


@cache
def word_list(module: str, file: str, name: str) -> frozenset[str]:
    """The list ``name`` of such a file. Raises KeyError for a name that it does not have."""
    return frozenset(json_table(module, file)["lists"][name]["names"])
