"""The place at which the Neuron compiler failed: pass, operation, reason and line of the model,
which its log has on lines of their own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_MAX_LINE = 2_000
_MAX_VALUE = 160
_SPEAKS = ("neuronxcc", "neuroncc", "neuronx-cc", "neuron-cc", "tensorizer error", "BIR ", "[NCC_I")
# Codes with a page of their own name the change in the model; they are not internal failures.
_EXPLAINED = re.compile(r"\bNCC_E[A-Z]{3}\d{3}\b")
# A code whose sentence begins on the next line: who pasted it has wrapped it.
_WRAPPED = re.compile(r"\[NCC_I[A-Z]{3}\d{3}\]\s{0,9}\Z")
_TICKET = r"(?: - Please open\b.*)?\Z"
_REASONS = tuple(
    re.compile(pattern)
    for pattern in (
        r"\bError message:\s{1,9}(?!Traceback\b)(\S.*)\Z",
        rf"\bInternal tensorizer error: (?:[A-Z]\w{{2,60}}:)?(.{{2,600}}?){_TICKET}",
        rf"\[NCC_I[A-Z]{{3}}\d{{3}}\] (.{{2,600}}?){_TICKET}",
        r"\bBIR (?:error|verification failed) ===\s{0,9}Reason: (.{2,300}?)(?: Instruction:.*)?\Z",
        r"\A\s{0,20}Reason: (.{2,300}?)(?: Instruction:.*)?\Z",
        r"\bAssertion failure: (.{2,300})\Z",
        r"\binst failed assertion check: '(\w{1,100})'",
        r"\b(?:neuron|walrus|penguin|[Hh]lo|HLO).{0,300}\bAssertion [`'](.{2,300})' failed",
    )
)
_STAGES = tuple(
    re.compile(pattern)
    for pattern in (
        r"\bInternal tensorizer error: ([A-Z]\w{2,60}):",
        r"\bneuronx?cc::walrus::(\w{1,60}::\w{1,80})\(",
        r"\bbirverifier::(\w{1,80})\(",
        r"\[(\w{2,60}Pass)\]: \w{1,60} failed",
    )
)
_FRAME = re.compile(
    r"File \"neuronx?cc/starfish/(?:[\w.-]{1,60}/){0,12}([A-Z]\w{1,60})\.py\", line \d"
)
# Classes that drive the passes and are in each traceback.
_DRIVERS = frozenset({
    "CommandDriver", "DotTransform", "Frontend", "HLOToTensorizer", "Job", "Logging", "Pipeline",
    "SingleInputJob", "TraceKernel", "WalrusDriver",
})  # fmt: skip
_OPERATIONS = tuple(
    re.compile(pattern)
    for pattern in (
        r"\bTransformation error on operator: ([\w.]{1,80})",
        r"\[(?:NCC_I)?[A-Z]{3}\d{3}\] \(([\w.]{2,80})\)",
        r"\b(?:Opcode|opcode): (\w{1,60})",
    )
)
_CODE = ("assert ", "raise ", 'f"', "f'")
"""Starts of code lines that hold a message with open values."""
_SOURCE = re.compile(r"\bsource_file=\"([^\"]{1,300})\".{0,80}?\bsource_line=(\d{1,7})")


class CompilerFailure(NamedTuple):
    """The details in the log of a failure within the compiler ("" if missing), and the first line
    that has one of them."""

    number: int
    stage: str
    operation: str
    reason: str
    model_line: str


def compiler_failure(lines: Sequence[str]) -> CompilerFailure | None:
    """Find the failure that ``lines`` report. None if they name neither pass nor operation nor
    reason, or give an error code that itself says what to change."""
    if not any(word in line for line in lines for word in _SPEAKS):
        return None
    if any("NCC_E" in line and _EXPLAINED.search(line) for line in lines):
        return None
    stage = reason = operation = frame = source = ""
    number = 0
    for at, whole in enumerate(lines, 1):
        line = whole[:_MAX_LINE]
        if _WRAPPED.search(line) and at < len(lines):
            line = f"{line.rstrip()} {lines[at][:_MAX_LINE].strip()}"
        if line.lstrip().startswith(_CODE):
            continue
        before = (stage, reason, operation, frame)
        stage = stage or _first(_STAGES, line)
        reason = reason or _first(_REASONS, line)
        operation = operation or _first(_OPERATIONS, line)
        frame = _frame(line) or frame
        found = _SOURCE.search(line) if "source_line" in line else None
        source = source or (f"{found[1]}:{found[2]}" if found else "")
        if not number and before != (stage, reason, operation, frame):
            number = at
    stage = stage or frame
    return CompilerFailure(number, stage, operation, reason, source) if number else None


def _frame(line: str) -> str:
    found = _FRAME.search(line) if "cc/" in line else None
    return found[1] if found and found[1] not in _DRIVERS else ""


def _first(patterns: Sequence[re.Pattern[str]], line: str) -> str:
    for pattern in patterns:
        found = pattern.search(line)
        if found:
            return found[1].strip()[:_MAX_VALUE].rstrip()
    return ""
