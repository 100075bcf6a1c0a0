"""A verdict reached on the few rules that matter is that of the whole knowledge."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from modelmedic.authoring.mutation import Mutation, Trials
from modelmedic.authoring.mutation.fault import Fault
from modelmedic.authoring.testing.judge import Judge
from modelmedic.engine import Diagnoser
from modelmedic.engine.compiler.build import Built, build
from modelmedic.engine.compiler.knowledge_base import shipped_layer
from modelmedic.engine.compiler.linking import link
from modelmedic.facts import Fact, Problem
from modelmedic.probes.messages.probe import read_messages

pytestmark = [pytest.mark.deep, pytest.mark.long]


def _noticed(built: Built, trials: Trials, fault: Fault) -> bool:
    """Whether any case or sample fails with the mutant in the whole knowledge."""
    kept = [rule for rule in built.rules if rule.entry != fault.item.id]
    problems: list[Problem] = []
    program = link([*kept, *fault.rules], built.forms.patterns, problems)
    if problems:
        return True
    base = trials.slices.base._replace(program=program)
    doctor = Diagnoser.of(base)
    judge = Judge(doctor, trials.inner)
    if any(any(judge.case(trial.case, trial.given)) for trial in trials.all):
        return True
    return any(
        any(judge.sample(fault.item.id, facts, sample.wanted))
        for sample, facts in trials.of_samples(fault.item.id)
    )


def test_slices_and_the_whole_agree(pytestconfig: pytest.Config) -> None:
    tried = 12 if pytestconfig.getoption("deep") else 2
    vocabulary, knowledge = shipped_layer(tests=True).texts()
    built = build(vocabulary, knowledge, tests=True)

    def decode(text: str) -> Sequence[Fact]:
        return read_messages(text, built.vocabulary).facts

    trials = Trials(built, decode)
    mutation = Mutation(built, trials)
    chance = random.Random(7)
    items = [item for item in built.source.items if item.form != "diagnosis"]
    outcomes: dict[str, int] = {}
    while sum(outcomes.values()) < tried:
        item = chance.choice(items)
        fault = chance.choice(mutation.faults(item))
        verdict = mutation.verdict(fault)
        known = outcomes.get(verdict.outcome, 0)
        if verdict.outcome not in ("killed", "survived") or known == tried // 2:
            continue
        outcomes[verdict.outcome] = known + 1
        said = f"{verdict.entry}: {verdict.what}"
        assert _noticed(built, trials, fault) == (verdict.outcome == "killed"), said
