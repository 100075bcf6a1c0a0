"""The comparisons with other engines as part of ``make bench``; see the folder ``peers``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_HERE = Path(__file__).resolve().parent


@pytest.mark.bench
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("program", ["peers", "peers/growth.py", "peers/inference.py"])
def test_engines_are_compared(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Prints the tables; a program fails where two engines answer differently."""
    with capsys.disabled():
        print()
        subprocess.run([sys.executable, str(_HERE / program)], check=True)
