"""Golden transcripts of scripted consultations, and real terminals.

A case is a file of answers; its transcript stands beside it. After a wanted change, run
``MODELMEDIC_UPDATE=1 pytest tests/consultation`` and read the difference.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CASES = sorted((Path(__file__).parent / "cases").glob("*.txt"))
RUN = "from modelmedic.engine.interfaces.main import main; main()"


def environment(home: Path) -> dict[str, str]:
    return {**os.environ, "XDG_STATE_HOME": str(home), "NO_COLOR": "1", "PAGER": "cat",
            "PROMPT_TOOLKIT_NO_CPR": "1"}  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_scripted_consultation(case: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", RUN, "--answers", str(case)],
        env=environment(tmp_path),
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


def test_line_mode_reads_a_pipe_and_says_the_same(tmp_path: Path) -> None:
    answers = "slow-steps\nno\nstable\nsequential\nquit\n"
    done = subprocess.run(
        [sys.executable, "-c", RUN, "--accessible"],
        env=environment(tmp_path),
        input=answers,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "API calls are not pipelined" in done.stdout
    assert "\x1b" not in done.stdout


def test_the_session_is_kept_for_the_user_alone_and_resumed(tmp_path: Path) -> None:
    def run(*options: str, answers: str) -> str:
        command = [sys.executable, "-c", RUN, "--accessible", *options]
        return subprocess.run(command, env=environment(tmp_path), input=answers, text=True,
                              capture_output=True, timeout=60, check=False).stdout  # fmt: skip

    run(answers="slow-steps\nno\nstable\nquit\n")
    saved = tmp_path / "modelmedic" / "session.json"
    assert saved.stat().st_mode & 0o077 == 0
    resumed = run("--resume", answers="facts\nquit\n")
    assert "slow-steps" in resumed
    assert "Does the loop wait" in resumed
