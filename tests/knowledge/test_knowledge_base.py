"""The shipped knowledge as a whole: it is clean, tested, complete, and its commands exist."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import click
import pytest
import yaml

from modelmedic.authoring.testing.boundary import BoundaryCases, Checked
from modelmedic.authoring.testing.case_runner import case_facts
from modelmedic.authoring.testing.inventory_coverage import inventory_coverage
from modelmedic.engine import Diagnoser
from modelmedic.engine.compiler.build import Built
from modelmedic.engine.compiler.source.cases import Case
from modelmedic.engine.compiler.source.knowledge_source import Item, KnowledgeSource, parse
from modelmedic.engine.compiler.store.files import read_folder
from modelmedic.engine.diagnosis.report import SEVERITIES
from modelmedic.facts import Fact
from modelmedic.facts.fact_file import read_facts
from modelmedic.interfaces.cli.commands import cli
from modelmedic.interfaces.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
KNOWLEDGE = ROOT / "knowledge"
HEALTHY = sorted((KNOWLEDGE / "healthy").glob("*.json"))
# All cases lie below one of these names. At least so many each.
CASES = {"neuron": 2500, "tinker": 4500, "healthy": 40}
SHARE = 4  # boundary cases are generated for one entry in so many; for all with --deep
KINDS = {"root-cause", "symptom", "benign", "user-code", "escalation"}


def _run(arguments: list[str]) -> int:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    code = stop.value.code
    assert isinstance(code, int)
    return code


def test_lint_finds_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    code = _run(["kb", "lint", "--format", "json"])
    assert (json.loads(capsys.readouterr().out)["problems"], code) == ([], 0)


@pytest.fixture
def some_boundaries(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Boundary cases take most of the time; golden reports would show a change of the others."""
    check = BoundaryCases.check

    def some(self: BoundaryCases, item: Item) -> Checked:
        is_tried = crc32(item.id.encode()) % SHARE == 0
        return check(self, item) if is_tried else Checked(0, 0, (), ())

    if not request.config.getoption("deep"):
        monkeypatch.setattr(BoundaryCases, "check", some)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("part", CASES)
def test_every_case_passes(
    capsys: pytest.CaptureFixture[str], part: str, some_boundaries: None
) -> None:
    code = _run(["kb", "test", part, "--format", "json"])
    result = json.loads(capsys.readouterr().out)
    assert (result["failed"], code) == ([], 0)
    assert result["passed"] >= CASES[part]


def test_boundary_cases_reach_the_compiled_rules(built: Built, doctor: Diagnoser) -> None:
    """A generator that satisfies nothing would never complain. `kb test` judges
    the cases of all entries; here every fortieth is asked how many of its rules fire."""
    written: dict[str, list[Case]] = {}
    for _, file in built.source.tests:
        for case in file.cases:
            written.setdefault(case.entry or "", []).append(case)

    def examples(item: Item) -> Iterator[list[Fact]]:
        return (case_facts(case, built.vocabulary) for case in written.get(item.id, ()))

    boundary = BoundaryCases(doctor, built.source, examples)
    entries = [item for item in built.source.items if item.form != "diagnosis"]
    checked = [boundary.check(item) for item in entries[::40]]
    never = [rule for found in checked for rule in found.never]
    fired = sum(found.fired for found in checked)
    assert fired > 40
    assert len(never) <= 0.04 * fired, never  # which entries are tried changes with their number
    assert sum(found.cases for found in checked) > 800
    assert [failure for found in checked for failure in found.failures] == []


@pytest.mark.parametrize("path", HEALTHY, ids=lambda path: str(path.stem))
def test_a_healthy_set_is_silent(doctor: Diagnoser, path: Path) -> None:
    report = doctor.diagnose(read_facts(path, doctor.base.vocabulary))
    assert [d.id for d in report.diagnoses if d.kind != "benign"] == []
    assert report.status == "clear"


def test_there_are_enough_healthy_sets_and_stories(built: Built) -> None:
    stories = [c for _, file in built.source.tests for c in file.cases if c.kind == "story"]
    assert len(HEALTHY) >= 15
    assert len(stories) >= 25
    assert all(s.expect.first for s in stories if s.expect.diagnoses), "what comes first?"


def test_the_catalogue_is_complete(built: Built) -> None:
    diagnoses = [item.entry for item in built.source.of("diagnosis")]
    assert len(diagnoses) >= 170
    for entry in diagnoses:
        assert entry.severity in SEVERITIES, entry.id
        assert entry.kind in KINDS, entry.id
        assert (entry.severity == "info") or entry.kind != "benign", entry.id
        assert entry.title and entry.summary, entry.id


def test_every_diagnosis_can_be_concluded_by_some_entry(built: Built, tmp_path: Path) -> None:
    path = tmp_path / "diagnoses.yaml"
    names = [item.id for item in built.source.of("diagnosis") if item.entry.status != "deprecated"]
    path.write_text(yaml.safe_dump([{"id": name} for name in names]))
    found = inventory_coverage(built.source, [path])
    assert (found.unconcluded, found.absent) == ((), ())


