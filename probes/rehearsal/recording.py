"""Requests of a job in the order of their arrival, with all that the laws need.

Tokens are looked at when they arrive and not kept, but for those of recent samples: an example that
is trained is compared with them.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .examples import Look, look_at, problem_of
from .rollouts import Rollouts
from .wire import Answer, Batch

MOST = 100_000  # events that are kept


class Event:
    """A request that took effect: its operation, call of the SDK, model, and what the laws need."""

    __slots__ = ("at", "call", "got", "model", "number", "op", "what")

    def __init__(self, op: str, call: str, model: str, number: int, what: Any) -> None:
        self.op, self.call, self.model, self.number, self.what = op, call, model, number, what
        self.at = time.monotonic()
        self.got: float | None = None


class Save(NamedTuple):
    """A save: its kind, its name if it has one, and whether the name was taken."""

    kind: str
    name: str | None
    again: bool


class Load(NamedTuple):
    """A load: the path, whether the optimizer comes with it, whether this run has saved it."""

    path: str
    optimizer: bool
    own: bool


class Sample(NamedTuple):
    """A request for samples: how many (``wanted``), their temperature, how many steps their weights
    have seen (None: not of a model in training), the model, whether it only scores its prompt,
    a digest of the prompt, and whether the prompt goes on from an earlier answer."""

    wanted: int
    temperature: float
    steps: int | None
    of: str
    scores: bool
    prompt: int
    follows: bool


class Recording:
    """All events of a run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.rollouts = Rollouts()
        self.events: list[Event] = []
        self.counts: dict[str, int] = {}

    def _note(self, op: str, call: str, model: str = "", what: Any = None) -> Event:
        with self._lock:
            self.counts[op] = self.counts.get(op, 0) + 1
            event = Event(op, call, model, len(self.events), what)
            if len(self.events) < MOST:
                self.events.append(event)
            return event

    def fetched(self, event: Event | None) -> None:
        """Note that the result of an event was fetched."""
        if event is not None and event.got is None:
            event.got = time.monotonic()

    def batch(self, batch: Batch, call: str) -> tuple[Event, str]:
        """Note a batch; also why the service would refuse it, or an empty text."""
        look: Look = look_at(batch)
        if not batch.forward_only:
            look = look._replace(used=self.rollouts.used_by(batch))
        op = "forward" if batch.forward_only else "forward_backward"
        return self._note(op, call, batch.model, look), problem_of(look)

    def step(self, model: str, rate: float, call: str) -> Event:
        """Note an ``optim_step`` with its learning rate."""
        return self._note("optim_step", call, model, rate if math.isfinite(rate) else None)

    def save(self, kind: str, call: str, model: str, name: str | None, again: bool) -> Event:
        """Note a save of weights."""
        return self._note("save", call, model, Save(kind, name, again))

    def load(self, call: str, model: str, path: str, optimizer: bool, own: bool) -> Event:
        """Note that weights were loaded."""
        return self._note("load", call, model, Load(path, optimizer, own))

    def sample(
        self, call: str, of: str, steps: int, prompt: Sequence[int], answers: Sequence[Answer],
        params: Mapping[str, Any], scores: bool,
    ) -> Event:  # fmt: skip
        """Note a request for samples of weights after so many ``steps`` of the model ``of``."""
        scores = scores and params.get("max_tokens") == 1
        follows = not scores and self.rollouts.follows(prompt)
        heat, age = float(params.get("temperature", 1.0)), steps if of else None
        what = Sample(len(answers), heat, age, of, scores, hash(tuple(prompt)), follows)
        event = self._note("sample", call, of, what)
        if not scores:
            self.rollouts.add(event.number, prompt, answers)
        return event

    def other(self, op: str, call: str, **what: str) -> Event:
        """Note something else, such as a new model or a checkpoint of the wrong type."""
        return self._note(op, call, what.get("model", ""), what)
