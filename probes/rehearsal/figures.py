"""The recording of a run -> ``run_figure`` facts: what a sound run has none of, counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from ..outcome import Collector
from .examples import first_scored, pull_of
from .learner import ONE_TOKEN_LOSSES
from .recording import Event, Load, Save
from .wire import Example

WHERE = "rehearsal"
_ENOUGH = 8  # fewer examples than this say nothing
_FIELDS = {"rate-zero-again": "learning_rate", "rate-rising-faster": "learning_rate",
           "first-beta-larger": "beta1", "answer-of-another": "target_tokens",
           "advantages-not-negative": "advantages", "prompt-scored": "weights",
           "example-unscored": "weights",
           "first-answer-token-unscored": "weights"}  # fmt: skip


class Figure(NamedTuple):
    """A count ``of`` so many, another figure ``value``, and the request that it is seen at."""

    name: str
    at: Event
    many: int
    of: int
    value: float = 0.0


def add_figures(
    collector: Collector, events: Sequence[Event], op_of: Callable[[Event], str],
    builds: Callable[[Event], int],
    place: Callable[[Event, str], tuple[str, str | None, int | None]],
) -> None:  # fmt: skip
    """Add the figures of a run. ``op_of`` is the SDK's method behind a request, ``builds`` how many
    examples the script had made before it, ``place`` where its data was made and its call."""
    trained = [e for e in events if e.op == "forward_backward"]
    own = [e for e in trained if not op_of(e).startswith("forward_backward_custom")]
    plain = [e for e in own if e.what.loss not in ONE_TOKEN_LOSSES]
    shown = [e for e in events if e.op == "forward" and op_of(e) == "forward"]
    seen = [
        *_of_models(events), *_scored(plain), *_paired(plain), *_centred(own),
        *_evaluated(shown, trained),
        *(figure for _, batches in _by_model(plain) for figure in _repeated(batches, builds)),
    ]  # fmt: skip
    for each in seen:
        made, file, line = place(each.at, _FIELDS.get(each.name, ""))
        collector.add("run_figure", WHERE, figure=each.name, count=each.many, of=each.of,
                      value=round(each.value, 6), made=made, file=file, line=line)  # fmt: skip


def _by_model(events: Sequence[Event]) -> list[tuple[str, list[Event]]]:
    ordered = sorted(events, key=lambda e: (e.model, e.number))
    return [(model, list(found)) for model, found in groupby(ordered, lambda e: e.model)]


def _of_models(events: Sequence[Event]) -> Iterator[Figure]:
    models = _by_model([e for e in events if e.model])
    for model, found in models:
        steps = [e for e in found if e.op == "optim_step" and e.what.rate is not None]
        yield from _rates(steps)
        yield from _saves(found)
        later = next((e for e in events if e.op == "create_model" and steps and e.model != model
                      and e.number > steps[-1].number), None)  # fmt: skip
        alike = any(e.op == "optim_step" and later and e.model == later.model
                    and e.what.rate == steps[0].what.rate for e in events)  # fmt: skip
        if (
            later
            and alike
            and len(steps) > 1
            and found[-1].op in ("optim_step", "forward_backward")
        ):
            yield Figure("model-abandoned", later, len(steps), len(models))
    yield from _goes_on(events)


def _rates(steps: Sequence[Event]) -> Iterator[Figure]:
    rates = [e.what.rate for e in steps]
    first = next((n for n, rate in enumerate(rates) if rate > 0), len(rates))
    zero = [e for e in steps[first:] if e.what.rate == 0]
    if zero:
        yield Figure("rate-zero-again", zero[0], len(zero), len(steps))
    rising = 0
    for a, b, c in zip(rates[-3::-1], rates[-2::-1], rates[::-1], strict=False):
        if not (c > b > a > 0 and c - b > 1.001 * (b - a)):
            break
        rising += 1
    if rising:
        yield Figure("rate-rising-faster", steps[-1], rising, len(rates),
                     rates[-1] / rates[-1 - rising])  # fmt: skip
    swapped = [e for e in steps if e.what.beta1 > e.what.beta2 > 0]
    if swapped:
        yield Figure(
            "first-beta-larger", swapped[0], len(swapped), len(steps), swapped[0].what.beta1
        )


def _saves(found: Sequence[Event]) -> Iterator[Figure]:
    """The last save with a name, where gradients wait for a step that comes after it."""
    saves = [n for n, e in enumerate(found) if isinstance(e.what, Save) and e.what.name]
    if saves:
        before = [e.op for e in found[: saves[-1]] if e.op in ("optim_step", "forward_backward")]
        after = sum(e.op == "optim_step" for e in found[saves[-1] :])
        if before[-1:] == ["forward_backward"] and "optim_step" in before and after:
            yield Figure("saved-before-step", found[saves[-1]], after, len(saves))


def _goes_on(events: Sequence[Event]) -> Iterator[Figure]:
    """Loads without the optimizer after which training goes on as it was: same loss, same rate."""
    for event in events:
        if isinstance(event.what, Load) and event.what.own and not event.what.optimizer:
            before = [
                e for e in events[: event.number] if e.op in ("optim_step", "forward_backward")
            ]
            after = [e for e in events[event.number :] if e.model == event.model]
            kinds = [{e.what.loss if e.op == "forward_backward" else e.what.rate for e in part
                      if e.op in ("optim_step", "forward_backward")}
                     for part in (before[-2:], after[:3])]  # fmt: skip
            if kinds[0] == kinds[1] and len(kinds[0]) > 1:
                yield Figure("optimizer-dropped", event, 1, 1)


def _repeated(batches: Sequence[Event], builds: Callable[[Event], int]) -> Iterator[Figure]:
    again = [b for a, b in pairwise(batches) if a.what.content == b.what.content]
    anew = [
        b for a, b in pairwise(batches)
        if a.what.digests == b.what.digests and builds(b) - builds(a) >= b.what.examples
    ]  # fmt: skip
    distinct = len({e.what.content for e in batches})
    if anew and distinct == 1:  # in one order: not all data in one batch, shuffled
        yield Figure("batch-anew-the-same", anew[0], len(anew) + 1, len(batches))
    elif again and distinct + len(again) == len(batches):
        many = len({e.what.content for e in again})
        yield Figure("batch-sent-again", again[0], many, len(batches), len(again) / len(batches))


def _evaluated(forward: Sequence[Event], trained: Sequence[Event]) -> Iterator[Figure]:
    learned = {digests[2] for e in trained for digests in e.what.digests}
    shown = {digests[2] for e in forward for digests in e.what.digests}
    common = len(shown & learned)
    if common:
        yield Figure("evaluation-trained", forward[0], common, len(shown), common / len(shown))


def _paired(plain: Sequence[Event]) -> Iterator[Figure]:
    """Prompts that come again with the answer of another prompt."""
    of: dict[int, set[int]] = {}
    answers: set[int] = set()
    again = other = 0
    for event in plain:
        for prompt, answer, _ in event.what.digests:
            if prompt in of:
                again += 1
                other += answer not in of[prompt] and answer in answers
        for prompt, answer, _ in event.what.digests:
            of.setdefault(prompt, set()).add(answer)
            answers.add(answer)
    if other:
        yield Figure("answer-of-another", plain[0], other, again, other / again)


def _centred(own: Sequence[Event]) -> Iterator[Figure]:
    policy = [e for e in own if e.what.loss in ONE_TOKEN_LOSSES]
    gains = [max(pull_of(x), key=abs) for e in policy for x in e.what.kept if pull_of(x)]
    if gains and min(gains) >= 0 and max(gains) > 0:
        count = sum(gain > 0 for gain in gains)
        yield Figure("advantages-not-negative", policy[0], count, len(gains), len(set(gains)))


def _scored(plain: Sequence[Event]) -> Iterator[Figure]:
    kept = [x for e in plain for x in e.what.kept if "weights" in x.inputs and len(x.tokens) > 1]
    kept = list({x.tokens: x for x in kept}.values())
    if len(kept) < _ENOUGH:
        return
    empty = [x for x in kept if not any(pull_of(x))]
    if empty:
        yield Figure("example-unscored", plain[0], len(empty), len(kept), len(empty) / len(kept))
    whole = sum(all(pull_of(x)) for x in kept)
    if whole == len(kept) and _template(kept):
        yield Figure("prompt-scored", plain[0], whole, len(kept))
    partly = [(x, first_scored(x)) for x in kept if 0 < first_scored(x) < len(x.tokens)]
    if len(partly) < _ENOUGH or len({first for _, first in partly}) < 2:
        return
    at, before = (Counter(x.tokens[first - by] for x, first in partly) for by in (0, 1))
    if len(before) == 1 and len(at) > 2:
        yield Figure("first-answer-token-unscored", plain[0], len(partly), len(kept))


def _template(kept: Sequence[Example]) -> bool:
    """Whether all examples begin with the same two tokens, and share three others behind them."""
    shared = {x.tokens[n : n + 3] for x in kept[:1] for n in range(2, len(x.tokens) - 2)}
    for each in kept:
        shared &= {each.tokens[n : n + 3] for n in range(2, len(each.tokens) - 2)}
    return len({x.tokens[:2] for x in kept}) == 1 and bool(shared)
