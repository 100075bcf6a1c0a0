"""The hypotheses about ports and the relations of their values, which no knowledge base loads: they
are linted as files."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from ..engine.compiler.source.hypotheses_file import HypothesesFile
from ..engine.compiler.source.relations_file import RelationsFile
from ..facts import ModelMedicError, Problem
from ..facts.strict_models import Strict, check
from ..facts.strict_yaml import load

REPLAY = Path(__file__).parents[1] / "probes" / "replay"
FILE, RELATIONS = REPLAY / "hypotheses.yaml", REPLAY / "relations.yaml"


def hypothesis_problems(_subject: object) -> Iterator[Problem]:
    """The parts of this installation's files that the schemas refuse."""
    yield from shape_problems(FILE)
    yield from shape_problems(RELATIONS, RelationsFile)


@cache
def shape_problems(path: Path, form: type[Strict] = HypothesesFile) -> tuple[Problem, ...]:
    """Problems of such a file, each with its place."""
    try:
        document = load(path.read_text(encoding="utf-8"), str(path))
    except ModelMedicError as error:
        return tuple(error.problems)
    return tuple(check(document, form, "MM220")[1])
