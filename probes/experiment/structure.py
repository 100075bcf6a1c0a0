"""Differences between the source and the target tree, folded over layers and experts.

A difference is reported for its topmost module only, and once for all layers that share it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from .mapping import PathMapping
from .reading import Folder
from .trees import Tree, pattern

MAX_DIFFERENCES = 300
_ACTIVATION = re.compile(r"(SiLU|GELU|ReLU|Swish|Mish|Tanh|Sigmoid|Activation)", re.ASCII)
# A fused projection and its parts; ports split them or fuse them.
_PARTS = {"gate_up_proj": ("gate_proj", "up_proj"), "qkv_proj": ("q_proj", "k_proj", "v_proj")}
# Classes with one job under the names of different models and frameworks.
_ROLES = (
    ("norm", re.compile(r"Norm")),
    ("activation", _ACTIVATION),
    ("rotary", re.compile(r"Rotary")),
)
_WHOLE = {name: whole for whole, names in _PARTS.items() for name in names}


class Difference(NamedTuple):
    """The attributes of a ``structure_difference`` fact; None is left out."""

    difference: str
    module: str
    source_type: str | None = None
    target_type: str | None = None
    source_parent: str | None = None
    target_parent: str | None = None
    target_value: str | None = None
    reasoned: bool | None = None


def add_differences(
    folder: Folder, source: Tree, target: Tree, mapping: PathMapping | None
) -> None:
    """Add the ``structure_difference`` facts, in the order of the trees."""
    comparison = _Comparison(source, target, mapping)
    found: dict[tuple[str | None, ...], list[Difference]] = {}
    for each in comparison.differences():
        key = tuple(pattern(v) if isinstance(v, str) else str(v) for v in each)
        found.setdefault(key, []).append(each)
    if len(found) > MAX_DIFFERENCES:
        text = f"{len(found):,} different differences; the first {MAX_DIFFERENCES} are kept"
        folder.problem("MM503", text, "model_tree")
    for group in list(found.values())[:MAX_DIFFERENCES]:
        side = target if group[0].difference == "extra-in-target" else source
        values = group[0]._asdict()
        folder.collector.add(
            "structure_difference", folder.place(side.name), **values, count=len(group)
        )


class _Comparison:
    def __init__(self, source: Tree, target: Tree, mapping: PathMapping | None) -> None:
        self.source, self.target = source.types, target.types
        self.reasoned = mapping.reasoned if mapping else frozenset()
        self.to_target: dict[str, tuple[str, ...]] = {}
        self.from_source: dict[str, tuple[str, ...]] = {}
        for pair in mapping.pairs if mapping else ():
            for path in pair.source:
                self.to_target.setdefault(path, pair.target)
            for path in pair.target:
                self.from_source.setdefault(path, pair.source)
        self.by_leaf: dict[str, list[str]] = {}
        for path in self.target:
            if path not in self.source:
                self.by_leaf.setdefault(path.rpartition(".")[2], []).append(path)
        self.used: set[str] = set()
        self._siblings: dict[tuple[str, str], list[str]] | None = None

    def differences(self) -> list[Difference]:
        gone: set[str] = set()
        found = []
        for path, kind in self.source.items():
            if path.rpartition(".")[0] in gone:
                gone.add(path)
            elif path in self.target:
                if _other(kind, self.target[path]):
                    found.append(self._changed("type-changed", path, path))
            elif (each := self._elsewhere(path, kind)) is not None:
                found.append(each)
                if each.difference == "missing-in-target":
                    gone.add(path)
        return found + self._extra()

    def _changed(self, difference: str, source: str, target: str) -> Difference:
        return Difference(
            difference, source, self.source[source], self.target[target],
            _parent(self.source, source), _parent(self.target, target),
            reasoned=self._has_reason(source, target),
        )  # fmt: skip

    def _elsewhere(self, path: str, kind: str) -> Difference | None:
        """The difference for a source module whose path the target lacks: regrouped, moved, renamed
        or missing; None if the mapping names an equal module."""
        mapped = self.to_target.get(path)
        if mapped and all(each in self.target for each in mapped):
            self.used.update(mapped)
            return self._mapped(path, kind, mapped)
        parent, _, leaf = path.rpartition(".")
        parts = [f"{parent}.{name}" for name in _PARTS.get(leaf, ())]
        if parts and all(each in self.target for each in parts):
            self.used.update(parts)
            return self._regrouped(path, kind, tuple(parts))
        twin = self._twin(path, leaf)
        if (other := twin or self._renamed(path, kind)) is not None:
            self.used.add(other)
            found = self._changed("moved" if twin else "renamed", path, other)
            return found._replace(target_value=other)
        if _ACTIVATION.search(kind):
            return Difference("activation-missing", path, kind,
                              reasoned=self._has_reason(path))  # fmt: skip
        whole = f"{parent}.{_WHOLE.get(leaf, '')}"
        return Difference(
            "missing-in-target", path, kind, "", _parent(self.source, path),
            self.target.get(whole) or _parent(self.target, path),
            reasoned=self._has_reason(path),
        )  # fmt: skip

    def _mapped(self, path: str, kind: str, mapped: tuple[str, ...]) -> Difference | None:
        if len(mapped) > 1 or len(self.from_source.get(mapped[0], ())) > 1:
            return self._regrouped(path, kind, mapped)
        if _other(kind, self.target[mapped[0]]):
            return self._changed("type-changed", path, mapped[0])
        return None

    def _regrouped(self, path: str, kind: str, parts: tuple[str, ...]) -> Difference:
        names = ", ".join(part.rpartition(".")[2] for part in parts)
        return Difference(
            "regrouped", path, kind, self.target[parts[0]], _parent(self.source, path),
            _parent(self.target, parts[0]), names,
            path in self.to_target or self._has_reason(path),
        )  # fmt: skip

    def _twin(self, path: str, leaf: str) -> str | None:
        """The target module of the same name nearest in the tree; the same layer, if in one."""
        inside = re.findall(r"\.\d+\.", f".{path}")
        candidates = [
            each
            for each in self.by_leaf.get(leaf, ())[:2_000]
            if not leaf.isdigit() and all(number in f".{each}." for number in inside)
        ]
        return max(candidates, key=lambda each: _common(path, each), default=None)

    def _renamed(self, path: str, kind: str) -> str | None:
        """The one module of the same role below the same parent that the source does not have."""
        role, parent = role_of(kind), path.rpartition(".")[0]
        if role is None:
            return None
        if self._siblings is None:
            self._siblings = {}
            for each, its_kind in self.target.items():
                if each not in self.source and (its_role := role_of(its_kind)) is not None:
                    key = (each.rpartition(".")[0], its_role)
                    self._siblings.setdefault(key, []).append(each)
        free = [e for e in self._siblings.get((parent, role), ()) if e not in self.used]
        if role == "norm":  # a layer has several: q_norm is q_layernorm, and not k_layernorm
            first = path.rpartition(".")[2].partition("_")[0]
            free = [e for e in free if e.rpartition(".")[2].partition("_")[0] == first]
        return free[0] if len(free) == 1 else None

    def _extra(self) -> list[Difference]:
        found, inside = [], set(self.used)
        for path, kind in self.target.items():
            if path in self.source or path in inside or path in self.from_source:
                continue
            if path.rpartition(".")[0] not in inside:
                parent = _parent(self.target, path)
                found.append(Difference("extra-in-target", path, "", kind, target_parent=parent,
                                        reasoned=self._has_reason(path)))  # fmt: skip
            inside.add(path)
        return found

    def _has_reason(self, *paths: str) -> bool:
        return any(".".join(parts[:end]) in self.reasoned
                   for parts in (path.split(".") for path in paths)
                   for end in range(1, len(parts) + 1))  # fmt: skip


def _parent(types: Mapping[str, str], path: str) -> str | None:
    return types.get(path.rpartition(".")[0])


def role_of(kind: str) -> str | None:
    """The role of a class (such as ``norm``), if its name shows it."""
    return next((role for role, name in _ROLES if name.search(kind)), None)


def _other(left: str, right: str) -> bool:
    """Whether two classes differ; an unknown one does not count."""
    return "" not in (left, right) and left != right


def _common(left: str, right: str) -> int:
    count = 0
    for one, other in zip(left.split("."), right.split("."), strict=False):
        if one != other:
            break
        count += 1
    return count
