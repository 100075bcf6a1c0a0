"""Vectors of a module (the bias of a projection, weight and bias of a norm) as the target must have
had them, by least squares; and the origin of their numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ....reading.tensors import np
from ..beside import LAYER
from ..formula.basics import normalise
from .given import Finder, Found, Given

LEAST_ROWS = 8
CLOSE = 0.05
"""Distance of two vectors, relative to their size, up to which they are the same."""
RANKS = (2, 4, 8, 16, 32)


class Source(NamedTuple):
    """The origin of a vector: ``of`` is the name of another vector, or the arrangement of its own
    (``shards``, ``heads``, ``channels``, ``lost``)."""

    kind: str
    of: str
    values: Any


def _flat(one: Given) -> tuple[Any, Any]:
    x = one.given["x"][:, one.rows]
    target = one.output[:, one.rows].reshape(-1, one.output.shape[-1])
    return x.reshape(len(target), -1), target


def _is(found: Any, other: Any) -> bool:
    size = max(float(np.linalg.norm(found)), float(np.linalg.norm(other)))
    return bool(np.linalg.norm(found - other) <= CLOSE * size)


def _bias(one: Given) -> Any | None:
    """The bias of the target; None if the rest of it is not right."""
    x, target = _flat(one)
    own = one.reading.weights.get("own.bias")
    if own is None or len(x) < LEAST_ROWS:
        return None
    left = target - x @ one.reading.weights["own.weight"].T
    found = left.mean(axis=0)
    size = float(np.linalg.norm(target)) or 1.0
    rest = float(np.linalg.norm(left - found))
    return None if rest > CLOSE * size or _is(found, own) else found


def _lies(found: Any, own: Any, width: int) -> Iterator[Source]:
    """Yield the ways in which the numbers of the own vector are arranged in another one: shards or
    heads moved or lost, or channels in turn."""
    for count in sorted({*RANKS, len(own) // width if width else 1}):
        if count < 2 or len(own) % count or len(own) // count < 2:
            continue
        theirs, ours = found.reshape(count, -1), own.reshape(count, -1)
        from_ = [next((at for at, block in enumerate(ours) if _is(each, block)), -1)
                 for each in theirs]  # fmt: skip
        zero = [not each.any() or float(np.linalg.norm(each)) < CLOSE * np.linalg.norm(own)
                for each in theirs]  # fmt: skip
        if all(at >= 0 or none for at, none in zip(from_, zero, strict=True)):
            blocks = [np.zeros_like(ours[0]) if at < 0 else ours[at] for at in from_]
            kind = "heads" if len(own) // count == width else "shards"
            kind = "lost" if any(zero) else kind
            yield Source(kind, ", ".join(map(str, from_)), np.concatenate(blocks))
            return
    for step in range(2, len(own) // 2 + 1):
        if len(own) % step == 0:
            order = np.arange(len(own)).reshape(step, -1).T.ravel()
            if _is(found, own[order]):
                yield Source("channels", f"every {len(own) // step}th", own[order])
                return
    if _is(found, own[::-1]):
        yield Source("channels", "backwards", own[::-1])


def _bias_source(one: Given) -> Source | None:
    found = _bias(one)
    if found is None:
        return None
    for name, values in one.given["vectors"](len(found)):
        if name.endswith("bias") and values is not None and _is(found, values):
            return Source("other", name, values)
    own = one.reading.weights["own.bias"]
    return next(_lies(found, own, int(one.reading.spec.get("head_dim") or 0)), None)


def _of_bias(fits: Callable[[Source, Given], bool]) -> Finder:
    def find(one: Given) -> Found:
        if "bias" not in one.solved:
            one.solved["bias"] = _bias_source(one)
        source: Source | None = one.solved["bias"]
        if source is not None and fits(source, one):
            weights = one.reading.weights | {"own.bias": source.values}
            yield one.reading._replace(weights=weights), source.of

    return find


def _kind(kind: str) -> Callable[[Source, Given], bool]:
    return lambda source, one: source.kind == kind


def _layers(source: Source, one: Given) -> bool:
    """Whether the vector is that of the same module in another layer."""
    name = source.of.rpartition(".")[0]
    return source.kind == "other" and _inside(name) == _inside(one.given["name"])


def _inside(name: str) -> str:
    found = LAYER.search(name)
    return name[found.end() :] if found else name


def _exchanged(source: Source, one: Given) -> bool:
    """Whether another module has the bias of this one."""
    if source.kind != "other" or _layers(source, one):
        return False
    name = source.of.rpartition(".")[0]
    for each, weight, _ in one.given["siblings"]():
        if each == name:
            return bool(one.given["gives"](name, weight, one.reading.weights["own.bias"]))
    return False


def _copied(source: Source, one: Given) -> bool:
    return source.kind == "other" and not _layers(source, one) and not _exchanged(source, one)


def _norm(one: Given) -> tuple[Any, Any] | None:
    """Weight and bias of a norm of the target; None if it normalises in another way."""
    spec = one.reading.spec
    x, target = _flat(one)
    if len(x) < LEAST_ROWS or x.shape != target.shape:
        return None
    plain = normalise(spec | {"norm_unweighted": True}, {}, "own", x)
    middle, middle_out = plain.mean(axis=0), target.mean(axis=0)
    squares = ((plain - middle) ** 2).sum(axis=0)
    weight = ((plain - middle) * (target - middle_out)).sum(axis=0) / np.maximum(squares, 1e-20)
    bias = middle_out - weight * middle
    if "own.bias" not in one.reading.weights and np.linalg.norm(bias) < 2 * CLOSE * np.linalg.norm(
        target.std(axis=0)
    ):
        bias = np.zeros_like(bias)
        weight = (plain * target).sum(axis=0) / np.maximum((plain * plain).sum(axis=0), 1e-20)
    left = float(np.linalg.norm(plain * weight + bias - target))
    if left > CLOSE * (float(np.linalg.norm(target)) or 1.0):
        return None
    return weight - np.float32(spec.get("norm_offset", 0)), bias


def _norm_sources(one: Given) -> tuple[Source, Source] | None:
    """The origins of weight and bias of a norm."""
    found = _norm(one)
    if found is None:
        return None
    weights = one.reading.weights
    zeros = np.zeros_like(found[1])
    own = {"own": weights["own.weight"].ravel(), "bias": weights.get("own.bias", zeros)}
    pairs = []
    for kind, values in zip(("own", "bias"), found, strict=True):
        if own[kind].shape != values.shape:
            return None
        pairs.append(_norm_source(one, kind, values, own, zeros))
    if pairs[0] is None or pairs[1] is None or pairs[0].kind == pairs[1].kind == "right":
        return None
    return pairs[0], pairs[1]


def _norm_source(
    one: Given, kind: str, values: Any, own: dict[str, Any], zeros: Any
) -> Source | None:
    if _is(values, own[kind]) or (not own[kind].any() and not values.any()):
        return Source("right", "itself", own[kind])
    other = own["bias" if kind == "own" else "own"]
    if other.any() and _is(values, other):
        return Source("other", "the other of both", other)
    for name, vector in one.given["vectors"](len(values)):
        if vector is not None and _is(values, vector):
            return Source("other", name, vector)
    if own[kind].any():
        return next(_lies(values, own[kind], 0), None)
    return None


def _of_norm(kinds: set[str], parts: tuple[bool, bool] = (True, True)) -> Finder:
    """Make a finder of the weight and bias that a norm must have used, if they come from such
    sources; ``parts`` holds whether the weight may differ, and whether the bias may."""

    def find(one: Given) -> Found:
        if "norm" not in one.solved:
            one.solved["norm"] = _norm_sources(one)
        found: tuple[Source, Source] | None = one.solved["norm"]
        if found is None or not {each.kind for each in found} <= {"right", *kinds}:
            return
        if any(each.kind != "right" and not may for each, may in zip(found, parts, strict=True)):
            return
        if found[0].kind == "lost" and not found[0].values.any():
            return  # no shard, but all of it
        weight, bias = found
        changed = {"own.weight": weight.values}
        if "own.bias" in one.reading.weights or bias.values.any():
            changed["own.bias"] = bias.values
        words = [f"{part}: {source.of}" for part, source in (("weight", weight), ("bias", bias))
                 if source.kind != "right"]  # fmt: skip
        weights = dict(one.reading.weights) | changed
        yield one.reading._replace(weights=weights), "; ".join(words)

    return find


def _of_sums(one: Given) -> Found:
    """Each rank normalises its part of a sum, and the results are added."""
    for words, parts in one.given["partial_sums"]():
        yield one.reading._replace(spec=one.reading.spec | {"sum_parts": parts}), words


VECTOR_FINDERS: dict[str, Finder] = {
    "norm-of-partial-sums": _of_sums,
    "bias-copied": _of_bias(_copied), "bias-exchanged": _of_bias(_exchanged),
    "bias-of-layers": _of_bias(_layers), "bias-in-heads": _of_bias(_kind("heads")),
    "bias-in-shards": _of_bias(_kind("shards")), "bias-in-channels": _of_bias(_kind("channels")),
    "bias-lost": _of_bias(_kind("lost")), "norm-vectors": _of_norm({"other"}),
    "norm-shards": _of_norm({"shards"}),
    "norm-lost": _of_norm({"lost"}, (True, False)),
    "norm-bias-lost": _of_norm({"lost"}, (False, True)),
    "norm-channels": _of_norm({"channels"}),
}  # fmt: skip
