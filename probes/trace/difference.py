"""Reads off what a port does otherwise than its reference, from the point where they part."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from itertools import islice
from typing import Any

from .alignment import LAYOUT, Aligned, align_both, near
from .frontier import Frontier, first_layer, frontier, layer_number
from .placing import Difference, Placed, known_masks
from .quantity import Quantity, Trace

MAX_ENDS = 40
SMALL, GROSS = 3e-4, 0.02
"""Differences of fingerprints: the larger one of outputs is not due to the smaller one."""
HALF = ("bfloat16", "float16")
MASKS = {"masked_fill", "where", "add"}
"""Operations that masks are applied with."""
FAMILIES = {"div": "mul", "sub": "add", "rsub": "add", "addmm": "mm", "bmm": "mm",
            "linear": "mm", "_softmax": "softmax", "_safe_softmax": "softmax", "rsqrt": "root",
            "sqrt": "root"}  # fmt: skip
"""Operations that may stand for each other."""


def find_difference(port: Aligned, reference: Aligned) -> Difference | None:
    """The first difference, or None if every output of the port equals that of the reference. A
    difference that is next to nothing is not why the outputs differ by much: a larger one is
    preferred."""
    first = _first(port, reference)
    if first is None:
        return None
    mine, theirs = (each.trace.outputs[first.phase] for each in (port, reference))
    outputs = port.quantity(mine).moments, reference.quantity(theirs).moments
    if not near(*outputs, GROSS):
        wide = align_both(port.trace, reference.trace, SMALL)
        if wide[0].known(first.port) and (second := _first(*wide)) is not None:
            return second
    return first


def _first(port: Aligned, reference: Aligned) -> Difference | None:
    both = list(zip(port.trace.outputs, reference.trace.outputs, strict=False))
    equal = equal_outputs(port, reference)
    if all(equal):
        return None
    phase = equal.index(False)
    theirs = frontier(reference, [both[phase][1]])
    mine = frontier(port, [both[phase][0]], first_layer(reference, theirs), reference)
    if not mine.at:
        return _of_output(port, reference, *both[phase], theirs, phase)
    return Placed(port, reference).placed(Pair(port, reference, mine, theirs, phase).read())


def fewer_digits(port: Aligned, reference: Aligned) -> Difference | None:
    """The first operation that the port computes in fewer bits than the reference, where both ran
    in low precision."""
    if not port.trace.low or not reference.trace.low:
        return None
    formats: dict[tuple[int, str], set[str]] = {}
    for at, two in enumerate(reference.trace.quantities):
        formats.setdefault((reference.standard(at), two.op), set()).add(reference.trace.low[at])
    for at, twin in enumerate(port.twins):
        one = port.quantity(at)
        if twin is None or twin < 0 or one.op in LAYOUT or port.trace.low[at] not in HALF:
            continue
        if formats.get((port.standard(at), one.op)) == {"float32"}:
            like = (each for each in range(len(reference.twins))
                    if reference.standard(each) == port.standard(at)
                    and reference.quantity(each).op == one.op)  # fmt: skip
            return Difference("fewer-digits", at, next(like), one.phase)
    return None


def equal_outputs(port: Aligned, reference: Aligned) -> list[bool]:
    """Whether each output of the port is that of the reference, and not just some quantity of it.
    A port may give the logits of the last position alone."""
    pairs = zip((*port.trace.outputs,), (*reference.trace.outputs,), strict=False)
    return [_equal(port.trace, reference.trace, mine, theirs) for mine, theirs in pairs]


def _equal(port: Trace, reference: Trace, mine: int, theirs: int) -> bool:
    last = [(port.last.get(mine), reference.last.get(theirs))]
    if port.quantities[mine].shape[:2] == reference.quantities[theirs].shape[:2]:
        last = []
    pairs = [(mine, theirs), *last]
    return any(
        near(port.quantities[one].moments, reference.quantities[two].moments)
        for one, two in pairs
        if one is not None and two is not None
    )


def _of_output(
    port: Aligned, reference: Aligned, mine: int, theirs: int, ends: Frontier, phase: int
) -> Difference:  # fmt: skip
    """An output that is another quantity of the reference: what follows there is left out."""
    lacking = [at for at in sorted(ends.region) if reference.quantity(at).op not in LAYOUT]
    kind = "missing-operation" if lacking else "other-operand"
    return Difference(kind, mine, lacking[0] if lacking else theirs, phase, lacking)


class Pair:
    """Both frontiers, and the question what the difference is."""

    def __init__(
        self, port: Aligned, reference: Aligned, mine: Frontier, theirs: Frontier, phase: int
    ) -> None:
        self._port, self._reference = port, reference
        self._mine, self._theirs, self._phase = mine, theirs, phase

    def read(self) -> Difference:
        """The difference at the first quantity of the port's frontier, or at an earlier one that
        differs from an operation of the reference in a constant alone."""
        first = self._mine.at[0]
        at = next((each for each in sorted(self._mine.at[:MAX_ENDS])
                   if each < first and self._on_the_same(each) is not None), first)  # fmt: skip
        other = self._counterpart(at)
        if other is None:
            return Difference("extra-operation", at, None, self._phase, added=[at])
        one, two = self._port.quantity(at), self._reference.quantity(other)
        if one.given:
            return self._of_given(at, other)
        lacking, like = self._between(self._reference, self._theirs, other, self._port, at)
        added, _ = self._between(self._port, self._mine, at, self._reference, other)
        takes = self._operands(at, like) if lacking else None
        if never := self._never_called(lacking or [other]):
            return Difference("module-never-called", at, other, self._phase, never, (), takes)
        if added and (factor := self._scaled_elsewhere(at, other)) is not None:
            return Difference("other-constant", at, factor, self._phase)
        weights = all(self._reference.quantity(each).given for each in lacking)
        if takes and weights and (self._port.quantity(takes[0]).given or self._built(takes[0])):
            return Difference("other-weight", at, like, self._phase, operands=takes,
                              beside=takes[0] if self._built(takes[0]) else None)  # fmt: skip
        if lacking and added:
            if (later := self._later(lacking, at)) is not None:
                return Difference("other-order", at, other, self._phase, lacking, added,
                                  meets=(later, like))  # fmt: skip
            lacking, added = (lacking, []) if len(lacking) <= len(added) else ([], added)
        if lacking:
            return Difference("missing-operation", at, other, self._phase, lacking, (), takes)
        if added:
            return Difference("extra-operation", at, other, self._phase, (), added)
        return Difference(self._kind(one, two, at, other), at, other, self._phase,
                          operands=self._operands(at, other))  # fmt: skip

    def _built(self, at: int) -> bool:
        return at < self._port.trace.built

    def _never_called(self, lacking: Sequence[int]) -> list[int]:
        """Those of some operations that a module makes which the port has, but never calls."""
        never = set(self._port.trace.uncalled)
        return [each for each in lacking if self._reference.quantity(each).module in never]

    def _later(self, lacking: Sequence[int], at: int) -> int | None:
        """The first of the same operations if the port does them afterwards."""
        first = self._port.quantity(at)
        wanted = Counter(family(self._reference.quantity(each)) for each in lacking)
        after = [
            (each, self._port.quantity(each)) for each in sorted(self._mine.region) if each > at
        ]
        later = [
            (number, family(one))
            for number, one in after
            if one.op not in LAYOUT and same_layer(one, first)
        ][: 6 * len(lacking)]
        if len(lacking) < 2 or wanted - Counter(kind for _, kind in later):
            return None
        start = family(self._reference.quantity(lacking[0]))
        return next(number for number, kind in later if kind == start)

    def _counterpart(self, at: int) -> int | None:
        """The quantity of the reference's frontier that is most like one of the port's."""
        one, sources = self._port.quantity(at), origins(self._port, at)
        if (exact := self._on_the_same(at)) is not None:
            return exact
        best, most = None, (-1.0, 0)
        for number in islice(self._theirs.at, MAX_ENDS):
            two, theirs = self._reference.quantity(number), origins(self._reference, number)
            both = len(sources & theirs)
            score = 3.0 * bool(both) + both / max(1, len(sources | theirs))
            score += 2 * (family(one) == family(two)) + (one.phase == two.phase)
            score += tail(one.module) == tail(two.module)
            score += 4 * (one.given and one.name == two.name != "")
            if (score, -number) > most:
                best, most = number, (score, -number)
        return best

    def _on_the_same(self, at: int) -> int | None:
        """The operation of the reference of the same kind on the same values: also one whose result
        is known, as one may be added that is too small to be seen."""
        one, known = self._port.quantity(at), classes(self._port, at)
        alone = len(one.inputs) - len(scalars(self._port, at)) == len(known)
        if one.given or not known or not alone:
            return None
        mine = numbers(self._port, at)
        for number, two in enumerate(self._reference.trace.quantities):
            alike = family(two) == family(one) and two.phase == one.phase
            alike = alike and classes(self._reference, number) == known
            if alike and numbers(self._reference, number) != mine:
                return number
        return None

    def _scaled_elsewhere(self, at: int, other: int) -> int | None:
        """The factor of the reference for a factor that the port applies before or behind another
        operation."""
        one = self._port.quantity(at)
        if family(one) != "mul" or not self._scalar(self._port, at):
            return None
        reached = {other}
        for each in sorted(self._theirs.region):
            two = self._reference.quantity(each)
            if each > other and not reached & set(two.inputs):
                continue
            reached.add(each)
            if len(reached) > MAX_ENDS:
                break
            if family(two) == "mul" and self._scalar(self._reference, each):
                same = numbers(self._reference, each) == numbers(self._port, at)
                return None if same else each
        return None

    def _of_given(self, at: int, other: int) -> Difference:
        two = self._reference.quantity(other)
        if two.given:
            return Difference("other-weight", at, other, self._phase)
        use = next((each for each in sorted(self._mine.region)
                    if at in self._port.quantity(each).inputs), at)  # fmt: skip
        return Difference("other-weight", at, self._use_like(use, other), self._phase)

    def _use_like(self, use: int, other: int) -> int:
        """The reference's use of a weight that is not its own: its operation of the same kind."""
        kind, shape = family(self._port.quantity(use)), self._port.quantity(use).shape
        for each in sorted(self._theirs.region):
            two = self._reference.quantity(each)
            if family(two) == kind and two.shape == shape:
                return each
        return other

    def _between(
        self, whole: Aligned, ends: Frontier, start: int, other: Aligned, like: int
    ) -> tuple[list[int], int]:
        """The quantities from ``start`` on until one that is made as ``like`` of the other trace:
        those that the other run leaves out, and that one. Empty if there is none."""
        goal, first = other.quantity(like), whole.quantity(start)
        alike = self._scalar(whole, start) == self._scalar(other, like)
        if alike and family(goal) == family(first):
            same = classes(whole, start) == classes(other, like)
            if same or not classes(other, like):
                return [], start
        operands = classes(other, like)
        reached = {start}
        for each in sorted(ends.region):
            one = whole.quantity(each)
            if each <= start or not reached & set(one.inputs):
                continue
            if len(reached) > MAX_ENDS or not same_layer(one, first):
                break
            if family(one) == family(goal) and self._fits(
                whole, each, other, like, operands, first
            ):
                return [at for at in sorted(reached) if whole.quantity(at).op not in LAYOUT], each
            reached.add(each)
        return [], start

    @staticmethod
    def _scalar(found: Aligned, at: int) -> bool:
        return "other" in numbers(found, at)

    @staticmethod
    def _fits(
        whole: Aligned, at: int, other: Aligned, like: int, operands: Set[int], first: Quantity
    ) -> bool:  # fmt: skip
        known = classes(whole, at)
        if known:
            return bool(known & operands)
        one = whole.quantity(at)
        return (one.shape == other.quantity(like).shape and layer(one.module) == layer(first.module)
                and numbers(whole, at) == numbers(other, like))  # fmt: skip

    def _kind(self, one: Quantity, two: Quantity, at: int, other: int) -> str:
        if one.dtype != two.dtype and (one.dtype + two.dtype).count("float") == 2:
            return "other-dtype"
        if self._other_mask(at):
            return "other-mask"
        if family(one) != family(two):
            return "other-operation"
        if numbers(self._port, at) != numbers(self._reference, other):
            return "other-axis" if _axes(one) != _axes(two) else "other-constant"
        pair = self._operands(at, other)
        if pair and self._reference.quantity(pair[1]).given and self._port.quantity(pair[0]).given:
            return "other-weight"
        same = classes(self._port, at) == classes(self._reference, other)
        return "other-layout" if same else "other-operand"

    def _other_mask(self, at: int) -> bool:
        """Whether an operation takes a mask that leaves as many numbers of a row as none of the
        reference does."""
        known = known_masks(self._reference, self._port.quantity(at).phase)
        own = [self._port.quantity(each).patterns for each in self._port.quantity(at).inputs]
        return bool(known) and any(each and not known & {*each} for each in own)

    def _operands(self, at: int, other: int) -> tuple[int, int] | None:
        """The first operands that differ."""
        theirs = classes(self._reference, other)
        mine = classes(self._port, at)
        left = [each for each in self._port.quantity(at).inputs
                if self._port.standard(each) not in theirs]  # fmt: skip
        right = [each for each in self._reference.quantity(other).inputs
                 if self._reference.standard(each) not in mine]  # fmt: skip
        return (left[0], right[0]) if left and right else None


