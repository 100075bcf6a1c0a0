"""Reads off the share of each expert in the output of each token.

The output of each expert for a token is known, so least squares on the output of the module give
the shares. Their difference from the right shares shows the fault in the routing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ....reading.tensors import np
from ..formula.feedforward import _expert, moe, route
from .given import Finder, Found, Given
from .parts import experts_around

MOST_NUMBERS = 1 << 26
SMALL = 0.04
"""A share of at most this size, relative to the largest of its token, counts as zero."""
NEAR = 0.06
"""Relative distance up to which shares are the same."""
MOST = 0.85
"""Share of the tokens that have to agree; the others are routed otherwise at ties."""
LEAST_TOKENS = 6
MOST_ORDERED = 4_096


class Routing(NamedTuple):
    """Shares of experts for each token of those that count: those that were found and the right
    ones (tokens, experts); and all of both, as numbers and shares of the chosen ones."""

    found: Any
    right: Any
    order: Any
    shares: Any


def _routing(one: Given) -> Routing | None:
    if "routing" not in one.solved:
        one.solved["routing"] = _read(one)
    found: Routing | None = one.solved["routing"]
    return found


def _read(one: Given) -> Routing | None:
    spec, weights = one.reading.spec, one.reading.weights
    count, width = len(weights["experts.down"]), one.output.shape[-1]
    rows, outside, _, _ = experts_around(one)
    if count < 2 or 2 * count > width or rows.size * count > MOST_NUMBERS:
        return None
    made = np.stack([_expert(spec, weights, each, rows) for each in range(count)], axis=1)
    found = np.stack([_shares(parts, wanted) for parts, wanted in zip(made, outside, strict=True)])
    order, shares = route(spec, weights, rows)
    right = np.zeros_like(found)
    np.put_along_axis(right, order, shares, axis=1)
    counted = np.zeros(one.output.shape[:-1], bool)
    counted[:, one.rows] = True
    chosen = counted.ravel()
    most = max(1, int((found[chosen] != 0).sum(axis=1).max()))
    new = np.argsort(-np.abs(found), axis=1, kind="stable")[:, :most]
    told = np.take_along_axis(found, new, axis=1).astype(np.float32)
    pads = max(most, order.shape[1])
    new, order = (np.pad(each, ((0, 0), (0, pads - each.shape[1])), constant_values=-1)
                  for each in (new, order))  # fmt: skip
    told, shares = (np.pad(each, ((0, 0), (0, pads - each.shape[1]))) for each in (told, shares))
    new, told = np.where(chosen[:, None], new, order), np.where(chosen[:, None], told, shares)
    return Routing(found[chosen], right[chosen], new, told.astype(np.float32))


def _shares(parts: Any, wanted: Any) -> Any:
    """Shares of the parts in one token, without those near zero."""
    matrix = parts.T.astype(np.float64)
    found = np.linalg.lstsq(matrix, wanted, rcond=None)[0]
    kept = np.abs(found) > SMALL * np.abs(found).max(initial=1e-12)
    again = np.zeros_like(found)
    if kept.any():
        again[kept] = np.linalg.lstsq(matrix[:, kept], wanted, rcond=None)[0]
    return again


def _finder(fits: Callable[[Routing], str]) -> Finder:
    """Make a finder that proposes the shares if ``fits`` describes them."""

    def find(one: Given) -> Found:
        routing = _routing(one)
        if routing is None or len(routing.found) < LEAST_TOKENS:
            return
        if words := fits(routing):
            spec = one.reading.spec | {"shares_given": (routing.order, routing.shares)}
            yield one.reading._replace(spec=spec), words

    return find


def _most(each: Any) -> bool:
    return bool(np.mean(each) >= MOST)


def _same_experts(routing: Routing) -> Any:
    return ((routing.found != 0) == (routing.right != 0)).all(axis=1)


def _top_k(routing: Routing) -> str:
    """Describe a wrong number of best experts; experts that are lost for all tokens do not
    count."""
    found, right = routing.found != 0, routing.right != 0
    counts, usual = found.sum(axis=1), int(np.median(right.sum(axis=1)))
    number = int(np.median(counts))
    within = (found <= right).all(axis=1) if number < usual else (found >= right).all(axis=1)
    if number == usual or number == 0 or not _most(counts == number) or not _most(within):
        return ""
    if number < usual:  # lost by their numbers, or by their rank?
        used = right.any(axis=0)
        lost = used & ~found.any(axis=0)
        if (lost | (found == right).all(axis=0))[used].all():
            return ""
    return f"{number} experts for a token instead of {usual}"


def _ignored(routing: Routing) -> str:
    """Describe equal weights for all experts, or the same weights for all tokens."""
    found, right = routing.found, routing.right
    same = (found != 0) == (found != 0)[0]
    usual = ((right != 0) == (right != 0)[0]).all(axis=1)
    if _most(same.all(axis=1)) and not _most(_same_experts(routing)) and not _most(usual):
        chosen = ", ".join(map(str, np.flatnonzero(found[0])))
        return f"all tokens go to the experts {chosen}"
    if not _most(_same_experts(routing)) or (found != 0).sum(axis=1).max() < 2:
        return ""
    top = found.max(axis=1)
    least = np.where(found != 0, found, np.inf).min(axis=1)
    usual = np.where(right != 0, right, np.inf).min(axis=1) / right.max(axis=1)
    even = np.abs(least - top) < NEAR * np.abs(top)
    if _most(even) and not _most(usual > 1 - NEAR):
        return "all chosen experts have the same weight"
    return ""


def _normalised(routing: Routing) -> str:
    """Describe the right experts with right shares, times a factor of each token."""
    if not _most(_same_experts(routing)):
        return ""
    found, right = routing.found, routing.right
    factor = (found * right).sum(axis=1) / np.maximum((right * right).sum(axis=1), 1e-12)
    left = np.linalg.norm(found - factor[:, None] * right, axis=1)
    if not _most(left < NEAR * np.linalg.norm(found, axis=1)):
        return ""
    varies = np.std(factor) > NEAR * np.abs(np.mean(factor))
    sums = found.sum(axis=1)
    even = np.std(sums) < NEAR * np.abs(np.mean(sums))
    was_even = np.std(right.sum(axis=1)) < NEAR * np.mean(right.sum(axis=1))
    if varies and even != was_even:
        return f"their sum is {np.mean(sums):.3g}" if even else "their sum is not one"
    return ""


def _score(routing: Routing) -> str:
    """Describe the right experts with other shares that grow with the right ones."""
    if not _most(_same_experts(routing)) or _normalised(routing):
        return ""
    found, right = routing.found, routing.right
    several = (right != 0).sum(axis=1) > 1
    if several.sum() < LEAST_TOKENS or _ignored(routing):
        return ""
    share, usual = (each[several] / each[several].sum(axis=1, keepdims=True)
                    for each in (found, right))  # fmt: skip
    if not (found[several].min(axis=1) >= 0).mean() >= MOST:
        return ""
    first = usual.argmax(axis=1)
    best, wanted = (np.take_along_axis(each, first[:, None], axis=1)[:, 0]
                    for each in (share, usual))  # fmt: skip
    # The share of the best expert is a function of the right one: it grows with it.
    order = np.argsort(wanted)
    grows = np.diff(best[order]) > -0.02
    other = np.abs(best - wanted) > NEAR * wanted
    if _most(grows) and np.mean(other) > 0.5 and np.std(best) > 0.01:
        return f"the best expert has {best.mean():.3g} of the weight instead of {wanted.mean():.3g}"
    return ""


def _moved(routing: Routing) -> str:
    """Describe a permutation of the experts; empty if there is none."""
    found, right = routing.found, routing.right
    count = found.shape[1]
    alike = np.abs(found[:, :, None] - right[:, None, :]) < NEAR * np.maximum(right, 0.05)[:, None]
    agrees = alike.mean(axis=0) - 1e-6 * (1 - np.eye(count))
    used = (right != 0).sum(axis=0) >= 2
    chosen = agrees.argmax(axis=0)
    if (chosen == np.arange(count))[used].all() or len(set(chosen[used])) < used.sum():
        return ""
    if used.sum() < count / 2 or agrees.max(axis=0)[used].min() < MOST:
        return ""
    return f"the experts {', '.join(map(str, chosen))} do what 0, 1, ... should"


def _order(one: Given) -> Found:
    """Describe tokens that come back from the experts in another order."""
    _, outside, _, _ = experts_around(one)
    if len(outside) > MOST_ORDERED:
        return
    spec = one.reading.spec
    plain = moe(spec | {"no_shared": True}, one.reading.weights, {"x": one.given["x"]})
    right = plain.reshape(outside.shape).astype(np.float64)
    wanted = outside.astype(np.float64)
    sizes = (wanted * wanted).sum(axis=1)
    far = sizes[:, None] + (right * right).sum(axis=1)[None] - 2 * wanted @ right.T
    order = far.argmin(axis=1)
    own = np.arange(len(order))
    near = far[own, order] < NEAR**2 * np.maximum(sizes, 1e-20)
    if not _most(near) or not (order != own).any():
        return
    order = np.where(near, order, own)
    some = ", ".join(map(str, order[:8]))
    yield one.reading._replace(spec=spec | {"routed_order": order}), f"{some}, ..."


ROUTING_FINDERS: dict[str, Finder] = {
    "shares-top-k": _finder(_top_k), "shares-ignored": _finder(_ignored),
    "shares-normalised": _finder(_normalised), "shares-score": _finder(_score),
    "shares-moved": _finder(_moved), "tokens-in-order": _order,
}  # fmt: skip
