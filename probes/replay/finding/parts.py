"""Looks for parts of a sum that are lost, exchanged or taken from elsewhere.

The output of a module is a sum over parts: of a projection over shards of its input, of attention
over heads, of a mixture over experts. The factors of the parts in the output of the target, by
least squares, show which parts it consists of.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ....reading.tensors import np
from ..formula.attention import mixed_heads
from ..formula.feedforward import expert_output, inner, moe, routed
from ..spec import Reading
from .given import Finder, Found, Given

SHARDS = (2, 4, 8, 16)
MOST_PARTS, MOST_ROWS = 256, 512
LEAST_EQUATIONS, EQUATIONS = 2_048, 16
"""Number of equations at least, and per unknown."""
NEAR = 0.25
"""Largest distance of a factor from a whole number."""


class Sums(NamedTuple):
    """The input of a module's output projection (rows, width), and its weight."""

    inner: Any
    key: str
    target: Any


def _sums(one: Given) -> Sums:
    reading = one.reading
    if reading.family == "attention":
        mixed = mixed_heads(reading.spec, reading.weights, one.given)[:, :, one.rows]
        part, values = "o", mixed.swapaxes(1, 2).reshape(-1, mixed.shape[1] * mixed.shape[3])
    elif reading.family == "mlp":
        found = inner(reading.spec, reading.weights, one.given["x"], one.given.get("memory"))
        part, values = "down", found[:, one.rows]
    else:
        part, values = "own", one.given["x"][:, one.rows]
    target = _flat(one)
    if (bias := reading.weights.get(f"{part}.bias")) is not None:
        target = target - bias
    return Sums(values.reshape(len(target), -1), f"{part}.weight", target)


def _flat(one: Given) -> Any:
    return one.output[:, one.rows].reshape(-1, one.output.shape[-1])


