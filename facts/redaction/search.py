"""All detectors over one text."""

from __future__ import annotations

from .look import Seen, hides_something

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .detectors import Span


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


def secret_spans(text: str, seen: Seen | None = None) -> list[Span]:
    """The matches of all detectors, unordered; spans may overlap."""
    from .credentials import PLAIN
    from .decoding import decoded_spans
    from .flattening import flattened_spans
    from .places import place_spans

    seen = seen or Seen()
    look = seen.look(text)
    found = [span for find in (*PLAIN, place_spans) for span in find(look)]
    for deep in (flattened_spans, decoded_spans):
        found += deep(look, seen)
    return found
