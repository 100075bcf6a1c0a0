"""Every fault that the shipped knowledge accepts is made, and no case notices it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from modelmedic.authoring.mutation import Acceptances, Mutation, Trials
from modelmedic.engine.compiler.build import build
from modelmedic.engine.compiler.knowledge_base import shipped_layer
from modelmedic.facts import Fact
from modelmedic.probes.messages.probe import read_messages

pytestmark = pytest.mark.deep


def test_no_acceptance_is_stale() -> None:
    built = build(*shipped_layer(tests=True).texts(), tests=True)

    def decode(text: str) -> Sequence[Fact]:
        return read_messages(text, built.vocabulary).facts

    mutation = Mutation(built, Trials(built, decode))
    accepted = {(a.entry, a.fault) for _, file in built.source.tests for a in file.accepted_faults}
    entries = {entry for entry, _ in accepted}
    verdicts = [
        mutation.verdict(fault)
        for item in built.source.items
        if item.id in entries
        for fault in mutation.faults(item)
        if (item.id, f"{fault.operator}: {fault.what}") in accepted
    ]
    assert len(accepted) > 50
    assert list(Acceptances(built.source).stale(entries, verdicts)) == []
