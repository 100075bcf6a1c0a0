"""Reads off the order in which tokens come back from the experts."""

from __future__ import annotations

from ....reading.tensors import np
from ..formula.feedforward import moe
from .given import Finder, Found, Given
from .parts import experts_around

NEAR = 0.06
"""Relative distance up to which shares are the same."""
MOST = 0.85
"""Share of the tokens that have to agree; the others are routed otherwise at ties."""
MOST_ORDERED = 4_096


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
    if not near.mean() >= MOST or not (order != own).any():
        return
    order = np.where(near, order, own)
    some = ", ".join(map(str, order[:8]))
    yield one.reading._replace(spec=spec | {"routed_order": order}), f"{some}, ..."


ROUTING_FINDERS: dict[str, Finder] = {
    "tokens-in-order": _order,
}  # fmt: skip
