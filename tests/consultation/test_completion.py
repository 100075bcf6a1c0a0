"""Completions of a half-typed line; one table of commands for help, completion and parsing."""

from collections.abc import Callable
from pathlib import Path

import pytest

from modelmedic.engine import Diagnoser
from modelmedic.engine.diagnosis.dialogue.dialogue import Dialogue
from modelmedic.interfaces.consult import commands
from modelmedic.interfaces.consult.commands import Completion, Options
from modelmedic.interfaces.consult.phrasing import Phrasing


@pytest.fixture(scope="module")
def complete(doctor: Diagnoser) -> Callable[[str], Options]:
    dialogue = Dialogue(doctor)
    first = dialogue.next()
    return Completion(first, dialogue, Phrasing(dialogue.doctor.base), ("text", "packet"))


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("", "slow-steps"),
        ("", "unknown"),
        ("wh", "why-not"),
        ("why-not ", "tinker.perf.missing-pipelining"),
        ("whatif ", "package"),
        ("whatif ", "hang"),
        ("whatif package na", "name="),
        ("whatif symptom name=", "name=hang"),
        ("whatif step_timing name=x ", "step="),
        ("probe ", "environment"),
        ("report ", "packet"),
    ],
)
def test_a_line_is_completed(complete: Callable[[str], Options], line: str, word: str) -> None:
    assert word in complete(line).words


@pytest.mark.parametrize("line", ["inspect ./r", "load fa", "save ", "probe logs jo", "report x/y"])
def test_paths_are_completed(complete: Callable[[str], Options], line: str) -> None:
    assert complete(line).paths


@pytest.mark.parametrize("line", ["help ", "quit x", "it is slow"])
def test_the_rest_is_left_alone(complete: Callable[[str], Options], line: str) -> None:
    assert not complete(line).words
    assert not complete(line).paths


def test_help_names_every_command() -> None:
    text = " ".join(line.mark for line in commands.help_lines())
    assert all(name in text for name in commands.COMMANDS)


@pytest.mark.parametrize(
    "text",
    ["why is my training slow", "help my loss is nan", "skip connections are broken", "stop", ""],
)
def test_sentences_are_no_commands(text: str) -> None:
    assert commands.parse(text) is None


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("why", ("why", "")),
        (" WHY-NOT tinker.perf.hang ", ("why-not", "tinker.perf.hang")),
        ("exit", ("quit", "")),
        ("inspect my run/with spaces", ("inspect", "my run/with spaces")),
    ],
)
def test_commands_are_parsed(text: str, command: tuple[str, str]) -> None:
    assert commands.parse(text) == command


def test_the_documentation_names_every_command(root: Path) -> None:
    page = (root / "docs" / "consultation.md").read_text(encoding="utf-8")
    assert all(f"| `{name}" in page for name in commands.COMMANDS)
