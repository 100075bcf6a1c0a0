"""Both backends derive the same facts by the same firings, on worlds that hypothesis makes up.

A case is one world with one set of facts. The number of cases follows from the profile: about
2,000 as a rule, 100,000 with ``DIFFERENTIAL=deep``; ``DIFFERENTIAL_SEED`` varies the worlds.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

pytest.importorskip("durable_rules_engine")

DEEP = os.environ.get("DIFFERENTIAL") == "deep"
SETS = 5  # sets of facts for each world
WORLDS = int(os.environ.get("DIFFERENTIAL_WORLDS", "20000" if DEEP else "420"))
SEED = int(os.environ.get("DIFFERENTIAL_SEED", "0"))
PARTS = 4  # so that the workers of pytest-xdist share the load


@pytest.mark.slow
@pytest.mark.timeout(0 if DEEP else 300)
@pytest.mark.parametrize("part", range(PARTS))
def test_backends_agree(part, worlds, kit):
    seen: Counter[str] = Counter()
    # Hypothesis's own random numbers shrink; true ones are quicker and spread wider.
    seeds = st.randoms(use_true_random=DEEP and part % 2 == 1)

    @seed(SEED * PARTS + part)
    @settings(
        max_examples=WORLDS // PARTS,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(worlds.specs(seeds=seeds), st.data())
    def agree(spec, data):
        world = kit.make_world(spec.kinds, spec.files, kit.ENGINES)
        seen["worlds"] += 1
        seen["rules"] += len(world.base.program.rules)
        seen["strata"] = max(seen["strata"], world.base.program.strata)
        for number in range(SETS):
            facts = world.facts(data.draw(worlds.fact_sets(spec.kinds, seeds=seeds)))
            durable = world.doctors["durable"].backend.derive(facts)
            reference = world.doctors["reference"].backend.derive(facts)
            assert not reference.capped
            assert kit.exact(durable) == kit.exact(reference)
            _count(seen, world.base.program, reference)
            if number == 0:
                reports = {kit.as_json(d.diagnose(facts)) for d in world.doctors.values()}
                assert len(reports) == 1

    agree()
    print(f"part {part}: {dict(sorted(seen.items()))}")
    if not os.environ.get("DIFFERENTIAL_WORLDS"):
        assert seen["cases"] >= WORLDS // PARTS * SETS * 0.9
        missing = [feature for feature in FEATURES if not seen[feature]]
        assert not missing, f"the worlds never made these fire: {missing}"


FEATURES = (
    "match", "refuted", "unless_possible", "unless_match", "aggregate", "guard", "join",
    "rule", "error", "tree", "classification", "chain",
)  # fmt: skip


def _count(seen, program, derivation):
    """What the firings of a case have exercised."""
    seen["cases"] += 1
    seen["firings"] += len(derivation.firings)
    for firing in derivation.firings:
        rule = program.rules[firing.rule]
        features = {literal.mode for literal in rule.literals} | {rule.form}
        if rule.guards:
            features.add("guard")
        variables = [v for literal in rule.literals for _, v in literal.joins]
        if len(variables) > len(set(variables)):
            features.add("join")
        kinds = {program.patterns[x.pattern].kind for x in rule.literals if x.mode == "match"}
        if kinds & {"diagnosis", "classified", "tree_node", "d0", "d1"}:
            features.add("chain")
        seen.update(features)
