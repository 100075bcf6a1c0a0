"""Sequences of tokens as terms: their parts, cuts and lengths."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .reading.terms import NOTHING, Term, Trace

MAX_DEPTH = 12
# Calls that change the type of a sequence, but neither its elements nor their order.
_SAME = frozenset({
    "TensorData", "from_numpy", "from_torch", "array", "asarray", "tensor", "as_tensor", "tolist",
    "list", "tuple", "astype", "long", "numpy", "cpu", "copy", "LongTensor", "FloatTensor",
})  # fmt: skip
_ARRAYS = frozenset({
    "from_numpy", "from_torch", "array", "asarray", "tensor", "as_tensor", "numpy", "LongTensor",
    "FloatTensor",
})  # fmt: skip
_OF_OWNER = frozenset({"tolist", "astype", "long", "numpy", "cpu", "copy"})
_FILLS = {"ones": 1, "zeros": 0, "full": None, "ones_like": 1, "zeros_like": 0}
_JOINS = frozenset({"concatenate", "cat", "hstack"})


class Segment(NamedTuple):
    """A part of a sequence: ``base`` without its first ``start`` and its last ``end`` elements."""

    base: Term
    start: int = 0
    end: int = 0


def subject(call: Term) -> Term:
    """The subject of a call with one argument: its first argument, or its owner."""
    name: str = call.const[0]
    keys: list[str] = [*call.const[1:]]
    if name in _OF_OWNER:
        return call.args[0]
    positional = call.args[1 : len(call.args) - len(keys)]
    for key in ("data", "tokens", "a", "object"):
        if key in keys:
            return call.args[len(call.args) - len(keys) + keys.index(key)]
    return positional[0] if positional else NOTHING


def is_call(term: Term, *names: str) -> bool:
    """Whether a term is the result of a call of one of these functions or methods."""
    return term.op == "call" and term.const[0] in names


def peel(term: Term) -> Term:
    """A sequence without changes of its type."""
    for _ in range(MAX_DEPTH):
        if not (term.op == "call" and term.const[0] in _SAME):
            break
        inner = subject(term)
        if inner is NOTHING:
            break
        term = inner
    return term


def segments(trace: Trace, term: Term, depth: int = 0) -> list[Segment] | None:
    """The parts that a sequence is joined from; None if it is cut at unknown places."""
    term = peel(term)
    if depth > MAX_DEPTH:
        return None
    if term.op == "binary" and term.const == "Add" and not is_array(term):
        return _joined(trace, term.args, depth)
    if is_call(term, *_JOINS) and subject(term).op == "list":
        return _joined(trace, subject(term).args, depth)
    if term.op != "slice":
        return [Segment(term)]
    base, low, high, step = term.args
    parts = segments(trace, base, depth + 1)
    start, end = _bound(low), _end(trace, base, high)
    if parts is None or start is None or end is None or step is not NOTHING:
        return [Segment(term)]
    parts[0] = parts[0]._replace(start=parts[0].start + start)
    parts[-1] = parts[-1]._replace(end=parts[-1].end + end)
    return parts


def _joined(trace: Trace, terms: tuple[Term, ...], depth: int) -> list[Segment] | None:
    found: list[Segment] = []
    for each in terms:
        parts = segments(trace, each, depth + 1)
        if parts is None:
            return None
        found += parts
    return found


def is_array(term: Term) -> bool:
    """Whether ``+`` would add numbers instead of joining lists."""
    for arg in term.args:
        for _ in range(MAX_DEPTH):
            if arg.op == "call" and arg.const[0] in (*_ARRAYS, *_FILLS):
                return True
            if arg.op not in ("slice", "binary") or not arg.args:
                break
            arg = arg.args[0]
    return False


def _bound(low: Term) -> int | None:
    if low is NOTHING or (low.op == "const" and low.const is None):
        return 0
    known = low.op == "const" and type(low.const) is int and low.const >= 0
    return low.const if known else None


def _end(trace: Trace, base: Term, high: Term) -> int | None:
    """The number of elements that a slice leaves out at the end."""
    if high is NOTHING or (high.op == "const" and high.const is None):
        return 0
    if high.op == "const" and type(high.const) is int and high.const < 0:
        return -high.const
    rest = Size.of(length(trace, base)).minus(number(trace, high))
    return rest.fixed if rest is not None and not rest.parts and rest.fixed >= 0 else None


class Size(NamedTuple):
    """A number: ``fixed`` plus unknown numbers, each with its factor."""

    fixed: int
    parts: tuple[tuple[Term, int], ...] = ()

    @classmethod
    def of(cls, size: Size | None) -> Size:
        return size if size is not None else cls(0, ((Term("unknown"), 1),))

    def plus(self, other: Size | None, factor: int = 1) -> Size | None:
        """The sum with another, which counts ``factor`` times."""
        if other is None:
            return None
        parts = dict(self.parts)
        for term, count in other.parts:
            parts[term] = parts.get(term, 0) + factor * count
        kept = tuple((term, count) for term, count in parts.items() if count)
        return Size(self.fixed + factor * other.fixed, kept)

    def minus(self, other: Size | None) -> Size | None:
        """The difference to another."""
        return self.plus(other, -1)


def number(trace: Trace, term: Term, depth: int = 0) -> Size | None:
    """A whole number that was computed from lengths."""
    if depth > MAX_DEPTH:
        return None
    if term.op == "const":
        return Size(term.const) if type(term.const) is int else None
    if is_call(term, "len"):
        return length(trace, subject(term), depth + 1)
    if term.op == "attr" and term.const == "length":
        return length(trace, _ints(trace, term.args[0]), depth + 1)
    if term.op == "binary" and term.const in ("Add", "Sub"):
        left, right = (number(trace, each, depth + 1) for each in term.args)
        return left.plus(right, 1 if term.const == "Add" else -1) if left is not None else None
    return Size(0, ((term, 1),)) if term.op in ("name", "attr", "item", "part") else None


def _ints(trace: Trace, given: Term) -> Term:
    return trace.term("call", (given,), ("to_ints",))


def length(trace: Trace, term: Term, depth: int = 0) -> Size | None:
    """The length of a sequence; None if nothing is known of it."""
    parts = segments(trace, term)
    if parts is None or depth > MAX_DEPTH:
        return None
    total: Size | None = Size(0)
    for part in parts:
        size = _plain_length(trace, part.base, depth + 1)
        if size is None or total is None:
            return None
        total = total.plus(size._replace(fixed=size.fixed - part.start - part.end))
    return total


def _plain_length(trace: Trace, term: Term, depth: int) -> Size | None:
    repeated = repeat(term)
    if repeated is not None:
        return number(trace, repeated[1], depth)
    if is_call(term, *_FILLS):
        given = subject(term)
        alike = str(term.const[0]).endswith("_like")
        return length(trace, given, depth) if alike else number(trace, given, depth)
    if term.op == "list":
        return Size(len(term.args))
    if term.op == "map":
        return length(trace, term.args[1], depth)
    if is_call(term, "range") and len(term.args) == 2:
        return number(trace, term.args[1], depth)
    if is_call(term, "to_ints") and is_call(peel(term.args[0]), "from_ints"):
        return length(trace, subject(peel(term.args[0])), depth)
    if term.op == "attr" and term.const == "logprobs":  # one for each of the sampled tokens
        term = trace.term("attr", term.args, "tokens")
    vague = term.op in ("choice", "grown", "other", "nothing", "const")
    return None if vague else Size(0, ((term, 1),))


def repeat(term: Term) -> tuple[Term, Term] | None:
    """Element and count of ``[element] * count``."""
    if term.op != "binary" or term.const != "Mult":
        return None
    for one, other in (term.args, term.args[::-1]):
        if one.op == "list" and len(one.args) == 1:
            return one.args[0], other
    return None


def filled_with(term: Term) -> object:
    """The number that all elements of a sequence are, else None."""
    repeated = repeat(term)
    if repeated is not None:
        return repeated[0].const if repeated[0].op == "const" else None
    if is_call(term, *_FILLS):
        return _FILLS[term.const[0]]
    if term.op == "map" and term.args[0].op == "const":
        return term.args[0].const
    if term.op == "list" and term.args and all(a.op == "const" for a in term.args):
        values = {arg.const for arg in term.args}
        return values.pop() if len(values) == 1 else None
    return None


def padding(trace: Trace, term: Term) -> Iterator[Term]:
    """The parts of a sequence that fill it up to a length: ``[pad] * (length - len(tokens))``."""
    for part in segments(trace, term) or ():
        repeated = repeat(part.base)
        count = repeated[1] if repeated is not None else NOTHING
        rest = count.args[1] if count.op == "binary" and count.const == "Sub" else NOTHING
        if any(is_call(each, "len") for each in trace.walk(rest)):
            yield part.base
