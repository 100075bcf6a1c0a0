"""Finds parts of a module (its router, its keys) that compute from another input than the rest."""

from __future__ import annotations

from typing import Any

from ..spec import Reading
from .given import Finder, Found, Given

PARTS_OF = {
    "attention": (("k", "v"), ("q",), ("k",), ("v",)),
    "mlp": (("gate",), ("up",)),
    "moe": (("router",), ("experts",), ("shared",), ("shared", "shared_gate"), ("shared_gate",)),
}
NEEDS = {
    "shared": "shared.down.weight", "shared_gate": "shared_gate.weight", "gate": "gate.weight",
    "up": "up.weight", "router": "router.weight", "experts": "experts.down", "q": "q.weight",
    "k": "k.weight", "v": "v.weight",
}  # fmt: skip
"""The weight of each part: not every module has all of them."""
ROWS = "its input of"
SHIFTED = ("its input one position", "its input two positions")


def _part_inputs(one: Given) -> Found:
    for words, x in one.given["inputs"]():
        if words.startswith((ROWS, *SHIFTED)):
            continue
        for parts in PARTS_OF[one.reading.family]:
            if not (_is_dispatch(words, parts) or _lacks(one, parts)):
                yield _of(one, parts, x), f"{' and '.join(parts)} from {words}"


def _shifted(one: Given) -> Found:
    """Other positions of the own input. Results computed from the input may be displaced as well,
    so the cause stays open."""
    for words, x in one.given["inputs"]():
        for parts in PARTS_OF[one.reading.family] if words.startswith(SHIFTED) else ():
            if not (_is_dispatch(words, parts) or _lacks(one, parts)):
                yield _of(one, parts, x), f"{' and '.join(parts)} from {words}"


def _dispatch(one: Given) -> Found:
    """Tokens that reach experts of their neighbours: a fault of the routing, not of the block's
    input."""
    for words, x in one.given["inputs"]():
        if _is_dispatch(words, ("experts",)) and not _lacks(one, ("experts",)):
            yield _of(one, ("experts",), x), words.removeprefix("its input ")


def _is_dispatch(words: str, parts: tuple[str, ...]) -> bool:
    return words.startswith(SHIFTED) and parts == ("experts",)


def _lacks(one: Given, parts: tuple[str, ...]) -> bool:
    return any(NEEDS[part] not in one.reading.weights for part in parts)


def _of(one: Given, parts: tuple[str, ...], x: Any) -> Reading:
    spec = one.reading.spec | {"part_inputs": dict.fromkeys(parts, x)}
    return one.reading._replace(spec=spec)


PART_INPUTS: dict[str, Finder] = {
    "part-inputs": _part_inputs, "part-inputs-shifted": _shifted, "dispatch": _dispatch,
}  # fmt: skip
