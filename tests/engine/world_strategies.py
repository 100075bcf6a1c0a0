"""Hypothesis strategies for worlds: vocabularies and knowledge in every form.

Small pools make joins meet and tests hit; what the compiler refuses, it leaves out.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from modelmedic.engine.inference.aggregates import STATISTICS

Draw = random.Random  # given by hypothesis, hence replayed and shrunk
Flat = dict[str, Any]

SEEDS = st.randoms(use_true_random=True)  # the other kind shrinks, but spreads poorly
LONG = "x" * 3000
TEXTS = ["", "a", "A", "b", "c", "$", "$s", "@p", "é", "e\u0301", "0", "true", "null", " a ", "-",
         "a\nb", "\u2028", "\U0001f600", "{a}", LONG]  # fmt: skip
NUMBERS = [0, 1, 1.0, -0.0, 2, 3, 2.5, -1, 0.1 + 0.2, 0.3, 1e-300, 5e-324, 1e300, -1e300, 2**53,
           float(2**53), 2**53 + 1, 2**63 - 1, 1e18]  # fmt: skip
INTEGERS = [0, 1, 2, 3, -1, 2**53, 2**62]
VERSIONS = ["1.0", "1", "1.0.0", "2.13.0b1", "2.13.0b2", "2.13.0b3", "2.13.0", "2.14.3", "1!0.1",
            "1.0.post1", "1.0.dev1", "v2", "1.0+cpu", "nope", "", "1.dev" + "9" * 400]  # fmt: skip
PATTERNS = ["a", "^a$", "(?i)a", "", r"\d+", "^.$", r"\bb\b", "[^a]", "(a|b)c?", "x{5}", "é", "e."]
POOLS: dict[str, Sequence[Any]] = {
    "string": TEXTS, "text": TEXTS, "path": TEXTS, "version": VERSIONS, "number": NUMBERS,
    "integer": INTEGERS, "boolean": [True, False],
}  # fmt: skip
TAME: dict[str, Sequence[Any]] = {  # what authors write: no operand that means something else
    **POOLS, **{name: ["a", "a", "b", "c", "é", ""] for name in ("string", "text", "path")},
    "version": ["1.0", "1", "2.13.0b2", "2.13.0", "2.14.3"],
    "number": [0, 1, 1.0, 2, 2.5, 2**53, float(2**53)], "integer": [0, 1, 2, 2**53],
}  # fmt: skip
FAMILY = {"string": "s", "text": "s", "path": "s", "version": "s", "number": "n", "integer": "n",
          "boolean": "f"}  # fmt: skip
DIAGNOSES = ["t.d.one", "t.d.two", "t.d.three", "t.d.four"]
CLASSIFICATION, TREES, SYMPTOMS = "t.class.size", ["t.tree.a", "t.tree.b"], ["slow", "wrong"]


@dataclass(frozen=True)
class Spec:
    """A world as data: kinds (beside the core ones) and knowledge files by name."""

    kinds: dict[str, Any]
    files: dict[str, Any]


def pick(draw: Draw, items: Sequence[Any]) -> Any:
    return draw.choice(items)


def chance(draw: Draw, percent: int) -> bool:
    return draw.randint(0, 99) >= 100 - percent


@st.composite
def specs(
    hypothesis_draw: Any, *, negation: bool = True, closed_world: bool = True, chains: bool = True
) -> Spec:
    """A world, at will without rules that ask for absence (closed world), that negate, or that join
    many patterns."""
    draw = hypothesis_draw(SEEDS)
    kinds = {f"k{n}": _kind(draw) for n in range(draw.randint(1, 3))}
    kinds["k0"]["functional"] = True
    for name in ("d0", "d1"):
        kinds[name] = {**_kind(draw), "derived": True}
    maker = Maker(draw, kinds, negation, closed_world)
    maker.bands, maker.chains = chance(draw, 60), chains
    files: dict[str, Any] = {"diagnoses": maker.diagnoses(), "rules": maker.rules()}
    if maker.bands:
        files["classifications"] = maker.classifications()
    if chance(draw, 40):
        files["errors"] = maker.errors()
    if chance(draw, 40):
        files["trees"] = maker.trees()
    return Spec(kinds, files)


def _kind(draw: Draw) -> dict[str, Any]:
    types = {"s": "string", "n": "number", "i": "integer", "f": "boolean", "v": "version",
             "t": "text"}  # fmt: skip
    wanted = ["s", "n", *(a for a in "ifvt" if chance(draw, 50))]
    attributes: dict[str, Any] = {name: {"type": types[name]} for name in wanted}
    kind: dict[str, Any] = {"attributes": attributes, "functional": chance(draw, 80)}
    kind["key"] = pick(draw, [[], ["s"], ["s"], ["s", "n"]])
    for name in kind["key"]:
        attributes[name]["required"] = chance(draw, 90)
    if "f" in attributes and chance(draw, 60):
        kind["polarity"] = "f"
        attributes["f"]["default"] = True
    if "i" in attributes and chance(draw, 30):
        attributes["i"]["default"] = 1
    return kind


class Maker:
    """Makes entries over given kinds."""

    def __init__(self, draw: Draw, kinds: Flat, negation: bool, closed_world: bool) -> None:
        self.draw, self.kinds = draw, kinds
        self.negation, self.closed_world = negation, closed_world
        self.count, self.bands, self.chains = 0, False, False
        self.level = 0  # rules of level 1 may negate what those of level 0 conclude

    def _negated_kinds(self) -> list[str]:
        """Kinds whose negation can be complete at this level; now and then one where it is not."""
        if chance(self.draw, 4):
            return list(self.kinds)
        base = [name for name in self.kinds if name[0] == "k" and (name != "k0" or self.level)]
        return (base or ["k0"]) + ["d0", "d0"] * self.level

    def _diagnosis(self, lower: bool = False) -> str:
        """A diagnosis concluded at this level, or at a lower one."""
        return str(pick(self.draw, DIAGNOSES[2:] if self.level and not lower else DIAGNOSES[:2]))

    def diagnoses(self) -> Flat:
        kinds = ["root-cause", "symptom", "benign", "user-code", "escalation"]
        entries = [
            {"id": name, "title": name, "severity": pick(self.draw, ["blocker", "error", "info"]),
             "kind": pick(self.draw, kinds), "summary": "s",
             "explains": [x for x in DIAGNOSES if x != name and chance(self.draw, 25)]}
            for name in DIAGNOSES
        ]  # fmt: skip
        return {"schema": "modelmedic/diagnoses/1", "domain": "t", "diagnoses": entries}

    def rules(self) -> Flat:
        entries = [self._rule(n) for n in range(self.draw.randint(2, 8))]
        return {"schema": "modelmedic/rules/1", "domain": "t", "rules": entries,
                "parameters": {"p": {"value": 1.5, "origin": "made up"}}}  # fmt: skip

    def _rule(self, number: int) -> Flat:
        bound: dict[str, str] = {}  # variable -> family
        self.level = self.draw.randint(0, 1)
        parts = [self._pattern(bound, "binding")]
        if chance(self.draw, 40):
            bound |= {"s0": "s", "n0": "n"}
            parts[0] = {**parts[0], "where": {"s": "$s0", "n": "$n0"}}
            parts.append(self._joined(bound))
        elif self.chains and chance(self.draw, 50):
            parts = self._chain(bound)
        if self.negation and chance(self.draw, 20):
            parts.append({"not": self._pattern(bound, "negated")})
        if self.closed_world and chance(self.draw, 8):
            parts.append({"absent": self._pattern(bound, "closed")})
        for _ in range(pick(self.draw, [0, 0, 0, 1, 1, 2, 3]) if len(parts) < 3 else 0):
            parts.append(self._part(bound, 0))
        rule: Flat = {"id": f"t.rule.r{number}", "title": "t", "when": {"all": parts},
                      "conclude": [self._conclusion(bound)]}  # fmt: skip
        if chance(self.draw, 10):
            rule["when"] = {"any": parts}
        if chance(self.draw, 40):
            rule["conclude"].append(self._conclusion(bound))
        if chance(self.draw, 20):
            rule["rules_out"] = [self._diagnosis()]
        if chance(self.draw, 5):
            rule["status"] = "deprecated"
        return rule

    def _chain(self, bound: dict[str, str]) -> list[Any]:
        """Patterns, each sharing a variable with one before it; now and then a truth value meets a
        number."""
        parts: list[Flat] = []
        for number in range(pick(self.draw, [2, 3, 4, 4, 4])):
            name = pick(self.draw, [*self.kinds, *(k for k in self.kinds if k[0] == "k")])
            declared = self.kinds[name]["attributes"]
            where: Flat = {}
            for attribute in self.draw.sample(sorted(declared), min(len(declared), 2)):
                family = FAMILY[declared[attribute]["type"]]
                known = [v for v, its in bound.items() if its == family]
                shared = known and (not where or chance(self.draw, 20))
                variable = pick(self.draw, known) if shared else f"c{number}{attribute}"
                bound.setdefault(variable, family)
                where[attribute] = f"${variable}"
            parts.append({"fact": name, "where": where})
        if chance(self.draw, 50):
            for part in self.draw.sample(parts, 2):
                declared = self.kinds[part["fact"]]["attributes"]
                free = [a for a in "nif" if a in declared and a not in part["where"]]
                part["where"] |= {pick(self.draw, free): "$mixed"} if free else {}
        return parts

    def _conclusion(self, bound: dict[str, str]) -> Flat:
        if chance(self.draw, 50):
            return {"diagnosis": self._diagnosis(),
                    "strength": pick(self.draw, ["decisive", "strong", "weak"])}  # fmt: skip
        kind = "k0" if "k1" in self.kinds and chance(self.draw, 12) else f"d{self.level}"
        values: Flat = {}
        for name, attribute in self.kinds[kind]["attributes"].items():
            if not attribute.get("required") and chance(self.draw, 50):
                continue
            fitting = [v for v, family in bound.items() if family == FAMILY[attribute["type"]]]
            if fitting and attribute["type"] != "version" and chance(self.draw, 70):
                values[name] = f"${pick(self.draw, fitting)}"
            else:
                values[name] = pick(self.draw, TAME[attribute["type"]])
        return {"fact": kind, "set": values}

    def _part(self, bound: dict[str, str], depth: int) -> Flat:
        choice = self.draw.randint(0, 17)
        if choice >= 15 and bound:
            return self._joined(bound)
        if choice <= 3 or depth > 1:
            return self._pattern(bound, "nested" if depth else "binding")
        if choice <= 6 and self.negation:
            return {"not": self._negatable(bound, depth)}
        if choice == 7 and self.closed_world:
            return {"absent": self._pattern(bound, "closed")}
        if choice == 8:
            count: Flat = {"count": self._pattern({}, "counted"),
                           "at_least": self.draw.randint(1, 3)}  # fmt: skip
            return count | ({"distinct": "s"} if chance(self.draw, 40) else {})
        if choice <= 10:
            return self._series()
        if choice == 11:
            return {"diagnosis": pick(self.draw, DIAGNOSES)}
        if choice == 12 and self.bands:
            return {"band": CLASSIFICATION, "label": pick(self.draw, ["low", "high", "odd"]),
                    **({"subject": "a"} if chance(self.draw, 30) else {})}  # fmt: skip
        key = "any" if choice < 15 else "all"
        return {key: [self._part(bound, depth + 1) for _ in range(self.draw.randint(1, 3))]}

    def _negatable(self, bound: dict[str, str], depth: int) -> Flat:
        choice = self.draw.randint(0, 9)
        if choice == 0 and self.level:
            return {"diagnosis": self._diagnosis(lower=True)}
        if choice == 1:
            return self._series()
        if choice == 2 and depth == 0:
            key = pick(self.draw, ["any", "all"])
            return {key: [self._negatable(bound, 1), self._negatable(bound, 1)]}
        if choice == 3:
            return {"not": self._negatable(bound, depth)}
        return self._pattern(bound, "negated")

    def ground(self) -> Flat:
        """A condition that may be negated, without variables, over kinds that no entry
        concludes."""
        name = pick(self.draw, [n for n, kind in self.kinds.items() if kind["functional"]])
        kind = self.kinds[name]
        where = {}
        for attribute, declared in kind["attributes"].items():
            if attribute in kind["key"]:
                where[attribute] = pick(self.draw, TAME[declared["type"]][:2])
            elif self.chains and chance(self.draw, 50):
                where[attribute] = self._test(declared["type"], {}, False, True, False)
        return {"fact": name, "where": where}

    def _joined(self, bound: dict[str, str]) -> Flat:
        """A pattern that a variable joins to another, by equality or by size."""
        variable = pick(self.draw, sorted(bound))
        kinds = [(name, attribute) for name, kind in self.kinds.items()
                 for attribute, declared in kind["attributes"].items()
                 if FAMILY[declared["type"]] == bound[variable]]  # fmt: skip
        name, attribute = pick(self.draw, kinds)
        test: Any = f"${variable}"
        if attribute in "ni" and chance(self.draw, 60):
            test = {pick(self.draw, ["lt", "le", "gt", "ge", "ne"]): test}
        return {"fact": name, "where": {attribute: test}}

    def _series(self) -> Flat:
        kind = pick(self.draw, self._negated_kinds())
        source: Flat = {"fact": kind, "value": "n", "order": "n"}
        if "i" in self.kinds[kind]["attributes"] and chance(self.draw, 50):
            source["order"] = "i"
        if chance(self.draw, 30):
            source["where"] = {"s": pick(self.draw, TAME["string"])}
        bounds = {op: pick(self.draw, [0, 1, 2, 0.5, "@p"])
                  for op in ("lt", "ge") if chance(self.draw, 50)}  # fmt: skip
        return {"series": source, "stat": pick(self.draw, tuple(STATISTICS)),
                "min_points": self.draw.randint(1, 3), **(bounds or {"gt": 1})}  # fmt: skip

    def _pattern(self, bound: dict[str, str], role: str) -> Flat:
        binds, negated, plain = (role == name for name in ("binding", "negated", "counted"))
        kinds = list(self.kinds) if role in ("binding", "nested") else self._negated_kinds()
        if negated:
            kinds = [name for name in kinds if self.kinds[name]["functional"]] or kinds
        name = pick(self.draw, kinds)
        kind, where = self.kinds[name], {}
        others = [a for a in kind["attributes"] if not negated or a not in kind["key"]] or ["s"]
        tested = {pick(self.draw, others) for _ in range(pick(self.draw, [1, 1, 2, 3]))}
        if not negated and not plain and chance(self.draw, 15):
            tested = set()
        for attribute, declared in kind["attributes"].items():
            key = attribute in kind["key"]
            if attribute not in tested and not (negated and key):
                continue
            free = plain or (negated and not key)
            where[attribute] = self._test(declared["type"], bound, binds, free, negated and key)
        if chance(self.draw, 10) and binds and not plain:  # one variable at two attributes
            where |= {"n": "$n0", **({"i": "$n0"} if "i" in kind["attributes"] else {})}
            bound["n0"] = "n"
        self.count += 1
        alias = {"as": f"p{self.count}"} if chance(self.draw, 20) and not negated else {}
        return {"fact": name, "where": where, **alias}

    def _test(self, kind: str, bound: dict[str, str], binds: bool, plain: bool, equal: bool) -> Any:
        family = FAMILY[kind]
        known = [v for v, f in bound.items() if f == family]
        choice = self.draw.randint(0, 11)
        if not plain and (choice <= 5 or (equal and choice <= 8)) and (known or binds):
            name = pick(self.draw, known) if known and choice > 1 else f"{family}{choice % 2}"
            if binds:
                bound[name] = family
            elif name not in bound:
                return pick(self.draw, TAME[kind])
            return f"${name}"
        constant = pick(self.draw, TAME[kind])
        if equal or choice <= 6:
            return constant
        if not plain and binds and known and choice <= 8 and family == "n":
            return {pick(self.draw, ["lt", "le", "gt", "ge", "ne"]): f"${pick(self.draw, known)}"}
        return self._operator(kind, constant, choice)

    def _operator(self, kind: str, constant: Any, choice: int) -> Flat:
        if choice == 9:
            return {pick(self.draw, ["in", "not_in"]): [constant, pick(self.draw, TAME[kind])]}
        if choice == 10:
            return {"known": True} if chance(self.draw, 50) else {"ne": constant}
        if kind == "version":
            ranges = [[{"introduced": "2.13.0b1", "fixed": "2.13.0b3"}], [{"fixed": "1.0"}],
                      [{"last_affected": "2.13.0"}], [{"introduced": "2.14"}]]  # fmt: skip
            return {"affected": pick(self.draw, ranges)} if choice % 2 else {"prerelease": True}
        if kind in ("number", "integer"):
            return {pick(self.draw, ["lt", "le", "gt", "ge"]): pick(self.draw, [constant, 1])}
        if kind == "boolean":
            return {"ne": constant}
        if chance(self.draw, 30):
            return {"contains": pick(self.draw, ["a", "é", "", "x"])}
        return {pick(self.draw, ["matches", "matches", "not_matches"]): pick(self.draw, PATTERNS)}

    def classifications(self) -> Flat:
        observe = {"fact": pick(self.draw, list(self.kinds)), "where": {}}
        cut, upper = sorted(self.draw.sample([0, 1, 2.5, 10], 2))
        bands: list[Flat] = [{"label": "low", "to": cut}, {"label": "high", "from": upper},
                             {"label": "middle", "from": cut, "to": upper}]  # fmt: skip
        for band in bands:
            if chance(self.draw, 40):
                band["conclude"] = [{"diagnosis": pick(self.draw, DIAGNOSES)}]
            if chance(self.draw, 20):
                band["rules_out"] = [pick(self.draw, DIAGNOSES)]
        entry: Flat = {"id": CLASSIFICATION, "title": "t", "observe": observe, "attribute": "n",
                       "bands": bands}  # fmt: skip
        if chance(self.draw, 50):
            entry["subject"] = "s"
        if chance(self.draw, 30):
            entry |= {"undefined": {"label": "odd"}, "undefined_where": {"s": "c"}}
        return {"schema": "modelmedic/classifications/1", "domain": "t", "classifications": [entry]}

    def errors(self) -> Flat:
        matches: list[Flat] = [
            {"pattern": "a+"}, {"template": "a {x} b"}, {"exception": ["KeyError"]},
            {"http_status": [500, 502]}, {"pattern": "b", "http_status": [404]},
        ]  # fmt: skip
        rows: list[Flat] = []
        for number, match in enumerate(matches):
            causes = [{"diagnosis": pick(self.draw, DIAGNOSES),
                       "likelihood": pick(self.draw, ["usual", "possible", "rare"])}
                      for _ in range(self.draw.randint(1, 2))]  # fmt: skip
            if chance(self.draw, 40):
                causes[0]["when"] = self._part({}, 0)
            if chance(self.draw, 20):
                match = {**match, "not_pattern": "c"}
            refines = [row["id"] for row in rows if chance(self.draw, 25)]
            rows.append({"id": f"t.err.e{number}", "title": "t", "samples": ["a"],
                         "match": {**match, "refines": refines},
                         "near_misses": ["-"], "causes": causes})  # fmt: skip
        return {"schema": "modelmedic/errors/1", "domain": "t", "emitter": "t", "errors": rows}

    def trees(self) -> Flat:
        return {"schema": "modelmedic/trees/1", "domain": "t",
                "trees": [self._tree(n) for n in range(self.draw.randint(1, 2))]}  # fmt: skip

    def _tree(self, number: int) -> Flat:
        def branch(last: bool) -> Flat:
            choice = self.draw.randint(0, 3)
            if choice == 0 and not last:
                return {"goto": "second"}
            if choice == 1:
                return {"tree": pick(self.draw, TREES)}
            if choice == 2:
                return {"healthy": "fine", "rules_out": [pick(self.draw, DIAGNOSES)]}
            return {"conclude": [pick(self.draw, DIAGNOSES)]}

        def node(last: bool) -> Flat:
            branches = {name: branch(last) for name in ("yes", "no", "unknown")}
            asked: Flat = {"ask": "?", "why": "w", "branches": branches}
            if self.negation and chance(self.draw, 60):
                return asked | {"test": self._negatable({}, 1)}
            asked["branches"]["yes"]["when"] = self._part({}, 1)
            return asked

        symptom = {"name": SYMPTOMS[number], "phrases": ["a", "b", "c"]}
        nodes = {"first": node(False), "second": node(True)}
        return {"id": TREES[number], "title": "t", "root": "first", "nodes": nodes,
                "symptom": symptom}  # fmt: skip
