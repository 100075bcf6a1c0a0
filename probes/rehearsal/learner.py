"""A small model that really learns: which token follows which, nothing more.

Its loss falls when it is trained, two snapshots differ by what was trained between them, and a
sampler gives the same log-probabilities as the trainer. Nothing of it depends on chance but the
seed of a sample.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence

from .wire import Answer, Batch, Example

VOCABULARY = 32_768  # tokens that the model may say; those never seen share the rest alike
_PACE = 1000.0  # a step of the service's learning rate in this model's
_MOST = 20.0  # of a score
_KNOWN = 4096  # tokens that are kept to be said
_LENGTH = 24  # longest answer where nothing else ends it
Rows = Mapping[int, Mapping[int, float]]
ONE_TOKEN_LOSSES = (  # that compare with the policy that sampled
    "importance_sampling",
    "ppo",
    "cispo",
    "dro",
    "gspo",
    "stable_reinforce",
)


class Learner:
    """Scores of the next token by the last one, and the gradients since the last step."""

    def __init__(self, rows: Rows | None = None, seen: Iterable[int] = ()) -> None:
        self._rows: dict[int, Mapping[int, float]] = dict(rows or {})
        self._gradient: dict[tuple[int, int], float] = {}
        self._norms: dict[int, float] = {}
        self.seen: dict[int, None] = dict.fromkeys(seen)

    def snapshot(self) -> Learner:
        """A model with the weights of now, which later steps do not change."""
        return Learner(self._rows, self.seen)

    def logprob(self, before: int, token: int) -> float:
        """The log-probability of ``token`` after the token ``before``."""
        row = self._rows.get(before, {})
        norm = self._norms.get(before)
        if norm is None:
            total = sum(map(math.exp, row.values())) + max(VOCABULARY - len(row), 0)
            norm = self._norms[before] = math.log(total)
        return row.get(token, 0.0) - norm

    def logprobs(self, tokens: Sequence[int], targets: Sequence[float]) -> list[float]:
        """The log-probability of each target after its input token."""
        return [self.logprob(a, int(b)) for a, b in zip(tokens, targets, strict=False)]

    def run(self, batch: Batch) -> tuple[list[list[float]], dict[str, float]]:
        """The log-probabilities of the targets and the metrics of a batch; its gradient is added
        unless the batch is for a forward pass only."""
        found, total = [], 0.0
        for example in batch.examples:
            logprobs = self.logprobs(example.tokens, example.inputs.get("target_tokens", ()))
            found.append(logprobs)
            pulls, loss = _pulls(batch.loss, example, logprobs)
            total += loss
            if not batch.forward_only:
                self._add(example, pulls)
            if len(self.seen) < _KNOWN:
                self.seen.update(dict.fromkeys(t for t in example.tokens if t >= 0))
        return found, {"loss:sum": total}

    def _add(self, example: Example, pulls: Sequence[float]) -> None:
        targets = example.inputs.get("target_tokens", ())
        for before, token, pull in zip(example.tokens, targets, pulls, strict=False):
            if pull and math.isfinite(pull):
                key = (before, int(token))
                self._gradient[key] = self._gradient.get(key, 0.0) + pull

    def step(self, rate: float) -> float:
        """Apply the gradients since the last step, each by its sign as Adam's first step does.
        Returns their norm."""
        changed: dict[int, dict[int, float]] = {}
        size = rate * _PACE if math.isfinite(rate) else 0.0
        for (before, token), pull in self._gradient.items():
            row = changed.setdefault(before, dict(self._rows.get(before, {})))
            moved = row.get(token, 0.0) + size * max(-1.0, min(1.0, pull))
            row[token] = max(-_MOST, min(_MOST, moved))
        self._rows.update(changed)
        for before in changed:
            self._norms.pop(before, None)
        norm = math.sqrt(sum(pull * pull for pull in self._gradient.values()))
        self._gradient.clear()
        return norm

    def restore(self, other: Learner) -> None:
        """Take the weights of another model."""
        self._rows, self._norms = dict(other._rows), {}
        self._gradient.clear()

    def answer(
        self, prompt: Sequence[int], seed: str, most: int | None, ends: Sequence[int], heat: float,
        given: Sequence[int] | None = None,
    ) -> Answer:  # fmt: skip
        """An answer to a prompt: the tokens ``given``, or else some that the model has seen. It
        ends with one of ``ends`` if there is any."""
        chance = random.Random(seed)
        limit = max(1, min(most or _LENGTH, _LENGTH))
        said = list(given) if given is not None else []
        last = prompt[-1] if prompt else 0
        known = list(self.seen) or [t for t in prompt if t >= 0] or [0]
        length = chance.randint(1, limit)
        while given is None and len(said) < length and not (said and last in ends):
            last = self._next(last, chance, known, heat)
            said.append(last)
        most = most if most is not None and most > 0 else len(said) + 1
        stopped = len(said) < most and (given is not None or chance.random() < 0.8)
        if stopped and ends and (not said or said[-1] not in ends):
            said.append(ends[0])
        said = said[:most]
        stopped = stopped or bool(said and said[-1] in ends)
        befores = [prompt[-1] if prompt else 0, *said[:-1]]
        return Answer(tuple(said), tuple(self.logprobs(befores, said)), stopped)

    def _next(self, last: int, chance: random.Random, known: Sequence[int], heat: float) -> int:
        row = self._rows.get(last)
        if row and heat <= 0:
            return max(row, key=lambda token: (row[token], -token))
        if row and chance.random() < 0.9:
            top = max(row.values())
            weights = [math.exp(max((w - top) / heat, -60.0)) for w in row.values()]
            return chance.choices(list(row), weights)[0]
        return chance.choice(known) if heat > 0 else known[last % len(known)]

    def likeliest(self, before: int, width: int) -> list[tuple[int, float]]:
        """The ``width`` likeliest tokens after a token, with their log-probabilities."""
        row = self._rows.get(before, {})
        known = sorted(row, key=lambda t: (-row[t], t))[:width]
        others = (t for t in range(width * 2) if t not in known)
        known += [next(others) for _ in range(width - len(known))]
        return [(token, self.logprob(before, token)) for token in known]


def _pulls(loss: str, example: Example, logprobs: Sequence[float]) -> tuple[list[float], float]:
    """By how much each target is to become likelier, and the loss of an example."""
    count = len(logprobs)
    if loss in ONE_TOKEN_LOSSES:
        old = example.inputs.get("logprobs", (0.0,) * count)
        gains = example.inputs.get("advantages", (0.0,) * count)
        ratios = [
            math.exp(max(-20.0, min(20.0, a - b))) for a, b in zip(logprobs, old, strict=False)
        ]
        pulls = [r * g for r, g in zip(ratios, gains, strict=False)]
        return pulls, -sum(pulls)
    weights = example.inputs.get("weights", (1.0,) * count)
    return list(weights), -sum(w * p for w, p in zip(weights, logprobs, strict=False) if w)
