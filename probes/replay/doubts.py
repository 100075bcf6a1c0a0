"""What speaks against a cause whose value was looked for: it leaves more than rounding."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable

from .hypotheses import Hypothesis
from .modules import EXPLAINS, Trial

LEFT = 0.005
"""Share of what is wrong, in squares, that a value that was looked for may leave. A change of
another kind that it comes near to leaves more; those of 113 firm and right causes left less."""
ROUNDING = 1.15
"""R that any explanation may leave, where sound modules have one."""
SAYS = (
    "a value was looked for, and the best one leaves more than rounding: it may be something near"
)


def usual(ratios: Iterable[float]) -> float:
    """R of the sound modules of a run, one at the least: sums of ranks and other orders of rounding
    raise it in all of them."""
    known = list(ratios)
    return max(1.0, statistics.median(known)) if known else 1.0


def with_doubt(trials: tuple[Trial, ...], sound: float, plain: float) -> tuple[Trial, ...]:
    """Trials of which the best one is not sure, if it could choose its numbers and yet leaves more
    than rounding and a little of what is wrong (R of the module is ``plain``): any smooth change
    has a value that comes near to it."""
    limit = max(ROUNDING * sound, math.sqrt(sound * sound + LEFT * plain * plain))
    best = min(trials, key=lambda trial: trial.r_ratio, default=None)
    if best is None or not limit < best.r_ratio < EXPLAINS:
        return trials
    if not _chooses(best.hypothesis):
        return trials
    near = Hypothesis("something-near", "computed-otherwise", best.hypothesis.families, SAYS,
                      {}, {}, (), {})  # fmt: skip
    return (trials[0], best._replace(hypothesis=near, says=SAYS), *trials[1:])


def _chooses(hypothesis: Hypothesis) -> bool:
    """Whether a hypothesis takes numbers as they fit: one that is looked for, whole ones that are
    all tried, or many that are read off."""
    whole = any(" .. " in str(value) for value in hypothesis.settings.values())
    return bool(hypothesis.fit) or hypothesis.last or whole
