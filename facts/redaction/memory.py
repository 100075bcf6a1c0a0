"""The secrets found anywhere in a document, to be found in the rest of it."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

from ..records import cached_property
from .credentials import PRIVATE_KEY
from .detectors import Span
from .places import EMAIL, HOST, PLACES

MIN_LENGTH = 8
MIN_CUT, MAX_CUT = 4, 400
_PATTERN_SIZE = 400
_FEW, _LONG = 100, 500  # forms, and characters of one
_CUT_PLACES = (EMAIL, HOST)
_CUT = re.compile(r"\.\.\.|…")
# Where detectors differ, the one that knows more about what it found gives the name.
_RANK = {kind: rank for rank, kind in enumerate((PRIVATE_KEY, "API_KEY", "TOKEN", "PASSWORD"))}


def rank(kind: str) -> int:
    """The lower, the more specific."""
    return _RANK.get(kind, len(_RANK))


class Memory:
    """Secrets by kind. Complete before it is asked."""

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}
        self._written: dict[str, str] = {}  # the secrets, by how texts write them: encoded, split

    def add_written(self, written: str, secret: str) -> None:
        """Remember how a text writes a secret that has been added: another may hold the same, cut
        short."""
        if written != secret and len(written) >= MIN_LENGTH:
            self._written.setdefault(written, secret)

    def add(self, secret: str, kind: str) -> None:
        """Remember a secret under the more specific of its kinds."""
        known = self._kinds.get(secret)
        if known is None or rank(kind) < rank(known):
            self._kinds[secret] = kind

    def counts(self) -> dict[str, int]:
        """Different secrets by kind; a prefix of another secret does not count."""
        kinds = sorted(kind for secret, kind in self._kinds.items() if self.whole(secret) == secret)
        return {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}

    def whole(self, secret: str) -> str:
        """The longest known secret that begins like this, for texts that hold a prefix only."""
        place = bisect_right(self._sorted, secret)
        best = secret
        while place < len(self._sorted) and self._sorted[place].startswith(best):
            best = self._sorted[place]
            place += 1
        return best

    def spans(self, text: str) -> Iterator[Span]:
        """Known secrets in a text: as they are, quoted for URLs or Python, or cut short."""
        if text in self._kinds:
            yield Span(0, len(text), self._kinds[text], text)
        for start, form in self._occurrences(text):
            secret = self._forms[form]
            yield Span(start, start + len(form), self._kinds[secret], secret)
        yield from self._cut_short(text)

    def _occurrences(self, text: str) -> Iterator[tuple[int, str]]:
        """The positions of known forms."""
        for form in self._alone:
            at = text.find(form)
            while at >= 0:
                yield at, form
                at = text.find(form, at + len(form))
        for pattern in self._patterns:
            for found in pattern.finditer(text):
                yield found.start(), found[0]

    def _cut_short(self, text: str) -> Iterator[Span]:
        cuts = [cut.start() for cut in _CUT.finditer(text)] if self._cuttable else []
        if not cuts:
            return
        heads = frozenset(form[:MIN_CUT] for form in self._cuttable)
        begins = [at for at in range(len(text)) if text[at : at + MIN_CUT] in heads]
        for end in cuts:
            first, last = bisect_left(begins, end - MAX_CUT), bisect_right(begins, end - MIN_CUT)
            yield from self._cut_at(text, begins[first:last], end)

    def _cut_at(self, text: str, begins: Sequence[int], end: int) -> Iterator[Span]:
        for start in begins:
            piece = text[start:end]
            place = bisect_right(self._cuttable, piece)
            if place < len(self._cuttable) and self._cuttable[place].startswith(piece):
                form = self._cuttable[place]
                secret = self._written_forms.get(form) or self.whole(form)
                yield Span(start, end, self._kinds[secret], secret)
                return

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(s for s, kind in self._kinds.items() if len(s) >= MIN_LENGTH
                      and kind not in PLACES)  # fmt: skip

    @cached_property
    def _cuttable(self) -> list[str]:
        """Also addresses and hosts: whole ones show by their form everywhere, their beginnings do
        not."""
        places = [s for s, kind in self._kinds.items() if kind in _CUT_PLACES]
        long = (s for s in places if len(s) >= MIN_LENGTH)
        return sorted({*self._sorted, *long, *self._written_forms})

    @cached_property
    def _forms(self) -> dict[str, str]:
        forms: dict[str, str] = {}
        for secret in self._sorted:
            for form in (secret, quote(secret, safe=""), repr(secret)[1:-1]):
                forms.setdefault(form, secret)
        return self._written_forms | forms

    @cached_property
    def _written_forms(self) -> dict[str, str]:
        """The texts as they are, and quoted for Python."""
        return {
            form: secret
            for written, secret in self._written.items()
            if self._kinds[secret] not in PLACES
            for form in (written, repr(written)[1:-1])
        }

    @cached_property
    def _alone(self) -> list[str]:
        """Forms that are looked for one by one. A few are found faster than a pattern is made of
        them, and a long one makes a large pattern."""
        few = len(self._forms) <= _FEW
        return [form for form in self._forms if few or len(form) > _LONG]

    @cached_property
    def _patterns(self) -> list[Any]:
        """The other forms in few patterns, long ones first, so that many secrets cost no more per
        text."""
        forms = sorted(self._forms.keys() - self._alone, key=lambda form: (-len(form), form))
        if not forms:
            return []
        import re2

        parts = (forms[at : at + _PATTERN_SIZE] for at in range(0, len(forms), _PATTERN_SIZE))
        options = re2.Options()
        options.max_mem = 1 << 28
        options.log_errors = False
        return [re2.compile("|".join(map(re2.escape, part)), options) for part in parts]
