"""Learns the weights of signs from phrases: writes knowledge/words/weights.yaml (`make words`).

A softmax regression over the signs of each phrase, first over all signs, then over those that count
most. Phrases that a corpus sets apart stay out, whoever wrote them again. A phrase of an older
corpus may mean its symptom or a closer one whose triage goes on there."""

import base64
import math
import random
import re
import sys
import textwrap
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array

from modelmedic.engine import Diagnoser
from modelmedic.engine.diagnosis.words.scoring import (
    ALWAYS,
    LEVELS,
    NOTHING,
    SHARES,
    letter_of,
    rarity,
)
from modelmedic.engine.diagnosis.words.signs import signs_of

from .phrase_corpus import OF_TREES, Phrase, learned_from, phrases, set_apart, training_files

WEIGHTS = Path(__file__).parents[2] / "knowledge" / "words" / "weights.yaml"
STRENGTH = 100.0  # how much the phrases count against small weights
STEPS = (25, 50)
DRAWN, OF_TOPIC, AS_IT_STANDS = 1.0, 3.0, 3.0
"""How much a complaint put together from choices counts, one of a lexicon, and any other phrase."""
DENIED = 0.3  # the share of what is said not to occur; for the rest it complains of nothing
JOINED = 2_500
JOINTS = (" and ", ", also ", ". ", " plus ", "; ", ", and on top ", " but also ", ", ")
FEWEST = 2  # phrases that a sign must be in
MOST_SIGNS = 26_000
UNIT = 0.02
TINY = 1e-30
LINE = 1_000
HEAD = """\
# yaml-language-server: $schema=../schemas/lexicon.json
# Written by `make words` from the phrases in tests/consultation/words; not to be edited.
schema: modelmedic/lexicon/1
domain: general
note: What each sign (a word, a pair of words, a piece of a word) speaks for a symptom.
"""


class Example(NamedTuple):
    """``symptoms``: one of them is meant, or all, each with its share (``shares``). ``weight``: how
    often it counts."""

    text: str
    symptoms: frozenset[str]
    weight: float = 1.0
    shares: Mapping[str, float] = {}


class Table(NamedTuple):
    """The weights of ``signs`` (rows) for ``names`` (columns); ``rare`` are their letters."""

    names: Sequence[str]
    signs: Sequence[str]
    rare: Sequence[str]
    weights: Any


def examples(words: Mapping[str, Any]) -> Iterator[Example]:
    """All phrases that may be learned from: one symptom each, or none."""
    family: dict[str, set[str]] = {}
    for name, tree in words["leads_to"].items():
        family.setdefault(tree, {tree}).add(name)
    apart = {_bare(p.text) for n in training_files() for p in phrases(n) if set_apart(n, p.text)}
    for name in training_files():
        for said in phrases(name):
            one = len(said.symptoms) + len(said.denied) < 2
            if one and _bare(said.text) not in apart:
                weight = DRAWN if said.drawn and said.symptoms else AS_IT_STANDS
                meant = _among(said, name, family)
                yield Example(said.text, meant, weight, _denying(said))
    for symptom, _, texts in words["topics"]:
        for text in texts:
            yield Example(text, frozenset({symptom}), OF_TOPIC)


def _denying(said: Phrase) -> dict[str, float]:
    """The shares of a phrase that a symptom does not occur: so its words still name the symptom
    where most of the chance is that of no complaint."""
    if not said.denied:
        return {}
    return {NOTHING: 1 - DENIED} | dict.fromkeys(said.denied, DENIED / len(said.denied))


def _bare(text: str) -> str:
    """A text without what does not count where two people write the same."""
    return " ".join(re.findall(r"\w+", text.lower()))


def joined(given: Sequence[Example]) -> Iterator[Example]:
    """Complaints of two things, put together from phrases that complain of one."""
    chance = random.Random(0)
    single = [e for e in given if e.weight == AS_IT_STANDS and len(e.symptoms - {NOTHING}) == 1]
    for _ in range(JOINED):
        one, other = chance.sample(single, 2)
        if one.symptoms != other.symptoms:
            text = one.text.rstrip(".!? ") + chance.choice(JOINTS) + other.text
            names = one.symptoms | other.symptoms
            yield Example(text, names, shares=dict.fromkeys(names, 1 / len(names)))


def _among(said: Phrase, name: str, family: Mapping[str, set[str]]) -> frozenset[str]:
    meant = next(iter(said.symptoms), NOTHING)
    return frozenset(family.get(meant, {meant})) if name in OF_TREES else frozenset({meant})


