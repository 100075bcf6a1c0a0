"""The tutorial, followed literally in an empty folder with an installed wheel.

A `console` block holds commands (`$ ...`), each followed by its output, in which `…` stands for any
text. A `yaml` block is a file, named by its first line.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest

pytestmark = [pytest.mark.deep, pytest.mark.timeout(900), pytest.mark.xdist_group("wheel")]

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(console|yaml)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
KINDS = ("observable", "diagnosis", "rule", "error", "classification", "tree")


@pytest.fixture(scope="module")
def blocks():
    """(language, text) of the blocks, in order."""
    text = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    return BLOCK.findall(text)


def commands(block):
    """(command, expected output) pairs."""
    pairs: list[tuple[str, list[str]]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            pairs.append((line[2:], []))
        else:
            pairs[-1][1].append(line)
    return [(command, "\n".join(lines)) for command, lines in pairs]


def pattern(expected):
    """A regular expression for an output in which … stands for any text."""
    joined = expected.replace("\n…", "…").replace("…\n", "…")
    parts = (re.escape(part) for part in joined.split("…"))
    return re.compile(r"\s*" + r".*?".join(parts) + r"\s*\Z", re.DOTALL)


def test_the_tutorial_is_true(blocks, installed, outside, tmp_path):
    environment = outside | {
        "PATH": f"{installed}{os.pathsep}{os.environ['PATH']}",
        "MODELMEDIC_CACHE": str(tmp_path / "cache"),
        "HOME": str(tmp_path),
        "COLUMNS": "100",
    }
    folder = tmp_path / "empty"
    folder.mkdir()
    for language, text in blocks:
        if language == "yaml":
            name = text.split("\n", 1)[0].removeprefix("# ")
            assert (folder / name).is_file(), f"no command has written {name}"
            (folder / name).write_text(text, encoding="utf-8")
            continue
        for command, expected in commands(text):
            done = subprocess.run(
                ["bash", "-euc", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                capture_output=True, text=True, timeout=120, check=False,
            )  # fmt: skip
            assert done.returncode == 0, f"$ {command}\n{done.stdout}\n{done.stderr}"
            if expected:
                said = f"$ {command}\n{done.stdout}\n--- expected:\n{expected}"
                assert pattern(expected).match(done.stdout), said


@pytest.mark.parametrize("kind", KINDS)
def test_the_tutorial_shows_every_kind(blocks, kind):
    run = [command for language, text in blocks if language == "console"
           for command, _ in commands(text)]  # fmt: skip
    assert any(command.startswith(f"diagnose kb new {kind} ") for command in run)
