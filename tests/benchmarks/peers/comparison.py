"""Engines on the same sessions: equal answers first, then times in pairs.

In every round each engine takes all sessions, one engine after the other and in turning order, so
that whatever else the machine does falls on all of them. Each session is timed by itself, in wall
time and in processor time.
"""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from answers import Answer

Samples = list[tuple[int, int]]
"""For each session nanoseconds of wall and of processor time."""

CLOCKS: Mapping[str, int] = {"wall": 0, "processor": 1}


class Peer(Protocol):
    """An engine with its rules loaded: JSON text in, findings with evidence as JSON text out."""

    name: str

    def respond(self, data: bytes) -> bytes: ...

    def understood(self, said: bytes) -> Answer: ...

    def close(self) -> None: ...


class Duel(NamedTuple):
    """Engines that know the same rules, the first of them ours, and sessions of facts."""

    label: Mapping[str, Any]
    peers: Sequence[Peer]
    sessions: Sequence[bytes]


def demand_equal(duel: Duel) -> int:
    """How many diagnoses there are in all. Raises ValueError where two engines differ."""
    first, *others = duel.peers
    count = 0
    for number, data in enumerate(duel.sessions):
        wanted = first.understood(first.respond(data))
        count += len(wanted)
        for peer in others:
            found = peer.understood(peer.respond(data))
            if found != wanted:
                raise ValueError(
                    f"{duel.label}, session {number}: {first.name} says {wanted}, "
                    f"{peer.name} says {found}"
                )
    return count


def timed(peer: Peer, sessions: Sequence[bytes]) -> Samples:
    """One round of one engine. An engine in a process of its own times itself."""
    if own := getattr(peer, "timed", None):
        found: Samples = own(sessions)
        return found
    gc.collect()
    if len(sessions) > 1:
        peer.respond(sessions[-1])  # clearing away what was before is no part of this round
    samples = []
    respond, wall, processor = peer.respond, time.perf_counter_ns, time.process_time_ns
    for data in sessions:
        begin, began = wall(), processor()
        respond(data)
        ended, end = processor(), wall()
        samples.append((end - begin, ended - began))
    return samples


def held(duels: Sequence[Duel], rounds: int) -> list[list[list[Samples]]]:
    """For each duel and engine its samples in each round. All duels take part in every round, so
    that their times can be compared with one another, too."""
    gc.collect()
    gc.freeze()  # what was loaded is no garbage: the collector need not walk it
    found: list[list[list[Samples]]] = [[[] for _ in duel.peers] for duel in duels]
    for turn in range(rounds + 1):
        for duel, samples in zip(duels, found, strict=True):
            for step in range(len(duel.peers)):
                number = (step + turn) % len(duel.peers)
                samples[number].append(timed(duel.peers[number], duel.sessions))
    return [[each[1:] for each in samples] for samples in found]  # the first warms up


def measures(found: Sequence[Samples], clock: int) -> dict[str, float]:
    """Microseconds: median and 99th percentile of all sessions; and the sessions a second."""
    values = sorted(sample[clock] / 1e3 for samples in found for sample in samples)
    totals = [sum(sample[clock] for sample in samples) / 1e9 for samples in found]
    return {
        "median_us": statistics.median(values),
        "p99_us": values[math.ceil(0.99 * len(values)) - 1],
        "per_second": statistics.median(len(found[0]) / total for total in totals),
    }


def ratio(slow: Sequence[Samples], fast: Sequence[Samples], clock: int) -> dict[str, float]:
    """Of the median times of a session, in pairs of rounds; and of all sessions (throughput)."""
    medians, totals = [], []
    for a, b in zip(slow, fast, strict=True):
        one, other = ([sample[clock] for sample in samples] for samples in (a, b))
        medians.append(statistics.median(one) / statistics.median(other))
        totals.append(sum(one) / sum(other) * len(other) / len(one))
    return {
        "throughput": statistics.median(totals),
        "least": min(totals),
        "most": max(totals),
        "median": statistics.median(medians),
    }


def compared(duel: Duel, found: Sequence[Sequence[Samples]]) -> list[dict[str, Any]]:
    """A row for each engine; its ratio says how many times the first one has its throughput."""
    return [
        {
            **duel.label,
            "engine": peer.name,
            "sessions": len(duel.sessions),
            "rounds": len(samples),
            **{name: measures(samples, clock) for name, clock in CLOCKS.items()},
            "ratio": {name: ratio(samples, found[0], clock) for name, clock in CLOCKS.items()},
        }
        for peer, samples in zip(duel.peers, found, strict=True)
    ]