def learned(given: Sequence[Example]) -> Table:
    """The weights."""
    seen = [signs_of(example.text) for example in given]
    counts = Counter(sign for families in seen for signs in families.values() for sign in signs)
    kept = sorted(sign for sign, n in counts.items() if n >= FEWEST)
    names = sorted({name for example in given for name in example.symptoms})
    meant = np.array([_meant(example, names) for example in given], dtype=np.float32)
    rare = {s: _rare(len(given), counts[s]) for s in kept}
    start = np.zeros((len(kept) + 1, len(names)), dtype=np.float32)
    both = np.array([[bool(example.shares)] for example in given])
    often = np.array([[example.weight] for example in given], dtype=np.float32) * STRENGTH
    weights = _fitted(_matrix(seen, kept, rare), meant, both, often, start, STEPS[0])
    worth = np.abs(weights[:-1]).max(axis=1)
    best = sorted(np.argsort(-worth, kind="stable")[:MOST_SIGNS].tolist())
    kept = [kept[n] for n in best]
    start = weights[[*best, -1]]
    weights = _fitted(_matrix(seen, kept, rare), meant, both, often, start, STEPS[1])
    return Table(names, [*kept, ALWAYS], [*(rare[s] for s in kept), "."], weights)


def _meant(example: Example, names: Sequence[str]) -> list[float]:
    shares = example.shares or dict.fromkeys(example.symptoms, 1.0)
    return [shares.get(name, 0.0) for name in names]


def _rare(texts: int, count: int) -> str:
    place = round(3 * math.log((1 + texts) / (1 + count)))
    return LEVELS[min(place, len(LEVELS) - 1)]


def _matrix(
    seen: Sequence[Mapping[str, Counter[str]]], kept: Sequence[str], rare: Mapping[str, str]
) -> Any:
    """The signs of texts as a sparse matrix; the last column is that of ``ALWAYS``."""
    place = {sign: n for n, sign in enumerate(kept)}
    cells: list[tuple[int, int, float]] = []
    for row, families in enumerate(seen):
        cells.append((row, len(kept), 1.0))
        for family, counts in families.items():
            sizes = {
                place[s]: rarity(rare[s]) * (1 + math.log(n))
                for s, n in sorted(counts.items())
                if s in place
            }
            length = math.sqrt(math.fsum(size * size for size in sizes.values())) or 1
            cells += [(row, at, SHARES[family] * x / length) for at, x in sizes.items()]
    rows, columns, values = zip(*cells, strict=True)
    found = csr_array((values, (rows, columns)), shape=(len(seen), len(kept) + 1))
    return found.astype(np.float32)


def _fitted(matrix: Any, meant: Any, both: Any, often: Any, start: Any, steps: int) -> Any:
    turned = matrix.T.tocsr()

    def loss(flat: Any) -> tuple[float, Any]:
        weights = flat.reshape(start.shape).astype(np.float32)
        levels = matrix @ weights
        levels -= levels.max(axis=1, keepdims=True)
        chance = np.exp(levels)
        chance /= chance.sum(axis=1, keepdims=True)
        among = np.where(both, meant, chance * meant)
        target = among / among.sum(axis=1, keepdims=True)
        slope = turned @ ((chance - target) * often)
        slope[:-1] += weights[:-1]
        size = 0.5 * float((weights[:-1].astype(float) ** 2).sum())
        any_of = np.log((chance * meant).sum(axis=1, keepdims=True) + TINY)
        all_of = (meant * np.log(chance + TINY)).sum(axis=1, keepdims=True)
        lost = float((often * np.where(both, all_of, any_of)).sum(dtype=float))
        return size - lost, slope.ravel().astype(float)

    found = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": steps})
    return found.x.reshape(start.shape)


def plain(table: Table) -> dict[str, object]:
    """The section ``weights`` of a lexicon file."""
    lines = [
        f"{sign} {rare}{''.join(letter_of(x, UNIT) for x in row)}"
        for sign, rare, row in zip(table.signs, table.rare, table.weights.tolist(), strict=True)
    ]
    lines = [line for line in lines if line.isprintable()]
    return {"of": " ".join(table.names), "unit": UNIT, "signs": "\n".join(sorted(lines)) + "\n"}


def written(weights: Mapping[str, object], source: str) -> str:
    """The file."""
    lines = textwrap.wrap(packed(str(weights["signs"])), LINE)
    head = {"of": weights["of"], "unit": weights["unit"], "learned_from": source}
    said = "".join(f"  {name}: {value}\n" for name, value in head.items())
    return f"{HEAD}weights:\n{said}  packed: |\n" + "".join(f"    {line}\n" for line in lines)


def packed(signs: str) -> str:
    """Pack signs into the form that :func:`unpacked` reads."""
    of_row: dict[str, list[str]] = {}
    for line in signs.splitlines():
        sign, row = line.rsplit(" ", 1)
        of_row.setdefault(row, []).append(sign)
    names = ["\t".join(of_row[row]) for row in sorted(of_row)]
    columns = ["".join(column) for column in zip(*sorted(of_row), strict=True)]
    text = "\n".join([*names, "", *columns])
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def learned_file() -> str:
    """The file as the phrases of today give it."""
    catalogue = Diagnoser.load().base.catalogue["words"]
    known = list(examples(catalogue))
    known += joined(known)
    print(f"{len(known)} phrases", file=sys.stderr)
    return written(plain(learned(known)), learned_from(catalogue))


if __name__ == "__main__":
    WEIGHTS.write_text(learned_file(), encoding="utf-8")
