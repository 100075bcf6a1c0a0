"""The recording of a run -> facts about the order of its calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..outcome import Collector
from .contents import add_examples
from .figures import add_figures
from .origins import origins
from .recording import Event, Load, Recording, Sample, Save

WHERE = "rehearsal"


class Call(NamedTuple):
    """A call of the SDK as its process noted it: method, places of the job's own from the innermost
    on, the place that made its data or parameters, names that these ignored, values made before it
    and different examples among them, and whether its result was asked for."""

    op: str
    at: tuple[tuple[str, int], ...]
    made: tuple[tuple[str, int], ...]
    ignored: str
    builds: int
    contents: int
    asked: bool


class Source(NamedTuple):
    """The place that an event comes from: ``name`` tells two ways to one line apart."""

    name: str
    file: str | None
    line: int | None


Calls = Mapping[str, Call]


def source_of(event: Event | None, calls: Calls) -> Source:
    """The place of an event; without file and line where it is not known."""
    call = calls.get(event.call) if event is not None else None
    if call is None or not call.at:
        return Source("unknown", None, None)
    name = " < ".join(f"{file.rpartition('/')[2]}:{line}" for file, line in call.at)
    return Source(name, *call.at[0])


def made_at(event: Event, calls: Calls, field: str = "", client: bool = True) -> str:
    """The line that made the client (if ``client``), data or parameters of a request, else the line
    of the call; with the lines that give ``field``."""
    call, origin = calls.get(event.call), calls.get(event.origin if client else "")
    found = (origin.at if origin else ()) or (call.made or call.at if call else ())
    if not found:
        return "a place that is not known"
    (file, line), name = found[0], found[0][0].rpartition("/")[2]
    lines = ", ".join(f"{name}:{n}" for n in origins(file, line, field) if n != line)
    return f"{file}:{line}" + (f" ({field} from {lines})" if lines else "")


def _made(calls: Calls) -> int:
    """How many different examples the processes of a run made."""
    most: dict[str, int] = {}
    for key, call in calls.items():
        process = key.partition("-")[0]
        most[process] = max(most.get(process, 0), call.contents)
    return sum(most.values())


def _method(calls: Calls, key: str) -> str:
    return calls[key].op.rpartition(".")[2].removesuffix("_async") if key in calls else ""


def add_facts(
    collector: Collector, recording: Recording, calls: Calls, ended: str, given: bool
) -> None:
    """Add the facts of a run; ``ended`` is one of those of ``rehearsal``."""
    events, counts = recording.events, recording.counts
    saved = max((e.number for e in events if isinstance(e.what, Save) and e.what.name), default=-1)
    unsaved = sum(e.op == "optim_step" and e.number > saved for e in events)
    collector.add(
        "rehearsal", WHERE, ended=ended, steps=counts.get("optim_step", 0), answers=given,
        gradients=counts.get("forward_backward", 0), saves=counts.get("save", 0),
        samples=counts.get("sample", 0), unsaved=unsaved,
    )  # fmt: skip
    if recording.counts and len(events) == sum(recording.counts.values()):
        for number, model in enumerate(dict.fromkeys(e.model for e in events if e.op == "optim_step"
                                                     or e.op == "forward_backward")):  # fmt: skip
            _add_steps(collector, str(number), [e for e in events if e.model == model], calls)
        _add_ages(collector, events, calls)
        add_examples(
            collector, events, lambda event: source_of(event, calls),
            lambda event, field: made_at(event, calls, field),
        )  # fmt: skip
        _add_checkpoints(collector, events, calls)
        add_figures(
            collector, events, lambda event: _method(calls, event.call),
            lambda event: calls[event.call].builds if event.call in calls else 0, _made(calls),
            lambda event, field: (made_at(event, calls, field), *source_of(event, calls)[1:]),
        )  # fmt: skip
    _add_uses(collector, calls, {event.call for event in events}, ended)


def _add_steps(collector: Collector, model: str, events: Sequence[Event], calls: Calls) -> None:
    steps: list[tuple[Event, list[Event]]] = []
    pending: list[Event] = []
    for event in events:
        if event.op == "forward_backward":
            pending.append(event)
        elif event.op == "optim_step":
            steps.append((event, pending))
            pending = []
    sources = {e.number: source_of(e, calls) for e in events if e.op == "forward_backward"}
    sizes = Counter(len(gradients) for _, gradients in steps if gradients)
    usual = (
        sizes.most_common(1)[0][0]
        if sizes and sizes.most_common(1)[0][1] > 0.6 * len(steps)
        else None
    )
    larger = [
        g for _, g in steps if usual and len(g) > usual and len({sources[e.number] for e in g}) == 1
    ]
    empty = [step for step, gradients in steps if not gradients]
    rates = [step.what.rate for step, _ in steps if step.what.rate is not None]
    hinge = next(
        iter([*empty, *(g[-1] for g in larger), *pending[-1:], *(s for s, _ in steps)]), None
    )
    place = source_of(hinge, calls)
    collector.add(
        "optimizer_steps", WHERE, model=model, steps=len(steps), gradients=len(sources),
        empty=len(empty), left=len(pending), usual=usual, larger=len(larger) if usual else None,
        smaller=sum(0 < len(g) < usual for _, g in steps) if usual else None,
        rate_most=max(rates) if rates else None, file=place.file, line=place.line,
    )  # fmt: skip
    _add_sources(collector, [gradients for _, gradients in steps], pending, sources)


def _add_sources(
    collector: Collector, steps: Sequence[Sequence[Event]], left: Sequence[Event],
    sources: Mapping[int, Source],
) -> None:  # fmt: skip
    makeup = [frozenset(sources[e.number] for e in gradients) for gradients in steps]
    for source in dict.fromkeys(sources.values()):
        own = [e for e in [*(e for g in steps for e in g), *left] if sources[e.number] == source]
        alone = sum(each == {source} for each in makeup)
        collector.add(
            "gradient_source", WHERE, source=source.name, file=source.file, line=source.line,
            batches=len(own), distinct=len({e.what.content for e in own}),
            steps=sum(source in each for each in makeup),
            shared_steps=sum(source in each and len(each) > 1 for each in makeup),
            left=sum(sources[e.number] == source for e in left),
            main=alone > len(makeup) / 2, own_step=alone > 0,
        )  # fmt: skip


def _add_ages(collector: Collector, events: Sequence[Event], calls: Calls) -> None:
    """``sampler_age`` of each place that samples."""
    policy = [e.what for e in events if e.op == "forward_backward" and e.what.loss in _POLICY]
    reused = {n for e in events if e.op == "forward_backward" and e.what.used
              for n in e.what.used.events}  # fmt: skip
    trained = {n for look in policy if look.used
               for n in look.used.events}  # fmt: skip
    learned = {digests.prompt for e in events if e.op == "forward_backward" and
               e.what.loss not in _POLICY for digests in e.what.digests}  # fmt: skip
    done: Counter[str] = Counter()
    ages: dict[Source, list[tuple[Event, int | None]]] = {}
    for event in events:
        if event.op == "optim_step":
            done[event.model] += 1
        elif event.op == "load":
            done[event.model] = 0  # ages before and after a load cannot be compared
        elif event.op == "sample" and not event.what.scores:
            steps = event.what.steps
            age = None if steps is None else max(done[event.model] - steps, 0)
            ages.setdefault(source_of(event, calls), []).append((event, age))
    last = max((e.number for e in events if e.op == "optim_step"), default=-1)
    loaded = any(e.op == "load" for e in events)
    for source, found in ages.items():
        known = [(e, age) for e, age in found if age is not None and not loaded]
        sampled: list[Sample] = [e.what for e, _ in found]
        prompts = {what.prompt for what in sampled if not what.follows}
        on_policy = sum(e.number in trained for e, _ in found)
        draws = Counter(what.draw for what in sampled
                        if what.draw and (on_policy or what.temperature > 0))  # fmt: skip
        collector.add(
            "sampler_age", WHERE, made=made_at(found[-1][0], calls),
            settings=made_at(found[0][0], calls, "temperature", False),
            source=source.name, file=source.file, line=source.line,
            requests=len(found), first=known[0][1] if known else None,
            last=known[-1][1] if known else None,
            weights=len({(what.of, what.steps) for what in sampled}),
            trained=on_policy,
            reused=sum(e.number in reused for e, _ in found), only=len(ages) == 1,
            behind_end=bool(known and known[-1][0].number > last and (known[-1][1] or 0) > 0),
            greedy_groups=sum(what.wanted > 1 and what.temperature == 0 for what in sampled),
            prompts=len(prompts), prompts_trained=len(prompts & learned),
            same_draws=sum(many - 1 for many in draws.values()),
            foreign=sum(age is None and e.number in trained for e, age in found),
        )  # fmt: skip


_POLICY = frozenset({"importance_sampling", "ppo", "cispo", "dro", "gspo", "stable_reinforce"})


def _add_checkpoints(collector: Collector, events: Sequence[Event], calls: Calls) -> None:
    found: dict[tuple[str, str, Source], int] = {}
    last = max((e.number for e in events if e.op == "optim_step"), default=-1)
    saved: set[tuple[str, str, Source]] = set()  # since the last step
    for event in events:
        what, use = event.what, ""
        if event.op in ("optim_step", "load"):
            saved = {each for each in saved if each[0] != event.model}
        if event.op == "wrong-type":
            use = "wrong-type"
        elif isinstance(what, Save) and what.again:
            use = "name-again"
        elif isinstance(what, Load) and what.own and not what.optimizer and event.number < last:
            use = "without-optimizer"
        elif isinstance(what, Save) and what.name:
            mine = event.model, what.kind, source_of(event, calls)
            use = "unchanged" if mine in saved and mine[2].file else ""
            saved.add(mine)
        if use:
            key = use, made_at(event, calls), source_of(event, calls)
            found[key] = found.get(key, 0) + 1
    for (use, made, source), count in found.items():
        collector.add("checkpoint_use", WHERE, use=use, made=made, file=source.file,
                      line=source.line, count=count)  # fmt: skip


_USES = ("forward_backward", "forward", "optim_step", "save_state", "save_weights_for_sampler",
         "load_state", "load_state_with_optimizer", "sample",
         "forward_backward_custom")  # fmt: skip


def _add_uses(collector: Collector, calls: Calls, sent: set[str], ended: str) -> None:
    """``sdk_call_use`` of each line that calls, of a run that was not cut off."""
    if ended != "by-itself":
        return
    groups: dict[tuple[str, str, int], list[tuple[str, Call]]] = {}
    for key, call in calls.items():
        name = call.op.rpartition(".")[2].removesuffix("_async")
        if name in _USES and call.at:
            groups.setdefault((name, *call.at[0]), []).append((key, call))
    for (name, file, line), found in groups.items():
        unsent = sum(key not in sent for key, _ in found)
        unasked = sum(not call.asked and key in sent for key, call in found)
        ignored = next(((c.ignored, f"{c.made[0][0]}:{c.made[0][1]}") for _, c in found
                        if c.ignored and c.made), (None, None))  # fmt: skip
        collector.add("sdk_call_use", WHERE, operation=name, file=file, line=line, calls=len(found),
                      unasked=unasked, unsent=unsent, ignored=ignored[0],
                      made=ignored[1])  # fmt: skip
