"""Searches a value of a module for a wrong relation to its correct form.

If no hypothesis explains a module, each relation of the table is applied to each value inside it. A
relation that moves the output towards the target is also tried on parts of the value. A relation
counts if it explains all of the output: R of each half of the positions is that of rounding.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ....reading.tensors import np
from ..hypotheses import Hypothesis
from ..phases import WHERE, limited
from ..spec import Reading
from ..weight_orders import Around
from .domains import NAMES, domains
from .fitting import fitted
from .graph import CACHED, STRETCHES, Graph, candidates, changed, traced, value_of_node
from .table import Row, rows_of
from .values import Value

CLEAR = 4.5
"""R of a module from which on there is enough to explain."""
LITTLE = 8.0
EXPLAINS = 1.8
EXPLAINS_LITTLE = 1.3
"""Same limit for a module with an R below ``LITTLE``."""
TOWARDS, SOME = 0.2, 0.02
"""Cosine of the change of an output with the error, from which on parts are tried."""
TOGETHER, MOST_GROUPS, MOST_JOINED = 0.25, 12, 6
"""Cosine from which on a change may be a part of one of several values, and how many are joined."""
MOST_PARTLY, MOST_OF_KIND, MOST_LOST = 36, 4, 16
MOST_SOLVED = 48
SAME = 0.2
"""Distance of outputs, relative to the noise, up to which they are the same."""
VAGUE = "computed-otherwise"
MOST_TRIED = 6_000
MOST_NUMBERS = 1 << 33
"""Numbers of weights and values that all trials may go through."""
NEAR = 30.0
"""R from which on a relation is not examined more closely."""
TRIMMED = 0.2
MUCH = 4.0
OTHERS = frozenset({"moved-p", "ordered-p", "shards-p", "pages-p", "mean-p"})
"""Relations that need other positions: the last stored value alone cannot be affected."""
MOST_FITTED = 32
"""Places along an axis that are fitted one by one."""
Mask = Callable[[Value], Any]
FAILURES = (ValueError, IndexError, KeyError, ArithmeticError, TypeError, AttributeError)


class Solved(NamedTuple):
    """A relation that explains a module: its entry, R, words, whether it is limited to a phase, its
    preference among equals, and the output under it."""

    hypothesis: Hypothesis
    r_ratio: float
    says: str
    limited: bool
    order: tuple[bool, int] = (False, 0)
    made: Any = None


class Tried(NamedTuple):
    """A relation at nodes, how far it goes the way of the target, and R under it."""

    row: Row
    nodes: tuple[str, ...]
    relation: str
    words: str
    of: str
    towards: float
    ratio: float


def noise_of(module: Any) -> float:
    """The noise of a module, in the phase in which it fails."""
    return float(module.phase.noise if module.phase else module.noise)


def _goes(tried: Tried) -> float:
    """How far a trial moves the output towards the target; for lost parts also in the opposite
    direction, as there may be too much of them."""
    return abs(tried.towards) if _is_loss(tried) else tried.towards


def _is_loss(tried: Tried) -> bool:
    return tried.relation == "dropped"


def _is_plain(tried: Tried) -> bool:
    """Whether a part of the cache is missing: among all slots, a few may have little effect."""
    return tried.relation == "dropped" and tried.of == "all"


def _of_many_kinds(partly: list[Tried]) -> list[Tried]:
    """The first relations of each kind: many of one kind have much the same effect."""
    kinds: dict[str, int] = {}
    kept = []
    for each in partly:
        kinds[each.relation] = kinds.get(each.relation, 0) + 1
        if kinds[each.relation] <= (MOST_LOST if _is_loss(each) else MOST_OF_KIND):
            kept.append(each)
    return kept[:MOST_PARTLY]


class Solver:
    """One failing module: its correct output, its output, and the precision it would have."""

    def __init__(self, module: Any, around: Around, run: Callable[..., Any]) -> None:
        self._module, self._run = module, run
        self._given = module.target.given
        self._rows = module.phase.rows if module.phase else slice(None)
        self._noise = noise_of(module)
        self._graph: Graph = traced(module.reading, self._given, around, run)
        self._output = self._cut(module.target.output)
        self._off = self._output - self._cut(run(module.reading, self._given))
        self._explains = EXPLAINS if module.alone() > LITTLE else EXPLAINS_LITTLE
        self._left = int(min(MOST_TRIED, MOST_NUMBERS // max(1, self._size())))
        self._failing = self._where_it_fails(module)

    def _size(self) -> int:
        weights = self._module.reading.weights.values()
        return sum(int(each.size) for each in weights) + 16 * int(self._module.target.output.size)

    def _cut(self, output: Any) -> Any:
        output = output.reshape(self._module.target.output.shape)
        found = output[:, self._rows] if output.ndim > 2 else output
        return found.astype(np.float64)

    def _where_it_fails(self, module: Any) -> Any:
        output = module.target.output
        made = self._run(module.reading, self._given).reshape(output.shape)
        squares = ((made - output).astype(np.float64) ** 2).sum(axis=-1)
        usual = module.noise / math.sqrt(max(1, squares.size))
        mask = squares > (MUCH * usual) ** 2
        return mask if mask.any() and not mask.all() else None

    def solved(self) -> list[Solved]:
        """The relations that explain the module; only one of those with the same output."""
        found: list[Solved] = []
        for one in sorted(itertools.islice(self._every(), MOST_SOLVED), key=lambda s: s.order):
            if not any(self._alike(one, other) for other in found):
                found.append(one)
        return found

    def _alike(self, one: Solved, other: Solved) -> bool:
        return bool(np.linalg.norm(one.made - other.made) < SAME * self._noise)

    def _every(self) -> Iterator[Solved]:
        """Yield all relations, those of whole values first."""
        partly, others = [], []
        for tried in self._whole():
            if tried.ratio < self._explains:
                yield from self._told(tried, None, "")
                continue
            if tried.towards > TOGETHER and not tried.of:
                others.append(tried)
            if tried.row.where and _goes(tried) > (SOME if _is_plain(tried) else TOWARDS):
                partly.append(tried)
        partly.sort(key=lambda each: (not _is_plain(each), -_goes(each)))
        yield from self._together(others)
        for tried in _of_many_kinds(partly):
            yield from self._in_parts(tried)

    def _together(self, others: list[Tried]) -> Iterator[Solved]:
        """Try one relation of several values or weights at once: each explains a part of the
        error."""
        groups: dict[tuple[str, str], dict[tuple[str, ...], Tried]] = {}
        for each in others:
            groups.setdefault((each.relation, each.words), {}).setdefault(each.nodes, each)
        wide = [sorted(group.values(), key=lambda one: -one.towards)
                for group in groups.values() if len(group) > 1]  # fmt: skip
        wide.sort(key=lambda group: -sum(one.towards for one in group[:2]))
        for group in wide[:MOST_GROUPS]:
            best = group[0]
            for other in group[1:MOST_JOINED]:
                if set(other.nodes) & set(best.nodes):
                    continue
                nodes = (*best.nodes, *other.nodes)
                more = self._tried(best.row, nodes, best.relation, best.words, "")
                if more.ratio < self._explains:
                    yield from self._told(more, None, "")
                    break
                best = more if more.towards > best.towards else best

    def _whole(self) -> Iterator[Tried]:
        for row in rows_of(self._graph.reading.family):
            for joined in row.nodes:
                nodes = tuple(joined.split("+"))
                first = value_of_node(self._graph, nodes[0])
                if first is None or not row.fits(self._graph.reading.spec):
                    continue
                for relation in row.relations:
                    for words in candidates(self._graph, nodes[0], relation, row.source):
                        for of in self._stretches(nodes, relation):
                            yield self._tried(row, nodes, relation, words, of)

    def _stretches(self, nodes: tuple[str, ...], relation: str) -> tuple[str, ...]:
        """The stretches of the cache to try; only decoding reads the cache."""
        if not nodes[0].endswith(".cached"):
            return ("",)
        phase = self._module.phase
        if phase is None or phase.name != "decode":
            return ()
        return CACHED if relation in OTHERS else STRETCHES

    def _tried(self, row: Row, nodes: tuple[str, ...], relation: str, words: str, of: str,
               mask: Mask | None = None) -> Tried:  # fmt: skip
        towards, ratio = 0.0, math.inf
        if self._left > 0:
            self._left -= 1
            try:
                with np.errstate(all="ignore"):
                    reading = changed(self._graph, nodes, relation, words, mask, of)
                    if reading is not None:
                        towards, ratio = self._compared(reading)
            except FAILURES:
                pass
        return Tried(row, nodes, relation, words, of, towards, ratio)

    def _compared(self, reading: Reading) -> tuple[float, float]:
        left = self._output - self._cut(self._run(self._as_there(reading), self._given))
        moved = self._off - left
        whole = float(np.linalg.norm(moved) * np.linalg.norm(self._off))
        towards = float((moved * self._off).sum()) / whole if whole else 0.0
        ratio = self._ratio(left)
        return towards, ratio / self._module.more(reading) if ratio < NEAR else ratio

    def _as_there(self, reading: Reading) -> Reading:
        phase = self._module.phase
        return reading if phase is None else limited(reading, self._graph.reading, phase)

    def _ratio(self, left: Any) -> float:
        """The larger R of both halves of the positions."""
        squares = (left * left).reshape(-1, left.shape[-1]).sum(axis=-1)
        found = []
        for half in (squares[::2], squares[1::2]):
            share = len(half) / len(squares)
            if self._graph.reading.family == "moe":
                half = np.sort(half)[: max(1, math.ceil(len(half) * (1 - TRIMMED)))]
            if share:
                found.append(math.sqrt(float(half.sum()) / share) / self._noise)
        return max(found) if np.isfinite(found).all() else math.inf

    def _in_parts(self, tried: Tried) -> Iterator[Solved]:
        value = value_of_node(self._graph, tried.nodes[0])
        if value is None:
            return
        for words, _ in domains(value, tried.row.where, self._failing):
            mask = _masked(words, tried.row.where, self._failing)
            part = self._tried(tried.row, tried.nodes, tried.relation, tried.words, tried.of, mask)
            if part.ratio < self._explains:
                yield from self._told(part, mask, words)
        for at, letter in enumerate(value.axes):
            if letter in tried.row.where and 2 < value.array.shape[at] <= MOST_FITTED:
                yield from self._fitted(tried, at, letter, value.array.shape[at])

    def _fitted(self, tried: Tried, axis: int, letter: str, count: int) -> Iterator[Solved]:
        """The parts along an axis that fit best, and their factor if they are not lost."""
        fit = fitted(count, self._off, lambda place: self._effect(tried, axis, count, place))
        if fit is None or (fit.whole and fit.by == 1) or not (fit.by == 1 or _is_loss(tried)):
            return
        row, words = tried.row, tried.words
        if fit.by != 1:
            row, words = self._of_factor(tried), f"times {1 - fit.by:.3g}"
        mask = _along(axis, fit.shares if fit.by != 1 else fit.shares != 0)
        part = self._tried(row, tried.nodes, tried.relation, tried.words, tried.of, mask)
        if part.ratio < self._explains:
            known = fit.whole or fit.regular or letter in "hbe"
            where = "" if fit.whole else f"{NAMES[letter]} {fit.words}"
            yield from self._told(part, mask, where, words, None if known else VAGUE)

    def _of_factor(self, tried: Tried) -> Row:
        """The row that gives the meaning of a factor of the same value."""
        joined = "+".join(tried.nodes)
        for row in rows_of(self._graph.reading.family):
            known = joined in row.nodes and "factor" in row.relations
            if known and row.fits(self._graph.reading.spec):
                return row
        return tried.row._replace(cause=VAGUE, partial=VAGUE)

    def _effect(self, tried: Tried, axis: int, count: int, place: int) -> Any | None:
        """Compute the effect of changing one part on the output."""
        if self._left <= 0:
            return None
        self._left -= 1
        mask = _along(axis, np.arange(count) == place)
        try:
            with np.errstate(all="ignore"):
                reading = changed(self._graph, tried.nodes, tried.relation, tried.words, mask,
                                  tried.of)  # fmt: skip
                if reading is None:
                    return None
                made = self._cut(self._run(self._as_there(reading), self._given))
        except FAILURES:
            return None
        return made - (self._output - self._off)

    def _told(
        self, tried: Tried, mask: Mask | None, part: str, words: str = "", cause: str | None = None
    ) -> Iterator[Solved]:
        reading = changed(self._graph, tried.nodes, tried.relation, tried.words, mask, tried.of)
        if reading is None:
            return
        cause = cause or (tried.row.partial if part else tried.row.cause)
        node = " and ".join(each.lstrip(":") for each in tried.nodes)
        says = f"{node}: {words or tried.words}" + (f" ({part})" if part else "")
        name = f"solved-{tried.nodes[0].lstrip(':').replace('.', '-').replace('_', '-')}"
        known = Hypothesis(name, cause, tried.row.families, says, {}, {}, (), {}, "solve")
        more, phase = self._module.more(reading), self._module.phase
        ratio, only = self._module.ratio(reading) / more, False
        if phase is not None and not ratio < EXPLAINS:
            ratio, only = self._module.within(reading) / more, True
            says = f"{says}, {WHERE[phase.name]}"
        order = (cause == VAGUE, tried.row.order)
        made = self._cut(self._run(self._as_there(reading), self._given))
        yield Solved(known, ratio, says, only, order, made)


def _along(axis: int, places: Any) -> Mask:
    """The mask of these places along an axis of a value."""

    def mask(value: Value) -> Any:
        shape = [1] * value.array.ndim
        shape[axis] = len(places)
        return places.reshape(shape)

    return mask


def _masked(words: str, wanted: str, failing: Any) -> Callable[[Value], Any]:
    """The mask of a named part of a value."""

    def mask(value: Value) -> Any:
        return next((each for name, each in domains(value, wanted, failing) if name == words), None)

    return mask
