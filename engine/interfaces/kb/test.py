"""``diagnose kb test``: the cases beside the knowledge."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ....facts import Fact
from .. import output
from ..layout import Line
from .group import DEBUG, FORMAT, OVERLAYS, built_knowledge, kb

if TYPE_CHECKING:
    from ...kb.casework import Result


@kb.command()
@click.argument("paths", nargs=-1)
@OVERLAYS
@FORMAT
@DEBUG
def test(paths: Sequence[str], overlays: Sequence[str], format_: str, debug: bool) -> int:
    """Run the test cases, samples, near misses and healthy sets (of files whose path contains one
    of PATHS). Exit 3 if one fails."""
    from ....probes.messages import read_messages
    from ...diagnoser import Diagnoser
    from ...kb.casework import CaseRunner
    from ...knowledge_base import SHIPPED_KNOWLEDGE, KnowledgeBase

    built = built_knowledge(overlays)
    doctor = Diagnoser.of(KnowledgeBase.from_plain(built.plain, "under test"))

    def decode(text: str) -> Sequence[Fact]:
        return read_messages(text, doctor.base.vocabulary).facts

    wanted = [path.removeprefix("./").removesuffix("/") for path in paths]
    runner = CaseRunner(doctor, built.source, decode)
    results = list(runner.run(lambda name: not wanted or any(w in name for w in wanted)))
    for folder in map(Path, (SHIPPED_KNOWLEDGE, *overlays)):
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


def _failure(result: Result) -> list[Line]:
    about = f" [{result.entry}]" if result.entry else ""
    heading = f"{result.where}: {result.kind}{about}: {result.name}"
    return [
        Line(heading, mark="FAILED ", style="error"),
        *(Line(failure, 4, mark="- ") for failure in result.failures),
    ]
