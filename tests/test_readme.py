"""The README says what the program does today."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

COMMANDS = [
    "bulk", "capture", "decode", "diff", "explain", "facts", "inspect", "kb", "mcp", "probe",
    "ratios", "replay", "report", "source", "watch", "whatif", "why-not",
]  # fmt: skip
RUN = "from modelmedic.interfaces.cli.main import main; main()"


def blocks(root: Path, after: str) -> list[str]:
    """The code blocks of the README that follow a heading or sentence."""
    text = (root / "README.md").read_text(encoding="utf-8").partition(after)[2]
    return re.findall(r"```\w*\n(.*?)```", text, re.S)


def diagnose(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NO_COLOR": "1"}
    return subprocess.run(
        [sys.executable, "-c", RUN, *arguments],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def shown(root: Path) -> list[tuple[str, list[str]]]:
    """The examples of the README: a command, and the parts of its output between the dots."""
    examples = blocks(root, "## Diagnose anything")[:3]
    return [
        (command.removeprefix("$ diagnose "), re.split(r"^\.\.\.\n", output, flags=re.M))
        for command, _, output in (example.partition("\n") for example in examples)
    ]


@pytest.mark.parametrize("place", range(3))
def test_the_output_of_an_example_is_the_real_one(root: Path, place: int) -> None:
    command, parts = shown(root)[place]
    printed = diagnose(root, *shlex.split(command)).stdout
    for part in filter(None, map(str.strip, parts)):
        assert part in printed
        printed = printed.partition(part)[2]


def test_an_example_that_is_shown_whole_is_whole(root: Path) -> None:
    command, (output,) = shown(root)[2]
    assert output.strip() == diagnose(root, *shlex.split(command)).stdout.strip()


def test_the_embedding_example_runs(root: Path) -> None:
    code = blocks(root, "## Embed it")[0]
    scope: dict[str, object] = {}
    exec(compile(code, "README.md", "exec"), scope)
    report = scope["report"]
    wanted = re.search(r"diagnoses\[0\]\.id\s+# '(.*)'", code)
    assert wanted is not None
    assert report.diagnoses[0].id == wanted[1]  # type: ignore[attr-defined]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_that_it_lists_exist(root: Path, command: str) -> None:
    text = (root / "README.md").read_text(encoding="utf-8").partition("## Use it")[2]
    assert f"`diagnose {command}" in text
    assert diagnose(root, command, "--help").returncode == 0
