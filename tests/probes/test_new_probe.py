"""A new probe is one new folder: command line, inspection, consultation and plan find it there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DECLARATION = """\
schema: modelmedic/vocabulary/1
probes:
  receipts:
    title: What the receipts of a run say
    command: diagnose probe receipts FILE
    seconds: 1
    gathers: [receipt]
    about: Amounts of receipts.
    prompt: a receipt of the run
    argument: {name: paths, takes: each}
    options:
      currency: {type: text, help: Currency of the amounts.}
    artefacts:
      receipt: {title: receipt, precedence: 55}
kinds:
  receipt:
    description: Something that was paid for.
    key: [place]
    attributes:
      place: {type: string, required: true, description: Where it stands.}
      amount: {type: number, description: What it cost.}
      currency: {type: string, description: Of the amount.}
"""
PROBE = '''\
"""Receipts -> facts."""

from pathlib import Path

from ...facts.kinds import Vocabulary
from ..outcome import Collector, Outcome


def gather_receipts(path: Path, vocabulary: Vocabulary, *, currency: str = "EUR") -> Outcome:
    """The ``receipt`` facts of a file."""
    collector = Collector(vocabulary, "probe:receipts")
    for number, line in enumerate(path.read_text().splitlines()[1:], 2):
        place = f"{path.name}:{number}"
        collector.add("receipt", place, place=place, amount=float(line), currency=currency)
    return collector.outcome()
'''
RECOGNITION = '''\
"""Is this a receipt?"""

from pathlib import Path


def looks_like_receipts(path: Path, head: bytes) -> bool:
    """Whether the first line marks receipts."""
    return head.startswith(b"RECEIPT\\n")
'''


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """A copy of the library with one more folder; runs a program on it."""
    top = tmp_path_factory.mktemp("copy")
    package = top / "modelmedic"
    for name in ("authoring", "engine", "facts", "interfaces", "probes", "reading"):
        shutil.copytree(ROOT / name, package / name, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "knowledge").symlink_to(ROOT / "knowledge")
    folder = package / "probes" / "receipts"
    folder.mkdir()
    parts = {"__init__.py": "", "probe.yaml": DECLARATION, "probe.py": PROBE,
             "recognition.py": RECOGNITION}  # fmt: skip
    for name, text in parts.items():
        (folder / name).write_text(text)
    (top / "receipt").write_text("RECEIPT\n12.5\n")
    environment = {**os.environ, "PYTHONPATH": str(top), "MODELMEDIC_CACHE": str(top / "cache")}

    def run(*arguments: str, stdin: str = "") -> str:
        command = [sys.executable, "-m", "modelmedic.interfaces.cli.main", *arguments]
        done = subprocess.run(command, cwd=top, env=environment, input=stdin, text=True,
                              capture_output=True, timeout=100, check=False)  # fmt: skip
        assert done.returncode in (0, 1), done.stderr
        return done.stdout

    return run


def facts(text: str) -> list[tuple[object, object]]:
    items = json.loads(text)["facts"]
    return [(f["amount"], f["currency"]) for f in items if f["kind"] == "receipt"]


def test_the_command_line_has_it(library):
    listed = json.loads(library("probe", "list", "-f", "json"))
    assert "receipts" in {probe["name"] for probe in listed}
    told = " ".join(library("probe", "receipts", "--help").split())
    assert "--currency TEXT Currency of the amounts." in told
    assert "Amounts of receipts." in library("probe", "--help")
    assert facts(library("probe", "receipts", "receipt")) == [(12.5, "EUR")]
    assert facts(library("probe", "receipts", "receipt", "--currency", "USD")) == [(12.5, "USD")]


def test_it_is_inspected(library):
    assert facts(library("inspect", "receipt", "-f", "json")) == [(12.5, "EUR")]


def test_a_consultation_asks_for_it_and_reads_it(library, tmp_path: Path):
    answers = tmp_path / "answers"
    answers.write_text("?\nprobe receipts receipt\nquit\n")
    said = library("--answers", str(answers))
    assert ") a receipt of the run\n" in said
    assert "receipt: receipt, 1 fact\n" in said


def test_the_kind_names_it(library):
    assert "Gathered by: receipts" in library("facts", "receipt")
