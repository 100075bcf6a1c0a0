"""All backends derive the same facts by the same firings from the same premises, on worlds that
hypothesis makes up.

A case is one world with one set of facts: 2,000 as a rule, 100,000 with ``DIFFERENTIAL=deep``,
where ``DIFFERENTIAL_SEED`` chooses the worlds.
"""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from modelmedic.engine.inference import durable_join, joins

DEEP = os.environ.get("DIFFERENTIAL") == "deep"
SEED = int(os.environ.get("DIFFERENTIAL_SEED", "0"))
SETS = 5  # sets of facts for each world
PARTS = 2 if DEEP else 1  # so that the workers of pytest-xdist share the load
WORLDS = int(os.environ.get("DIFFERENTIAL_WORLDS", "20000" if DEEP else "400")) // PARTS
FEATURES = (
    "match", "match with variables", "refuted", "refuted with variables", "unless_possible",
    "unless_possible with variables", "unless_match", "unless_match with variables", "aggregate",
    "guard", "rule", "error", "tree", "classification", "strata", "join of 2", "join of 3",
    "join of 4", "derived facts extend a join", "facts that bind alike", "joined by str",
    "joined by bool", "joined by int", "joined by float", "true beside 1", "matches made in C",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.timeout(0 if DEEP else 300)
@pytest.mark.parametrize("part", range(PARTS))
def test_backends_agree(part, worlds, kit, monkeypatch):
    seen: Counter[str] = Counter()

    def spy(owner, name, feature):
        method = getattr(owner, name)

        def counted(*args):
            found = method(*args)
            seen[feature] += len(found)
            return found

        monkeypatch.setattr(owner, name, counted)

    spy(durable_join.DurableJoin, "extend", "matches made in C")
    spy(joins.Joins, "add", "derived facts extend a join")

    @seed(SEED * PARTS + part)
    @settings(
        max_examples=WORLDS,
        deadline=None,
        database=None,
        phases=[Phase.generate],  # a seed does not shrink; `smallest` drops facts instead
        suppress_health_check=list(HealthCheck),
    )
    @given(worlds.specs(), st.data())
    def agree(spec, data):
        world = kit.make_world(spec.kinds, spec.files, kit.ENGINES)
        mixed = mixed_variables(world)
        seen["worlds"] += 1
        seen["strata"] += world.base.program.strata > 1

        def differ(flats):
            facts = world.facts(flats)
            results = [kit.exact(d.backend.derive(facts)) for d in world.doctors.values()]
            return results if any(r != results[-1] for r in results) else None

        for number in range(SETS):
            flats = data.draw(worlds.fact_sets(spec.kinds))
            if differ(flats):
                few = smallest(flats, differ)
                pytest.fail(f"{json.dumps(spec.files)}\n{spec.kinds}\n{few}\n{differ(few)}")
            facts = world.facts(flats)
            derivation = world.doctors["native"].backend.derive(facts)
            count(seen, world, derivation)
            seen["true beside 1"] += any(met_unequal(derivation, places) for places in mixed)
            if number == 0:
                assert len({kit.as_json(d.diagnose(facts)) for d in world.doctors.values()}) == 1

    agree()
    print(f"part {part}: {dict(sorted(seen.items()))}")
    assert seen["cases"] >= WORLDS * SETS
    wanted = FEATURES if "durable" in kit.ENGINES else FEATURES[:-1]
    missing = [feature for feature in wanted if not seen[feature]]
    assert not missing, f"the worlds never made these fire: {missing}"


def smallest(flats, differ):
    """Facts none of which can be left out if the backends are to differ."""
    at = 0
    while at < len(flats):
        fewer = flats[:at] + flats[at + 1 :]
        flats, at = (fewer, 0) if differ(fewer) else (flats, at + 1)
    return flats


def count(seen, world, derivation):
    """Count what the firings of a case have exercised."""
    assert not derivation.capped
    program = world.base.program
    seen["cases"] += 1
    seen["cases with firings"] += bool(derivation.firings)
    seen["firings"] += len(derivation.firings)
    by_rule = defaultdict(list)
    for firing in derivation.firings:
        rule = program.rules[firing.rule]
        assert len(firing.premises) == len(rule.literals)
        by_rule[firing.rule].append(firing)
        seen[rule.form] += 1
        seen["guard"] += bool(rule.guards)
        for literal, facts in zip(rule.literals, firing.premises, strict=True):
            variables = " with variables" * bool(literal.joins)
            seen[literal.mode + variables] += 1
            assert bool(facts) or literal.mode not in ("match", "refuted")
            seen["facts that bind alike"] += bool(literal.joins) and len(facts) > 1
        seen.update(shared_values(world, rule, firing))
    for number, firings in by_rule.items():
        slots = [n for n, x in enumerate(program.rules[number].literals)
                 if x.mode in ("match", "refuted")]  # fmt: skip
        if len(slots) > 1 and len(firings) > 1:
            seen[f"join of {min(len(slots), 4)}"] += 1


def shared_values(world, rule, firing):
    """How the values differ, in form, that a variable has in different facts."""
    defaults = world.base.vocabulary.defaults
    types: dict[str, list[str]] = {}
    for literal, facts in zip(rule.literals, firing.premises, strict=True):
        for attribute, variable in literal.joins:
            for fact in facts:
                value = {**defaults.get(fact.kind, {}), **dict(fact.values)}[attribute]
                types.setdefault(variable, []).append(type(value).__name__)
    for found in types.values():
        if len(found) > 1:
            yield "joined by " + " and ".join(sorted(set(found)))


def mixed_variables(world):
    """The places (kind, attribute) of each variable that both truth values and numbers may bind."""
    kinds, program = world.base.vocabulary.kinds, world.base.program
    found = []
    for rule in program.rules:
        places: dict[str, set[tuple[str, str]]] = {}
        for literal in rule.literals:
            for attribute, variable in literal.joins:
                kind = program.patterns[literal.pattern].kind
                places.setdefault(variable, set()).add((kind, attribute))
        for at in places.values():
            types = {kinds[kind].attributes[name].type for kind, name in at}
            if "boolean" in types and types & {"integer", "number"}:
                found.append(at)
    return found


def met_unequal(derivation, places):
    """Whether facts have both true and 1 (or false and 0) in the places of a variable."""
    met = {(type(fact.get(name)) is bool, fact.get(name))
           for fact in derivation.facts for kind, name in places if fact.kind == kind}  # fmt: skip
    return any((True, v) in met and (False, int(v)) in met for v in (True, False))