def classes(found: Aligned, at: int) -> set[int]:
    """The inputs of a quantity, as far as the other trace has them itself."""
    known = {found.standard(each) for each in found.quantity(at).inputs}
    return known - {-1}


def origins(found: Aligned, at: int, depth: int = 12) -> set[int]:
    """The nearest quantities behind ``at`` that the other trace has itself."""
    nearest: set[int] = set()
    todo = [(each, depth) for each in found.quantity(at).inputs]
    while todo:
        each, left = todo.pop()
        known = found.standard(each)
        if known >= 0:
            nearest.add(known)
        elif left:
            todo += [(more, left - 1) for more in found.quantity(each).inputs]
    return nearest


def numbers(found: Aligned, at: int) -> Mapping[str, Any]:
    """The constants of an operation, tensors of one number included; a divisor is a factor."""
    one = found.quantity(at)
    known = {key: value for key, value in one.constants.items() if key not in ("dtype", "part")}
    told = scalars(found, at)
    if told and "other" not in known:
        known["other"] = told[0]
    other = known.get("other")
    if isinstance(other, int | float):
        if one.op == "div" and other:
            other = 1 / other
        known["other"] = float(f"{-other if one.op == 'sub' else other:.7g}")
    return known


def scalars(found: Aligned, at: int) -> list[float]:
    """The tensors of one number among the inputs of an operation."""
    inputs = [found.quantity(each) for each in found.quantity(at).inputs]
    return [one.value for one in inputs if one.value is not None and math.prod(one.shape) == 1]


def same_layer(one: Quantity, other: Quantity) -> bool:
    """Whether two operations may lie in the same layer, as far as their modules tell."""
    mine, theirs = layer_number(one.module), layer_number(other.module)
    return mine is None or theirs is None or mine == theirs


def layer(module: str) -> str:
    """The layer that a module lies in, or the module itself."""
    found = re.match(r".*?\.\d+(?=\.|\Z)", module)
    return found[0] if found else module


def _axes(one: Quantity) -> Any:
    given = one.constants.get("dim")
    axes = given if isinstance(given, list) else [given]
    return [each - len(one.shape) if isinstance(each, int) and each >= 0 else each for each in axes]


def family(one: Quantity) -> str:
    """The kind of an operation: the same for those that may stand for each other."""
    return FAMILIES.get(one.op, one.op)


def tail(module: str) -> str:
    """The last part of the path of a module."""
    return module.rpartition(".")[2]
