"""Checks whether a program trains as intended: all checks of this folder."""

from __future__ import annotations

from collections.abc import Iterator

from ..findings import Finding, Script
from .examples import find_examples, find_losses
from .failures import find_failures
from .futures import find_futures, find_sequential
from .merging import find_merging
from .samplers import find_samplers
from .steps import find_accumulation, find_epochs, find_steps

_CHECKS = (find_examples, find_losses, find_samplers, find_futures, find_steps, find_accumulation,
           find_failures, find_epochs, find_sequential, find_merging)  # fmt: skip


# Faults for which another service than Tinker's may have rules of its own.
_OF_TINKER = frozenset({
    "loss-inputs-missing", "loss-inputs-of-other-length", "targets-not-shifted",
})  # fmt: skip


def find_training(script: Script) -> Iterator[Finding]:
    """The patterns of wrong training, check by check."""
    elsewhere = bool(script.addresses)
    known = any(script.addresses)
    for check in _CHECKS:
        for finding in check(script):
            if elsewhere and finding.pattern in _OF_TINKER:
                continue
            if not (known and finding.pattern == "waits-in-sequence"):
                yield finding
