"""Facts read from a failure within the Neuron compiler, and from the lines of model servers."""

from __future__ import annotations

import pytest

from modelmedic.facts.kinds import Vocabulary
from modelmedic.probes.messages.probe import read_messages

CASES = [
    (
        "[TEN404] (_sine.12) Internal tensorizer error: BirCodeGenLoop:Too many strides!"
        " - Please open a ticket",
        {"stage": "BirCodeGenLoop", "operation": "_sine.12", "reason": "Too many strides!"},
    ),
    (
        'ERROR 5 [neuronx-cc]: Error message:  list index out of range\n'
        '  File "neuronxcc/driver/Job.py", line 3, in x\n'
        '  File "neuronxcc/starfish/penguin/targets/transforms/TensorOpFusion.py", line 4, in y',
        {"stage": "TensorOpFusion", "reason": "list index out of range"},
    ),
    (
        "ERROR [WalrusDriver] neuronx-cc:\n"
        " 2# neuronxcc::walrus::SundaGen::generateMatMul(bir::Inst&)",
        {"stage": "SundaGen::generateMatMul"},
    ),
    (
        '    assert x, f"[INTERNAL_ERROR] [NCC_INKI016] Kernel said: {text}"\n'
        "AssertionError: [INTERNAL_ERROR] [NCC_INKI016] Kernel said: H is 100",
        {"reason": "Kernel said: H is 100"},
    ),
    (
        "- [x2] error: assertion failed: [INTERNAL_ERROR] [NCC_INKI016]\n"
        "  Kernel said: H is 100",
        {"reason": "Kernel said: H is 100"},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_stage_operation_and_reason_are_read(
    text: str, expected: dict[str, str], vocabulary: Vocabulary
) -> None:
    found = [f for f in read_messages(text, vocabulary).facts if f.kind == "compiler_failure"]
    names = ("stage", "operation", "reason")
    read = [{n: fact.get(n) for n in names if fact.get(n) is not None} for fact in found]
    assert read == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "[NCC_EVRF001] Unsupported operator\nneuronx-cc: Error message: look it up",
        'File "neuronxcc/driver/JobRegistry.py", line 25, in x',
        "Error message: list index out of range",
    ],
)
def test_other_texts_tell_of_no_failure_within_the_compiler(
    text: str, vocabulary: Vocabulary
) -> None:
    assert not [f for f in read_messages(text, vocabulary).facts if f.kind == "compiler_failure"]


def test_a_traceback_in_lines_of_a_model_server_is_read(vocabulary: Vocabulary) -> None:
    stamp = "2024-01-10T10:11:12,345 [WARN ] "
    head = f"{stamp}W-9000-model-stderr com.amazonaws.mms.WorkerLifeCycle - "
    lines = ["Traceback (most recent call last):", '  File "/opt/a.py", line 2, in load', "    x()"]
    text = "\n".join(head + line for line in [*lines, "ValueError: no such model"])
    found = [f for f in read_messages(text, vocabulary).facts if f.kind == "error_message"]
    assert [(f.get("exception"), f.get("text")) for f in found] == [("ValueError", "no such model")]
