"""Recent samples, to be found again in the examples that are trained: what was sampled and how."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from .examples import pull_of
from .wire import Answer, Batch, Example

_MOST_PROMPTS = 20_000
_MOST_ANSWERS = 256  # of one prompt
_LONG = 3  # tokens that make a sample one of its own
_CLOSE = 1e-3  # of two log-probabilities that are the same
_Answers = dict[tuple[int, ...], tuple[tuple[float, ...], int]]


class Used(NamedTuple):
    """Examples of a batch that hold a sample, and of those: ``trained`` ones have some advantage or
    weight; the names of the others say which they are. ``groups`` are prompts with several
    examples, ``flat_groups`` those with equal advantages, ``flat_gains`` these if not 0. ``long``
    are trained samples of three tokens or more: ``late`` ones lack the first token only, of
    ``last_only`` ones the last alone is trained. ``events`` drew the samples. Of examples that
    begin with a prompt, ``other_answer`` go on with none of its answers, and ``swapped`` with one
    of another prompt."""

    examples: int = 0
    trained: int = 0
    scored_prompt: int = 0
    unscored_answer: int = 0
    with_logprobs: int = 0
    same_logprobs: int = 0
    moved_logprobs: int = 0
    long: int = 0
    late: int = 0
    last_only: int = 0
    flat_groups: int = 0
    groups: int = 0
    events: tuple[int, ...] = ()
    other_answer: int = 0
    swapped: int = 0
    flat_gains: tuple[float, ...] = ()


class Rollouts:
    """Samples by their prompts. Not safe for several threads: the stand-in holds its lock."""

    def __init__(self) -> None:
        self._prompts: OrderedDict[tuple[int, ...], _Answers] = OrderedDict()
        self._lengths: dict[int, int] = {}
        self._said: set[tuple[int, ...]] = set()  # answers that are long enough to be known

    def add(self, event: int, prompt: Sequence[int], answers: Sequence[Answer]) -> None:
        """Keep the answers to a prompt."""
        key = tuple(prompt)
        kept = self._prompts.setdefault(key, {})
        self._prompts.move_to_end(key)
        self._lengths[len(key)] = self._lengths.get(len(key), 0) + 1
        for each in answers:
            if len(kept) < _MOST_ANSWERS:
                kept[each.tokens] = (each.logprobs, event)
            if len(each.tokens) >= _LONG and len(self._said) < _MOST_PROMPTS:
                self._said.add(each.tokens)
        while len(self._prompts) > _MOST_PROMPTS:
            self._prompts.popitem(last=False)

    def follows(self, prompt: Sequence[int]) -> bool:
        """Whether a prompt holds a recent answer, as the next turn of a conversation does."""
        return self._find(tuple(prompt)) is not None

    def used_by(self, batch: Batch) -> Used:
        """Count the examples of a batch that hold a sample."""
        found, events, others = [0] * 10, set(), [0, 0]
        groups: dict[tuple[int, ...], list[tuple[float, float]]] = {}
        for example in batch.examples:
            targets = example.inputs.get("target_tokens", ())
            if not targets or len(targets) != len(example.tokens):
                continue
            whole = (*example.tokens, int(targets[-1]))
            known = self._find(whole)
            if known is None:
                others = [a + b for a, b in zip(others, self._other(whole), strict=True)]
                continue
            prompt, answer, (logprobs, event) = known
            events.add(event)
            seen = _figures(example, len(prompt), answer, logprobs)
            found = [a + b for a, b in zip(found, seen, strict=True)]
            own = pull_of(example)[len(prompt) - 1 : len(prompt) - 1 + len(answer)] or (0.0,)
            groups.setdefault(prompt, []).append((min(own), max(own)))
        several = [each for each in groups.values() if len(each) > 1]
        flat = [each[0] for each in several if len(set(each)) == 1]
        figures = dict(zip(Used._fields, [*found, len(flat), len(several)], strict=False))
        gains = tuple(low for low, high in flat if low == high != 0)
        return Used(**figures, events=tuple(sorted(events)), other_answer=others[0],
                    swapped=others[1], flat_gains=gains)  # fmt: skip

    def _other(self, whole: tuple[int, ...]) -> tuple[int, int]:
        """Whether tokens begin with a prompt and go on with no answer of it, nor a part of one; and
        whether they go on with an answer of another prompt."""
        lengths = [
            n for n in sorted(self._lengths) if n < len(whole) and whole[:n] in self._prompts
        ]
        for length in lengths:
            rest, answers = whole[length:], self._prompts[whole[:length]]
            if len(answers) >= _MOST_ANSWERS or any(a[: len(rest)] == rest for a in answers):
                return 0, 0
        rest = whole[lengths[-1] :] if lengths else ()
        return int(bool(lengths)), int(bool(lengths) and rest in self._said)

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
    long = trained and last - first >= _LONG
    late = long and not pulls[first] and all(pulls[first + 1 : last])
    only = long and not any(pulls[first : last - 1])
    placed = int(long), int(late), int(only)
    if given is None:
        return 1, int(trained), int(scored), int(unscored), 0, 0, 0, *placed
    same = _close(given[first:last], logprobs)
    moved = not same and any(
        _close(given[max(first + by, 0) : max(last + by, 0)], logprobs) for by in (-1, 1)
    )
    return 1, int(trained), int(scored), int(unscored), 1, int(same), int(moved), *placed


def _close(given: Sequence[float], logprobs: Sequence[float]) -> bool:
    return len(given) == len(logprobs) and all(
        abs(a - b) < _CLOSE for a, b in zip(given, logprobs, strict=True)
    )
