"""Requests of a job in the order of their arrival, with all that the laws need.

Tokens are looked at when they arrive and not kept, but for those of recent samples: an example that
is trained is compared with them.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .examples import Look, custom_pull, look_at, problem_of
from .rollouts import Rollouts
from .wire import Answer, Batch

MOST = 100_000  # events that are kept
MOST_KEPT = 400  # examples, and prompts


class Event:
    """A request that took effect: its operation, call of the SDK, model, and what the laws need."""

    __slots__ = ("call", "model", "number", "op", "origin", "what")

    def __init__(self, op: str, call: str, model: str, number: int, what: Any) -> None:
        self.op, self.call, self.model, self.number, self.what = op, call, model, number, what
        self.origin = ""  # the call that made what this request uses


class Figure(NamedTuple):
    """A count ``of`` so many, another figure ``value``, and the request that it is seen at."""

    name: str
    at: Event
    many: int
    of: int
    value: float = 0.0


class Step(NamedTuple):
    """A step: its learning rate (None: not finite) and its betas (0: not given)."""

    rate: float | None
    beta1: float
    beta2: float


class Save(NamedTuple):
    """A save: its kind, its name if it has one, and whether the name was taken."""

    kind: str
    name: str | None
    again: bool


class Load(NamedTuple):
    """A load: whether the optimizer comes with it, whether this run has saved it."""

    optimizer: bool
    own: bool


class Sample(NamedTuple):
    """A request for samples: how many (``wanted``), their temperature, how many steps their weights
    have seen (None: not of a model in training), the model, whether it only scores its prompt,
    digests of the prompt and of all that makes a draw the same again (0: nothing does), whether the
    prompt goes on from an earlier answer, and the prompt itself if it is one of the first."""

    wanted: int
    temperature: float
    steps: int | None
    of: str
    scores: bool
    prompt: int
    draw: int
    follows: bool
    kept: tuple[int, ...]


class Recording:
    """All events of a run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.rollouts = Rollouts()
        self.events: list[Event] = []
        self.counts: dict[str, int] = {}
        self._keep = self._keep_prompts = MOST_KEPT
        self._forward = ""  # the call behind the last forward pass

    def _note(self, op: str, call: str, model: str = "", what: Any = None) -> Event:
        with self._lock:
            self.counts[op] = self.counts.get(op, 0) + 1
            event = Event(op, call, model, len(self.events), what)
            if len(self.events) < MOST:
                self.events.append(event)
            return event

    def is_custom(self, batch: Batch, call: str) -> bool:
        """Whether a batch carries the gradient of a custom loss, whose call has asked for a forward
        pass before."""
        return bool(call) and not batch.forward_only and call == self._forward

    def batch(self, batch: Batch, call: str, moved: bool = False) -> str:
        """Note a batch. Returns why the service would refuse it, or an empty text."""
        look: Look = look_at(batch)
        if self.is_custom(batch, call):
            pulls = tuple(map(custom_pull, batch.examples))
            look = look._replace(pulls=pulls, moved=moved)
        if batch.forward_only:
            self._forward = call
        else:
            look = look._replace(used=self.rollouts.used_by(batch))
            look = look._replace(kept=batch.examples[: self._keep])
            self._keep -= len(look.kept)
        op = "forward" if batch.forward_only else "forward_backward"
        self._note(op, call, batch.model, look)
        return problem_of(look)

    def step(self, model: str, params: Mapping[str, Any], call: str) -> Event:
        """Note an ``optim_step`` with its parameters."""
        rate, beta1, beta2 = (
            float(params.get(name) or 0.0) for name in ("learning_rate", "beta1", "beta2")
        )
        what = Step(rate if math.isfinite(rate) else None, beta1, beta2)
        return self._note("optim_step", call, model, what)

    def save(self, kind: str, call: str, model: str, name: str | None, again: bool) -> Event:
        """Note a save of weights."""
        return self._note("save", call, model, Save(kind, name, again))

    def load(self, call: str, model: str, optimizer: bool, own: bool) -> Event:
        """Note that weights were loaded."""
        return self._note("load", call, model, Load(optimizer, own))

    def sample(
        self, call: str, made: str, of: str, steps: int, prompt: Sequence[int],
        answers: Sequence[Answer], params: Mapping[str, Any], scores: bool,
    ) -> Event:  # fmt: skip
        """Note a request for samples of weights after so many ``steps`` of the model ``of``, with a
        client that the call ``made`` gave."""
        scores = scores and params.get("max_tokens") == 1
        follows = not scores and self.rollouts.follows(prompt)
        heat, age = float(params.get("temperature", 1.0)), steps if of else None
        greedy = heat == 0 or params.get("top_k") == 1
        fixed = "greedy" if greedy else params.get("seed")
        whole = tuple(prompt)
        draw = (
            0 if fixed is None or scores else hash((whole, of, age, made if not of else "", fixed))
        )
        keep = whole if self._keep_prompts > 0 and not scores else ()
        self._keep_prompts -= bool(keep)
        what = Sample(len(answers), heat, age, of, scores, hash(whole), draw, follows, keep)
        event = self._note("sample", call, of, what)
        event.origin = made
        if not scores:
            self.rollouts.add(event.number, prompt, answers)
        return event

    def other(self, op: str, call: str, model: str = "") -> Event:
        """Note something else, such as a new model or a checkpoint of the wrong type."""
        return self._note(op, call, model)
