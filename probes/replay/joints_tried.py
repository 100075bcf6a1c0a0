"""Whether modules are joined in the target as they are in the reference, and how else if not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .captures import Run
from .hypotheses import Hypothesis
from .sums import Joint, Place, explained
from .trials import FLOOR, Trial, error, shown, size

CHANGED = 0.02
"""A factor that is off by less than this share is not told."""


def tried(
    joint: Joint, runs: Sequence[Run], limit: float
) -> tuple[float, tuple[Trial, ...]] | None:
    """R of the joint alone, and the trials if it reaches ``limit``, best first."""
    sides = [joint.sides(run) for run in runs[1:]]
    if sides[0] is None or sides[1] is None:
        return None
    noise = max(error(joint.reading, sides[0]), FLOOR * size(sides[0]))
    if not noise:
        return None
    # Rounding grows with what is rounded.
    noise *= max(1.0, size(sides[1]) / size(sides[0]) if size(sides[0]) else 1.0)
    ratio = error(joint.reading, sides[1]) / noise
    if ratio < limit:
        return ratio, ()
    found = list(_trials(joint, runs[2], noise))
    return ratio, tuple(sorted(found, key=lambda trial: trial.r_ratio))


def _trials(joint: Joint, target: Run, noise: float) -> Iterator[Trial]:
    fit = explained(joint, target)
    if fit is not None:
        yield Trial(_ENTRY["factor"], fit[1] / noise, _words(joint, fit[0]))
    for at in range(len(joint.terms)):
        given = (joint.terms[at][0], "in", 0)  # the module that gives the term is passed by
        for other in (*joint.others, *((given,) if target.has(*given) else ())):
            changed = joint._replace(terms=(*joint.terms[:at], other, *joint.terms[at + 1 :]))
            off = _off(changed, target)
            if off is not None:
                old, new = _shown(joint.terms[at]), _shown(other)
                yield Trial(
                    _ENTRY["source"], off / noise, f"it takes {new} where the reference takes {old}"
                )
    if len(joint.terms) == 1:
        for other in joint.others:
            more = joint._replace(terms=(*joint.terms, other), factors=(*joint.factors, 1.0))
            off = _off(more, target)
            if off is not None:
                yield Trial(_ENTRY["source"], off / noise, f"{_shown(other)} is added to it")


def _off(joint: Joint, run: Run) -> float | None:
    sides = joint.sides(run)
    return None if sides is None else error(joint.reading, sides)


def _words(joint: Joint, factors: Sequence[float]) -> str:
    parts = []
    for place, old, new in zip(joint.terms, joint.factors, factors, strict=True):
        if abs(new - old) > CHANGED * max(abs(old), 0.05):
            off = abs(new) < CHANGED * abs(old)
            times = (
                "is not added"
                if off
                else f"times {shown(float(f'{new:.3g}'))} instead of {shown(float(f'{old:.3g}'))}"
            )
            parts.append(f"{_shown(place)} {times}")
    return "; ".join(parts) or "factors within two percent of the reference"


def _shown(place: Place) -> str:
    return f"the input of {place[0]}" if place[1] == "in" else f"the output of {place[0]}"


def _entry(name: str, cause: str) -> Hypothesis:
    return Hypothesis(name, cause, ("sum",), "", {}, {}, (), {})


_ENTRY = {
    "factor": _entry("joint-factor", "residual-multiplier-wrong"),
    "source": _entry("joint-source", "wrong-input"),
}
