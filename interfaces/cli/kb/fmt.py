"""``diagnose kb fmt``: knowledge files in their canonical form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from ....facts import Location, ModelMedicError, Problem
from ... import output
from ...context import Context
from ...reports.layout import Line
from ..options import PATH, command
from .group import kb


@command(kb)
@click.argument("paths", nargs=-1, required=True, type=PATH)
@click.option("--check", is_flag=True, help="Change nothing; exit 3 if a file would change.")
def fmt(context: Context, paths: Sequence[Path], check: bool) -> int:
    """Write YAML files (or those below folders) in canonical form, keeping comments and data. A
    file that cannot be formatted stays as it is; the others are formatted."""
    from ....authoring.formatting import formatted

    changed: list[Path] = []
    problems: list[Problem] = []
    count = 0
    for path in _files(paths):
        count += 1
        try:
            text = _read(path)
            new = formatted(text.removeprefix("\ufeff").replace("\r\n", "\n"), str(path))
            if new != text:
                changed.append(path)
                if not check:
                    output.write_file(new.encode("utf-8"), path)
        except ModelMedicError as error:
            problems.extend(error.problems)
    if problems:
        raise ModelMedicError(problems)
    verb = "would change" if check else "changed"
    lines = [Line(f"{verb} {path}", keep=True) for path in changed]
    output.emit_text([*lines, Line(f"{count} files, {len(changed)} {verb}")])
    return output.BAD_KNOWLEDGE if check and changed else output.OK


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from (found for found in sorted(path.rglob("*.yaml")) if found.is_file())
        else:
            yield path


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not text in UTF-8"
        where, hint = Location(str(path)), "name YAML files or folders"
        raise ModelMedicError(Problem("MM200", f"cannot read: {reason}", where, hint)) from None
