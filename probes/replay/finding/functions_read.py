"""Reads off which function an activation is, if it is not the right one. The function is a sum of
smooth bumps, whose factors are those that fit the output best; far more numbers have to fit than
there are factors."""

from __future__ import annotations

from typing import Any, NamedTuple

from ....reading.tensors import np
from ..formula.basics import activate
from ..formula.formulas import FORMULAS
from ..spec import Reading
from .given import Finder, Found, Given

BUMPS = 24
MOST_ROWS, MOST_CHANNELS = 256, 64
MANY = 20
"""Least number of values for each factor."""
LEAST_PAIRS = 500


class Bumps(NamedTuple):
    """A right function (by name; empty: none), and the change added to it between two ends, as
    factors of cubic splines."""

    right: str
    low: float
    high: float
    factors: tuple[float, ...]

    def __call__(self, x: Any) -> Any:
        found = activate(self.right, x) if self.right else np.zeros_like(x)
        return (found + self.bumps(x) @ np.asarray(self.factors)).astype(np.float32)

    def bumps(self, x: Any) -> Any:
        """The splines at these places (..., splines); beyond the ends, the values at the ends."""
        count = len(self.factors)
        step = (self.high - self.low) / (count - 3)
        places = (np.asarray(x, np.float64).clip(self.low, self.high) - self.low) / step + 1
        far = np.abs(places[..., None] - np.arange(count))
        inner = (4 - 6 * far**2 + 3 * far**3) / 6
        return np.where(far < 1, inner, np.maximum(2 - far, 0) ** 3 / 6)


def _empty(right: str, values: Any) -> Bumps | None:
    low, high = float(values.min()), float(values.max())
    if not (np.isfinite(low) and np.isfinite(high) and high - low > 1e-6):
        return None
    return Bumps(right, low, high, (0.0,) * BUMPS)


def _fitted(columns: Any, wanted: Any) -> tuple[float, ...]:
    """Fit by least squares; bumps without data stay flat."""
    sizes = np.sqrt((columns * columns).sum(axis=0))
    usual = np.where(sizes > 1e-6 * sizes.max(initial=0), sizes, 1.0)
    whole = np.vstack([columns / usual, 1e-5 * np.sqrt(len(columns)) * np.eye(len(usual))
                       / np.sqrt(len(columns))])  # fmt: skip
    given = np.concatenate([wanted, np.zeros(len(usual))])
    found = np.linalg.lstsq(whole, given, rcond=None)[0] / usual
    return tuple(float(each) for each in found)


def _activation(one: Given) -> Found:
    """Find another activation, of any form."""
    reading = one.reading
    right = str(reading.spec["act"])
    values = _given_to(one)
    bumps = None if values is None else _empty(right, values)
    if bumps is None or reading.spec.get("glu_alpha"):
        return
    plain = Reading(reading.family, reading.spec | {"edit": _unchanged}, reading.weights)
    base = _some(one, _made(plain, one, bumps))
    columns = []
    for at in range(BUMPS):
        factors = tuple(float(each == at) for each in range(BUMPS))
        columns.append(_some(one, _made(plain, one, bumps._replace(factors=factors))) - base)
    wanted = _some(one, one.output) - base
    if wanted.size < MANY * BUMPS:
        return
    factors = _fitted(np.stack(columns, axis=-1).reshape(-1, BUMPS).astype(np.float64),
                      wanted.ravel().astype(np.float64))  # fmt: skip
    found = bumps._replace(factors=factors)
    if _differs(found, values):
        yield plain._replace(spec=plain.spec | {"act": found}), _shown(found, values)


def _unchanged(_: str, value: Any) -> Any:
    """Keep nothing from one function to the next if values may be edited."""
    return value


def _made(plain: Reading, one: Given, act: Bumps) -> Any:
    reading = plain._replace(spec=plain.spec | {"act": act})
    return FORMULAS[reading.family](reading.spec, reading.weights, one.given)


def _some(one: Given, output: Any) -> Any:
    """Select some rows and channels of the positions that fail."""
    found = output.reshape(one.output.shape)
    found = found[:, one.rows] if found.ndim > 2 else found
    flat = found.reshape(-1, found.shape[-1])
    rows = np.unique(np.linspace(0, len(flat) - 1, min(len(flat), MOST_ROWS)).astype(int))
    channels = np.linspace(0, flat.shape[1] - 1, min(flat.shape[1], MOST_CHANNELS)).astype(int)
    return flat[np.ix_(rows, np.unique(channels))]


def _given_to(one: Given) -> Any | None:
    """The input of the activation in a correct module."""
    if one.reading.family == "activation":
        return one.given["x"]
    found: list[Any] = []
    name = "gate" if one.reading.spec.get("gated") else "up"

    def keep(node: str, value: Any) -> Any:
        if node == name:
            found.append(value.ravel())
        return value

    spec = one.reading.spec | {"edit": keep}
    FORMULAS[one.reading.family](spec, one.reading.weights, one.given)
    return np.concatenate(found) if found else None


def _differs(found: Bumps, values: Any) -> bool:
    right = activate(found.right, values)
    return bool(np.linalg.norm(found(values) - right) > 0.01 * np.linalg.norm(right))


def _shown(found: Any, values: Any) -> str:
    low, high = np.quantile(values, [0.02, 0.98])
    places = np.array([low, low / 2, high / 2, high], np.float32)
    pairs = zip(places, found(places), strict=True)
    return ", ".join(f"{float(x):.2g} to {float(y):.2g}" for x, y in pairs)


FUNCTION_FINDERS: dict[str, Finder] = {"activation-read": _activation}
