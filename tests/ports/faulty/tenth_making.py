"""What faults of the tenth set are made of."""

from collections.abc import Callable

from .port import fault
from .sixth_making import Break, Causes

LAYOUT, ORDER, PAIRS = "weight-layout-mismatch", "shard-order-wrong", "rope-layout-wrong"
CACHE, MASK, WINDOW = "kv-cache-wrong", "wrong-masking", "attention-window-wrong"
QK_NORM, SCALE, SINKS = "qk-norm-wrong", "attention-scale-wrong", "attention-sinks-wrong"


def tenth(
    name: str, cause: Causes, part: str, everywhere: bool = False
) -> Callable[[Break], Break]:
    """A fault of this set; its causes were written down before any run of it."""
    return fault(f"tenth-{name}", cause, part, everywhere)  # type: ignore[no-any-return]


def alien(name: str, part: str, everywhere: bool = False) -> Callable[[Break], Break]:
    """A fault of this set that no diagnosis is about."""
    return fault(f"alien-tenth-{name}", "none", part, everywhere)  # type: ignore[no-any-return]
