"""Tensors around a module: those of the same module in other layers, of its siblings, and others
that may have been its input."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...reading.tensors import np
from ...reading.tensors.captures import Run
from .checkpoint import Checkpoint
from .spec import OUT, Config, Reading, readings

LAYER = re.compile(r"(?:^|\.)(?:layers|h|blocks)\.(\d+)(?=\.|\Z)", re.ASCII)
MOST_INPUTS = 24
SAME = 0.05
"""Distance of outputs, relative to their size, up to which they are the same."""
MOST_READ = 1 << 27
"""Numbers of other weights that are read for one module."""


def ending(name: str) -> str:
    """The part of a module's name that it shares with the same module in other layers."""
    found = LAYER.search(name)
    return name if found is None else name[found.end() :]


def moved(name: str, by: int) -> str:
    """The name of the same module ``by`` layers further. Raises ``KeyError`` if there is none."""
    found = LAYER.search(name)
    if found is None or int(found[1]) + by < 0:
        raise KeyError("there is no such layer")
    start, end = found.span(1)
    return f"{name[:start]}{int(found[1]) + by}{name[end:]}"


def others(
    weights: Checkpoint, config: Config, name: str, reading: Reading
) -> Callable[[int], Mapping[str, Any]]:
    """The weights of the module in other layers, by their distance in layers."""

    def other(by: int) -> Mapping[str, Any]:
        there = moved(name, by)
        raw = weights.read(there)
        given = readings(there, _number(there), config, raw) if raw else iter(())
        found = next((each for each in given if set(each.weights) == set(reading.weights)), None)
        if found is None:
            raise KeyError(there)
        return found.weights

    def safe(by: int) -> Mapping[str, Any]:
        try:
            return other(by)
        except OSError as problem:
            raise ValueError(str(problem)) from problem

    return safe


def siblings(weights: Checkpoint, name: str) -> list[str]:
    """Weights of the same kind of module next to this one (norms: of the same layer)."""
    parent = name.rpartition(".")[0]
    shape = weights.shapes.get(f"{name}.weight")
    return [each for each in _family(weights, parent, name) if weights.shapes[each] == shape]


def _family(weights: Checkpoint, parent: str, name: str) -> list[str]:
    return [each for each in weights.like(".weight")
            if each.rpartition(".")[0].rpartition(".")[0] == parent
            and each != f"{name}.weight"]  # fmt: skip


def _number(name: str) -> int | None:
    found = LAYER.search(name)
    return int(found[1][:6]) if found else None


def _inside(name: str) -> str:
    """A name within its layer; the whole of others."""
    found = LAYER.search(name)
    return name[found.end() + 1 :] if found else name


