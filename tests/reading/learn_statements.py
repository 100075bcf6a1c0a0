"""Learns how figures are stated: writes reading/statements/weights.json (`make statements`).

A softmax regression over the signs of each pair of a name and a figure: is the figure the value of
the name, its limit, or neither? The texts beside this module say what they state.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array

from modelmedic.engine.compiler.store.files import vocabulary_in
from modelmedic.facts import Vocabulary
from modelmedic.facts.declarations import load_vocabulary
from modelmedic.facts.statements import Statement
from modelmedic.reading.statements.names import names_of
from modelmedic.reading.statements.pairs import pairs_of
from modelmedic.reading.statements.rows import named_rows, rows_of

ROOT = Path(__file__).resolve().parents[2]
WEIGHTS = ROOT / "reading" / "statements" / "weights.json"
TEXTS = Path(__file__).with_name("statements")
APART = TEXTS / "apart"  # never learned from
FEWEST = 3  # pairs that a sign must be in
SMALL = 0.5  # how much weights count against the texts
STEPS = 150
TINY = 0.05
VALUE, LIMIT, NEITHER = 0, 1, 2


class Told(NamedTuple):
    """A text, the (observable, value) pairs that it states, and those that it gives as limits."""

    text: str
    values: frozenset[tuple[str, float | str]]
    limits: frozenset[tuple[str, float | str]]
    name: str = ""


def declared() -> tuple[Statement, ...]:
    """The statements of the shipped vocabulary."""
    texts = ((name, Path(path).read_text("utf-8")) for name, path in vocabulary_in(str(ROOT)))
    return tuple(Vocabulary.from_plain(load_vocabulary(texts)).statements.values())


def bare(value: Any) -> float | str:
    """A value in the form in which values are compared."""
    return float(f"{value:.10g}") if isinstance(value, (int, float)) else str(value).lower()


def told(folder: Path = TEXTS) -> list[Told]:
    """The texts of a folder of JSON lines."""
    found = []
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            case = json.loads(line)
            says = case.get("expect", [])
            values = {(e["observable"], bare(e["value"])) for e in says}
            limits = {
                (e["observable"], bare(e[key]))
                for e in says
                for key in ("limit", "baseline")
                if isinstance(e.get(key), (int, float))
            }
            found.append(Told(case["text"], frozenset(values), frozenset(limits - values),
                              case.get("observable", "")))  # fmt: skip
    return found


def examples(texts: Iterable[Told], statements: tuple[Statement, ...]) -> Any:
    """The signs of all pairs, and what each pair is."""
    names = names_of(statements)
    signs, kinds = [], []
    for each in texts:
        admitted = names.admitted(each.text)
        for row in named_rows(rows_of(each.text), names, admitted):
            for pair in pairs_of(row, names, admitted):
                if pair.name.statement.name not in OBSERVABLES:
                    continue  # the texts do not say
                said = (observable(pair.name.statement.name), bare(pair.value))
                signs.append(pair.signs)
                kinds.append(VALUE if said in each.values else
                             LIMIT if said in each.limits else NEITHER)  # fmt: skip
    return signs, kinds


def observable(statement: str) -> str:
    """The name that the texts use for the observable of a statement."""
    return OBSERVABLES.get(statement, "")


OBSERVABLES = {
    "r-ratio": "r_ratio", "cosine": "cosine", "token-match-rate": "match_rate",
    "kl": "kl_divergence", "training-kl": "kl_divergence", "task-score": "task_score",
    "learning-rate": "learning_rate", "lora-rank": "lora_rank", "train-loss": "loss",
    "eval-loss": "loss", "step-time": "step_time", "tokens-per-second": "tokens_per_second",
    "package-version": "version", "instance-type": "instance", "tp-degree": "degrees",
    "pp-degree": "degrees", "cp-degree": "degrees", "ep-degree": "degrees",
    "moe-tp-degree": "degrees", "moe-ep-degree": "degrees",
}  # fmt: skip


def learned(signs: Sequence[Sequence[str]], kinds: Sequence[int]) -> dict[str, list[float]]:
    """The weights of the signs."""
    counts = Counter(sign for each in signs for sign in each)
    kept = {sign: n for n, sign in enumerate(sorted(s for s, c in counts.items() if c >= FEWEST))}
    cells = [(row, kept[s]) for row, each in enumerate(signs) for s in each if s in kept]
    rows, columns = zip(*cells, strict=True)
    matrix = csr_array((np.ones(len(cells)), (rows, columns)), shape=(len(signs), len(kept)))
    meant = np.eye(3)[np.array(kinds)]

    def loss(flat: Any) -> tuple[float, Any]:
        weights = flat.reshape(len(kept), 3)
        levels = matrix @ weights
        levels -= levels.max(axis=1, keepdims=True)
        chance = np.exp(levels)
        chance /= chance.sum(axis=1, keepdims=True)
        lost = -np.log((chance * meant).sum(axis=1) + 1e-12).sum()
        slope = matrix.T @ (chance - meant) + SMALL * weights
        return lost + SMALL / 2 * (weights**2).sum(), slope.ravel()

    found = minimize(loss, np.zeros(len(kept) * 3), jac=True, method="L-BFGS-B",
                     options={"maxiter": STEPS}).x.reshape(len(kept), 3)  # fmt: skip
    relative = np.round(found[:, :2] - found[:, 2:], 2).tolist()
    return {s: relative[n] for s, n in kept.items() if max(map(abs, relative[n])) > TINY}


def written(weights: dict[str, list[float]]) -> str:
    """The file: a sign a line."""
    lines = (f"{json.dumps(sign)}: [{v:g}, {m:g}]" for sign, (v, m) in sorted(weights.items()))
    return "{\n" + ",\n".join(lines) + "\n}\n"


def learned_file() -> str:
    """The file as the texts of today give it."""
    return written(learned(*examples(told(), declared())))


if __name__ == "__main__":
    WEIGHTS.write_text(learned_file(), encoding="utf-8")
