"""The state of the reading of one script: names, events, the budget, and the branch that is read.

The script is never executed. Its statements are followed once in the order in which they would run
(loop bodies twice, both arms of each branch, functions of the script at their calls), and the calls
of the SDK are recorded.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager

from ....reading.python.nodes import FunctionNode
from .terms import Term, Trace
from .values import NAMED, TITLES, UNKNOWN, Event, Value

MAX_VISITS = 300_000
MAX_EVENTS = 20_000
MAX_CALLS = 8
MIN_READINGS = 2
MAX_IDLE = 300
"""Steps of a function that does nothing with the SDK, after which it is no longer read; it is
read at least MIN_READINGS times."""


_PLAIN = frozenset({
    "unknown", "const", "text", "list", "tuple", "dict", "import", "module", "options", "file",
    "array", "ids", "template", "tokenizer", "sampled-text", "reencoded-ids",
})  # fmt: skip
_NOTHING = ast.Module([], [])
Finder = Callable[[str, str, int], "tuple[str, ast.Module] | None"]
"""The module of the project that an import names: by the key of the importing module, the dotted
name and the number of leading dots. It gives the key of the module and its tree."""


class BudgetError(Exception):
    """The script is too large or too entangled to follow."""


class Frame:
    """Names of one function call; ``parent`` is the module's frame or the enclosing function's.
    ``key`` names the module, ``bound`` the branch in which a name was bound and what it was."""

    def __init__(
        self, parent: Frame | None = None, function: FunctionNode | None = None, key: str = ""
    ) -> None:
        self.parent = parent
        self.key: str = parent.key if parent is not None else key
        self.function = function
        self.names: dict[str, Value] = {}
        self.bound: dict[str, tuple[tuple[tuple[int, int], ...], Term | None]] = {}
        self.returned: list[Value] = []
        self.looping = 0

    def get(self, name: str) -> Value:
        """The value of a name, or else the value that it suggests."""
        frame: Frame | None = self
        while frame is not None:
            if name in frame.names:
                return frame.names[name]
            frame = frame.parent
        return guessed(name)


class Machine:
    """Everything that the reading of a program collects. ``module`` is the frame of the module
    whose code is read just now, ``entry`` that of the one that is run; ``homes`` are the frames in
    which functions and classes were defined; ``classes`` are those of the project, by key;
    ``address`` is the one that the program sets for the service; ``visits`` counts the steps."""

    def __init__(self, key: str = "", find: Finder = lambda *_: None) -> None:
        self.module = self.entry = Frame(key=key)
        self.frame = self.module
        self.find = find
        self.loaded: dict[str, Frame] = {key: self.entry}
        self.trees: list[tuple[str, ast.Module]] = []
        self.homes: dict[int, Frame] = {}
        self.classes: dict[str, Value] = {}
        self.address: Value | None = None
        self.options: dict[str, Value] = {}
        self.made: set[str] = set()
        self.attributes: dict[tuple[str, str], Value] = {}
        self.kinds: dict[int, Value] = {}
        self.events: list[Event] = []
        self.path: tuple[tuple[int, int], ...] = ()
        self.stack: tuple[ast.AST, ...] = ()
        self.visited_functions: set[int] = set()
        self.detached_functions: set[int] = set()
        self.unresolved_waits: list[ast.AST] = []
        self.loops: tuple[ast.AST, ...] = ()
        self.each: tuple[ast.AST, ...] = ()
        self.trace = Trace()
        self.called_in: dict[FunctionNode, set[ast.AST]] = {}
        self.generators: dict[FunctionNode, bool] = {}
        self.alone: ast.AST | None = None
        self.stopped = False
        self.unsure = 0
        self.detached = 0
        self.run_function: Callable[[Machine, Value, list[Value], dict[str, Value]], Value] = (
            lambda machine, function, args, named: UNKNOWN
        )
        self.make_object: Callable[[Machine, Value, list[Value], dict[str, Value]], Value] = (
            lambda machine, made, args, named: UNKNOWN
        )
        self.run_block: Callable[[Machine, list[ast.stmt]], object] = lambda machine, body: None
        self.visits = 0
        self._idle: dict[int, list[int]] = {}
        self._uid = 0

    def visit(self) -> None:
        """Count one step of the reading. Raises :class:`BudgetError` beyond the limit."""
        self.visits += 1
        if self.visits > MAX_VISITS:
            raise BudgetError

    def is_spent(self, function: FunctionNode, given: Iterable[Value]) -> bool:
        """Whether a function was read often enough: a function far from the SDK that is called from
        everywhere would take all the time. A call with a value of the SDK is always read."""
        readings, steps = self._idle.get(id(function), (0, 0))
        return readings >= MIN_READINGS and steps > MAX_IDLE and all(map(_is_plain, given))

    def was_read(self, function: FunctionNode, visits: int, events: int) -> None:
        """Record a reading of a function that began at these numbers of steps and events."""
        spent = self._idle.setdefault(id(function), [0, 0])
        if len(self.events) > events:
            spent[:] = -MAX_VISITS, 0  # it works with the SDK: it is read as often as it is called
        else:
            spent[:] = spent[0] + 1, spent[1] + self.visits - visits

    def fresh(self) -> int:
        """A new number for a future or a branch."""
        self._uid += 1
        return self._uid

    def note(self, node: ast.AST, value: Value) -> Value:
        """Remember the value of ``node``; a known value is not replaced by an unknown one."""
        if value.kind != "unknown" or id(node) not in self.kinds:
            self.kinds[id(node)] = value
        return value

    def kind(self, node: ast.AST | None) -> str:
        """The kind of an expression that was read, or "unknown"."""
        return self.value(node).kind

    def value(self, node: ast.AST | None) -> Value:
        """The value of an expression that was read."""
        return self.kinds.get(id(node), UNKNOWN)

    def linked(self, name: str, level: int = 0) -> Frame | None:
        """The frame of a module of the project, which is read when it is first imported."""
        found = self.find(self.module.key, name, level)
        if found is None:
            return None
        key, tree = found
        frame = self.loaded.get(key)
        if frame is None:
            frame = self.loaded[key] = Frame(key=key)
            self.trees.append((key, tree))
            with self.within(module=frame, frame=frame, stack=(), loops=(), each=()):
                self.run_block(self, tree.body)
        return frame

    def event(
        self, what: str, op: str, uid: int, node: ast.AST, style: str, assumed: str = ""
    ) -> None:
        """Record an SDK event."""
        if len(self.events) >= MAX_EVENTS:
            raise BudgetError
        self.events.append(
            Event(what, op, uid, node, style, self.path, not self.unsure,
                  any(isinstance(function, ast.AsyncFunctionDef) for function in self.stack),
                  self.detached > 0, self.loops, assumed, self.each)
        )  # fmt: skip

    def forget_order(self, start: int, end: int) -> None:
        """Mark the events of this range as unordered: they happen, but not before the events that
        follow."""
        self.events[start:end] = [e._replace(sure=False) for e in self.events[start:end]]

    def events_break(self) -> None:
        """Mark that the following events are read on their own: their order relative to the earlier
        ones is unknown."""
        self.events.append(Event("break", "", 0, _NOTHING, "", (), False, False, False, ()))

    @contextmanager
    def within(self, **state: object) -> Iterator[None]:
        """Set attributes for the time of the context."""
        before = {name: getattr(self, name) for name in state}
        vars(self).update(state)
        try:
            yield
        finally:
            vars(self).update(before)

    def arm(self, branch: int, number: int) -> AbstractContextManager[None]:
        """Within: code that runs in one arm of a branch only."""
        return self.within(path=(*self.path, (branch, number)))

    @contextmanager
    def looping(self, loop: ast.AST) -> Iterator[None]:
        """Within: the body of a loop."""
        frame = self.frame
        frame.looping += 1
        with self.within(loops=(*self.loops, loop), each=(*self.each, loop)):
            yield
        frame.looping -= 1

    def uncertain(self, really: bool = True) -> AbstractContextManager[None]:
        """Within: code that runs at an unknown time."""
        return self.within(unsure=self.unsure + really)


def _is_plain(value: Value) -> bool:
    """Whether a value holds nothing of the SDK, and no code that could."""
    return value.kind in _PLAIN and all(map(_is_plain, value.parts))


def guessed(name: str) -> Value:
    """Guess the value of an unassigned name or attribute from its name."""
    kind = NAMED.get(name.lstrip("_"))
    return Value(kind, assumed=f"that {name} is {TITLES[kind]}") if kind else UNKNOWN


def exclusive(one: Event, other: Event) -> bool:
    """Whether two events are in different arms of one branch, so that only one of them happens."""
    arms = dict(one.path)
    return any(branch in arms and arms[branch] != number for branch, number in other.path)