def factors_of_parts(parts: list[Any], target: Any) -> Any:
    """Least squares over some rows and channels, by the normal equations: there are few parts."""
    wanted = max(LEAST_EQUATIONS, EQUATIONS * len(parts))
    rows = target[:MOST_ROWS]
    count = min(target.shape[1], max(8, -(-wanted // len(rows))))
    channels = np.linspace(0, target.shape[1] - 1, count).astype(int)
    some = np.stack([part[:MOST_ROWS, channels].ravel() for part in parts]).astype(np.float64)
    squares = some @ some.T
    ridge = 1e-9 * np.trace(squares) / len(parts) * np.eye(len(parts))
    return np.linalg.solve(squares + ridge, some @ rows[:, channels].ravel().astype(np.float64))


def _whole(factors: Any) -> Any | None:
    """The whole numbers that factors are near to; None if they are not."""
    rounded = np.rint(factors)
    fits = np.isfinite(factors).all() and np.abs(factors - rounded).max() < NEAR
    return rounded.astype(int) if fits and np.abs(rounded).max() <= 16 else None


def _blocks(one: Given, count: int) -> tuple[Sums, Any] | None:
    """Like :func:`_solved`, but solve only once for all finders."""
    if count not in one.solved:
        one.solved[count] = _solved(one, count)
    found: tuple[Sums, Any] | None = one.solved[count]
    return found


def _solved(one: Given, count: int) -> tuple[Sums, Any] | None:
    """Factors (count, count): of a shard of the input through the weight of another shard."""
    sums = _sums(one)
    weight = one.reading.weights[sums.key]
    width = weight.shape[1]
    if count < 2 or width % count or count * count > MOST_PARTS:
        return None
    if sums.inner.shape[0] * len(weight) < 2 * count * count:
        return None
    cut, through = np.split(sums.inner, count, axis=1), np.split(weight, count, axis=1)
    factors = _whole(factors_of_parts([a @ c.T for a in cut for c in through], sums.target))
    if factors is None or (factors.reshape(count, count) == np.eye(count)).all():
        return None
    return sums, factors.reshape(count, count)


def _moved(one: Given, key: str, factors: Any) -> Reading:
    """The weight as it must have been for these factors."""
    through = np.split(one.reading.weights[key], len(factors), axis=1)
    columns = [sum(np.float32(factor) * part for factor, part in zip(row, through, strict=True))
               for row in factors]  # fmt: skip
    weights = one.reading.weights | {key: np.concatenate(columns, axis=1)}
    return one.reading._replace(weights=weights)


def _ranks(one: Given) -> Found:
    """Find ranks whose part of the sum is missing or counted more than once."""
    for count in SHARDS:
        found = _blocks(one, count)
        if found and not (found[1] - np.diag(np.diag(found[1]))).any():
            own = np.diag(found[1])
            if len(set(own)) > 1:
                lost = ", ".join(str(at) for at in np.flatnonzero(own == 0))
                words = f"of {count} ranks, without {lost}" if lost else f"times {list(own)}"
                yield _moved(one, found[0].key, found[1]), words
                return


def _last_rank(one: Given) -> Found:
    """Like :func:`_ranks`, if only the last head or at most the last eighth is lost: its part may
    never have been filled."""
    spec = one.reading.spec
    heads = spec.get("is_out") or one.reading.family == "attention"
    for count in SHARDS:
        if found := _blocks(one, count):
            lost = count - int(np.diag(found[1]).sum())
            few = lost * found[0].inner.shape[1] <= count * int(heads and spec["head_dim"])
            there = np.diag(np.arange(count) < count - lost).astype(int)
            if lost and (few or 8 * lost <= count) and (found[1] == there).all():
                yield _moved(one, found[0].key, found[1]), f"the last {lost} of {count} parts"
            return


def _one_shard(one: Given) -> Found:
    """Like :func:`_ranks`, if the lost part is one stretch of at most half of the sum: a shard of
    an earlier weight may not have been loaded."""
    for count in SHARDS:
        if (found := _blocks(one, count)) is None:
            continue
        lost = np.flatnonzero(np.diag(found[1]) == 0)
        there = np.ones(count, int)
        there[lost] = 0
        few = len(lost) and 2 * len(lost) <= count and lost[-1] - lost[0] == len(lost) - 1
        if few and (found[1] == np.diag(there)).all():
            some = ", ".join(map(str, lost))
            yield _moved(one, found[0].key, found[1]), f"{some} of {count}, from 0 on"
        return


def _order(counts: Callable[[Given], tuple[int, ...]]) -> Finder:
    def find(one: Given) -> Found:
        for count in counts(one):
            found = _blocks(one, count)
            if found and (found[1].sum(axis=0) == 1).all() and set(found[1].ravel()) == {0, 1}:
                words = ", ".join(str(at) for at in found[1].argmax(axis=0))
                yield _moved(one, found[0].key, found[1]), words
                return

    return find


def _assigned(key: str, count: str, fits: Callable[[tuple[int, ...], int], bool]) -> Finder:
    """Find the head of keys and values (or of queries) that each head uses, for the setting
    ``key``."""

    def find(one: Given) -> Found:
        spec = one.reading.spec
        heads, groups = int(spec["heads"]), int(spec[count])
        if groups < 2 or heads * groups > MOST_PARTS:
            return
        through = np.split(one.reading.weights["o.weight"], heads, axis=1)
        parts = []
        for group in range(groups):
            mixed = mixed_heads(spec | {key: (group,) * heads}, one.reading.weights, one.given)
            mixed = mixed[:, :, one.rows].swapaxes(0, 1).reshape(heads, -1, mixed.shape[-1])
            parts += [part @ weight.T for part, weight in zip(mixed, through, strict=True)]
        factors = factors_of_parts(parts, _sums(one).target).reshape(groups, heads)
        chosen = tuple(int(at) for at in factors.argmax(axis=0))
        if fits(chosen, groups):
            reading = one.reading._replace(spec=spec | {key: chosen})
            yield reading, ", ".join(map(str, chosen))

    return find


def _is_order(chosen: tuple[int, ...], groups: int) -> bool:
    """Whether groups are only in another order."""
    each = len(chosen) // groups
    firsts = chosen[::each]
    return len(set(firsts)) == groups and chosen == tuple(np.repeat(firsts, each))


def _is_grouping(chosen: tuple[int, ...], groups: int) -> bool:
    return groups < len(chosen) and not _is_order(chosen, groups)


def _experts(one: Given) -> Found:
    """Find experts that are left out of the sum."""
    given, outside, parts, used = experts_around(one)
    memory = one.given.get("memory")
    for expert, row, share in routed(one.reading.spec, one.reading.weights, given):
        part = np.zeros_like(outside)
        part[row] = share * expert_output(
            one.reading.spec, one.reading.weights, expert, given, row, memory
        )
        parts.append(part)
        used.append(expert)
    if not 1 < len(parts) <= MOST_PARTS:
        return
    factors = factors_of_parts(parts, outside)
    kept = tuple(expert for expert, value in zip(used, factors, strict=True) if value > 0.5)
    count = len(one.reading.weights["experts.down"])
    if 0 < len(kept) < len(used) and _by_ranks(set(kept), used, count):
        reading = one.reading._replace(spec=one.reading.spec | {"experts_kept": kept})
        yield reading, ", ".join(map(str, kept[:16]))


def _some_lost(one: Given) -> Found:
    """Like :func:`_experts`, if one expert or at most half of them side by side are lost: they may
    also lack weights."""
    count = len(one.reading.weights["experts.down"])
    for reading, words in _experts(one):
        rows, kept = experts_around(one)[0], set(reading.spec["experts_kept"])
        used = {each for each, _, _ in routed(one.reading.spec, one.reading.weights, rows)}
        lost = used - kept
        if 2 * (max(lost) - min(lost) + 1) <= count and not kept & set(range(min(lost), max(lost))):
            yield reading, words


def _by_ranks(kept: set[int], used: list[int], count: int) -> bool:
    """Whether ranks of several experts each are there or lost as a whole, or a rank of one is."""
    if len(kept) == 1 or len(used) - len(kept) == 1:
        return True
    lost = [expert for expert in used if expert not in kept]
    for size in (count // ranks for ranks in SHARDS if count % ranks == 0):
        if size < 2:
            continue
        together = {at // size for at in kept} & {at // size for at in lost}
        in_turn = {at % (count // size) for at in kept} & {at % (count // size) for at in lost}
        if not together or not in_turn:
            return True
    return False


def experts_around(one: Given) -> tuple[Any, Any, list[Any], list[int]]:
    """The rows, the output of the routed experts for them in the target, and two lists to fill."""
    spec, weights = one.reading.spec, one.reading.weights
    shared = moe(spec | {"experts_kept": ()}, weights, {"x": one.given["x"]})
    rows = one.given["x"].reshape(-1, one.given["x"].shape[-1])
    return rows, (one.output - shared).reshape(rows.shape), [], []


def _inputs(one: Given) -> Found:
    """Try another input: the output or input of another module, or other positions and rows."""
    for words, x in one.given["inputs"]():
        yield one.reading._replace(spec=one.reading.spec | {"other_input": x}), words


def _heads(one: Given) -> tuple[int, ...]:
    return (int(one.reading.spec["heads"]),)


PARTS: dict[str, Finder] = {
    "ranks": _ranks, "shards": _order(lambda one: SHARDS), "heads": _order(_heads),
    "kv-grouping": _assigned("gqa", "kv_heads", _is_grouping),
    "k-grouping": _assigned("gqa_k", "kv_heads", _is_grouping),
    "v-grouping": _assigned("gqa_v", "kv_heads", _is_grouping),
    "kv-order": _assigned("gqa", "kv_heads", _is_order),
    "k-order": _assigned("gqa_k", "kv_heads", _is_order),
    "v-order": _assigned("gqa_v", "kv_heads", _is_order),
    "q-order": _assigned("q_order", "heads", lambda chosen, groups: True),
    "experts": _experts, "experts-of-zeros": _some_lost, "inputs": _inputs,
    "last-rank": _last_rank, "one-shard": _one_shard,
}  # fmt: skip
