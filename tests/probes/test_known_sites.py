"""Messages of the Neuron stack are known again by their words; those of other software are not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from modelmedic.facts.kinds import Vocabulary
from modelmedic.probes.messages.known_sites import FILE, OWNERS, known_sites
from modelmedic.probes.messages.probe import read_messages
from modelmedic.probes.messages.shingles import MAX_WORDS, numbers_of

CORPORA = Path(__file__).resolve().parents[1] / "knowledge/corpora"
MEDUSA = (
    "AssertionError: current_length and accepted_indices should be specified for medusa decoding!"
)


def _first(text: str, vocabulary: Vocabulary) -> dict[str, object]:
    return dict(read_messages(text, vocabulary).facts[0].values)


def test_a_bare_line_finds_its_owner_and_place(vocabulary: Vocabulary) -> None:
    found = _first(MEDUSA, vocabulary)
    assert found["owner"] == "nxd_inference"
    assert found["owner_confidence"] == "likely"
    assert "KVCacheManager.configure_medusa_gather_slice_idx" in str(found["said_by"])


def test_values_and_wrapping_do_not_matter(vocabulary: Vocabulary) -> None:
    text = "ValueError: n_layers=37 does not divide\n  num_hidden_layers=15"
    found = _first(text, vocabulary)
    assert (found["owner"], found["guard"]) == ("torch_neuronx", "num_hidden_layers % n_layers")


def test_a_frame_is_stronger_than_words(vocabulary: Vocabulary) -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "/venv/lib/python3.10/site-packages/optimum/neuron/x.py", line 3, in f\n'
        f"    assert False\n{MEDUSA}"
    )
    assert _first(text, vocabulary)["owner"] == "optimum_neuron"


def test_another_class_is_another_message() -> None:
    text = MEDUSA.partition(": ")[2]
    assert known_sites().find(text, "AssertionError") is not None
    assert known_sites().find(text, "KeyError") is None


def test_a_part_of_the_words_is_not_enough() -> None:
    assert known_sites().find("current_length should be specified for each batch") is None


@pytest.mark.parametrize("name", ["foreign", "neuron_near", "neuron_unrelated", "healthy"])
def test_other_software_is_not_claimed(name: str) -> None:
    lines = (CORPORA / f"{name}.jsonl").read_text("utf-8").splitlines()
    texts = [str(json.loads(line)["text"]) for line in lines]
    claimed = {text: site for text in texts if (site := known_sites().find(text))}
    assert len(texts) >= 40
    assert claimed == {}


def test_the_file_is_small_and_names_its_owners() -> None:
    assert FILE.stat().st_size < 1_000_000
    assert len(known_sites()) > 2_000
    assert known_sites().owners <= OWNERS


def test_only_the_beginning_of_a_text_is_read() -> None:
    some = " ".join(f"word{at}x" for at in range(MAX_WORDS))
    assert numbers_of(some) == numbers_of(some + " more" * 100_000)


def test_reading_messages_of_others_does_not_need_the_file(
    vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("the index was read")

    monkeypatch.setattr("modelmedic.probes.messages.owners.known_sites", fail)
    found = _first("tinker.RateLimitError: Error code: 429 - too many", vocabulary)
    assert found["owner"] == "tinker"
