"""Made-up rules and sessions of facts that every engine of the comparison can run.

12 kinds of facts with a name, a group and a level. A rule joins one to three premises on their
group; some conclude *signs* that other rules need (up to three deep), some conclude diagnoses, and
some of the last stratum need a sign to be absent. Names come from a pool that grows with the rules,
so that a session meets about as many rules in a large rule set as in a small one.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

KINDS = tuple(f"k{n}" for n in range(12))
POPULAR = "common"
"""The name of a fact of kind k0 that most rules need, in workloads with a popular fact."""

FACTS = 60
RELEVANT = 15
PLANTED = 3
"""Rules of a session whose premises are all there."""


@dataclass(frozen=True)
class Premise:
    """A fact of a kind and name, in the group of the rule; its level bounded below where given."""

    kind: str
    name: str
    at_least: int | None = None
    joined: bool = True


@dataclass(frozen=True)
class Rule:
    """Premises on facts, signs needed, a sign that must be absent, and one conclusion."""

    number: int
    premises: tuple[Premise, ...]
    signs: tuple[str, ...]
    absent: str
    sign: str
    diagnosis: str
    depth: int


Row = dict[str, str | int]


def make_rules(count: int, popular: bool = False, seed: int = 7) -> list[Rule]:
    """``count`` rules: about 40 % with one premise, 35 % joins of two or three facts, 15 % that
    need signs, 10 % with an absence. With ``popular`` 60 % need one common fact beside."""
    draw = random.Random(seed)
    pool = [f"n{n}" for n in range(count)]
    by_depth: dict[int, list[str]] = {1: [], 2: []}
    rules = []
    for number in range(count):
        share = draw.random()
        size = 1 if share < 0.4 else draw.choice((2, 2, 3)) if share < 0.75 else 1
        premises = [
            Premise(draw.choice(KINDS), draw.choice(pool), draw.choice((None, 30, 50)))
            for _ in range(size)
        ]
        if popular and draw.random() < 0.6:
            premises.append(Premise("k0", POPULAR, None, joined=False))
        depth, signs, absent = 1, (), ""
        lower = draw.choice((1, 1, 2)) if by_depth[2] else 1
        if share >= 0.75 and by_depth[lower]:
            signs, depth = (draw.choice(by_depth[lower]),), lower + 1
        if share >= 0.9 and by_depth[1]:
            absent = draw.choice(by_depth[1])
        sign = ""
        if not absent and depth < 3 and draw.random() < 0.5:
            sign = f"s{number}"
            by_depth[depth].append(sign)
        diagnosis = "" if sign else f"bench.d.x{number}"
        rules.append(Rule(number, tuple(premises), signs, absent, sign, diagnosis, depth))
    return rules


def make_session(
    rules: list[Rule], seed: int, popular: bool = False, facts: int = FACTS, dense: float = 1.0
) -> list[Row]:
    """60 facts: those that let some rules fire, some that nearly do, and noise. Of more facts each
    of these has its share, and there are so many more groups that a group stays as large as it was.
    ``dense`` makes the share of noise larger, where it is less than one."""
    draw = random.Random(seed)
    makers = {rule.sign: rule for rule in rules if rule.sign}
    rows: list[Row] = []
    for group in range(round(facts * dense * PLANTED / FACTS)):
        _support(draw.choice(rules), group, makers, rows)
    first, last = facts * 5 // 6, facts * 3 // 2
    while len(rows) < facts * dense * RELEVANT / FACTS:
        premise = draw.choice(rules).premises[0]
        rows.append(
            _row(premise.kind, premise.name, draw.randrange(first, last), draw.randrange(100))
        )
    if popular:
        rows.append(_row("k0", POPULAR, 0, 1))
    while len(rows) < facts:
        name = f"other{draw.randrange(10_000)}"
        rows.append(_row(draw.choice(KINDS), name, draw.randrange(last), draw.randrange(100)))
    unique = list({tuple(row.items()): row for row in rows}.values())
    draw.shuffle(unique)
    return unique


def _support(rule: Rule, group: int, makers: dict[str, Rule], rows: list[Row]) -> None:
    """Facts that make a rule fire, and those that make the signs which it needs."""
    for premise in rule.premises:
        if premise.joined:  # the popular fact is there once
            rows.append(_row(premise.kind, premise.name, group, 60))
    for sign in rule.signs:
        _support(makers[sign], group, makers, rows)


def _row(kind: str, name: str, group: int, level: int) -> Row:
    return {"kind": kind, "name": name, "group": group, "level": level}


def vocabulary() -> dict[str, object]:
    """The kinds as ModelMedic declares them."""
    attributes = {
        "name": {"type": "string", "required": True, "description": "name"},
        "group": {"type": "integer", "required": True, "description": "group"},
        "level": {"type": "integer", "description": "level"},
    }
    kinds: dict[str, object] = {
        kind: {"description": kind, "functional": False, "attributes": attributes} for kind in KINDS
    }
    kinds["sign"] = {
        "description": "a derived sign",
        "derived": True,
        "key": ["name", "group"],
        "attributes": {name: attributes[name] for name in ("name", "group")},
    }
    flag = {"type": "boolean", "default": True, "description": "whether it holds"}
    name = attributes["name"]
    kinds["diagnosis"] = {
        "description": "a diagnosis",
        "derived": True,
        "key": ["name"],
        "polarity": "holds",
        "attributes": {"name": name, "holds": flag},
    }
    return {"schema": "modelmedic/vocabulary/1", "kinds": kinds}


def knowledge(rules: list[Rule]) -> dict[str, dict[str, object]]:
    """The rules as knowledge files of ModelMedic."""
    diagnoses = [
        {
            "id": rule.diagnosis,
            "title": rule.diagnosis,
            "severity": "error",
            "kind": "root-cause",
            "summary": "s",
        }
        for rule in rules
        if rule.diagnosis
    ]
    entries = [
        {"id": f"bench.rule.r{r.number}", "title": f"rule {r.number}", **_body(r)} for r in rules
    ]
    return {
        "diagnoses": {
            "schema": "modelmedic/diagnoses/1",
            "domain": "bench",
            "diagnoses": diagnoses,
        },
        "rules": {"schema": "modelmedic/rules/1", "domain": "bench", "rules": entries},
    }


def _body(rule: Rule) -> dict[str, object]:
    parts: list[dict[str, object]] = []
    for premise in rule.premises:
        where: dict[str, object] = {"name": premise.name}
        if premise.joined:
            where["group"] = "$g"
        if premise.at_least is not None:
            where["level"] = {"ge": premise.at_least}
        parts.append({"fact": premise.kind, "where": where})
    parts += [{"fact": "sign", "where": {"name": s, "group": "$g"}} for s in rule.signs]
    if rule.absent:
        parts.append({"absent": {"fact": "sign", "where": {"name": rule.absent, "group": "$g"}}})
    conclusion: dict[str, object] = {"diagnosis": rule.diagnosis}
    if rule.sign:
        conclusion = {"fact": "sign", "set": {"name": rule.sign, "group": "$g"}}
    return {"when": {"all": parts}, "conclude": [conclusion]}
