"""Known issues are found by words: by a command, by a sentence, in a consultation."""

from __future__ import annotations

import json

ISSUE = "tinker.issue.datasets-formatted-streaming-give-every-example"
SAID = "my iterable dataset with_format gives duplicate examples, each comes twice"
LOOKS = "known issue that looks like this"


def test_a_command_finds_the_issue_and_says_what_differs(diagnose, tmp_path) -> None:
    facts = tmp_path / "facts.json"
    facts.write_text(json.dumps([{"kind": "package", "name": "datasets", "version": "5.1.0"}]))
    first = diagnose("kb", "issues", SAID, "--facts", facts, "-f", "json").json["issues"][0]
    assert first["id"] == ISSUE
    assert first["differs"] == [
        "datasets 5.1.0 is installed; it is known of 3.3.0 and later, before 4.8.1"
    ]
    assert f"{first['link']}  {ISSUE}" in diagnose("kb", "issues", *SAID.split()).out


def test_without_words_all_are_listed(diagnose) -> None:
    listed = diagnose("kb", "issues").out.splitlines()
    assert len(listed) == len(diagnose("kb", "issues", "-f", "json").json["issues"]) > 200


def test_words_that_no_issue_has(diagnose) -> None:
    answer = diagnose("kb", "issues", "qwertyuiop", "-f", "json")
    assert (answer.code, answer.json["issues"]) == (0, [])


def test_a_sentence_is_answered_with_the_issue(diagnose) -> None:
    answer = diagnose(SAID)
    assert answer.code == 2  # a likeness is not a diagnosis
    assert LOOKS in " ".join(answer.err.split())


def test_a_consultation_shows_it_and_goes_on(diagnose, tmp_path) -> None:
    answers = tmp_path / "answers.txt"
    answers.write_text(f"{SAID}\nquit\n")
    answer = diagnose("--answers", answers)
    assert answer.code == 0
    shown, _, after = answer.out.partition(LOOKS)
    assert "your words, or ?" in shown
    assert "pull/8063" in after
    assert "your words, or ?" in after


def test_a_text_about_other_software_is_shown_no_issue_of_this_family(diagnose, tmp_path) -> None:
    said = "Merging unembed_tokens fails for models with tied embeddings"
    issue = "tinker.issue.cookbook-merging-unembed-tokens-fails-models"
    error = {"kind": "error_message", "exception": "RuntimeError", "text": said}
    shown = {}
    for about in ("", "torch_neuronx"):
        subject = [{"kind": "text_subject", "owner": about}] if about else []
        path = tmp_path / f"facts{about}.json"
        path.write_text(json.dumps({"schema": "modelmedic/facts/1", "facts": [error, *subject]}))
        shown[about] = issue in diagnose("--facts", path, "-f", "json").out
    assert shown == {"": True, "torch_neuronx": False}
