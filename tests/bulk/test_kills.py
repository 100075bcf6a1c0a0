"""Any process of a job may be killed at any instant; `make kills` does it 500 times."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("kills.py")
KILLS = 20

pytestmark = [
    pytest.mark.deep,
    pytest.mark.timeout(7200),
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc"),
]


def test_a_job_ends_with_the_same_bytes_whatever_is_killed(environment, doctor):
    done = subprocess.run(
        [sys.executable, SCRIPT, str(KILLS)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"{KILLS} kills" in done.stdout
    assert "child" in done.stdout
