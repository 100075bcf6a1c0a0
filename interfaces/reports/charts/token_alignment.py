"""Two sides of the same prompts, token by token: equal up to the first difference.

Renderer against chat template, or Tinker against the engine. Each pair has a scale of its own,
since prompts may be of any length.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ....facts import Fact
from ..safe_text import one_line
from .chart import Chart, chart
from .svg import BAD, GOOD, GRID, SOFT, described, label, line, picture, rect, title

WIDTH = 800
MAX_PAIRS = 12
"""Pairs that differ come first."""
_SIDES = {"token_comparison": ("renderer", "template"), "prompt_comparison": ("Tinker", "engine")}
_LEFT, _RIGHT, _TOP, _PAIR, _BAR = 250, 120, 30, 46, 13


class _Pair(NamedTuple):
    name: str
    sides: tuple[str, str]
    match: bool | None
    first: int | None
    sizes: tuple[int, int]
    texts: tuple[str, str]

    @property
    def equal(self) -> int | None:
        """The number of equal tokens at the start; None if unknown."""
        return min(self.sizes) if self.match and self.first is None else self.first


def token_alignment(facts: Sequence[Fact]) -> Chart | None:
    """The chart of token pairs; None if no pair has its numbers of tokens and its first
    difference."""
    pairs = _pairs(facts)
    if not pairs:
        return None
    text = _in_words(pairs)
    shown = pairs[:MAX_PAIRS]
    names, labelled = described("token-alignment", "Token alignment", text)
    parts = [*names, *_legend(), *(p for at, pair in enumerate(shown) for p in _drawn(pair, at))]
    height = _TOP + len(shown) * _PAIR + 6
    if len(pairs) > len(shown):
        parts.append(label(_LEFT, height + 10, f"and {len(pairs) - len(shown)} more", fill=SOFT))
        height += 20
    svg = picture(WIDTH, height, parts, aria_labelledby=labelled)
    head = ("Prompt", "First side", "Second side", "First difference", "There, first side",
            "There, second side")  # fmt: skip
    return chart("token-alignment", "Token alignment", text, svg, head, list(map(_row, pairs)))


def _pairs(facts: Sequence[Fact]) -> list[_Pair]:
    found = []
    for fact in facts:
        sizes = [fact.get("ours"), fact.get("theirs")]
        if fact.kind not in _SIDES or None in sizes:
            continue
        first, match = fact.get("first_diff"), fact.get("match")
        if first is None and match is not True:
            continue
        ours, theirs = (int(str(size)) for size in sizes)
        if not max(ours, theirs):
            continue
        texts = tuple(one_line(str(fact.get(name) or "")) for name in ("our_text", "their_text"))
        found.append(_Pair(
            one_line(str(fact.get("case")))[:80], _SIDES[fact.kind], match is True,
            None if first is None else min(int(str(first)), max(ours, theirs)),
            (ours, theirs), (texts[0], texts[1]),
        ))  # fmt: skip
    return sorted(found, key=lambda pair: (bool(pair.match), pair.name))


def _in_words(pairs: Sequence[_Pair]) -> str:
    apart = [pair for pair in pairs if not pair.match]
    if not apart:
        return f"{len(pairs)} prompts compared, all tokens are equal."
    first = apart[0]
    return (
        f"{len(apart)} of {len(pairs)} prompts differ; {first.name} from token {first.first} on "
        f"({first.sides[0]} {first.sizes[0]:,}, {first.sides[1]} {first.sizes[1]:,} tokens)."
    )


def _legend() -> Iterator[str]:
    yield rect(_LEFT, 6, 12, 12, fill=GOOD)
    yield label(_LEFT + 17, 16, "equal up to here")
    yield rect(_LEFT + 150, 6, 12, 12, fill=BAD)
    yield label(_LEFT + 167, 16, "from the first difference on")


def _drawn(pair: _Pair, place: int) -> Iterator[str]:
    top = _TOP + place * _PAIR
    room = WIDTH - _LEFT - _RIGHT
    longest = max(pair.sizes)
    equal = pair.equal or 0
    name = pair.name if len(pair.name) <= 24 else f"{pair.name[:21]}..."
    yield label(0, top + 20, name, font_weight="600")
    for side, size, y in zip(pair.sides, pair.sizes, (top, top + _BAR + 3), strict=True):
        same, wide = room * min(equal, size) / longest, room * size / longest
        said = title(f"{pair.name}, {side}: {size:,} tokens, {min(equal, size):,} of them equal")
        yield label(_LEFT - 8, y + 12, side, anchor="end", fill=SOFT)
        if same:
            yield rect(_LEFT, y + 2, same, _BAR, said, fill=GOOD)
        if wide - same > 0.05:
            # A difference of one token in thousands must be seen, too.
            colour = GOOD if pair.match else BAD
            yield rect(_LEFT + same, y + 2, max(wide - same, 2.0), _BAR, said, fill=colour)
        yield label(_LEFT + wide + 8, y + 12, f"{size:,} tokens", fill=SOFT)
    if not pair.match:
        yield label(0, top + 36, f"differ from token {pair.first} on", fill=SOFT)
        x = _LEFT + room * equal / longest
        yield line(x, top - 2, x, top + 2 * _BAR + 8, stroke=GRID)


def _row(pair: _Pair) -> tuple[str, ...]:
    first = "none" if pair.match else f"token {pair.first}"
    counts = (f"{side}: {size:,} tokens" for side, size in zip(pair.sides, pair.sizes, strict=True))
    return (pair.name, *counts, first, *pair.texts)
