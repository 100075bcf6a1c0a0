"""Custom losses over pairs -> whether what they compare the model with is the model itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .examples import Look
from .recording import Event, Figure

_SAME = 1e-5  # relative, of two gradients


def of_pairs(events: Sequence[Event], op_of: Callable[[Event], str]) -> Iterator[Figure]:
    """``reference-moves`` and ``gradient-constant``, of batches that hold no sample of this run."""
    done: Counter[str] = Counter()
    scored: dict[int, set[tuple[str, int | None]]] = {}  # since the example was trained last
    ever: set[int] = set()
    seen: list[tuple[Event, bool, bool]] = []  # a batch, scored by the model as it is, or by others
    for event in events:
        if event.op == "optim_step":
            done[event.model] += 1
        elif event.op == "sample" and event.what.scores:
            scored.setdefault(event.what.prompt, set()).add((event.what.of, event.what.steps))
        elif event.op == "forward" and op_of(event) == "forward":
            for each in event.what.digests:
                scored.setdefault(each.whole, set()).add((event.model, done[event.model]))
        elif event.op == "forward_backward" and event.what.pulls:
            now = event.model, done[event.model]
            by = [scored.pop(x.whole, set()) | scored.pop(x.tokens, set())
                  for x in event.what.digests]  # fmt: skip
            ever |= {x.whole for x, each in zip(event.what.digests, by, strict=True) if each}
            if now[1] and not (event.what.used and event.what.used.examples):
                current = all(each == {now} for each in by)
                known = any(x.whole in ever for x in event.what.digests)
                seen.append((event, current, known and not current))
    moving = [event for event, now, _ in seen if now]
    if moving:
        yield Figure("reference-moves", moving[0], len(moving), len(seen))
    moved = [event for event, _, _ in seen if event.what.moved]
    if moved and _alike([e.what for e in moved]):
        of = sum(not older for _, _, older in seen)
        yield Figure("gradient-constant", moved[0], len(moved), of)


def _alike(looks: Sequence[Look]) -> bool:
    """Whether all examples are pulled equally hard, half of them up and half down."""
    sizes: list[tuple[float, ...]] = []
    for look in looks:
        pulls: Sequence[Any] = look.pulls
        if sum(each.sign for each in pulls) or not all(each.sign for each in pulls):
            return False
        of = len(pulls)
        sizes += [(x.size, x.size * x.places, x.size * of, x.size * x.places * of) for x in pulls]
    return any(max(row) - min(row) < _SAME * max(row) for row in zip(*sizes, strict=True))
