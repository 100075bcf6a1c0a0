"""Checks the values that a program gives to Tinker: prompts, examples and renderers."""

from __future__ import annotations

from ..findings import Script
from ..reading.terms import NOTHING, Term

_TAKES = frozenset({
    "from_ints", "ModelInput", "EncodedTextChunk", "Datum", "get_renderer", "sample",
    "compute_logprobs", "forward", "forward_backward", "forward_backward_custom",
})  # fmt: skip


def is_given(script: Script, term: Term) -> bool:
    """Whether a value is seen to be a part of what Tinker is given."""
    if term is NOTHING:
        return False
    trace = script.machine.trace
    for call in trace.calls:
        if call.name in _TAKES:
            values = (*call.args, *call.named.values())
            given = (value.term for value in values if value.term is not None)
            if any(part is term for each in given for part in trace.walk(each, fed=True)):
                return True
    return False
