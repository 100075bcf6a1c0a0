"""The consultation in plain lines: every command, its errors, and what is kept."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

RUN = "from modelmedic.interfaces.cli.main import main; main()"
Talk = Callable[..., str]
TRACEBACK = """Traceback (most recent call last):
  File "train.py", line 3, in <module>
    main()

During handling of the above exception, another exception occurred:

tinker.BillingError: Error code: 402 - {"detail": "billing is blocked"}"""


@pytest.fixture
def talk(tmp_path: Path) -> Talk:
    """Says lines to a consultation on a pipe; gives what it answered."""

    def run(
        *lines: str,
        options: tuple[str, ...] = (),
        code: tuple[int, ...] = (0, 1),
        folder: Path = Path(),
    ) -> str:
        start = f"import os; os.chdir({str(folder)!r}); {RUN}"
        done = subprocess.run(
            [sys.executable, "-c", start, "--accessible", *options],
            env={**os.environ, "XDG_STATE_HOME": str(tmp_path)},
            input="".join(f"{line}\n" for line in lines),
            text=True,
            capture_output=True,
            timeout=90,
            check=False,
        )
        assert done.returncode in code, done.stdout + done.stderr
        assert "MM399" not in done.stdout + done.stderr
        assert "\x1b" not in done.stdout
        return " ".join((done.stdout + done.stderr).split())

    return run


@pytest.fixture
def example(root: Path) -> str:
    """Facts that prove a cause."""
    return str(root / "facts" / "examples" / "slow_steps.json")


def test_a_person_with_facts_gets_a_conclusion(talk: Talk, example: str) -> None:
    said = talk("training is slow", f"inspect {example}", "conclude", "quit")
    assert "[error] Pre-release pydantic 2.13 makes serialization slow" in said
    for part in (
        "certain: a decisive test says so",
        "It accounts for:",
        "Why I think so:",
        "Do: 1.",
        "Verify:",
        "What would refute it:",
    ):
        assert part in said


def test_a_traceback_of_many_lines_is_one_reply(talk: Talk) -> None:
    said = talk(*TRACEBACK.splitlines(), "facts", "quit")
    assert "likely: Account is blocked for billing" in said
    assert "No symptom and no known error" not in said


def test_a_text_can_be_given_up_to_a_dot(talk: Talk) -> None:
    said = talk("paste", "it says only:", "Error code: 402 - billing is blocked", ".", "quit")
    assert "HTTP 402, payment required" in said


def test_it_explains_itself(talk: Talk, example: str) -> None:
    cause = "tinker.env.pydantic-prerelease-serialization"
    said = talk("slow-steps", f"inspect {example}", f"how {cause}", f"why-not {cause}",
                "why-not tinker.billing.blocked", "candidates",
                "whatif package name=pydantic version=2.14.3", "whatif 1=hang", "quit")  # fmt: skip
    assert "package with name = 'pydantic' and version" in said
    assert "is concluded from these facts" in said
    assert "(tinker.billing.blocked) is not concluded" in said
    assert "Gone: - Pre-release pydantic 2.13" in said
    assert "If: A step, a call or the start of the job never comes to an end" in said


def test_answers_are_taken_back_and_changed(talk: Talk) -> None:
    said = talk("hang", "back", "slow-steps", "change 1 hang", "facts", "quit")
    assert "1. What is wrong? A step, a call or the start of the job never comes to an end" in said
    assert "no longer: Training steps are slow" in said


def test_an_earlier_question_is_asked_again(talk: Talk) -> None:
    said = talk("hang", "change 1", "is-it-down", "facts", "quit")
    assert "so far: A step, a call" in said
    assert "1. What is wrong? The service seems to be down" in said


# A line, and what is said about it.
PROBLEMS = {
    "back": "there is nothing to take back",
    "how no.such.id": "there is no diagnosis 'no.such.id'",
    "how tinker.billing.blocked": "`why-not tinker.billing.blocked` says why",
    "why-not": "say which diagnosis",
    "why-not tinker.billing.bloked": "did you mean 'tinker.billing.blocked'?",
    "whatif nosuch=1": "it must start with a fact kind",
    "whatif package version=1": "package needs the attribute 'name'",
    "change 7 x": "there is no answer '7'",
    "change": "say which answer",
    "probe nosuch": "there is no probe 'nosuch'",
    "probe logs": "needs a path",
    "probe environment /no/such/venv": "there is no '/no/such/venv'",
    "inspect": "inspect needs a path",
    "inspect /no/such/run": "/no/such/run",
    "load": "load needs a file",
    "load /no/such/facts.json": "MM101",
    "save /no/such/folder/facts.json": "MM320",
    "report nosuch": "'nosuch' is neither a format nor a file",
    "report jsn": "did you mean 'json'?",
    "99": "No symptom and no known error fits that well",
    "\x1b]0;title\x07": "\\x1b]0;title\\x07",
}


def test_what_cannot_be_done_is_said(talk: Talk) -> None:
    said = talk(*PROBLEMS, "quit")
    assert [line for line, problem in PROBLEMS.items() if problem not in said] == []


def test_a_value_is_checked_and_refused_in_words(talk: Talk) -> None:
    said = talk("hang", "none", *["no such answer"] * 2, "quit")
    assert "is none of the choices" in said or "Type y to run it" in said


def test_the_usual_file_is_not_overwritten_unasked(talk: Talk, tmp_path: Path) -> None:
    said = talk("hang", "save", "save", "save facts.json", "quit", folder=tmp_path)
    assert said.count("Saved 1 facts") == 2
    assert "facts.json is there already" in said


def test_whatif_yes_means_the_question_at_hand(talk: Talk) -> None:
    said = talk("slow-steps", "whatif yes", "n", "?", "n", "n", "n", "n", "whatif yes", "quit")
    assert "a probe is offered; what it would find is not yes or no" in said
    assert "'yes' is none of the answers to this question" in said
    assert "such as `whatif " in said
    said = talk("mode-collapse", *["n"] * 2, "whatif yes", "whatif no", "quit")
    assert "If: " in said
    assert "New:" in said


def test_there_is_no_dead_end_for_who_does_not_know(talk: Talk) -> None:
    for words in ("i dont know", "idk", "no idea", "I have no clue"):
        said = talk(words, "nothing", words, "slow-steps", "quit")
        assert "What do you have that I could look at?" in said
        assert "Give me something to go by" in said
        assert "-> likely: Training steps are slow" in said
        assert "MM3" not in said
    said = talk("idk", "slow-steps", "quit")
    assert "-> likely: Training steps are slow" in said


def test_a_session_is_resumed(talk: Talk, tmp_path: Path) -> None:
    talk("slow-steps", "quit")
    kept = tmp_path / "modelmedic" / "sessions" / "slow-steps-1.json"
    assert kept.stat().st_mode & 0o077 == 0
    said = talk("facts", "back", "quit", options=("--resume",))
    assert "1. What is wrong? Training steps take longer" in said


def test_no_session_is_written_over_and_each_can_be_chosen(talk: Talk, tmp_path: Path) -> None:
    first = talk("slow-steps", "n", "quit")
    assert "Kept as slow-steps-1: `diagnose --resume` goes on." in first
    talk("hang", "quit")
    talk("slow-steps", "quit")
    talk("quit")  # nothing was said, so nothing is kept
    folder = tmp_path / "modelmedic" / "sessions"
    names = {"hang-1", "slow-steps-1", "slow-steps-2"}
    assert {path.stem for path in folder.iterdir()} == names
    said = talk("7", "slow-steps-1", "facts", "quit", options=("--resume",))
    assert "1) slow-steps-2: Training steps take longer" in said
    assert "3) slow-steps-1: Training steps take longer" in said
    assert "1 answer; 1 not known; " in said and " causes left (" in said
    assert "type a number from 1 to 3, or a name" in said
    assert "Kept as slow-steps-1" in said
    said = talk("2", "facts", "quit", options=("--resume",))
    assert "1. What is wrong? A step, a call or the start of the job never comes" in said
    assert {path.stem for path in folder.iterdir()} == names


def test_a_damaged_session_beside_others_is_left_out(talk: Talk, tmp_path: Path) -> None:
    talk("hang", "quit")
    (tmp_path / "modelmedic" / "sessions" / "broken-1.json").write_text("{")
    assert "Going on with:" in talk("quit", options=("--resume",))


def test_leaving_at_the_choice_changes_nothing(talk: Talk) -> None:
    talk("hang", "quit")
    talk("hang", "quit")
    assert "Which consultation?" in talk(options=("--resume",))


def test_without_a_session_there_is_nothing_to_resume(talk: Talk) -> None:
    assert "no consultation is kept" in talk(options=("--resume",), code=(2,))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "\udcff",
        '{"schema": "modelmedic/session/1"}',
        '{"schema": "modelmedic/session/1", "entries": [{}]}',
    ],
)
def test_a_damaged_session_is_refused(talk: Talk, tmp_path: Path, text: str) -> None:
    kept = tmp_path / "modelmedic" / "session.json"
    kept.parent.mkdir()
    kept.write_text(text, encoding="utf-8", errors="surrogateescape")
    assert "session.json" in talk(options=("--resume",), code=(2,))
