"""Reads off the keys that each query saw.

Scores and values of a module are known, so the output for a query shows which keys it was made
from: the numerator and the denominator of its softmax are sums over them, the same keys in every
head.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ....reading.tensors import np
from ..formula.attention import unmasked
from ..formula.masking import seen_as_it_should
from .given import Finder, Found, Given

MOST_KEYS = 256
MOST_NUMBERS = 1 << 31
"""Positions x keys x keys x heads x channels: the largest cost of reading off a whole mask."""
EXACT = 0.03
"""Largest remainder of an output, relative to it, if the keys are the right ones."""
ROUNDED = 2.0**-8
SAMPLE = 6


class Scene(NamedTuple):
    """Tensors of one module: powers of the scores (batches, heads, positions, keys), values
    (batches, heads, keys, channels), the output of the heads, the powers of the sinks, the keys
    that should be seen and the keys that exist (batches, positions, keys), and the weight through
    which the output of the heads was seen (None: it was captured)."""

    powers: Any
    values: Any
    mixed: Any
    sinks: Any
    right: Any
    there: Any
    weight: Any


class Mask(NamedTuple):
    """The keys that were seen, those that should be seen, and the positions that differ."""

    seen: Any
    right: Any
    rows: Any
    start: int | None
    window: int | None
    joined: bool


def finder(fits: Callable[[Mask], bool], words: Callable[[Mask], str]) -> Finder:
    """Make a finder that proposes the mask if ``fits`` accepts it."""

    def find(one: Given) -> Found:
        mask = _once(one)
        if mask is not None and fits(mask):
            spec = one.reading.spec | {"mask_found": mask.seen, "rows_joined": mask.joined}
            yield one.reading._replace(spec=spec), words(mask)

    return find


def _once(one: Given) -> Mask | None:
    if "mask" not in one.solved:
        known = (one.rows.start, one.rows.stop, one.reading.spec.get("window"))
        vain = one.given.get("vain", set())  # searched without success in earlier layers
        one.solved["mask"] = None if known in vain else _mask(one)
        if one.solved["mask"] is None:
            vain.add(known)
    found: Mask | None = one.solved["mask"]
    return found


def _mask(one: Given) -> Mask | None:
    known = heads_of(one)
    if known is None:
        return None
    mixed, weight = known
    for joined in (False, True):
        scene = _scene(one, mixed, joined)
        scene = scene and scene._replace(weight=weight)
        rows = np.arange(mixed.shape[2])[one.rows]
        seen = None if scene is None else _seen(scene, rows)
        if scene is not None and seen is not None:
            found = (seen != scene.right).any(axis=(0, 2))
            start = one.reading.spec.get("decode_from")
            return Mask(seen, scene.right, np.flatnonzero(found), start,
                        one.reading.spec.get("window"), joined)  # fmt: skip
        if len(mixed) < 2:
            break
    return None


def heads_of(one: Given) -> tuple[Any, Any] | None:
    """The output of the target's heads (batches, heads, positions, channels). It is the captured
    input of the output projection, or else it is solved for and returned with the weight of that
    projection; None if unknown."""
    spec, weights = one.reading.spec, one.reading.weights
    joined, seen = one.given["joined"]() if "joined" in one.given else None, None
    if joined is None:
        weight, output = weights["o.weight"], one.output
        if weight.shape[0] < weight.shape[1]:
            return None
        if (bias := weights.get("o.bias")) is not None:
            output = output - bias
        seen = weight.astype(np.float64)
        joined = output @ np.linalg.pinv(seen).T
    heads = int(spec["heads"])
    mixed = joined.reshape(*joined.shape[:2], heads, -1).swapaxes(1, 2).astype(np.float64)
    return mixed, seen


def _scene(one: Given, mixed: Any, joined: bool) -> Scene | None:
    spec = one.reading.spec
    batches, heads, positions, channels = mixed.shape
    keys = positions * (batches if joined else 1)
    if keys > MOST_KEYS or positions * keys * keys * heads * channels > MOST_NUMBERS:
        return None
    logits, values = unmasked(spec | {"rows_joined": joined}, one.reading.weights, one.given)
    right, there = seen_as_it_should(spec, positions)
    right, there = (np.broadcast_to(each, (batches, *each.shape)) for each in (right, there))
    if joined:
        own = np.eye(batches, dtype=bool)[:, None, :, None]
        right = (own & right[:, :, None]).reshape(batches, positions, keys)
        there = np.tile(there, (1, 1, batches))
    sinks = one.reading.weights.get("sinks") if spec.get("sinks") else None
    top = np.where(there[:, None], logits, -np.inf).max(axis=-1, keepdims=True)
    powers = np.exp((logits - top).astype(np.float64).clip(None, 50))
    own = np.zeros_like(top) if sinks is None else np.exp(sinks.reshape(1, -1, 1, 1) - top)
    return Scene(powers, values.astype(np.float64), mixed, own[..., 0].astype(np.float64),
                 right, there, None)  # fmt: skip


def _seen(scene: Scene, rows: Any) -> Any | None:
    """The keys that each position of each row of the batch saw; None if no set of keys explains the
    output."""
    batches = len(scene.powers)
    seen = scene.right.copy()
    sample = set(np.unique(np.linspace(0, len(rows) - 1, SAMPLE).astype(int)))
    most = batches * (1 + len(rows) // 10)
    misses = 0
    for order in (sample, set(range(len(rows))) - sample):
        # More of a few may be missed by chance, but not half of them.
        limit = max(batches, batches * len(sample) // 2) if order is sample else most
        for batch in range(batches):
            like: list[Any] = []
            for row in (int(rows[at]) for at in sorted(order)):
                keys, left = _row(scene, batch, row, like)
                misses += left > EXACT
                if misses > min(limit, most):
                    return None
                seen[batch, row] = keys
                like = [keys, np.roll(keys, 1)]
    return seen


def _row(scene: Scene, batch: int, row: int, like: Sequence[Any]) -> tuple[Any, float]:
    """The keys that one query saw, as near to those that it should see as the output allows; and
    the remainder of the output. ``like`` are those of the query before."""
    right, there = scene.right[batch, row], scene.there[batch, row]
    query = Query(scene.powers[batch, :, row], scene.values[batch], scene.sinks[batch, :, row],
                  scene.mixed[batch, :, row], there, scene.weight)  # fmt: skip
    whole = query.size(query.mixed[None])[0] or 1.0
    best, cost = right, np.inf
    for keys in (right, _by_least_squares(query), *(each & there for each in like), there):
        if cost > ROUNDED**2 * whole and keys.any():
            found, left = query.improved(keys)
            best, cost = (found, left) if left < cost else (best, cost)
    limit = max(1.3 * cost, ROUNDED**2 * whole)
    return query.nearer(best, right, limit), float(np.sqrt(cost / whole))


class Query(NamedTuple):
    """One query: the powers of its scores (heads, keys), values (heads, keys, channels), the powers
    of the sinks, the output of the heads, the keys that exist, and the weight through which the
    output of the heads was seen (None: it was captured)."""

    powers: Any
    values: Any
    sinks: Any
    mixed: Any
    there: Any
    weight: Any

    def size(self, mixed: Any) -> Any:
        """Squared sizes of outputs of heads (any, heads, channels), or of the visible part of
        them."""
        flat = mixed.reshape(len(mixed), -1)
        flat = flat if self.weight is None else flat @ self.weight.T
        return (flat * flat).sum(axis=1)

    def costs(self, keys: Any) -> tuple[float, Any]:
        """The squared error with these keys, and with each of them changed alone."""
        use = self.powers * keys
        over = np.einsum("hk,hkc->hc", use, self.values)
        under = use.sum(axis=1) + self.sinks
        now = over / np.maximum(under, 1e-30)[:, None] - self.mixed
        change = np.where(keys, -1.0, 1.0) * self.powers
        others = over[:, None] + change[..., None] * self.values
        totals = np.maximum(under[:, None] + change, 1e-30)
        each = others / totals[..., None] - self.mixed[:, None]
        alone = keys & (keys.sum() == 1)
        costs = self.size(each.swapaxes(0, 1))
        return float(self.size(now[None])[0]), np.where(self.there & ~alone, costs, np.inf)

    def improved(self, keys: Any) -> tuple[Any, float]:
        """Change keys one by one as long as the error shrinks."""
        keys = keys.copy()
        for _ in range(2 * len(keys)):
            now, each = self.costs(keys)
            at = int(each.argmin())
            if each[at] > now * 0.98:
                break
            keys[at] = ~keys[at]
        return keys, now

    def nearer(self, keys: Any, right: Any, limit: float) -> Any:
        """Change keys back to those that should be seen, if the output fits both."""
        keys = keys.copy()
        for _ in range(len(keys)):
            _, each = self.costs(keys)
            each = np.where(keys != right, each, np.inf)
            at = int(each.argmin())
            if each[at] > limit:
                break
            keys[at] = ~keys[at]
        return keys


def _by_least_squares(query: Query) -> Any:
    """The keys whose factors are nearest to one, in the common solution of all heads."""
    parts = query.powers[..., None] * (query.values - query.mixed[:, None])
    matrix = parts.transpose(0, 2, 1).reshape(-1, parts.shape[1])
    given = (query.sinks[:, None] * query.mixed).ravel()
    if query.weight is not None:
        matrix, given = query.weight @ matrix, query.weight @ given
    sizes = np.sqrt((matrix * matrix).sum(axis=0))
    use = query.there & (sizes > 1e-9 * sizes.max(initial=0))
    if not use.any():
        return query.there
    scaled = matrix[:, use] / sizes[use]
    if given.any():
        found = np.linalg.lstsq(scaled, given, rcond=None)[0]
    else:
        found = np.linalg.svd(scaled, full_matrices=False)[2][-1]
    found = found / sizes[use]
    weights = query.powers[:, use].mean(axis=0)
    middle = (found * weights * found).sum() / ((found * weights).sum() or 1.0)
    keys = np.zeros(len(use), bool)
    keys[use] = found / (middle or 1.0) > 0.5
    return keys if keys.any() else query.there
