"""The ``weight_comparison`` facts: one for each signature and class of tensors, with an example."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from ...facts.problems import Location
from ..outcome import Collector
from .comparison import Verdict
from .untouched import Untouched

# Findings of one signature and tensor class are one fact; number of classes that are reported.
MAX_FACTS = 100
_NUMBER = re.compile(r"(?<=\.)\d+(?=\.|\Z)")
_ORDER = ("wrong-base", "wrong-adapter", "misplaced", "interleaved", "up-on-gate", "swapped",
          "wrong-axis", "split-rows", "transposed", "partial", "unchanged", "untaken", "zeroed",
          "plain", "scaled", "low-precision", "rounded", "missing", "extra", "other",
          "correct")  # fmt: skip


class Found(NamedTuple):
    """A tensor with its signature and the numbers behind it. ``source`` is the tensor of the base
    that an extra one is named like; ``target`` is true if an update belongs to a missing one."""

    tensor: str
    signature: str
    verdict: Verdict | None = None
    untouched: Untouched | None = None
    source: str = ""
    target: bool = False


def tensor_class(name: str) -> str:
    """The name with ``*`` for each number of a layer or expert."""
    return _NUMBER.sub("*", name)


def add_comparisons(collector: Collector, found: list[Found], place: Path) -> None:
    """Add the facts, the gravest first."""
    groups: dict[tuple[int, str, str, bool], list[Found]] = {}
    for each in found:
        rank = _ORDER.index(each.signature)
        key = (rank, tensor_class(each.tensor), each.signature, not each.target)
        groups.setdefault(key, []).append(each)
    for number, group in enumerate(groups[key] for key in sorted(groups)):
        if number >= MAX_FACTS:
            text = f"{len(groups) - MAX_FACTS:,} further classes of tensors are left out"
            collector.problem("MM438", text, Location(str(place)))
            break
        _add_comparison(collector, group, place)


def _add_comparison(collector: Collector, group: list[Found], place: Path) -> None:
    """One fact of a class: the example is the tensor that agrees least with a right merge."""
    example = min(_most_alike(group), key=lambda each: (_share(each), each.tensor))
    verdict, untouched = example.verdict, example.untouched
    origin = verdict.origin if verdict else None
    way = verdict.way if verdict else None
    collector.add(
        "weight_comparison",
        f"{place}#{example.tensor}",
        tensor=example.tensor,
        signature=example.signature,
        pattern=tensor_class(example.tensor),
        count=len(group),
        reference=_reference(example),
        equal_share=_rounded(verdict.equal_share if verdict else untouched and untouched.share),
        max_abs=_rounded(verdict.max_abs if verdict else untouched and untouched.max_abs),
        mean_abs=_rounded(verdict.mean_abs if verdict else None),
        scale=_rounded(origin.scale if origin else verdict.scale if verdict else None),
        slip=(way.slip or None) if way else None,
        arithmetic=way.arithmetic if way and verdict and verdict.arithmetic else
        (untouched.rounded or None) if untouched else None,
        cosine=_rounded(max(-1.0, min(1.0, verdict.cosine))
                        if verdict and verdict.cosine is not None else None),
        update_max_abs=_rounded(verdict.update_max_abs if verdict else None),
        compared=verdict.compared if verdict and verdict.compared else None,
        source=origin.tensor if origin else example.source or None,
        source_kind=origin.kind if origin else None,
        shift=_usual_shift(group),
        source_expert=origin.expert if origin else None,
    )  # fmt: skip


def _reference(found: Found) -> str | None:
    if found.signature in ("missing", "extra"):
        return "expected" if found.target else None
    return "base" if found.untouched else "expected"


def _most_alike(group: list[Found]) -> list[Found]:
    """The updates of other layers at the usual distance: at the ends of a model it differs."""
    usual = _usual_shift(group)
    return group if usual is None else [each for each in group if _shift(each) == usual]


def _usual_shift(group: list[Found]) -> int | None:
    """The distance of more than half of the tensors."""
    ((usual, count),) = Counter(map(_shift, group)).most_common(1)
    return usual if 2 * count > len(group) else None


def _shift(found: Found) -> int | None:
    return found.verdict.origin.shift if found.verdict and found.verdict.origin else None


def _share(found: Found) -> float:
    verdict, untouched = found.verdict, found.untouched
    share = verdict.equal_share if verdict else untouched.share if untouched else None
    return 0.0 if share is None else share


def _rounded(value: float | None) -> float | None:
    """Six digits: the rest depends on the machine's order of sums."""
    return None if value is None else float(f"{value:.6g}")
