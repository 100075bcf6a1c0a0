"""The tools that gather facts, from a text or a path, and the one that shows the vocabulary.

Texts and files are read by the probes, as ``diagnose -`` and ``diagnose inspect`` have them read.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...engine.diagnosis.diagnoser import Diagnoser
from ...facts import Fact, ModelMedicError, Problem
from ...facts.kinds import Attribute, Kind
from ...facts.problems import did_you_mean
from ...probes.outcome import Outcome
from ..inspection import gather
from ..intake import Intake
from . import schemas
from .confinement import confined, guard_files, within
from .tools import Given, answered, parts, tool

__all__ = ["guard_files"]

PASTED = "<text>"
MAX_FACTS = 500
MAX_CHARACTERS = 60_000
"""Limit of the returned facts."""


@tool("read_text", "Read a text", schemas.GATHERED, gathers=True, optional=("form",),
      text=schemas.TEXT, form=schemas.FORM)  # fmt: skip
def read_text(doctor: Diagnoser, given: Given) -> dict[str, Any]:
    """Gather facts from a text and diagnose them: a log, an error or traceback, a training script,
    metrics (JSON lines or CSV), data, a list of packages, a profile. 'form' says what it is where
    that is not recognised. The facts come back under untrusted_evidence; add to them what the user
    says, and call `diagnose`."""
    found = Intake(doctor).read(given["text"], PASTED, form=given.get("form", ""))
    name, title = found.form or "messages", found.title or "text"
    read = [{"form": name, "title": title, "facts": len(found.facts)}]
    return _gathered(doctor, Outcome(found.facts, found.problems), read)


@tool("inspect_path", "Inspect a file or folder", schemas.GATHERED, gathers=True, needs="roots",
      path=schemas.PATH)  # fmt: skip
def inspect_path(doctor: Diagnoser, given: Given, roots: Sequence[Path]) -> dict[str, Any]:
    """Gather facts from a file or folder (run folder, log, script, data, weights, experiment folder
    of a port) and diagnose them. Only what lies in the folders that the server was given is read;
    relative paths begin there. Nothing is executed."""
    path = within(given["path"], roots)
    with confined(roots):
        facts, problems, read = gather([path], doctor.base.vocabulary, intake=Intake(doctor))
    titles = [{"form": "", "title": title, "facts": count} for _, title, count in read]
    return _gathered(doctor, Outcome(tuple(facts), tuple(problems)), titles)


@tool("vocabulary", "The vocabulary of facts", schemas.VOCABULARY, optional=("kind",),
      kind=schemas.KIND)  # fmt: skip
def vocabulary(doctor: Diagnoser, given: Given) -> dict[str, Any]:
    """The kinds of facts that `diagnose` takes; of one kind its attributes with types, units,
    allowed values and the question that a person can be asked."""
    known = {k.name: k for k in doctor.base.vocabulary.kinds.values() if not k.derived}
    name = given.get("kind", "")
    if name and name not in known:
        hint = did_you_mean(name, known) or "call it without a kind for a list"
        raise ModelMedicError(Problem("MM112", "there is no such kind of fact", None, hint))
    kinds = [_whole(known[name])] if name else [_brief(known[each]) for each in sorted(known)]
    return answered(doctor, schemas.VOCABULARY, {"kinds": kinds})


def _brief(kind: Kind) -> dict[str, Any]:
    return {"name": kind.name, "description": kind.description}


def _whole(kind: Kind) -> dict[str, Any]:
    attributes = [_attribute(each) for each in kind.attributes.values()]
    known = {"key": list(kind.key), "gathered_by": list(kind.probes), "attributes": attributes}
    return _brief(kind) | known


def _attribute(attribute: Attribute) -> dict[str, Any]:
    known = ("name", "type", "unit", "description", "required", "minimum", "maximum")
    plain = {name: getattr(attribute, name) for name in known}
    plain = {name: value for name, value in plain.items() if value is not None}
    values = {str(value): meaning or "" for value, meaning in (attribute.values or {}).items()}
    return plain | {"question": attribute.ask, "values": values}


def _gathered(
    doctor: Diagnoser, outcome: Outcome, read: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """The diagnosis of the facts, with the facts themselves."""
    verdict, quoted = parts(doctor.diagnose(outcome.facts, outcome.problems))
    answer = answered(doctor, schemas.GATHERED, {"read": read, "report": verdict}, quoted)
    answer["untrusted_evidence"] |= _facts(outcome.facts)
    return answer


def _facts(facts: Sequence[Fact]) -> dict[str, Any]:
    """The facts in their flat form, as `diagnose` takes them, within the limits."""
    shown: list[dict[str, Any]] = []
    total = 0
    for plain in (fact.plain() for fact in facts):
        total += len(json.dumps(plain))
        if len(shown) >= MAX_FACTS or total > MAX_CHARACTERS:
            break
        shown.append(plain)
    return {"facts": shown, "facts_left_out": len(facts) - len(shown)}
