"""Shared by the knowledge tests: the shipped knowledge, loaded once, in the forms they need."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from modelmedic.engine import Diagnoser
from modelmedic.engine.compiler.build import Built, build
from modelmedic.engine.compiler.knowledge_base import shipped_layer
from modelmedic.engine.diagnosis.report import Report
from modelmedic.probes.messages.probe import read_messages

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def built() -> Built:
    """The shipped knowledge with its source and test cases."""
    return build(*shipped_layer(tests=True).texts(), tests=True)


@pytest.fixture(scope="session")
def decode(doctor: Diagnoser) -> Callable[[str], Report]:
    """The conclusions of ``diagnose decode`` from a pasted text."""

    def decoded(text: str) -> Report:
        outcome = read_messages(text, doctor.base.vocabulary)
        return doctor.diagnose(outcome.facts, outcome.problems)

    return decoded


@pytest.fixture(scope="session")
def decode_cases() -> list[dict[str, Any]]:
    """Real error texts with the diagnoses that a careful reader accepts for them."""
    return _lines("cases.jsonl")


@pytest.fixture(scope="session")
def unrelated_texts() -> list[dict[str, Any]]:
    """Texts of other domains, which say nothing about a training run."""
    return _lines("unrelated.jsonl")


def _lines(name: str) -> list[dict[str, Any]]:
    path = Path(__file__).parent / "decode" / name
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
