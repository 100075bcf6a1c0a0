"""What every engine answers: diagnoses, the rules that say so, and the given facts beneath."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workload import Rule

Answer = dict[str, dict[str, list[int]]]
"""For each diagnosis: ``rules`` that conclude it, ``evidence`` as positions of given facts."""

Firing = tuple[int, int, Sequence[int]]
"""A rule's number, the group, and the positions of the given facts that it fired on."""


def answer(rules: Mapping[int, Rule], firings: Sequence[Firing]) -> Answer:
    """Follow the signs that each diagnosis rests on down to given facts."""
    makers: dict[tuple[str, int], list[Firing]] = {}
    diagnoses: dict[str, list[Firing]] = {}
    for firing in firings:
        rule = rules[firing[0]]
        if rule.sign:
            makers.setdefault((rule.sign, firing[1]), []).append(firing)
        else:
            diagnoses.setdefault(rule.diagnosis, []).append(firing)
    found: Answer = {}
    for name in sorted(diagnoses):
        evidence: set[int] = set()
        seen: set[tuple[str, int]] = set()
        queue = list(diagnoses[name])
        for number, group, positions in queue:  # grows while it is walked
            evidence.update(positions)
            for sign in rules[number].signs:
                if (sign, group) not in seen:
                    seen.add((sign, group))
                    queue += makers.get((sign, group), [])
        numbers = sorted({firing[0] for firing in diagnoses[name]})
        found[name] = {"rules": numbers, "evidence": sorted(evidence)}
    return found
