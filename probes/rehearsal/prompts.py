"""Prompts that are sampled beside those that are trained -> where their forms part."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import takewhile

from .examples import first_scored
from .recording import Event, Figure

_ENOUGH = 8  # different prompts that show a form
_HEAD = 6  # tokens in which a beginning, such as a system prompt, is more than a mark


def of_prompts(events: Sequence[Event], plain: Sequence[Event]) -> Iterator[Figure]:
    """``prompt-end-differs`` and ``prompt-start-differs``: forms that all trained prompts share and
    no prompt has that is sampled from the model they were trained into."""
    kept = [(x, first_scored(x)) for e in plain for x in e.what.kept]
    trained = {x.tokens[: first + 1] for x, first in kept if 0 < first < len(x.tokens)}
    first = next((e.number for e in events if e.op == "optim_step"), len(events))
    asked = [e for e in events[first:] if e.op == "sample" and e.what.kept and e.what.steps
             and not e.what.follows]  # fmt: skip
    sampled = {e.what.kept for e in asked}
    if len(trained) < _ENOUGH or not sampled:
        return
    head, tail = _shared(trained), _shared([prompt[::-1] for prompt in trained])
    if tail and all(prompt[-1] != tail[0] for prompt in sampled):
        yield Figure("prompt-end-differs", asked[0], len(sampled), len(trained), len(tail))
    shared = [len(_shared([head, prompt])) for prompt in sampled]
    if len(head) >= _HEAD and max(shared) * 2 < len(head):
        yield Figure("prompt-start-differs", asked[0], len(sampled), len(trained), max(shared))


def _shared(rows: Collection[Sequence[int]]) -> tuple[int, ...]:
    """The longest beginning that all rows share."""
    same = takewhile(lambda each: len(set(each)) == 1, zip(*rows, strict=False))
    return tuple(each[0] for each in same)
