"""The vocabulary that the probes are tested with: the real one."""

from pathlib import Path

import pytest

from modelmedic.facts import Vocabulary
from modelmedic.facts.declarations import load_vocabulary

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def vocabulary() -> Vocabulary:
    files = sorted((ROOT / "facts" / "vocabulary").glob("*.yaml"))
    return Vocabulary.from_plain(load_vocabulary((str(p), p.read_text("utf-8")) for p in files))


@pytest.fixture(scope="session")
def data() -> Path:
    return Path(__file__).parent / "data"
