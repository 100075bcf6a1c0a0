"""ModelMedic and its peers on the same rules and facts.

    python tests/benchmarks/peers [--json FILE] [--rules 400,4000,10000] [--rounds 7] [--quick]

For each number of rules, with and without a fact that most rules mention: facts as JSON text in,
findings with their rules and evidence as JSON text out. Ratios of processor time in one run are
what counts on a machine that does other work, too.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import json_text
from clips_peer import ClipsPeer
from comparison import CLOCKS, Duel, Peer, Samples, compared, demand_equal, held, ratio
from durable_peer import DurablePeer
from naive_peer import NaivePeer
from ours_peer import OurPeer
from workload import Rule, make_rules, make_session
from zen_peer import ZenPeer, expressible

Maker = Callable[[Sequence[Rule]], Peer]

SESSIONS, FEW_SESSIONS = 300, 10
QUICK: Sequence[Maker] = (OurPeer, ClipsPeer)
SLOW: Sequence[Maker] = (NaivePeer, DurablePeer)
ONE_FACT: Sequence[Maker] = (OurPeer, ClipsPeer, NaivePeer, ZenPeer)


def made(makers: Sequence[Maker], rules: Sequence[Rule]) -> Iterator[Peer]:
    """The engines that are installed."""
    for make in makers:
        begin = time.perf_counter()
        try:
            peer = make(rules)
        except ImportError as error:
            print(f"left out: {make.__name__}: {error}", file=sys.stderr)
            continue
        spent = time.perf_counter() - begin
        print(f"{len(rules):7,} rules: {peer.name} is ready in {spent:.2f} s", file=sys.stderr)
        yield peer


def duels(counts: Sequence[int], quick: bool) -> Iterator[Duel]:
    """Ours against the fast engines; against the slow ones, on fewer sessions; and for the rules of
    one fact against an engine that can do no more."""
    for popular in (False, True):
        for count in counts:
            rules, workload = make_rules(count, popular), "popular" if popular else "plain"
            texts = sessions(rules, SESSIONS, popular)
            label = {"workload": workload, "rules": count}
            peers = list(made(QUICK, rules))
            yield Duel(label, peers, texts)
            if not quick and (slow := list(made(SLOW, rules))):
                yield Duel(label, [peers[0], *slow], texts[:FEW_SESSIONS])
    for count in () if quick else counts:
        rules = expressible(make_rules(count))
        label = {"workload": "one fact", "rules": len(rules)}
        yield Duel(label, list(made(ONE_FACT, rules)), sessions(rules, FEW_SESSIONS, False))


def sessions(rules: list[Rule], count: int, popular: bool) -> list[bytes]:
    return [json.dumps(make_session(rules, seed, popular)).encode() for seed in range(count)]


def growth(
    all_duels: Sequence[Duel], found: Sequence[Sequence[Sequence[Samples]]]
) -> Iterator[dict[str, Any]]:
    """How the cost of a session of ours grows with the rules."""
    ours = {
        (duel.label["workload"], duel.label["rules"]): samples[0]
        for duel, samples in zip(all_duels, found, strict=True)
        if len(duel.sessions) == SESSIONS
    }
    for workload in ("plain", "popular"):
        counts = sorted(count for name, count in ours if name == workload)
        few, many = ours[workload, counts[0]], ours[workload, counts[-1]]
        yield {
            "workload": workload,
            "from": counts[0],
            "to": counts[-1],
            "times": {name: ratio(many, few, clock)["median"] for name, clock in CLOCKS.items()},
        }


def printed(rows: Sequence[dict[str, Any]], grown: Sequence[dict[str, Any]]) -> str:
    """Tables for people: processor time, with the ratios of wall time beside."""
    lines = [
        f"{'workload':9} {'rules':>6} {'engine':24} {'median us':>9} {'p99 us':>8} {'p99/med':>7}"
        f" {'per s':>7} {'ratio':>7} {'least':>7} {'most':>7} {'by wall':>7}"
    ]
    before = ""
    for row in rows:
        spent, times = row["processor"], row["ratio"]["processor"]
        place = f"{row['workload']:9} {row['rules']:6,}"
        lines.append(
            f"{place if place != before else '':16} {row['engine']:24}"
            f" {spent['median_us']:9.1f} {spent['p99_us']:8.1f}"
            f" {spent['p99_us'] / spent['median_us']:7.2f} {spent['per_second']:7,.0f}"
            f" {times['throughput']:7.2f} {times['least']:7.2f} {times['most']:7.2f}"
            f" {row['ratio']['wall']['throughput']:7.2f}"
        )
        before = place
    lines.append("times of processor; ratio: how many times ModelMedic has that throughput")
    for each in grown:
        lines.append(
            f"a session of ModelMedic, {each['workload']}: {each['to']:,} rules cost "
            f"{each['times']['processor']:.2f} times what {each['from']:,} cost "
            f"(by wall {each['times']['wall']:.2f})"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="peers", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures")
    parser.add_argument("--rules", default="400,4000,10000", help="numbers of rules")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--quick", action="store_true", help="the fast engines only")
    chosen = parser.parse_args()
    counts = [int(count) for count in chosen.rules.split(",")]
    all_duels = list(duels(counts, chosen.quick))
    diagnoses = [demand_equal(duel) / len(duel.sessions) for duel in all_duels]
    print(
        f"equal answers everywhere, {statistics.mean(diagnoses):.1f} diagnoses a session; "
        f"JSON by {json_text.NAME}"
    )
    found = held(all_duels, chosen.rounds)
    rows = [
        {"diagnoses": mean, **row}
        for duel, mean, samples in zip(all_duels, diagnoses, found, strict=True)
        for row in compared(duel, samples)
    ]
    grown = list(growth(all_duels, found))
    print(printed(rows, grown))
    for peer in {peer for duel in all_duels for peer in duel.peers}:
        peer.close()
    if chosen.json:
        chosen.json.write_text(json.dumps({"engines": rows, "growth": grown}, indent=1) + "\n")


if __name__ == "__main__":
    main()
