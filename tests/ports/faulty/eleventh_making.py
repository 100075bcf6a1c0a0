"""Building blocks for the faults of the eleventh set."""

from collections.abc import Callable

from .port import fault
from .sixth_making import Break, Causes

LAYOUT, ORDER = "weight-layout-mismatch", "shard-order-wrong"
MASK, CACHE, PLACES = "wrong-masking", "kv-cache-wrong", "rope-positions-wrong"


def eleventh(
    name: str, cause: Causes, part: str, everywhere: bool = False
) -> Callable[[Break], Break]:
    """A fault of this set; its causes were written down before any run of it."""
    return fault(f"eleventh-{name}", cause, part, everywhere)  # type: ignore[no-any-return]


def alien(name: str, part: str, everywhere: bool = False) -> Callable[[Break], Break]:
    """A fault of this set that no diagnosis is about."""
    return fault(f"alien-eleventh-{name}", "none", part, everywhere)  # type: ignore[no-any-return]
