"""Facts for people: a short table by kind, and what to do with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...facts import Fact, Vocabulary
from ...facts.redaction.masking import cut
from .layout import Line, counted
from .safe_text import one_line

MAX_ROWS = 8
MAX_CELL = 60
MAX_KEY = 28


def fact_lines(facts: Iterable[Fact], vocabulary: Vocabulary) -> Iterator[Line]:
    """The facts by kind, each kind with its description; only the first if there are many."""
    groups: dict[str, list[Fact]] = {}
    for fact in facts:
        groups.setdefault(fact.kind, []).append(fact)
    total = sum(map(len, groups.values()))
    yield Line(f"{counted(total, 'fact')}.", style="heading")
    for kind, found in groups.items():
        known = vocabulary.kinds[kind]
        yield Line()
        yield Line(known.description, mark=f"{kind}: ")
        keys = [" ".join(_cell(f.get(name)) for name in known.key) for f in found[:MAX_ROWS]]
        width = min(max(map(len, keys)), MAX_KEY)
        for fact, key in zip(found, keys, strict=False):
            rest = (f"{n} {_cell(v)}" for n, v in fact.values if n not in known.key)
            mark = f"{key.ljust(width)}  " if width else ""
            yield Line(", ".join(rest), 2, mark=mark)
        if len(found) > MAX_ROWS:
            yield Line(f"and {len(found) - MAX_ROWS} more", 2, "dim")
    if total:
        yield Line()
        text = "What follows from them: add `--format json | diagnose -` to the command."
        yield Line(text, style="dim")


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    return "" if value is None else cut(one_line(str(value)), MAX_CELL)
