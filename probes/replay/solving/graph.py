"""The values inside a module and its weights, as the reference has them, by the names of nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from ....reading.tensors import np
from ..spec import Reading
from ..weight_orders import Around
from .relations import RELATIONS
from .values import Value

Computed = Callable[[Reading, Mapping[str, Any]], Any]
CACHED = ("past", "prompt", "new")
STRETCHES = (*CACHED, "own", "all", "decoded")
MOST_KEPT = 1 << 14
"""Numbers of a value up to which all results of a relation are kept."""
_AXES = {"q": "bhpc", "k": "bhpc", "v": "bhpc", "mixed": "bhpc", "scores": "bhpk", "shares": "bhpk"}
_FLAT = {"router.logits": "ne", "router.scores": "ne", "router.shares": "nk"}
_BY_RANK = {1: "c", 2: "nc", 3: "bpc", 4: "bphc"}


class Graph(NamedTuple):
    """The contents of a module: values that are computed once, those computed in many parts, and
    weights."""

    values: dict[str, Any]
    many: frozenset[str]
    reading: Reading
    around: Around
    kept: dict[Any, Any]
    """Cache of derived data: values with their surroundings, and relations of small values."""


def traced(reading: Reading, given: Mapping[str, Any], around: Around, run: Computed) -> Graph:
    """The values of a correct module."""
    values: dict[str, Any] = {}
    many: set[str] = set()

    def keep(node: str, value: Any) -> Any:
        if node in values:
            many.add(node)
        values[node] = value
        return value

    if (x := given.get("x")) is not None and x.ndim > 2:
        reading = reading._replace(spec=reading.spec | {"tokens": x.shape[:-1]})
    spec = reading.spec | {"edit": keep}
    if reading.family == "attention" and spec.get("decode_from"):
        spec |= {"cached": "edited", "cached_of": "past"}
    run(reading._replace(spec=spec), given)
    for node in ("q.given", "k.given", "v.given", "out" if reading.family == "rotary" else ""):
        values.pop(node, None)
    return Graph(values, frozenset(many), reading, around, {})


def value_of_node(graph: Graph, node: str) -> Value | None:
    """A value, or a weight (its name after a colon), with its possible replacements."""
    if node not in graph.kept:
        graph.kept[node] = _value(graph, node)
    found: Value | None = graph.kept[node]
    return found


def _value(graph: Graph, node: str) -> Value | None:
    spec = graph.reading.spec
    if node.startswith(":"):
        return _weight(graph, node[1:])
    array = graph.values.get(node)
    if array is None:
        return None
    others = {} if node in graph.many else graph.values
    return Value(array, axes_of(node, array), others, spec, graph.reading.weights)


def axes_of(node: str, array: Any) -> str:
    """The letters of the axes of a value."""
    side = node.partition(".")[0]
    if array.ndim == 4 and side in _AXES:
        return _AXES[side]
    return _FLAT.get(node) or _BY_RANK.get(array.ndim, "")


def _weight(graph: Graph, key: str) -> Value | None:
    weights, spec = graph.reading.weights, graph.reading.spec
    if key not in weights:
        return None
    shape = weights[key].shape
    others = {name: by_heads(name, each, spec)[0] for name, each in weights.items()
              if each.shape == shape}  # fmt: skip
    array, axes = by_heads(key, weights[key], spec)
    others[key] = array
    return Value(array, axes, others | _in_other_layers(graph, key), spec, weights)


def _in_other_layers(graph: Graph, key: str) -> dict[str, Any]:
    """The same weight of the layers around, by words that begin with ``layer``."""
    found = {}
    for by in (1, -1, 2, -2):
        try:
            values = graph.around.others(by)[key]
        except (KeyError, ValueError, IndexError, TypeError):
            continue
        if values.shape == graph.reading.weights[key].shape:
            found[f"layer{by:+d}"] = by_heads(key, values, graph.reading.spec)[0]
    return found


def by_heads(key: str, array: Any, spec: Mapping[str, Any]) -> tuple[Any, str]:
    """A weight with an axis of heads, if it has them."""
    part, _, kind = key.rpartition(".")
    width = spec.get("head_dim")
    if key.startswith("experts."):
        return array, "erc"[: array.ndim] if "bias" not in key else "er"
    if kind == "correction" or (part == "router" and array.ndim == 1):
        return array, "e"
    if part == "router":
        return array, "ec"
    if part in ("q", "k", "v") and width and not array.shape[0] % width:
        return array.reshape(-1, width, *array.shape[1:]), "hrc"[: array.ndim + 1]
    if part == "o" and kind == "weight" and width and not array.shape[1] % width:
        return array.reshape(array.shape[0], -1, width), "rhc"
    if part in ("q_norm", "k_norm") and width and len(array) > width and not len(array) % width:
        return array.reshape(-1, width), "hr"
    if part == "own" and width and not array.shape[0] % width and not spec.get("is_out"):
        return array.reshape(-1, width, *array.shape[1:]), "hrc"[: array.ndim + 1]
    return array, "h" if key == "sinks" else "rc"[: array.ndim]


def changed(graph: Graph, nodes: tuple[str, ...], relation: str, words: str,
            mask: Callable[[Value], Any] | None, of: str = "") -> Reading | None:  # fmt: skip
    """The module with the same relation at all of these nodes; None if one lacks it."""
    weights = dict(graph.reading.weights)
    made: dict[str, Any] = {}
    for node in nodes:
        value = value_of_node(graph, node)
        if value is None:
            return None
        if node in graph.many:
            made[node] = None
            continue
        new = _kept(graph, node, value, relation, words)
        if new is None:
            return None
        new = _within(value, new, mask)
        if node.startswith(":"):
            weights[node[1:]] = np.ascontiguousarray(new).reshape(weights[node[1:]].shape)
        else:
            made[node] = new
    spec = graph.reading.spec
    if made:
        spec = spec | {"edit": _edit(made, graph, relation, words, mask)}
    if of:
        spec = spec | {"cached": "edited", "cached_of": of}
    return graph.reading._replace(spec=spec, weights=weights)


def _edit(made: Mapping[str, Any], graph: Graph, relation: str, words: str,
          mask: Callable[[Value], Any] | None) -> Callable[[str, Any], Any]:  # fmt: skip
    def edit(node: str, value: Any) -> Any:
        if node not in made:
            return value
        if made[node] is not None and made[node].shape == value.shape:
            return made[node]
        one = Value(value, axes_of(node, value), {}, graph.reading.spec, graph.reading.weights)
        new = _related(one, relation, words)
        if new is None:
            return value
        return _within(one, new, mask)

    return edit


def _kept(graph: Graph, node: str, value: Value, relation: str, words: str) -> Any:
    """Like :func:`_related`, but computed once for all words if that needs little memory."""
    if value.array.size > MOST_KEPT:
        return _related(value, relation, words)
    key = node, relation
    if key not in graph.kept:
        graph.kept[key] = dict(RELATIONS[relation](value))
    return graph.kept[key].get(words)


def _related(value: Value, relation: str, words: str) -> Any:
    return next((new for each, new in RELATIONS[relation](value) if each == words), None)


def _within(value: Value, new: Any, mask: Callable[[Value], Any] | None) -> Any:
    if mask is None:
        return new
    where = mask(value)
    if where is None:
        return value.array
    if where.dtype != bool:  # by so much of each part
        return (value.array + where * (new - value.array)).astype(np.float32)
    return np.where(where, new, value.array).astype(np.float32)


def candidates(graph: Graph, node: str, relation: str, source: str) -> Iterator[str]:
    """The words of a relation of a value."""
    value = value_of_node(graph, node)
    if value is None:
        return
    key = node, relation
    if value.array.size <= MOST_KEPT and key not in graph.kept:
        graph.kept[key] = dict(RELATIONS[relation](value))
    every = graph.kept[key].items() if key in graph.kept else RELATIONS[relation](value)
    for words, new in every:
        if source and words.rpartition(" in its place")[0] not in source.split():
            continue
        if new.shape == value.array.shape and not np.array_equal(new, value.array):
            yield words
