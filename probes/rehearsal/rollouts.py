"""Recent samples, to be found again in the examples that are trained: what was sampled and how."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from .examples import pull_of
from .wire import Answer, Batch, Example

_MOST_PROMPTS = 20_000
_MOST_ANSWERS = 256  # of one prompt
_CLOSE = 1e-3  # of two log-probabilities that are the same
_Answers = dict[tuple[int, ...], tuple[tuple[float, ...], int]]


class Used(NamedTuple):
    """Examples of a batch that hold a sample, and of those: ``trained`` ones have some advantage or
    weight; the names of the others say which they are. ``groups`` are prompts with several
    examples, ``flat_groups`` those with equal advantages. ``events`` drew the samples."""

    examples: int = 0
    trained: int = 0
    scored_prompt: int = 0
    unscored_answer: int = 0
    with_logprobs: int = 0
    same_logprobs: int = 0
    moved_logprobs: int = 0
    flat_groups: int = 0
    groups: int = 0
    events: tuple[int, ...] = ()


class Rollouts:
    """Samples by their prompts. Not safe for several threads: the stand-in holds its lock."""

    def __init__(self) -> None:
        self._prompts: OrderedDict[tuple[int, ...], _Answers] = OrderedDict()
        self._lengths: dict[int, int] = {}

    def add(self, event: int, prompt: Sequence[int], answers: Sequence[Answer]) -> None:
        """Keep the answers to a prompt."""
        key = tuple(prompt)
        kept = self._prompts.setdefault(key, {})
        self._prompts.move_to_end(key)
        self._lengths[len(key)] = self._lengths.get(len(key), 0) + 1
        for each in answers:
            if len(kept) < _MOST_ANSWERS:
                kept[each.tokens] = (each.logprobs, event)
        while len(self._prompts) > _MOST_PROMPTS:
            self._prompts.popitem(last=False)

    def follows(self, prompt: Sequence[int]) -> bool:
        """Whether a prompt holds a recent answer, as the next turn of a conversation does."""
        return self._find(tuple(prompt)) is not None

    def used_by(self, batch: Batch) -> Used:
        """Count the examples of a batch that hold a sample."""
        found, events = [0] * 7, set()
        groups: dict[tuple[int, ...], list[float]] = {}
        for example in batch.examples:
            targets = example.inputs.get("target_tokens", ())
            if not targets or len(targets) != len(example.tokens):
                continue
            whole = (*example.tokens, int(targets[-1]))
            known = self._find(whole)
            if known is None:
                continue
            prompt, answer, (logprobs, event) = known
            events.add(event)
            seen = _figures(example, len(prompt), answer, logprobs)
            found = [a + b for a, b in zip(found, seen, strict=True)]
            pulls = pull_of(example)
            groups.setdefault(prompt, []).append(pulls[min(len(prompt) - 1, len(pulls) - 1)])
        several = [gains for gains in groups.values() if len(gains) > 1]
        flat = sum(max(gains) - min(gains) < 1e-9 for gains in several)
        figures = dict(zip(Used._fields, [*found, flat, len(several)], strict=False))
        return Used(**figures, events=tuple(sorted(events)))

    def _find(
        self, whole: tuple[int, ...]
    ) -> tuple[tuple[int, ...], tuple[int, ...], tuple[tuple[float, ...], int]] | None:
        """The shortest prompt that ``whole`` begins with and that has an answer in it."""
        for length in sorted(self._lengths):
            if length >= len(whole):
                return None
            answers = self._prompts.get(whole[:length])
            for answer, known in (answers or {}).items():
                if answer and whole[length : length + len(answer)] == answer:
                    return whole[:length], answer, known
        return None


def _figures(
    example: Example, prompt: int, answer: Sequence[int], logprobs: Sequence[float]
) -> tuple[int, ...]:
    """1, and 1 or 0 for each figure of :class:`Used` behind it, of one example."""
    pulls = pull_of(example)
    first, last = prompt - 1, prompt - 1 + len(answer)
    trained = any(pulls[first:last])
    scored = trained and any(pulls[:first])
    unscored = trained and not all(pulls[first:last])
    given = example.inputs.get("logprobs")
    if given is None:
        return 1, int(trained), int(scored), int(unscored), 0, 0, 0
    same = _close(given[first:last], logprobs)
    moved = not same and any(
        _close(given[max(first + by, 0) : max(last + by, 0)], logprobs) for by in (-1, 1)
    )
    return 1, int(trained), int(scored), int(unscored), 1, int(same), int(moved)


def _close(given: Sequence[float], logprobs: Sequence[float]) -> bool:
    return len(given) == len(logprobs) and all(
        abs(a - b) < _CLOSE for a, b in zip(given, logprobs, strict=True)
    )
