"""Whether what a module takes is its norm of something else: of blocks that have one norm for all
branches, and are computed one after another instead of side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..shared import np
from .captures import Run
from .joints_tried import ENTRIES, ROUNDED, Checked
from .modules import FAILURES, Module, Trial, computed, off, size


def normed(one: Checked, target: Run, module_of: Callable[[str], Module | None]) -> Iterator[Trial]:
    """The trials of a joint that only hands on what a norm gives: that of its input and of what
    else the layer has computed by then."""
    sides = one.joint.sides(target)
    if sides is None or len(one.joint.terms) != 1 or one.joint.terms[0][1] != "out":
        return
    name = one.joint.terms[0][0]
    x, norm = target.get(name, "in"), module_of(name)
    if x is None or norm is None or norm.reading.family != "norm":
        return
    noise = max(one.noise, ROUNDED * size(sides))
    for place in one.joint.others:
        more = target.get(*place)
        if more is None or more.shape != x.shape or place[1] != "out":
            continue
        try:
            with np.errstate(all="ignore"):
                made = computed(norm.reading, {"x": x + more})
        except FAILURES:
            continue
        words = f"it takes what {name} makes of its input with the output of {place[0]} added"
        yield Trial(ENTRIES["source"], off(made, sides.output) / noise, words)
