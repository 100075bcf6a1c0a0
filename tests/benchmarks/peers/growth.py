"""How the cost of a session grows with its facts, from 10 to 100,000.

    python tests/benchmarks/peers/growth.py [--json FILE] [--rounds 7]

400 rules; of more facts a like share takes part in rules, and there are as many more groups. The
share is so small that the largest session stays under the engine's cap of 10,000 firings.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from clips_peer import ClipsPeer
from comparison import CLOCKS, Duel, Peer, compared, demand_equal, held
from ours_peer import OurPeer
from workload import make_rules, make_session

RULES, SIZES, DENSE = 400, (10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000), 0.25
FACTS_A_ROUND = 100_000


def duels(sizes: Sequence[int]) -> list[Duel]:
    """The same engines on sessions of each size; about as many facts in all."""
    rules = make_rules(RULES)
    peers: list[Peer] = [OurPeer(rules)]
    try:
        peers.append(ClipsPeer(rules))
    except ImportError as error:
        print(f"left out: CLIPS: {error}")
    found = []
    for size in sizes:
        count = max(1, min(300, FACTS_A_ROUND // size))
        texts = [
            json.dumps(make_session(rules, seed, facts=size, dense=DENSE)).encode()
            for seed in range(count)
        ]
        found.append(Duel({"facts": size}, peers, texts))
    return found


def exponent(sizes: Sequence[int], costs: Sequence[float]) -> float:
    """Of the power of the number of facts that fits the costs best, in logarithms."""
    x, y = [math.log(size) for size in sizes], [math.log(cost) for cost in costs]
    middle_x, middle_y = statistics.mean(x), statistics.mean(y)
    above = sum((a - middle_x) * (b - middle_y) for a, b in zip(x, y, strict=True))
    return above / sum((a - middle_x) ** 2 for a in x)


def measured(rounds: int, sizes: Sequence[int] = SIZES) -> dict[str, Any]:
    """Mean microseconds of a session for each engine and size, and the exponents."""
    all_duels = duels(sizes)
    diagnoses = [demand_equal(duel) / len(duel.sessions) for duel in all_duels]
    rows = [
        {"diagnoses": mean, **row}
        for duel, mean, samples in zip(all_duels, diagnoses, held(all_duels, rounds), strict=True)
        for row in compared(duel, samples)
    ]
    for peer in all_duels[0].peers:
        peer.close()
    engines = list(dict.fromkeys(row["engine"] for row in rows))
    exponents = {}
    for engine in engines:
        own = [row for row in rows if row["engine"] == engine]
        exponents[engine] = {
            f"{name}, from {own[0]['facts']:,}" if own is some else f"{name}, from 1,000": exponent(
                [row["facts"] for row in some], [1e6 / row[name]["per_second"] for row in some]
            )
            for name in CLOCKS
            for some in (own, [row for row in own if row["facts"] >= 1_000])
            if len(some) > 1
        }
    return {"sizes": rows, "exponents": exponents}


def printed(found: dict[str, Any]) -> str:
    """A table for people."""
    lines = [f"{'facts':>8} {'engine':26} {'mean ms':>10} {'us a fact':>10} {'ratio':>7}"]
    for row in found["sizes"]:
        spent = 1e6 / row["processor"]["per_second"]
        lines.append(
            f"{row['facts']:8,} {row['engine']:26} {spent / 1e3:10.3f} {spent / row['facts']:10.2f}"
            f" {row['ratio']['processor']['throughput']:7.2f}"
        )
    for engine, exponents in found["exponents"].items():
        said = ", ".join(f"{value:.2f} ({name})" for name, value in exponents.items())
        lines.append(f"{engine} grows with the facts to the power of {said}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="growth", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures")
    parser.add_argument("--rounds", type=int, default=7)
    chosen = parser.parse_args()
    found = measured(chosen.rounds)
    print(printed(found))
    if chosen.json:
        chosen.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
