"""The secrets of one document: collected from all of its texts, then replaced in each of them."""

from __future__ import annotations

import hashlib
import hmac
import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence

from .credentials import secret_value
from .detectors import Span
from .look import Seen
from .masks import mask_spans
from .memory import Memory, rank
from .places import HOME, PLACES, home_spans, host_spans
from .search import secret_spans

_MARK = re.compile(r"<secret:[A-Z_]{1,20}:[0-9a-f]{4}>")
_SURROGATE = re.compile("[\ud800-\udfff]")


class Sweep:
    """Finds and replaces; see :class:`.Redactor`."""

    def __init__(
        self,
        salt: bytes,
        homes: Sequence[str],
        hosts: Sequence[str],
        masks: Sequence[str] = (),
        seen: Seen | None = None,
    ) -> None:
        self._salt, self._homes, self._hosts, self._masks = salt, homes, hosts, masks
        self._seen = seen or Seen()
        self._memory = Memory()
        self._found: dict[str, list[Span]] = {}

    def learn(self, text: str) -> None:
        """Remember the secrets of a text."""
        found = self._found[text] = [] if text in self._seen.clean else self._search(text)
        if not found:
            self._seen.clean.add(text)
        for span in found:
            self._memory.add(span.secret, span.kind)
            written = _encodable(text[span.start : span.end])
            self._memory.add_written(written, span.secret)

    def learn_assigned(self, name: str, text: str) -> None:
        """Remember a value whose name says that it is a secret."""
        kind = secret_value(name, text)
        if kind is not None and not _MARK.search(text):
            self._memory.add(text, kind)

    def clean(self, text: str) -> str:
        """The text, one of those learned, with a token for every secret."""
        plain = _encodable(text)
        parts, at = [], 0
        for span in _merged([*self._found[text], *_unmarked(plain, self._memory.spans(plain))]):
            parts += [
                text[at : span.start],
                self._token(self._memory.whole(span.secret), span.kind),
            ]
            at = span.end
        return "".join([*parts, text[at:]])

    def counts(self) -> dict[str, int]:
        """Different secrets by kind."""
        return self._memory.counts()

    def _search(self, text: str) -> list[Span]:
        """The matches of the detectors."""
        text = _encodable(text)
        found = [*host_spans(text, self._hosts), *secret_spans(text, self._seen)]
        found += mask_spans(text, self._masks)
        found += home_spans(text, self._homes, {span.end for span in found})
        return _merged(_unmarked(text, found))

    def _token(self, secret: str, kind: str) -> str:
        if kind == HOME:
            return "~"
        digest = hmac.new(self._salt, secret.encode("utf-8", "backslashreplace"), hashlib.sha256)
        return f"<secret:{kind}:{digest.hexdigest()[:4]}>"


def _encodable(text: str) -> str:
    """RE2 takes UTF-8; one character for another keeps the places."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def _unmarked(text: str, spans: Iterable[Span]) -> list[Span]:
    """The spans that do not overlap tokens of an earlier redaction."""
    found = list(spans)
    marks = [mark.span() for mark in _MARK.finditer(text)] if found else []
    if not marks:
        return found
    begins = [start for start, _ in marks]

    def marked(span: Span) -> bool:
        last = bisect_left(begins, span.end) - 1  # of those that begin before it ends
        return last >= 0 and marks[last][1] > span.start

    return [span for span in found if not marked(span)]


def _merged(spans: Sequence[Span]) -> list[Span]:
    """Merge overlapping spans under the most specific kind; but a credential keeps its borders
    where an address or a path seems to begin within it."""
    merged: list[Span] = []
    for span in sorted(spans, key=lambda s: (s.start, -s.end)):
        last = merged[-1] if merged else None
        if last is None or span.start >= last.end:
            merged.append(span)
        elif last.kind in PLACES and span.kind not in PLACES and span.end > last.end:
            merged[-1:] = [last._replace(end=span.start), span][span.start == last.start :]
        elif last.kind in PLACES or span.kind not in PLACES:
            best = min(last, span, key=lambda s: (rank(s.kind), -len(s.secret)))
            merged[-1] = best._replace(start=last.start, end=max(last.end, span.end))
    return merged
