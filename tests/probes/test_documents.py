"""Notes and tables that people write do not count as messages of programs."""

import pytest

from modelmedic.engine import Diagnoser
from modelmedic.interfaces.intake import Intake
from modelmedic.probes.messages.probe import read_messages
from modelmedic.reading.text.plain_text import is_document

NOTE = """# Port of Mistral to NxDI

Printed both trees on the CPU and paired them by hand, our side has the same number of blocks.

One module is left over, it is not supported by the framework and we wrote that down as the reason.
"""
TABLE = "| prompt | same | tok/s |\n|---|---|---|\n| Tell me, I hang on | 32/32 | 91.0 |\n"
PAIRS = "hf_module\tn_hf\tcomment\nembed\t1\tneuron shards it\nmlp\t36\tmissing, ???\n"


@pytest.mark.parametrize("text", [NOTE, TABLE, PAIRS, NOTE.partition("\n")[2]])
def test_notes_and_tables_hold_no_message(text, doctor: Diagnoser):
    facts = read_messages(text, doctor.base.vocabulary).facts
    assert [fact for fact in facts if fact.kind == "error_message"] == []
    found = Intake(doctor).read(text)
    assert not found.is_error
    assert doctor.diagnose(found.facts).diagnoses == ()


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("ValueError: heads 40 not divisible by 32", "heads 40 not divisible by 32"),
        ("[ERROR] no weights are given", "no weights are given"),
        ("nrt_init failed, status 13", "nrt_init failed, status 13"),
    ],
)
def test_what_a_program_says_in_a_note_counts(line, text, doctor: Diagnoser):
    facts = read_messages(f"{NOTE}\n{line}\n", doctor.base.vocabulary).facts
    assert [fact.get("text") for fact in facts if fact.kind == "error_message"] == [text]


@pytest.mark.parametrize(
    "text",
    [
        "error: Your local changes would be overwritten by merge:\n\tbase.yaml\n"
        "Please commit your changes or stash them before you merge.\n",
        "npm ERR! code ERESOLVE\nnpm ERR! could not resolve, at all, this\n",
        "E: Unable to locate package a\nE: Couldn't find any package\n",
        "$ neuron-ls\nneuron-ls: No neuron device found\n$ uname -r\n",
    ],
)
def test_what_tools_print_is_no_document(text):
    assert not is_document(text.split("\n"))


def test_software_that_tells_of_no_failure_is_no_error(doctor: Diagnoser):
    text = "[neuronx-cc] model: Compiler status PASS\n[neuronx-cc] head: Compiler status PASS\n"
    assert not Intake(doctor).read(text).is_error
