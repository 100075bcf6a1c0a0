"""Names that durable-rules can tell apart.

The engine compares 32-bit FNV-1a hashes where it should compare names: two live session ids with
one hash share a session, two facts of a session whose ids share a hash are one fact, and two
properties with one hash are one property. So every name comes from a table here, and the tests
hash the tables in full.
"""

from __future__ import annotations

from typing import Final

SESSION_IDS: Final = range(1000, 1256)
"""Session ids, as decimal numbers; so many sessions are open at most. The engine stops at 1024."""

BOOT_ID: Final = 0
"""Fact id of the boot mark. Marks are numbered from 1; decimal ids up to `LAST_MARK_ID` differ."""

LAST_MARK_ID: Final = 100_000
"""Largest mark number whose decimal id is known to hash apart from all smaller ones."""

SLOT_PROPERTY: Final = "ai"
"""Property that carries the slot code.

Its hash ends in 31, the last start bucket of a node, so looking up any other property never walks
through the long run of slot tests.
"""

ONE_PROPERTY: Final = "b"
"""Property that is 1 in every mark, for the constant-true test that ends each join."""

PORT_PROPERTIES: Final = tuple(f"p{port}" for port in range(16))
"""Property of each port."""

ALIASES: Final = ("ad", "f", "k", "l", "q", "j", "o", "p")
"""Alias of each slot; the hash of alias i is 8 + i modulo 16.

A frame of the engine files its facts by that residue. When a negated fact arrives late, the engine
looks for the frame's facts in the first few places only and, finding some, drops activations of
unrelated rules too. Facts filed from place 8 on are never found, so activations stay decided.
"""


def fnv1a(text: str) -> int:
    """Return the engine's hash of `text`: 32-bit FNV-1a."""
    value = 2166136261
    for byte in text.encode():
        value = (value ^ byte) * 16777619 & 0xFFFFFFFF
    return value


def distinct(names: tuple[str, ...]) -> bool:
    """Whether the engine can tell all `names` apart."""
    return len({fnv1a(name) for name in names}) == len(names)
