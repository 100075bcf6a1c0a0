"""``diagnose kb``: the maintainers' commands."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...facts import Fact
from . import output
from .layout import Line

if TYPE_CHECKING:
    from ..kb.build import Built
    from ..kb.casework import Result

_FORMS = (
    "diagnoses",
    "rules",
    "errors",
    "trees",
    "classifications",
    "tests",
)

_FORMAT = click.option(
    "--format", "-f", "format_", type=click.Choice(["text", "json"]), default="text"
)
_OVERLAYS = click.option("--kb", "overlays", multiple=True, metavar="DIR", help="Add knowledge.")
_DEBUG = click.option("--debug", is_flag=True, hidden=True)


@click.group(no_args_is_help=False)
def kb() -> None:
    """Check, test and look through the knowledge."""


@kb.command()
@_OVERLAYS
@_FORMAT
@_DEBUG
def lint(overlays: Sequence[str], format_: str, debug: bool) -> int:
    """All problems of the knowledge in one run, with path:line:col. Exit 3 if there are any."""
    from ..kb.lint import lint as find
    from ..report import problems_plain
    from .report_text import problem_lines

    built = _built(overlays)
    problems = find(built)
    if format_ == "json":
        output.emit_json({"schema": "modelmedic/lint/1", "problems": problems_plain(problems)})
    else:
        count = Line(f"{len(built.source.items)} entries, {len(problems)} problems")
        output.emit_text([*problem_lines(problems), count])
    return output.BAD_KNOWLEDGE if problems else output.OK


@kb.command()
@click.argument("paths", nargs=-1)
@_OVERLAYS
@_FORMAT
@_DEBUG
def test(paths: Sequence[str], overlays: Sequence[str], format_: str, debug: bool) -> int:
    """Run the test cases, samples, near misses and healthy sets (of files whose path contains one
    of PATHS). Exit 3 if one fails."""
    from ...probes.messages import read_messages
    from ..diagnoser import Diagnoser
    from ..kb.casework import CaseRunner
    from ..knowledge_base import SHIPPED_KNOWLEDGE, KnowledgeBase

    built = _built(overlays)
    doctor = Diagnoser.of(KnowledgeBase.from_plain(built.plain, "under test"))

    def decode(text: str) -> Sequence[Fact]:
        return read_messages(text, doctor.base.vocabulary).facts

    wanted = [path.removeprefix("./").removesuffix("/") for path in paths]
    runner = CaseRunner(doctor, built.source, decode)
    results = list(runner.run(lambda name: not wanted or any(w in name for w in wanted)))
    for folder in (SHIPPED_KNOWLEDGE, *map(Path, overlays)):
        if not wanted or any("healthy" in w for w in wanted):
            results += runner.healthy(folder / "healthy")
    failed = [r for r in results if r.failures]
    if format_ == "json":
        output.emit_json(
            {
                "schema": "modelmedic/test-results/1",
                "passed": len(results) - len(failed),
                "failed": [
                    {
                        "case": r.name,
                        "entry": r.entry,
                        "kind": r.kind,
                        "where": str(r.where),
                        "failures": list(r.failures),
                    }
                    for r in failed
                ],
            }
        )
    else:
        count = Line(f"{len(results) - len(failed)} passed, {len(failed)} failed")
        output.emit_text([*(line for r in failed for line in _failure(r)), count])
    if not results:
        sys.stderr.write("no case was run\n")
    return output.BAD_KNOWLEDGE if failed or not results or built.problems else output.OK


@kb.command()
@click.option(
    "--inventory",
    "inventories",
    multiple=True,
    required=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A list of statements, or of diagnoses.",
)
@_OVERLAYS
@_FORMAT
@_DEBUG
def coverage(
    inventories: Sequence[Path], overlays: Sequence[str], format_: str, debug: bool
) -> int:
    """Which statements of an inventory no entry encodes. Exit 3 if coverage is not complete."""
    from ..kb.coverage import inventory_coverage

    found = inventory_coverage(_built(overlays).source, list(inventories))
    if format_ == "json":
        output.emit_json(
            {
                "schema": "modelmedic/coverage/1",
                "wanted": found.wanted,
                "missing": list(found.missing),
                "unknown": list(found.unknown),
                "unconcluded": list(found.unconcluded),
                "absent": list(found.absent),
            }
        )
    else:
        covered = found.wanted - len(found.missing)
        share = 100 * covered / found.wanted if found.wanted else 100
        lists = (
            ("not covered", found.missing),
            ("cited, not listed", found.unknown),
            ("never concluded", found.unconcluded),
            ("not in the catalogue", found.absent),
        )
        lines = [Line(f"{heading}: {', '.join(names)}") for heading, names in lists if names]
        count = Line(f"{covered} of {found.wanted} statements covered ({share:.1f} %)")
        output.emit_text([*lines, count])
    return output.OK if found.complete else output.BAD_KNOWLEDGE


@kb.command()
@click.argument("form", type=click.Choice(_FORMS))
@_DEBUG
def schema(form: str, debug: bool) -> int:
    """The JSON Schema of one form of knowledge files, for editors."""
    from ..kb.schemas import file_schema

    output.emit_json(file_schema(form))
    return output.OK


@kb.command("list")
@click.option("--form", type=click.Choice(["diagnosis", "rule", "error", "tree", "classification"]))
@_OVERLAYS
@_DEBUG
def list_(form: str | None, overlays: Sequence[str], debug: bool) -> int:
    """All entries with their titles."""
    from .setup import load_base

    entries = sorted(load_base(overlays).catalogue["entries"].items())
    shown = [(name, entry["title"]) for name, entry in entries if form in (None, entry["form"])]
    output.emit_text(Line(f"{name}  {title}", keep=True) for name, title in shown)
    return output.OK


def _built(overlays: Sequence[str]) -> Built:
    from ..files import read_folder
    from ..kb.build import build
    from ..knowledge_base import SHIPPED_KNOWLEDGE, SHIPPED_VOCABULARY

    vocabulary, knowledge = read_folder(SHIPPED_VOCABULARY), read_folder(SHIPPED_KNOWLEDGE)
    for folder in overlays:
        for name, text in read_folder(Path(folder)):
            (vocabulary if "/vocabulary/" in name else knowledge).append((name, text))
    return build(vocabulary, knowledge, tests=True)


def _failure(result: Result) -> list[Line]:
    about = f" [{result.entry}]" if result.entry else ""
    heading = f"{result.where}: {result.kind}{about}: {result.name}"
    return [
        Line(heading, mark="FAILED ", style="error"),
        *(Line(failure, 4, mark="- ") for failure in result.failures),
    ]
