"""zen-engine, for the rules that it can express: one fact, no chaining, no absence.

A decision table for each kind of fact, asked once for every fact.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import json_text
from answers import Answer, answer
from workload import Rule


def expressible(rules: Sequence[Rule]) -> list[Rule]:
    """The rules that need one fact and conclude a diagnosis."""
    return [
        rule
        for rule in rules
        if rule.diagnosis and len(rule.premises) == 1 and not rule.signs and not rule.absent
    ]


class ZenPeer:
    """Decision tables, and Python that gathers what they say."""

    name = "zen-engine (tables)"

    def __init__(self, rules: Sequence[Rule]) -> None:
        import zen

        self.rules = {rule.number: rule for rule in rules}
        engine = zen.ZenEngine()
        self._decisions = {
            kind: engine.create_decision(json.dumps(_graph(rules, kind)))
            for kind in sorted({rule.premises[0].kind for rule in rules})
        }

    def respond(self, data: bytes) -> bytes:
        return json_text.write(answer(self.rules, list(self._firings(json_text.read(data)))))

    def _firings(self, rows: Sequence[Any]) -> Iterator[tuple[int, int, list[int]]]:
        for place, row in enumerate(rows):
            decision = self._decisions.get(row.kind)
            if decision is not None:
                found = decision.evaluate({"name": row.name, "level": row.level})
                for hit in found["result"]:
                    yield hit["rule"], row.group, [place]

    def understood(self, said: bytes) -> Answer:
        found: Answer = json.loads(said)
        return found

    def close(self) -> None:
        """Nothing to do."""


def _graph(rules: Sequence[Rule], kind: str) -> dict[str, Any]:
    lines = [
        {
            "_id": f"r{rule.number}",
            "name": json.dumps(rule.premises[0].name),
            "level": f">= {rule.premises[0].at_least}" if rule.premises[0].at_least else "",
            "rule": str(rule.number),
        }
        for rule in rules
        if rule.premises[0].kind == kind
    ]
    table = {
        "hitPolicy": "collect",
        "inputs": [{"id": name, "name": name, "field": name} for name in ("name", "level")],
        "outputs": [{"id": "rule", "name": "rule", "field": "rule"}],
        "rules": lines,
    }
    place = {"x": 0, "y": 0}
    nodes = [
        {"id": "in", "type": "inputNode", "name": "in", "position": place},
        {"id": "at", "type": "decisionTableNode", "name": "at", "position": place,
         "content": table},
        {"id": "out", "type": "outputNode", "name": "out", "position": place},
    ]  # fmt: skip
    edges = [
        {"id": f"{a}-{b}", "sourceId": a, "targetId": b, "type": "edge"}
        for a, b in (("in", "at"), ("at", "out"))
    ]
    return {"contentType": "application/vnd.gorules.decision", "nodes": nodes, "edges": edges}
