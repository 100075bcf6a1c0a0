"""One session of the durable-rules mark network: its life, its marks, its firing loop."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import chain
from json import loads
from types import TracebackType
from typing import Final, Protocol

from .durable_engine import EngineModule
from .identities import ALIASES, BOOT_ID, SLOT_PROPERTY
from .mark_network import (
    MAX_KEY,
    Activation,
    EngineFault,
    FeedOrderError,
    FiringBudgetExceeded,
    Mark,
    MarkError,
    MarkLimitExceeded,
    SessionClosed,
    Shape,
)
from .network_definition import BOOT_CODE, SlotPlan

BATCH: Final = 1000
"""Marks per engine call: bounds the text held at once; larger batches are no faster."""

LAST_KEPT: Final = 8
"""Activations that the error of an exhausted budget names."""

_BOOT = f'{{"sid":%d,"id":{BOOT_ID},"{SLOT_PROPERTY}":{BOOT_CODE}}}'
_MARK_IDS = re.compile(r'"id":(\d+)')
_SLOT_FIELD = f'"{SLOT_PROPERTY}":'
_INTEGERS = {int}

Meeting = tuple[int, tuple[int, ...]]
"""A pair of slots (positive, negated) and the port values seen at the positive one."""


class Owner(Protocol):
    """What a session needs of its network."""

    engine: EngineModule
    handle: int
    plans: dict[tuple[int, int], SlotPlan]
    firing_budget: int
    mark_limit: int
    debug: bool

    @property
    def shapes(self) -> tuple[Shape, ...]: ...

    def give_back(self, sid: int, *, usable: bool) -> None: ...


class DurableSession:
    """A session as `MarkSession` describes it. Opened by `DurableNetwork.session` only."""

    __slots__ = (
        "_fed",
        "_fired",
        "_in_flight",
        "_last",
        "_met",
        "_network",
        "_open",
        "_state",
        "sid",
    )

    def __init__(self, network: Owner, sid: int) -> None:
        self._open = False
        self._network = network
        self.sid = sid
        self._fed = 0
        self._fired = 0
        self._in_flight = False
        self._met: set[tuple[int, tuple[int, ...]]] = set()
        self._last: deque[Activation] = deque(maxlen=LAST_KEPT)
        self._state = self._boot()
        self._open = True

    def _boot(self) -> int:
        """Assert and fire the boot mark alone; return the engine's offset of the session.

        `delete_state` frees an uninitialised pointer unless some rule fired first. So a session
        whose boot fails is never deleted, and its id is never used again.
        """
        engine, handle = self._network.engine, self._network.handle
        booted = clean = False
        try:
            code, state = engine.assert_fact(handle, _BOOT % self.sid)
            booted = code == 0 and engine.start_action_for_state(handle, state) is not None
            clean = booted and engine.complete_and_start_action(handle, state) is None
        except Exception as error:
            raise EngineFault(f"session {self.sid} does not start: {error}") from error
        finally:
            if not clean:
                if booted:
                    engine.delete_state(handle, str(self.sid))
                self._network.give_back(self.sid, usable=booted)
        if not clean:
            raise EngineFault(f"session {self.sid} does not start clean (result {code})")
        return state

    def feed(self, marks: Sequence[Mark], /) -> list[int]:
        """Add marks and return their numbers; see `MarkSession.feed`.

        Raises `EngineFault`, and closes the session, if the engine does not accept every mark.
        """
        if not self._open:
            raise SessionClosed("the session is closed")
        if not marks:  # for an empty batch the engine returns uninitialised memory
            return []
        first = self._fed + 1
        if self._fed + len(marks) > self._network.mark_limit:
            raise MarkLimitExceeded(
                f"a session takes {self._network.mark_limit} marks; {self._fed} were fed and"
                f" {len(marks)} more came"
            )
        texts = self._encode(marks, first)
        self._fed += len(texts)
        for start in range(0, len(texts), BATCH):
            self._send("[" + ",".join(texts[start : start + BATCH]) + "]")
        if self._network.debug:
            self._compare_counts()
        return list(range(first, first + len(texts)))

    def _encode(self, marks: Sequence[Mark], first: int) -> list[str]:
        """Turn marks into engine text, checking all of them before any is sent."""
        plans, sid = self._network.plans, self.sid
        texts: list[str] = []
        values: list[tuple[int, ...]] = []
        met: set[Meeting] = set()
        for number, (shape, slot, keys) in enumerate(marks, first):
            try:
                template, pick, meets, blocks = plans[shape, slot]
                picked = pick(keys)
                texts.append(template % (sid, number, *picked))
            except (KeyError, IndexError, TypeError) as error:
                raise MarkError(f"no such mark in this network: {marks[number - first]}") from error
            values.append(picked)
            if meets:
                met.update((pair, pick(keys)) for pair, pick in meets)
            elif blocks and all(
                (m := (pair, pick(keys))) in met or m in self._met for pair, pick in blocks
            ):
                raise FeedOrderError(
                    f"a negated mark came after the marks it blocks: {marks[number - first]}"
                )
        _check_keys(values)
        self._met |= met
        return texts

    def _send(self, batch: str) -> None:
        network = self._network
        try:
            code, state = network.engine.assert_facts(network.handle, batch)
        except Exception as error:
            self.close()
            raise EngineFault(f"durable-rules refuses a batch of marks: {error}") from error
        if code != 0 or state != self._state:
            self.close()
            raise EngineFault(f"durable-rules lost a mark: result {code}, session state {state}")

    def _compare_counts(self) -> None:
        network = self._network
        stored = network.engine.get_facts(network.handle, str(self.sid)).count(_SLOT_FIELD) - 1
        if stored != self._fed:
            self.close()
            raise EngineFault(f"durable-rules holds {stored} marks of {self._fed} fed")

    def activations(self) -> Iterator[Activation]:
        """Yield each activation once; see `MarkSession.activations`.

        Raises `EngineFault`, and closes the session, if the engine reports what it cannot have
        found. An exception in the caller's loop needs no care: `close` abandons the activation.
        """
        while (message := self._next_message()) is not None:
            activation = self._read(message)
            self._fired += 1
            if self._fired > self._network.firing_budget - LAST_KEPT:
                self._last.append(activation)
                self._check_budget()
            yield activation

    def _next_message(self) -> str | None:
        """Finish the activation in flight, if any, and start the next one."""
        if not self._open:
            raise SessionClosed("the session is closed")
        engine, handle = self._network.engine, self._network.handle
        try:
            if self._in_flight:
                message = engine.complete_and_start_action(handle, self._state)
            else:
                started = engine.start_action_for_state(handle, self._state)
                message = None if started is None else started[1]
        except Exception as error:
            self.close()
            raise EngineFault(f"durable-rules fails to fire: {error}") from error
        self._in_flight = message is not None
        return message

    def _read(self, message: str) -> Activation:
        """Read the shape and the mark numbers, in slot order, out of the engine's message."""
        marks = tuple(map(int, _MARK_IDS.findall(message)))
        shape = int(message[3 : message.index('"', 3)])  # {"r<shape>":{"<alias>":{...
        shapes = self._network.shapes
        if len(marks) != shapes[shape].positives:
            self.close()
            raise EngineFault(f"durable-rules fires a strange activation: {message}")
        if self._network.debug and marks != _read_slowly(message, shapes[shape].positives):
            self.close()
            raise EngineFault(f"durable-rules reorders the marks of an activation: {message}")
        return Activation(shape, marks)

    def _check_budget(self) -> None:
        if self._fired > self._network.firing_budget:
            last = tuple(self._last)
            raise FiringBudgetExceeded(
                f"a session fires at most {self._network.firing_budget} times; the last ones were"
                f" {', '.join(f'shape {a.shape} marks {a.marks}' for a in last)}",
                last,
            )

    def close(self) -> None:
        """Free the session's memory in the engine. A second call does nothing."""
        if not self._open:
            return
        self._open = False
        network = self._network
        deleted = False
        try:
            if self._in_flight:
                network.engine.abandon_action(network.handle, self._state)
            network.engine.delete_state(network.handle, str(self.sid))
            deleted = True
        finally:
            network.give_back(self.sid, usable=deleted)

    def __enter__(self) -> DurableSession:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


def _check_keys(values: list[tuple[int, ...]]) -> None:
    """Raise `MarkError` unless all are ints in range; `%d` would cut a float to an int."""
    flat = list(chain.from_iterable(values))
    if flat and not (set(map(type, flat)) == _INTEGERS and min(flat) >= 0 and max(flat) <= MAX_KEY):
        raise MarkError(f"keys are integers from 0 to {MAX_KEY}")


def _read_slowly(message: str, positives: int) -> tuple[int, ...]:
    (frame,) = loads(message).values()
    return tuple(frame[alias]["id"] for alias in ALIASES[:positives])
