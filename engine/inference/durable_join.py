"""The join strategy on durable-rules: small equality joins in its C network.

durable-rules 2.0.28 has an excellent join core and sharp edges, so it is used within limits that
tests verify, and everything else is left to the native strategy:

- It sees integers only. A *mark* stands for one row in one slot: the slot's code, and an interned
  number for each variable. Patterns, texts, versions, negation and guards never reach it.
- One rule set for each *shape* (how many slots, which variables they share), with one rule in it,
  so that no wall of its rule network comes near: 8 slots, 16 variables a slot.
- One session for each rule and run, at most 256 of a shape at once, of at most 400 marks and
  10,000 partial matches. Sessions only assert, and are deleted in the end.
- Its stock host is never used: the timer threads steal actions and walk freed memory. This driver
  calls the extension module, from the calling thread only.

Whatever the extension refuses or answers strangely ends the join here (:class:`BeyondLimits`), and
the session is never used again.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from math import prod
from queue import Empty, SimpleQueue
from typing import Any, Final, NoReturn, Protocol, cast

from .join_strategy import BeyondLimits, Budget, Row, Rows
from .rule_plan import RulePlan

MAX_SLOTS: Final = 8
MAX_VARIABLES: Final = 16
MAX_MARKS: Final = 400
MAX_PARTIAL_MATCHES: Final = 10_000
MAX_SHAPES: Final = 64
MIN_COMBINATIONS: Final = 16
"""Fewer are joined sooner than a session is opened."""

# The extension compares 32-bit FNV-1a hashes where it should compare names: two sessions with one
# hash share their state, two facts of a session with one hash are one fact, two properties with one
# hash are one property. So every name comes from a table here, and the tests hash the tables.
SESSION_IDS: Final = range(1000, 1256)
BOOT_ID: Final = 0
MARK_IDS: Final = range(1, MAX_MARKS + 1)
CODE: Final = "ai"
"""Property of the slot's code. Its hash falls into the last bucket of a node, so that no other
property walks through the slot tests."""
ONE: Final = "b"
"""Property that is 1 in every mark: the extension reads past a join whose last test is false, so
every join ends with a test that is true."""
VARIABLES: Final = tuple(f"p{number}" for number in range(MAX_VARIABLES))
ALIASES: Final = ("ad", "f", "k", "l", "q", "j", "o", "p")
"""Alias of each slot. Their hashes fall on 8 + slot modulo 16, where the extension keeps the order
of slots in its answers and never mistakes one for another."""

_BOOT = f'{{"sid":%d,"id":{BOOT_ID},"{CODE}":0}}'
_MARK_ID = re.compile(r'"id":(\d+)')

Shape = tuple[int, tuple[tuple[tuple[tuple[int, int], ...], tuple[int, ...]], ...]]
"""The number of variables of the widest slot; then the steps of the join, as in a plan."""


class Extension(Protocol):
    """The calls of the extension module that are safe and used. Handles are opaque."""

    def create_ruleset(self, name: str, rules: str, /) -> int: ...
    def delete_ruleset(self, handle: int, /) -> None: ...
    def assert_fact(self, handle: int, fact: str, /) -> tuple[int, int]: ...
    def assert_facts(self, handle: int, facts: str, /) -> tuple[int, int]: ...
    def start_action_for_state(self, handle: int, state: int, /) -> tuple[str, str] | None: ...
    def complete_and_start_action(self, handle: int, state: int, /) -> str | None: ...
    def delete_state(self, handle: int, sid: str, /) -> None: ...


@lru_cache(maxsize=1)
def load_extension() -> Extension:
    """Import the extension module. Raises ImportError where it is missing or broken."""
    return cast(Extension, import_module("durable_rules_engine"))


def start(plan: RulePlan, budget: Budget, size: int) -> DurableJoin | None:
    """Start the join of a rule; None if it is not within the limits, or cannot run here."""
    if size < MIN_COMBINATIONS or not _fits(plan):
        return None
    try:
        network = _network(_shape(plan))
        session = network.session()
    except (ImportError, Empty, BeyondLimits):
        return None
    return DurableJoin(plan, budget, session)


def _fits(plan: RulePlan) -> bool:
    return len(plan.positives) <= MAX_SLOTS and all(
        len(slot.variables) <= MAX_VARIABLES for slot in plan.positives
    )


def _shape(plan: RulePlan) -> Shape:
    widest = max(len(slot.variables) for slot in plan.positives)
    return widest, tuple([(step.left, step.right) for step in plan.steps])


class DurableJoin:
    """The join of one rule in one run; see :class:`.join_strategy.RuleJoin`."""

    def __init__(self, plan: RulePlan, budget: Budget, session: Session) -> None:
        self._budget = budget
        self._session = session
        self._rows: list[Row] = []
        self._counts = [0] * len(plan.order)
        self._bound = 0
        self._numbers: dict[object, int] = {}

    def extend(self, rows: Sequence[tuple[int, Row]]) -> Sequence[Rows]:
        """Take rows; the matches that are new."""
        for place, _ in rows:
            self._counts[place] += 1
        bound = sum(prod(self._counts[:length]) for length in range(2, len(self._counts) + 1))
        if len(self._rows) + len(rows) > MAX_MARKS or bound > MAX_PARTIAL_MATCHES:
            raise BeyondLimits
        self._budget.spend(bound - self._bound)
        self._bound = bound
        number = self._numbers
        marks = [
            (place, [number.setdefault(key, len(number)) for key in row.key]) for place, row in rows
        ]
        self._rows += [row for _, row in rows]
        self._session.feed(marks)
        found = self._rows
        return [tuple([found[n - 1] for n in ids]) for ids in self._session.matches()]

    def close(self) -> None:
        """Free the session. A second call does nothing."""
        self._session.close()


class Network:
    """A shape compiled into a rule set. Threads may share it."""

    def __init__(self, shape: Shape) -> None:
        self.extension = load_extension()
        self.places = list(range(len(shape[1]) + 1))
        fields = "".join(f',"{name}":%d' for name in VARIABLES[: shape[0]])
        self.mark = f'{{"sid":%d,"id":%d,"{CODE}":%d,"{ONE}":1{fields}}}'
        self.width = shape[0]
        try:
            self.handle = self.extension.create_ruleset("marks", rule_set(shape))
        except Exception as error:
            raise BeyondLimits(f"durable-rules refuses the shape: {error}") from error
        self.free: SimpleQueue[int] = SimpleQueue()
        for sid in SESSION_IDS:
            self.free.put(sid)
        # Not at exit: a daemon thread may still be inside a session then.
        weakref.finalize(self, self.extension.delete_ruleset, self.handle).atexit = False

    def session(self) -> Session:
        """A session. Raises ``queue.Empty`` where all are in use."""
        return Session(self, self.free.get_nowait())


@lru_cache(maxsize=MAX_SHAPES)
def _network(shape: Shape) -> Network:
    return Network(shape)


class Session:
    """A session of durable_rules for one join: takes marks, gives their matches, is deleted in the
    end. Belongs to one thread."""

    def __init__(self, network: Network, sid: int) -> None:
        self._network = network
        self._sid = sid
        self._slots = [-1]  # of each mark by its number; the boot mark has none
        self._open = False
        self._state = self._boot()
        self._open = True

    def _boot(self) -> int:
        """Assert and fire the boot mark alone: deleting a session in which no rule has fired frees
        memory that was never its own. A session that does not boot is left alone for ever."""
        extension, handle = self._network.extension, self._network.handle
        try:
            code, state = extension.assert_fact(handle, _BOOT % self._sid)
            fired = code == 0 and extension.start_action_for_state(handle, state) is not None
            if fired and extension.complete_and_start_action(handle, state) is None:
                return state
        except Exception as error:
            raise BeyondLimits(f"a session does not start: {error}") from error
        raise BeyondLimits("a session does not start")

    def feed(self, marks: Sequence[tuple[int, Sequence[int]]]) -> None:
        """Add marks (slot, numbers of its variables); they are numbered from 1. An empty batch
        would return memory that was never set, and a batch that is not wholly accepted has lost
        marks."""
        texts = []
        for place, numbers in marks:
            filled = [*numbers, *[0] * (self._network.width - len(numbers))]
            texts.append(self._network.mark % (self._sid, len(self._slots), place + 1, *filled))
            self._slots.append(place)
        if not texts:
            return
        answer = self._call("assert_facts", f"[{','.join(texts)}]")
        if answer != (0, self._state):
            self._fail(f"a mark is lost: {answer}")

    def matches(self) -> list[tuple[int, ...]]:
        """The mark numbers of every match that is new, in the order of slots."""
        started = self._call("start_action_for_state", self._state)
        message = None if started is None else started[1]
        found: list[tuple[int, ...]] = []
        while message is not None:
            numbers = tuple(map(int, _MARK_ID.findall(message)))
            if not self._fits(numbers) or len(found) == MAX_PARTIAL_MATCHES:
                self._fail(f"a strange match: {message}")
            found.append(numbers)
            message = self._call("complete_and_start_action", self._state)
        return found

    def _fits(self, numbers: Sequence[int]) -> bool:
        """Whether a match has a mark for each slot."""
        slots = self._slots
        known = max(numbers, default=0) < len(slots)
        return known and [slots[n] for n in numbers] == self._network.places

    def close(self) -> None:
        """Delete the session, so that its number can be used again. A session that cannot be
        deleted is left alone; all that it knew is known elsewhere."""
        if self._open:
            self._open = False
            try:
                self._network.extension.delete_state(self._network.handle, str(self._sid))
            except Exception:  # noqa: BLE001 - whatever it is, its number is never used again
                return
            self._network.free.put(self._sid)

    def __del__(self) -> None:
        self.close()

    def _call(self, name: str, argument: object) -> Any:
        try:
            return getattr(self._network.extension, name)(self._network.handle, argument)
        except Exception as error:  # noqa: BLE001 - whatever it is, the native strategy takes over
            self._fail(str(error), error)

    def _fail(self, reason: str, error: Exception | None = None) -> NoReturn:
        self._open = False  # never deleted, never used again
        raise BeyondLimits(f"durable-rules failed: {reason}") from error


def rule_set(shape: Shape) -> str:
    """The rule set of a shape: one rule for the boot mark, one for the joins."""
    _, steps = shape
    patterns = [f'{{"{ALIASES[0]}":{_equals(CODE, 1)}}}']
    for place, (left, right) in enumerate(steps, 1):
        tests = [_equals(CODE, place + 1)]
        for (earlier, its), mine in zip(left, right, strict=True):
            tests.append(_joined(VARIABLES[mine], earlier, VARIABLES[its]))
        tests.append(_joined(ONE, 0, ONE))
        patterns.append(f'{{"{ALIASES[place]}":{{"$and":[{",".join(tests)}]}}}}')
    boot = f'"boot":{{"all":[{{"{ALIASES[0]}":{_equals(CODE, 0)}}}]}}'
    return f'{{{boot},"join":{{"all":[{",".join(patterns)}]}}}}'


def _equals(name: str, value: int) -> str:
    return f'{{"{name}":{value}}}'


def _joined(name: str, slot: int, its_name: str) -> str:
    return f'{{"{name}":{{"{ALIASES[slot]}":"{its_name}"}}}}'


def fnv1a(text: str) -> int:
    """The extension's hash of a name: 32-bit FNV-1a."""
    value = 2166136261
    for byte in text.encode():
        value = (value ^ byte) * 16777619 & 0xFFFFFFFF
    return value