class Beside(NamedTuple):
    """The target, the weights and the configuration of the reference, and the order of modules."""

    run: Run
    weights: Checkpoint
    config: Config
    order: Sequence[str]

    def siblings(self, name: str) -> list[tuple[str, Any, Any]]:
        """Projections next to one that have as many columns: names, weights and biases (or
        None)."""
        shape = self.weights.shapes[f"{name}.weight"]
        found = _family(self.weights, name.rpartition(".")[0], name)
        names = [each.removesuffix(".weight") for each in found
                 if self.weights.shapes[each][1:] == shape[1:]]  # fmt: skip
        return [(each, self.weights.find(f"{each}.weight"), self.weights.find(f"{each}.bias"))
                for each in names]  # fmt: skip

    def vectors(self, name: str, size: int) -> Iterator[tuple[str, Any]]:
        """All vectors of so many numbers but those of the module itself, the nearest first."""
        shapes = self.weights.shapes
        own = LAYER.match(name)
        start = name[: own.end()] if own else name.partition(".")[0]
        names = [each for each, shape in shapes.items()
                 if shape == (size,) and not each.startswith(f"{name}.")]  # fmt: skip
        for each in sorted(names, key=lambda each: (not each.startswith(f"{start}."), each)):
            yield each, self.weights.find(each)
        longer = [each for each, shape in shapes.items() if len(shape) == 1 and shape[0] > size
                  and each.startswith(f"{start}.")]  # fmt: skip
        for each in longer if size > 1 else ():
            whole = self.weights.find(each)
            for at in range(0, shapes[each][0] - size + 1, size) if whole is not None else ():
                yield f"{at} to {at + size - 1} of {each}", whole[at : at + size]

    def gives(self, name: str, weight: Any, bias: Any) -> bool:
        """Whether a projection of the target computes with these weights."""
        x, output = self.run.get(name, "in"), self.run.get(name, "out")
        if x is None or output is None or x.shape[-1] != weight.shape[1]:
            return False
        made = x @ weight.T if bias is None else x @ weight.T + bias
        if made.shape != output.shape:
            return False
        return bool(np.linalg.norm(made - output) < SAME * np.linalg.norm(output))

    def gate(self, name: str) -> tuple[Any, Any] | None:
        """Weight and bias of the gate of a module: the one row that has its name."""
        weight = self.weights.find(f"{name}_gate.weight")
        if weight is None or weight.ndim != 2 or len(weight) != 1:
            return None
        return weight, self.weights.find(f"{name}_gate.bias")

    def partial_sums(self, name: str, x: Any) -> Iterator[tuple[str, list[Any]]]:
        """The share of each rank in the input of a module, if a projection produced that input."""
        for each in self._near(name, name.rpartition(".")[0]):
            weight = self.weights.find(f"{each}.weight")
            given, out = self.run.get(each, "in"), self.run.get(each, "out")
            if weight is None or weight.ndim != 2 or given is None or out is None:
                continue
            if out.shape != x.shape or given.shape[-1] != weight.shape[1]:
                continue
            if np.linalg.norm(out - x) > SAME * np.linalg.norm(x):
                continue
            for ranks in (2, 4, 8):
                if weight.shape[1] % ranks == 0:
                    cut = zip(np.split(given, ranks, axis=-1), np.split(weight, ranks, axis=1),
                              strict=True)  # fmt: skip
                    yield f"{ranks} ranks of {each}", [part @ columns.T for part, columns in cut]

    def joined(self, name: str) -> Any:
        """The input of the output projection of attention; None if it was not captured."""
        inside = (f"{name}.{part.rpartition('.')[0]}" for part in self.weights.names(name))
        found = (self.run.get(each, "in") for each in inside if OUT.search(each))
        return next((values for values in found if values is not None), None)

    def alike(
        self, name: str, fits: Callable[[str, str], bool], parts: Mapping[str, Any]
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """Weights of other modules with the same shape, if ``fits`` accepts their names inside a
        layer; once with the bias of the other module, and once with the own bias."""
        shapes, read = self.weights.shapes, 0
        for each in self.weights.like(".weight"):
            other = each.removesuffix(".weight")
            if other == name or shapes[each] != parts["own.weight"].shape:
                continue
            read += parts["own.weight"].size
            if not fits(_inside(name), _inside(other)) or read > MOST_READ:
                continue
            found = dict(parts) | {"own.weight": self.weights.find(each)}
            yield other, found
            bias = self.weights.find(f"{other}.bias") if "own.bias" in parts else None
            if bias is not None:
                yield f"{other} with its bias", found | {"own.bias": bias}

    def layer(self, name: str, by: int, parts: set[str]) -> tuple[Any, dict[str, Any]]:
        """Weights and input of the module in another layer. Raises ``KeyError`` or ``ValueError``
        if no such module with the same parts was captured."""
        there = moved(name, by)
        x = self.run.get(there, "in")
        raw = self.weights.read(there)
        given = readings(there, _number(there), self.config, raw)
        found = next((each for each in given if set(each.weights) == parts), None)
        if x is None or found is None:
            raise KeyError(there)
        return found.weights, {"x": x}

    def inputs(self, name: str, x: Any, start: int | None = None) -> Iterator[tuple[str, Any]]:
        """Tensors of the target that may have been used as the input of a module by mistake. Inputs
        of its own parts are left out, because the module made them from its input."""
        yield from shifted(x, start)
        parent = name.rpartition(".")[0]
        count = 0
        for each in self._near(name, parent):
            if each == name or each.startswith(f"{name}."):
                continue
            for side, words in (("in", "the input"), ("out", "the output")):
                if side == "out" and name.startswith(f"{each}."):
                    continue  # the module that contains it is not computed yet
                found = self.run.get(each, side) if self.run.has(each, side) else None
                found = _of_tokens(found, x, start)
                if found is None or found.shape != x.shape or np.array_equal(found, x):
                    continue
                count += 1
                if count <= MOST_INPUTS:
                    yield f"{words} of {each}", found

    def _near(self, name: str, parent: str) -> Iterator[str]:
        """Modules of the same layer, and around; the nearest first."""
        layer = LAYER.search(name)
        inside = name[: layer.end()] if layer else parent
        for each in self.order:
            same = each == inside or each.startswith(f"{inside}.") if inside else "." not in each
            if same:
                yield each
        if layer is None:
            yield from [each for each in self.order if LAYER.search(each)][-8:]


def _of_tokens(found: Any, x: Any, start: int | None) -> Any:
    """Reshape to tokens, if the module reads all tokens of all rows one after another."""
    if found is None or x.ndim != 2 or found.ndim != 3 or found.shape[-1] != x.shape[-1]:
        return found
    flat = found[:, :start].reshape(-1, found.shape[-1])
    return flat if flat.shape == x.shape else found


def shifted(x: Any, start: int | None) -> Iterator[tuple[str, Any]]:
    """Other positions of an input: of the whole sequence, or of each call of the module (the prompt
    up to ``start``, then single positions); positions that move in at the end are the other end,
    zero, or the last position."""
    if x.ndim < 3:
        return
    for by, words in ((1, "one position earlier"), (-1, "one position later"),
                      (2, "two positions earlier"), (-2, "two positions later")):  # fmt: skip
        for end in {start, x.shape[1]} - {None, 0}:
            calls = "" if end == x.shape[1] else ", of the prompt"
            for edge in ("around", "zero", "kept") if abs(by) == 1 else ("around",):
                found = x.copy()
                found[:, :end] = _moved(x[:, :end], by, edge)
                yield f"its input {words} ({edge}{calls})", found
        if len(x) > 1:
            yield f"its input {words} (over rows of the batch)", _over_rows(x, by, start)
    if len(x) > 1:
        yield "its input of another row", np.roll(x, 1, axis=0)


def _over_rows(x: Any, by: int, start: int | None) -> Any:
    """Move positions on in calls that treat the positions of all rows of the batch as one
    sequence."""
    found = x.copy()
    end = start or x.shape[1]
    for call in (slice(0, end), *(slice(at, at + 1) for at in range(end, x.shape[1]))):
        part = x[:, call]
        found[:, call] = np.roll(part.reshape(-1, x.shape[-1]), by, axis=0).reshape(part.shape)
    return found


def _moved(part: Any, by: int, edge: str) -> Any:
    found = np.roll(part, by, axis=1)
    ends = slice(0, by) if by > 0 else slice(by, None)
    if edge == "zero":
        found[:, ends] = 0
    elif edge == "kept":
        found[:, ends] = part[:, :1] if by > 0 else part[:, -1:]
    return found
