"""The recording of a run -> ``run_figure`` facts: what a sound run has none of, counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, pairwise

from ..outcome import Collector
from .examples import first_scored, pull_of
from .learner import ONE_TOKEN_LOSSES
from .pairs import of_pairs
from .prompts import of_prompts
from .recording import Event, Figure, Load, Save
from .wire import Example

WHERE = "rehearsal"
_ENOUGH = 8  # fewer examples than this say nothing
_FIELDS = {"rate-zero-again": "learning_rate", "rate-rising-faster": "learning_rate",
           "rate-zero-first": "learning_rate", "rate-negative": "learning_rate",
           "rate-only-rising": "learning_rate", "padding-scored": "weights",
           "first-beta-larger": "beta1", "answer-of-another": "target_tokens",
           "advantages-not-negative": "advantages", "prompt-scored": "weights",
           "example-unscored": "weights",
           "first-answer-token-unscored": "weights"}  # fmt: skip


def add_figures(
    collector: Collector, events: Sequence[Event], op_of: Callable[[Event], str],
    builds: Callable[[Event], int], made: int,
    place: Callable[[Event, str], tuple[str, str | None, int | None]],
) -> None:  # fmt: skip
    """Add the figures of a run. ``op_of`` is the SDK's method behind a request, ``builds`` how many
    examples the script had made before it, ``made`` how many different ones in all, ``place`` where
    its data was made and its call."""
    trained = [e for e in events if e.op == "forward_backward"]
    own = [e for e in trained if not op_of(e).startswith("forward_backward_custom")]
    plain = [e for e in own if e.what.loss not in ONE_TOKEN_LOSSES]
    shown = [e for e in events if e.op == "forward" and op_of(e) == "forward"]
    seen = [
        *_of_models(events), *_scored(plain), *_paired(plain), *_centred(own),
        *_evaluated(shown, plain), *_unused(events, plain, made),
        *(figure for _, batches in _by_model(plain) for figure in _repeated(batches, builds)),
        *(figure for _, batches in _by_model(plain) for figure in _overlapping(batches)),
        *of_pairs(events, op_of), *of_prompts(events, plain),
    ]  # fmt: skip
    for each in seen:
        origin, file, line = place(each.at, _FIELDS.get(each.name, ""))
        collector.add("run_figure", WHERE, figure=each.name, count=each.many, of=each.of,
                      value=round(each.value, 6), made=origin, file=file, line=line)  # fmt: skip


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
    yield from _others_saved(models)


def _rates(steps: Sequence[Event]) -> Iterator[Figure]:
    rates = [e.what.rate for e in steps]
    first = next((n for n, rate in enumerate(rates) if rate > 0), len(rates))
    if 0 < first < len(rates):
        yield Figure("rate-zero-first", steps[0], sum(r == 0 for r in rates[:first]), len(rates))
    below = [e for e in steps if e.what.rate < 0]
    if below:
        yield Figure("rate-negative", below[0], len(below), len(rates), below[-1].what.rate)
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
    growth = [b - a for a, b in pairwise(rates)]
    if growth and 0 < max(growth) < 1.01 * min(growth):
        yield Figure("rate-only-rising", steps[-1], len(rates), len(rates), rates[-1] / rates[0]
                     if rates[0] > 0 else len(rates))  # fmt: skip
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


def _others_saved(models: Sequence[tuple[str, list[Event]]]) -> Iterator[Figure]:
    """Saves of models that were never trained, where those that were are never saved or sampled."""
    ops = [({e.op for e in found}, found) for _, found in models]
    lost = [found for seen, found in ops if "optim_step" in seen
            and not seen & {"save", "sample", "forward"}]  # fmt: skip
    other = [e for seen, found in ops if not seen & {"optim_step", "load"}
             for e in found if e.op == "save"]  # fmt: skip
    if lost and other and not any(seen > {"optim_step", "save"} for seen, _ in ops):
        steps = sum(e.op == "optim_step" for found in lost for e in found)
        yield Figure("untrained-saved", other[-1], steps, len(models))


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


def _overlapping(batches: Sequence[Event]) -> Iterator[Figure]:
    """Batches that begin with the examples that the one before ends with."""
    pairs = [(a, b) for a, b in pairwise(batches)
             if len(a.what.digests) > 1 and a.what.content != b.what.content]  # fmt: skip
    both = [(b, _common([x.whole for x in a.what.digests], [x.whole for x in b.what.digests]))
            for a, b in pairs]  # fmt: skip
    found = [(b, share) for b, share in both if share]
    if found:
        yield Figure("batches-overlap", found[0][0], len(found), len(pairs),
                     len(found) / len(pairs))  # fmt: skip


def _common(before: Sequence[int], after: Sequence[int]) -> int:
    """How many values end ``before`` and begin ``after``."""
    most = min(len(before), len(after))
    return next((n for n in range(most, 0, -1) if before[-n:] == after[:n]
                 and len(set(after)) == len(after)), 0)  # fmt: skip


def _unused(events: Sequence[Event], plain: Sequence[Event], made: int) -> Iterator[Figure]:
    """Examples that are made and never sent, where others are trained on again."""
    sent = {x.tokens for e in events if e.op in ("forward", "forward_backward")
            for x in e.what.digests}  # fmt: skip
    drawn = sum(e.what.examples for e in plain)
    if plain and made > len(sent) and drawn >= made:
        unused = made - len(sent)
        yield Figure("examples-unused", plain[0], unused, made, unused / made)


def _evaluated(forward: Sequence[Event], plain: Sequence[Event]) -> Iterator[Figure]:
    """Examples of forward that are trained on; not those of requests that are a batch of the
    training, nor where each request holds either such examples or none."""
    batches = {e.what.content for e in plain}
    learned = {digests.whole for e in plain for digests in e.what.digests}
    forward = [e for e in forward if e.what.content not in batches]
    each = [{digests.whole for digests in e.what.digests} for e in forward]
    shown = {digest for found in each for digest in found}
    common = len(shown & learned)
    apart = all(found <= learned or not found & learned for found in each)
    if common and (common == len(shown) or not apart or max(map(len, each)) == 1):
        yield Figure("evaluation-trained", forward[0], common, len(shown), common / len(shown))


def _paired(plain: Sequence[Event]) -> Iterator[Figure]:
    """Prompts that come again with the answer of another prompt."""
    of: dict[int, set[int]] = {}
    answers: set[int] = set()
    again = other = 0
    for event in plain:
        for prompt, answer, *_ in event.what.digests:
            if prompt in of:
                again += 1
                other += answer not in of[prompt] and answer in answers
        for prompt, answer, *_ in event.what.digests:
            of.setdefault(prompt, set()).add(answer)
            answers.add(answer)
    if other:
        yield Figure("answer-of-another", plain[0], other, again, other / again)


def _centred(own: Sequence[Event]) -> Iterator[Figure]:
    policy = [e for e in own if e.what.loss in ONE_TOKEN_LOSSES]
    pulls = [{pull for pull in pull_of(x) if pull} or {0.0} for e in policy for x in e.what.kept]
    if any(len(each) > 1 for each in pulls):
        return  # each token has its own, as where a teacher scores them
    gains = [gain for each in pulls for gain in each]
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
    yield from _ends(plain[0], kept)
    partly = [(x, first_scored(x)) for x in kept if 0 < first_scored(x) < len(x.tokens)]
    if len(partly) < _ENOUGH or len({first for _, first in partly}) < 2:
        return
    at, before = (Counter(x.tokens[first - by] for x, first in partly) for by in (0, 1))
    if len(before) == 1 and len(at) > 2:
        yield Figure("first-answer-token-unscored", plain[0], len(partly), len(kept))


def _ends(at: Event, kept: Sequence[Example]) -> Iterator[Figure]:
    """Examples of one length whose answers end with one token, again and again, as padding does;
    and answers behind prompts that have no common end."""
    scored = [x for x in kept if pull_of(x)[-1] and x.inputs.get("target_tokens")]
    ends = Counter(x.inputs["target_tokens"][-1] for x in scored)
    if len(scored) < _ENOUGH or not ends:
        return
    token, most = ends.most_common(1)[0]
    again = [_run(x, token) for x in scored]
    if len({len(x.tokens) for x in scored}) == 1 and len({*again}) > 2:
        many = sum(run > 1 for run in again)
        yield Figure("padding-scored", at, many, len(scored), many / len(scored))
    elif all(first_scored(x) for x in scored) and len({len(x.tokens) for x in scored}) > 2:
        yield Figure("answer-without-end", at, len(ends), len(scored), most / len(scored))


def _run(example: Example, token: float) -> int:
    """How many targets at the end of an example are ``token``."""
    targets = example.inputs["target_tokens"]
    return next((n for n, each in enumerate(reversed(targets)) if each != token), len(targets))


def _template(kept: Sequence[Example]) -> bool:
    """Whether all examples begin with the same two tokens, and share three others behind them."""
    shared = {x.tokens[n : n + 3] for x in kept[:1] for n in range(2, len(x.tokens) - 2)}
    for each in kept:
        shared &= {each.tokens[n : n + 3] for n in range(2, len(each.tokens) - 2)}
    return len({x.tokens[:2] for x in kept}) == 1 and bool(shared)
