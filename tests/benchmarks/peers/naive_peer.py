"""A naive forward chainer in plain Python: an index by kind and name, and nothing more."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import json_text
from answers import Answer, Firing, answer
from workload import Rule


class NaivePeer:
    """Tries every rule on every round until nothing new follows."""

    name = "naive Python"

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = {rule.number: rule for rule in rules}
        self._first = [rule for rule in rules if not rule.absent]
        self._last = [rule for rule in rules if rule.absent]

    def respond(self, data: bytes) -> bytes:
        rows = json_text.read(data)
        index: dict[tuple[object, object], list[int]] = {}
        for position, row in enumerate(rows):
            index.setdefault((row.kind, row.name), []).append(position)
        signs: dict[str, set[int]] = {}
        fired: dict[tuple[int, int, tuple[int, ...]], None] = {}
        for stratum in (self._first, self._last):
            before = -1
            while before < len(fired):
                before = len(fired)
                for rule in stratum:
                    self._try(rule, rows, index, signs, fired)
        firings: list[Firing] = list(fired)
        return json_text.write(answer(self.rules, firings))

    def understood(self, said: bytes) -> Answer:
        found: Answer = json.loads(said)
        return found

    def close(self) -> None:
        """Nothing to do."""

    def _try(
        self,
        rule: Rule,
        rows: Sequence[Any],
        index: dict[tuple[object, object], list[int]],
        signs: dict[str, set[int]],
        fired: dict[tuple[int, int, tuple[int, ...]], None],
    ) -> None:
        matches: list[tuple[object, tuple[int, ...]]] = [(None, ())]
        for premise in rule.premises:
            found = index.get((premise.kind, premise.name), ())
            matches = [
                (rows[p].group if premise.joined else group, (*positions, p))
                for group, positions in matches
                for p in found
                if not premise.joined or group is None or rows[p].group == group
                if premise.at_least is None or rows[p].level >= premise.at_least
            ]
            if not matches:
                return
        for group, positions in matches:
            number = int(str(group))
            if any(number not in signs.get(sign, ()) for sign in rule.signs):
                continue
            if rule.absent and number in signs.get(rule.absent, ()):
                continue
            fired[rule.number, number, positions] = None
            if rule.sign:
                signs.setdefault(rule.sign, set()).add(number)
