"""``diagnose kb new``: a new entry with its tests, from a template."""

from __future__ import annotations

import re
from pathlib import Path

import click

from ....facts import Location, ModelMedicError, Problem
from ... import output
from ...context import Context
from ...reports.layout import Line
from ..options import command
from .group import kb

_TEMPLATES = Path(__file__).with_name("templates")
_FORMS = ("rule", "error", "tree", "classification", "diagnosis", "observable", "issue")
_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+(-[a-z0-9]+)*)+")
_KIND = re.compile(r"[a-z][a-z0-9_]*")
_PART = re.compile(r"^=== (.+) ===\n", re.MULTILINE)


@command(kb)
@click.argument("form", type=click.Choice(_FORMS))
@click.argument("id_", metavar="ID")
@click.option("--kb", "folder", metavar="DIR", help="Where to write; default: this checkout.")
def new(context: Context, form: str, id_: str, folder: str | None) -> int:
    """Create the files of a new entry and its test; fill in the places marked <fill in: ...>."""
    from ....authoring.editor_headers import with_header  # reads YAML: not at start

    _check_id(form, id_)
    target = Path(folder) if folder else _checkout(form, id_)
    files = {target / name: text for name, text in _filled(form, id_)}
    if folder is None and form == "observable":
        files = {_in_checkout(path): text for path, text in files.items()}
    for path in files:
        if path.exists():
            hint = "choose another id, or add the entry to that file by hand"
            raise ModelMedicError(Problem("MM305", "the file exists", Location(str(path)), hint))
    schemas = (Path(folder) if folder else Path("knowledge")) / "schemas"
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(with_header(path, text, schemas), encoding="utf-8")
    option = f" --kb {folder}" if folder else ""
    cases = next(path for path in files if path.name.endswith(".test.yaml"))
    said = (
        *(f"wrote {path}" for path in files),
        "Fill in the marked places; then:",
        f"  diagnose kb lint{option}",
        f"  diagnose kb test {cases.parent.name}/{cases.name}{option}",
    )
    output.emit_text(Line(text, keep=True) for text in said)
    return output.OK


def _check_id(form: str, id_: str) -> None:
    pattern, example = (_KIND, "disk_usage") if form == "observable" else (_ID, f"acme.{form}.name")
    if not pattern.fullmatch(id_):
        what = "the name of a fact kind" if form == "observable" else "an id"
        raise ModelMedicError(
            Problem("MM306", f"{id_!r} is not {what}", None, f"it looks like {example!r}")
        )


def _filled(form: str, id_: str) -> list[tuple[str, str]]:
    """(path, text) of the files of a template."""
    text = (_TEMPLATES / f"{form}.txt").read_text(encoding="utf-8")
    name = id_.rpartition(".")[2]
    for mark, value in (("__ID__", id_), ("__DOMAIN__", id_.partition(".")[0]), ("__NAME__", name)):
        text = text.replace(mark, value)
    parts = _PART.split(text)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


def _checkout(form: str, id_: str) -> Path:
    """The knowledge folder of the checkout in the working folder."""
    if not (Path("knowledge").is_dir() and Path("facts/vocabulary").is_dir()):
        hint = "name a folder of your own: --kb DIR"
        raise ModelMedicError(Problem("MM307", "this is not a checkout of ModelMedic", None, hint))
    return Path("knowledge") / id_.partition(".")[0] if form != "observable" else Path("knowledge")


def _in_checkout(path: Path) -> Path:
    """In a checkout the vocabulary is in the facts folder."""
    if path.parent.name == "vocabulary":
        return Path("facts/vocabulary") / path.name
    return path
