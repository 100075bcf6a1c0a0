"""The lint of prose: phrases that a native engineer would not write.

    python tests/prose/prose.py                   every hit, then how many each folder has
    python tests/prose/prose.py engine/compiler   only what is below this folder
    python tests/prose/prose.py --count [FOLDER]  only the numbers

``patterns.yaml`` holds the patterns. The exit code is 1 if there is a hit.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

_HERE = Path(__file__).parent
_ROOT = _HERE.parents[1]
_AROUND = 45


def _load_reading() -> Any:
    spec = importlib.util.spec_from_file_location("prose_reading", _HERE / "reading.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


class Pattern(NamedTuple):
    """A phrase to avoid."""

    name: str
    regex: re.Pattern[str]
    forms: frozenset[str]  # empty: in prose of every form
    instead: str
    matching: list[str]
    harmless: list[str]


class Hit(NamedTuple):
    """A place where a pattern matches."""

    path: str
    line: int
    pattern: Pattern
    words: str


def patterns() -> list[Pattern]:
    """The patterns, in the order of the file."""
    rows = yaml.safe_load((_HERE / "patterns.yaml").read_text(encoding="utf-8"))
    return [
        Pattern(
            row["name"],
            re.compile(row["pattern"]),
            frozenset(row.get("in", ())),
            row["instead"],
            row["hit"],
            row["miss"],
        )
        for row in rows
    ]


def hits(root: Path, folders: list[str]) -> Iterator[Hit]:
    """All hits below the folders, or in the whole repository."""
    known = patterns()
    for piece in _load_reading().prose(root, folders):
        for pattern in known:
            if pattern.forms and piece.form not in pattern.forms:
                continue
            for match in pattern.regex.finditer(piece.text):
                around = slice(max(0, match.start() - _AROUND), match.end() + _AROUND)
                yield Hit(piece.path, piece.line, pattern, piece.text[around])


def main() -> int:
    """Print the hits; 1 if there are any."""
    parser = argparse.ArgumentParser(description="Report phrases to avoid.")
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--count", action="store_true", help="numbers only")
    arguments = parser.parse_args()
    found = list(hits(_ROOT, arguments.folders))
    if not arguments.count:
        for hit in found:
            print(f"{hit.path}:{hit.line}: {hit.pattern.name}: ...{hit.words}...")
            print(f"    better: {hit.pattern.instead}")
    for title, counts in (
        ("pattern", Counter(hit.pattern.name for hit in found)),
        ("folder", Counter(str(Path(hit.path).parent) for hit in found)),
    ):
        for name, count in counts.most_common():
            print(f"{title} {name}: {count}")
    print(f"{len(found)} hits", file=sys.stderr)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
