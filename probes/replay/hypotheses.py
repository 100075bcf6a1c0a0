"""Reads hypotheses (``hypotheses.yaml``) and makes the variants of one module."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ...facts.strict_yaml import load
from .arithmetic import NoValueError, value_of
from .spec import Reading
from .weight_changes import changed
from .weight_orders import Around

MAX_VARIANTS = 160
"""Alternatives of one hypothesis that are tried."""
MOST_NUMBERS = 40
"""Number of whole numbers up to which all are tried."""


class Hypothesis(NamedTuple):
    """One entry of the file; see there."""

    id: str
    cause: str
    families: tuple[str, ...]
    says: str
    conditions: Mapping[str, Any]
    settings: Mapping[str, Any]
    weights: tuple[str, ...]
    fit: Mapping[str, tuple[float, ...]]
    find: str = ""
    fixed: Mapping[str, Any] = {}
    last: bool = False
    below: float = math.inf

    @property
    def free(self) -> bool:
        """Whether the hypothesis fits a value, so that it may agree by that alone."""
        return bool(self.fit or self.find)


class Same(NamedTuple):
    """Causes (or hypotheses) that are reported as ``first`` if they give the same output; in one
    phase only, if ``only`` names it. Hypotheses ``apart`` are other mistakes that look alike."""

    first: str
    then: tuple[str, ...]
    only: str
    apart: tuple[str, ...] = ()


class Variant(NamedTuple):
    """A module under a hypothesis. ``fit`` is a setting whose value is fitted between two
    factors."""

    hypothesis: Hypothesis
    reading: Reading
    old: Any
    new: Any
    fit: tuple[str, float, float] | None = None


@cache
def all_hypotheses() -> tuple[Hypothesis, ...]:
    """Those of the file, in its order. Raises ``ModelMedicError`` if it is not valid YAML."""
    path = Path(__file__).with_name("hypotheses.yaml")
    entries = load(path.read_text(encoding="utf-8"), str(path)).data["hypotheses"]
    return tuple(_read(entry) for entry in entries)


@cache
def all_same() -> tuple[Same, ...]:
    """Load which of several causes is reported if they are the same arithmetic."""
    path = Path(__file__).with_name("hypotheses.yaml")
    entries = load(path.read_text(encoding="utf-8"), str(path)).data.get("same", ())
    return tuple(Same(one["first"], tuple(one["then"]), one.get("only", ""),
                      tuple(one.get("apart", ()))) for one in entries)  # fmt: skip


def _read(entry: Mapping[str, Any]) -> Hypothesis:
    fit = {key: tuple(map(float, bounds)) for key, bounds in entry.get("fit", {}).items()}
    weights = tuple(steps for each in entry.get("weights", ()) for steps in alternatives(each))
    return Hypothesis(
        entry["id"], entry["cause"], tuple(entry["of"]), entry["says"], entry.get("if", {}),
        entry.get("set", {}), weights, fit, entry.get("find", ""),
        entry.get("with", {}), bool(entry.get("last")),
        float(entry.get("below") or math.inf),
    )  # fmt: skip


def variants(hypothesis: Hypothesis, reading: Reading, around: Around) -> Iterator[Variant]:
    """The alternatives of a hypothesis that make a difference to a module."""
    if not fits(hypothesis, reading):
        return
    yield from itertools.islice(_all(hypothesis, reading, around), MAX_VARIANTS)


def fits(hypothesis: Hypothesis, reading: Reading) -> bool:
    """Whether a hypothesis applies to a module."""
    if reading.family not in hypothesis.families:
        return False
    for key, wanted in hypothesis.conditions.items():
        known = reading.spec.get(key)
        if wanted is True and not known:
            return False
        if wanted is not True and (known or None) != (wanted or None):
            return False
    return True


def _all(hypothesis: Hypothesis, reading: Reading, around: Around) -> Iterator[Variant]:
    for steps in hypothesis.weights:
        try:
            weights = changed(reading.weights, steps, around)
        except (KeyError, ValueError, IndexError, TypeError):
            continue  # this module has nothing that could be changed this way
        yield Variant(hypothesis, reading._replace(weights=weights), None, steps)
    if hypothesis.settings:
        yield from _settings(hypothesis, reading)
    for beside, (key, (low, high, *start)) in itertools.product(
        _fixed(hypothesis, reading), hypothesis.fit.items()
    ):
        old = reading.spec.get(key, start[0] if start else 1.0)
        if old is None and start:
            old = start[0]
        if isinstance(old, int | float) and old:
            yield Variant(hypothesis, beside, old, None, (key, low, high))


def _fixed(hypothesis: Hypothesis, reading: Reading) -> Iterator[Reading]:
    """Yield the module with the fixed settings that go with a fitted value."""
    choices = [_choices(value, reading.spec) for value in hypothesis.fixed.values()]
    for values in itertools.product(*choices):
        spec = reading.spec | dict(zip(hypothesis.fixed, values, strict=True))
        yield reading._replace(spec=spec)


_CHOICE = re.compile(r"\{([^{}]*)\}", re.ASCII)


def alternatives(steps: str) -> Iterator[str]:
    """``drop {q,k}.bias`` as ``drop q.bias`` and ``drop k.bias``."""
    found = _CHOICE.search(steps)
    if found is None:
        yield steps
        return
    for word in found[1].split(","):
        yield from alternatives(steps[: found.start()] + word + steps[found.end() :])


def _settings(hypothesis: Hypothesis, reading: Reading) -> Iterator[Variant]:
    choices = [_choices(value, reading.spec) for value in hypothesis.settings.values()]
    first = next(iter(hypothesis.settings))
    for values in itertools.product(*choices):
        try:
            new = {key: value_of(value, reading.spec)
                   for key, value in zip(hypothesis.settings, values, strict=True)}  # fmt: skip
        except NoValueError:
            continue
        if all(reading.spec.get(key) != value for key, value in new.items()):
            spec = reading.spec | new
            old = reading.spec.get(first)
            yield Variant(hypothesis, reading._replace(spec=spec), old, new[first])


def _choices(value: Any, spec: Mapping[str, Any]) -> list[Any]:
    """The alternatives of a setting: a list, a single one, or whole numbers (``=1 .. positions``):
    all of few, else small ones, those at the end and those around powers of two."""
    if isinstance(value, list):
        return [each for one in value for each in _choices(one, spec)]
    if not isinstance(value, str) or " .. " not in value:
        return [value]
    try:
        low, high = (
            int(value_of(f"={part.removeprefix('=')}", spec)) for part in value.split(" .. ")
        )
    except (NoValueError, ValueError):
        return []
    if high - low <= MOST_NUMBERS:
        return list(range(low, high + 1))
    powers = [sign * 2**at + by for at in range(5, 20) for by in (-1, 0, 1) for sign in (-1, 1)]
    some = {*range(-8, 9), *range(high - 8, high + 1), *range(low, low + 9), *powers}
    return sorted((each for each in some if low <= each <= high), key=abs)[:MAX_VARIANTS]
