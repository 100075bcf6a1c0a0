"""Golden transcripts of scripted consultations.

A case is a file of answers; its transcript lies beside it. After a wanted change, run
``MODELMEDIC_UPDATE=1 pytest tests/consultation`` and read the difference.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CASES = sorted((Path(__file__).parent / "cases").glob("*.txt"))
RUN = "from modelmedic.interfaces.cli.main import main; main()"


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_scripted_consultation(case: Path, root: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", RUN, "--answers", str(case)],
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path), "NO_COLOR": "1"},
        cwd=root,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    golden = case.with_suffix(".transcript")
    if os.environ.get("MODELMEDIC_UPDATE"):
        golden.write_text(done.stdout, encoding="utf-8")
    assert done.returncode in (0, 1), done.stderr
    assert done.stdout == golden.read_text(encoding="utf-8")
