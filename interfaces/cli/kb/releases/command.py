"""The command: gets the releases, compares them, tells, and writes a proposal if asked to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from .... import output
from ....context import Context
from ....waiting import watched
from ...options import LAYERS, TEXT_OR_JSON, command, path_option
from ..group import built_knowledge, doctor_of, kb, tell_interrupted
from .report import Shown, lines_of, plain_of

if TYPE_CHECKING:
    from .....authoring.releases import Comparison, Release
    from ....waiting import Watch


@command(kb)
@click.argument("package")
@click.argument("old")
@click.argument("new")
@click.argument("more", nargs=-1)
@click.option("--all", "each", is_flag=True, help="List every change.")
@click.option("--limit", type=click.IntRange(1), default=12, show_default=True, metavar="N",
              help="List at most N changes of each area.")  # fmt: skip
@path_option("--write", "Write the proposals into this new file, as YAML to review.")
@LAYERS
@TEXT_OR_JSON
def releases(
    context: Context, package: str, old: str, new: str, more: Sequence[str], each: bool, limit: int,
    write: Path | None,
) -> int:  # fmt: skip
    """List the changes in PACKAGE from OLD to NEW (and to each of MORE), and the entries of the
    knowledge that they touch. A release is a version, whose wheel pip downloads, or the path of a
    wheel, an sdist or a folder of sources. Nothing is imported or run, and no knowledge changes.
    Exit code 3 means that an error row lost its text."""
    from .....authoring.releases.proposal import proposal_text, proposals

    _free(write)
    with TemporaryDirectory(prefix="modelmedic-releases-") as work:
        found = _compared(context, package, [old, new, *more], Path(work))
    if found is None:
        tell_interrupted("the releases were not compared")
        return output.INTERRUPTED
    proposed = proposals(found)
    if write is not None:
        _written(write, proposal_text(found, proposed))
    shown = Shown(each, limit, write)
    context.emit(plain_of(found, proposed), lines_of(found, proposed, shown))
    return output.BAD_KNOWLEDGE if any(pair.breaks for pair in found.pairs) else output.OK


def _compared(
    context: Context, package: str, wanted: Sequence[str], work: Path
) -> Comparison | None:
    """The comparison; None if Ctrl-C broke it off."""
    from .....authoring.releases import compare

    with watched() as watch:
        opened = watch.attempt(_opened, package, wanted, work, watch)
    if opened is None:
        return None
    built = built_knowledge(context.overlays)
    with watched() as watch:
        return watch.attempt(compare, opened, built, doctor_of(built), watch)


def _opened(package: str, wanted: Sequence[str], work: Path, watch: Watch) -> list[Release]:
    from .....authoring.releases import open_release

    found = []
    for number, said in enumerate(wanted):
        with watch.part(f"{package} {said}"):
            own = work / str(number)
            own.mkdir()
            found.append(open_release(package, said, own))
    return found


def _free(path: Path | None) -> None:
    """Raises :class:`ModelMedicError` (MM305) where the file is there already."""
    from .....facts import Location, ModelMedicError, Problem

    if path is not None and path.exists():
        raise ModelMedicError(
            Problem("MM305", "the file exists", Location(str(path)), "name a new one")
        )


def _written(path: Path, text: str) -> None:
    from .....facts.regular_files import replace_file
    from ....reports.output_guard import redacted

    replace_file(path.absolute(), redacted(text).value.encode())
