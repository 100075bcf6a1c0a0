"""CLIPS through clipspy, used as fast as it can be: the C fact builder itself, results read raw.

The documented use (``template.assert_fact``) is an order of magnitude slower, so it would flatter.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import json_text
from answers import Answer, answer
from workload import KINDS, Rule

_TEMPLATES = [
    *(
        f"(deftemplate {kind} (slot name (type STRING)) (slot group (type INTEGER))"
        " (slot level (type INTEGER)))"
        for kind in KINDS
    ),
    "(deftemplate sign (slot name (type SYMBOL)) (slot group (type INTEGER)))",
    "(deftemplate fired (slot rule (type INTEGER)) (slot group) (multislot facts))",
]


class ClipsPeer:
    """One environment; a session is a reset, asserts, a run, and reading what fired."""

    name = "CLIPS (raw fact builder)"

    def __init__(self, rules: Sequence[Rule]) -> None:
        import clips
        from clips._clips import ffi, lib

        self.rules = {rule.number: rule for rule in rules}
        self._environment = clips.Environment()
        for template in _TEMPLATES:
            self._environment.build(template)
        for rule in rules:
            self._environment.build(_defrule(rule))
        self._lib, self._ffi = lib, ffi
        self._env = self._environment._env
        self._builders = {kind: lib.CreateFactBuilder(self._env, kind.encode()) for kind in KINDS}
        self._value = ffi.new("CLIPSValue *")
        self._fired = lib.FindDeftemplate(self._env, b"fired")
        self._bytes = _Encoded()

    def respond(self, data: bytes) -> bytes:
        rows = json_text.read(data)
        lib, env, value = self._lib, self._env, self._value
        put, builders, encoded = lib.FBPutSlot, self._builders, self._bytes
        lib.Reset(env)
        fact = 0
        for row in rows:
            builder = builders[row.kind]
            value.lexemeValue = lib.CreateString(env, encoded[row.name])
            put(builder, b"name", value)
            value.integerValue = lib.CreateInteger(env, row.group)
            put(builder, b"group", value)
            value.integerValue = lib.CreateInteger(env, row.level)
            put(builder, b"level", value)
            fact = lib.FBAssert(builder)
        # Nothing ran in between, so facts are numbered in their order.
        first = lib.FactIndex(fact) - len(rows) + 1 if rows else 0
        lib.Run(env, -1)
        return json_text.write(answer(self.rules, self._firings(first)))

    def understood(self, said: bytes) -> Answer:
        found: Answer = json.loads(said)
        return found

    def close(self) -> None:
        """What C still holds would be told of at the end of the program."""
        for builder in self._builders.values():
            self._lib.FBDispose(builder)
        self._builders = {}

    def _firings(self, base: int) -> list[tuple[int, int, list[int]]]:
        lib, value, null = self._lib, self._value, self._ffi.NULL
        found = []
        fact = lib.GetNextFactInTemplate(self._fired, null)
        while fact != null:
            lib.GetFactSlot(fact, b"rule", value)
            rule = value.integerValue.contents
            lib.GetFactSlot(fact, b"group", value)
            group = value.integerValue.contents
            lib.GetFactSlot(fact, b"facts", value)
            items = value.multifieldValue
            first = items.contents + 0  # a pointer: the array is declared with one item
            places = [first[i].integerValue.contents - base for i in range(items.length)]
            found.append((rule, group, places))
            fact = lib.GetNextFactInTemplate(self._fired, fact)
        return found


class _Encoded(dict[str, bytes]):
    """Names as C takes them, each encoded once."""

    def __missing__(self, name: str) -> bytes:
        found = self[name] = name.encode()
        return found


def _defrule(rule: Rule) -> str:
    parts: list[str] = []
    for number, premise in enumerate(rule.premises):
        level = f" (level ?l{number}&:(>= ?l{number} {premise.at_least}))"
        parts.append(
            f'?f{number} <- ({premise.kind} (name "{premise.name}")'
            + (" (group ?g)" if premise.joined else "")
            + (level if premise.at_least is not None else "")
            + ")"
        )
    parts += [f"(sign (name {sign}) (group ?g))" for sign in rule.signs]
    if rule.absent:
        parts.append(f"(not (sign (name {rule.absent}) (group ?g)))")
    indexes = " ".join(f"(fact-index ?f{number})" for number in range(len(rule.premises)))
    actions = [f"(assert (fired (rule {rule.number}) (group ?g) (facts {indexes})))"]
    if rule.sign:
        actions.append(f"(assert (sign (name {rule.sign}) (group ?g)))")
    last = " (declare (salience -10))" if rule.absent else ""
    return f"(defrule r{rule.number}{last} {' '.join(parts)} => {' '.join(actions)})"
