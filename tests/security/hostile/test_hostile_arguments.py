"""The alphabet on the command line: names of entries, of files, of formats, facts, messages."""

from pathlib import Path

import pytest
import yaml

LINES = yaml.safe_load((Path(__file__).parent / "arguments.yaml").read_text(encoding="utf-8"))


@pytest.fixture
def given(slow_steps, tmp_path):
    log = tmp_path / "job.log"
    log.write_text("tinker.BillingError: Error code: 402 - blocked\n")
    return {"FACTS": str(slow_steps), "LOG": str(log)}


@pytest.mark.sweep
@pytest.mark.long
@pytest.mark.parametrize("line", LINES, ids=" ".join)
def test_argument(command, alphabet, given, line, pytestconfig):
    """Other texts for each line, and one in all that moves the cursor and hides."""
    texts = list(alphabet.values())
    count = 4 if pytestconfig.getoption("deep") else 1
    start = LINES.index(line) * 4
    worst = alphabet["title"] + alphabet["C1"] + alphabet["bidi"]
    for text in (worst, *(texts[(start + step) % len(texts)] for step in range(count))):
        words = [given.get(word, word.replace("HOSTILE", f"q{text}")) for word in line]
        answer = command(*words)
        assert answer.code in (0, 1, 2, 3, 4, 127)
        assert answer.out or answer.err
