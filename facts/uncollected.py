"""No garbage collection while large structures are made that all live."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Within: cycles are not looked for. Syntax trees and knowledge are hundreds of thousands of
    objects that all live; looking through them again and again takes a fifth to a third of the
    time."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()
