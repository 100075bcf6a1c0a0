"""What speaks against a cause whose value was looked for: it leaves more than rounding."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from .hypotheses import Hypothesis
from .modules import EXPLAINS, Trial

ROUNDING = 1.3
"""R up to which nothing but rounding is left, where sound modules have one: those of 113 firm and
right causes were 1.2 at the most, but for two whose rounding is larger by their nature."""
LITTLE, ROUNDING_OF_LITTLE = 10.0, 1.15
"""R of a module up to which little is wrong, and what a looked-for value may leave of that."""
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
    than ``ROUNDING`` of R of the module (``plain``): any smooth change has a value that is near."""
    limit = sound * (ROUNDING if plain > LITTLE * sound else ROUNDING_OF_LITTLE)
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