# -- coverage ------------------------------------------------------------------------------------


def _statements(source: KnowledgeSource) -> Counter[str]:
    """How often each statement is cited."""
    cited: Counter[str] = Counter()

    def collect(node: Any) -> None:
        if isinstance(node, dict):
            cited.update(map(str, node.get("covers") or ()))
            for value in node.values():
                collect(value)
        elif isinstance(node, list):
            for value in node:
                collect(value)

    for item in source.items:
        collect(item.entry.model_dump())
    return cited


def test_a_dropped_citation_is_missed(built: Built, tmp_path: Path) -> None:
    cited = _statements(built.source)
    statement = min(name for name, count in cited.items() if count == 1 and name[:3] == "TD-")
    inventory = tmp_path / "inventory.yaml"
    inventory.write_text(yaml.safe_dump([{"id": name} for name in sorted(cited)]))
    assert inventory_coverage(built.source, [inventory]).missing == ()

    texts = read_folder(KNOWLEDGE)
    word = re.compile(rf"\b{re.escape(statement)}\b,? ?")
    changed = [(name, word.sub("", text)) for name, text in texts]
    assert sum(a != b for a, b in zip(texts, changed, strict=True)) == 1
    found = inventory_coverage(parse(changed), [inventory])
    assert found.missing == (statement,)
    assert not found.complete


@pytest.mark.deep
def test_the_coverage_command_fails_on_an_uncovered_statement(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inventory = tmp_path / "inventory.yaml"
    inventory.write_text("- {id: ZZ-001}\n- {id: ZZ-002, kind: background}\n")
    assert _run(["kb", "coverage", "--inventory", str(inventory)]) == 3
    answer = capsys.readouterr().out
    assert "ZZ-001" in answer and "ZZ-002" not in answer


# -- commands that the knowledge names -------------------------------------------------------------


def _texts(node: Any, field: str = "") -> Iterator[tuple[str, str]]:
    """(field, text) of every text below a YAML node."""
    if isinstance(node, dict):
        for name, value in node.items():
            yield from _texts(value, str(name))
    elif isinstance(node, list):
        for value in node:
            yield from _texts(value, field)
    elif isinstance(node, str):
        yield field, node


def _mentioned() -> dict[str, str]:
    """Each ``diagnose ...`` command that a text names, with a file that does."""
    found: dict[str, str] = {}
    for folder in (KNOWLEDGE, ROOT / "facts" / "vocabulary", ROOT / "probes"):
        for path in sorted(folder.rglob("*.yaml")):
            if path.name.endswith(".test.yaml"):
                continue
            for field, text in _texts(yaml.safe_load(path.read_text("utf-8"))):
                commands = re.findall(r"`(diagnose [^`]+)`", text)
                if field == "command":
                    commands += re.findall(r"(?:^|[;|&]\s*)(diagnose [^;|&#\n]+)", text)
                found |= {" ".join(command.split()): path.name for command in commands}
    return found


def _unknown_part(command: str) -> str:
    """The first word of a command that the command line does not have; "" if it has them all."""
    words = [w.strip("[]") for w in shlex.split(command)[1:]]
    at: click.Command = cli
    options = {option: p for p in cli.params for option in (*p.opts, *p.secondary_opts)}
    rest = iter(words)
    for word in rest:
        if word == "--":
            break  # what follows is the user's own command
        if word.startswith("-") and word != "-":
            option = options.get(word.partition("=")[0])
            if option is None:
                return word
            if "=" not in word and not getattr(option, "is_flag", True):
                next(rest, None)
        elif isinstance(at, click.Group):
            below = at.get_command(click.Context(at), word)
            if below is None:
                return word
            at = below
            options |= {option: p for p in at.params for option in (*p.opts, *p.secondary_opts)}
    return "(a subcommand)" if isinstance(at, click.Group) and at is not cli else ""


def test_every_command_that_is_named_exists() -> None:
    mentioned = _mentioned()
    assert len(mentioned) >= 10
    missing = {
        f"{command}  ({place})": part
        for command, place in sorted(mentioned.items())
        if (part := _unknown_part(command))
    }
    assert missing == {}, "knowledge names commands that do not exist"


def test_an_unknown_command_would_be_noticed() -> None:
    assert _unknown_part("diagnose probe list --format json") == ""
    assert _unknown_part("diagnose decode -") == ""
    assert _unknown_part("diagnose probe nonsense FILE") == "nonsense"
    assert _unknown_part("diagnose --facts facts.json") == ""
    assert _unknown_part("diagnose nonsense") == "nonsense"
    assert _unknown_part("diagnose kb lint --nonsense") == "--nonsense"
    assert _unknown_part("diagnose probe") == "(a subcommand)"
