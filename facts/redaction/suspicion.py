"""A cheap filter before the search for secrets: it may say yes for nothing, but never misses one.

Most reports hold no secrets, and the full search would be a noticeable part of a short run.
"""

from __future__ import annotations

from .look import Seen, hides_something


def suspicious(text: str, seen: Seen | None = None) -> bool:
    """False only if no detector can find anything in ``text``, apart from known homes and hosts."""
    seen = seen or Seen()
    look = seen.look(text)
    if look.plainly or hides_something(text):
        return True
    if "\n" in text or "\\" in text:
        from .flattening import continued, joined, wrapped

        for flat in (*joined(text, seen), *continued(text), *wrapped(text)):
            if seen.look(flat.text).plainly:
                return True
    if not look.code:
        return False
    from .decoding import hides_a_secret

    return hides_a_secret(look, seen)
