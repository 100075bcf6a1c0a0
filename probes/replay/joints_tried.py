"""Checks whether modules are joined in the target as in the reference, and finds the difference."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ...reading.tensors import np
from ...reading.tensors.captures import Run
from .failing_parts import of_output
from .formula.few_bits import in_format
from .hypotheses import Hypothesis
from .modules import EXPLAINS, FAILURES, FLOOR, Module, Trial, computed, error, off, size
from .phases import WHERE
from .sums import EMBEDDING, Joint, Place, explained
from .trials import shown

CHANGED = 0.02
"""A factor that is off by less than this share is not told."""
ROUNDED = 2.0**-9
"""A factor that is off by less than this share is not reported."""


LIMIT = 3.0
"""R of a phase from which on a sum fails there."""


class Checked(NamedTuple):
    """A joint, R of it alone, and the noise of the reference there."""

    joint: Joint
    ratio: float
    noise: float


def checked(joint: Joint, runs: Sequence[Run]) -> Checked | None:
    """R of a joint alone; None if a run lacks a part of it."""
    sides = [joint.sides(run) for run in runs[1:]]
    if sides[0] is None or sides[1] is None:
        return None
    noise = max(error(joint.reading, sides[0]), FLOOR * size(sides[0]))
    if not noise:
        return None
    # Rounding grows with the rounded values.
    noise *= max(1.0, size(sides[1]) / size(sides[0]) if size(sides[0]) else 1.0)
    return Checked(joint, error(joint.reading, sides[1]) / noise, noise)


class Stretch(Run):
    """Some places of an axis of all tensors of a run."""

    def __init__(self, run: Run, axis: int, places: Any) -> None:
        self._run, self._axis, self._places = run, axis, places

    def get(self, module: str, side: str, element: int = 0) -> Any:
        """Like the method of the run, at the selected places."""
        found = self._run.get(module, side, element)
        if found is None or found.ndim != 3 or found.shape[self._axis] < len(self._places):
            return found
        return found.take(self._places, axis=self._axis)

    def has(self, module: str, side: str, element: int = 0) -> bool:
        """Like the method of the run."""
        return self._run.has(module, side, element)


def tried(
    one: Checked, every: Sequence[Checked], runs: Sequence[Run], limit: float, start: int | None
) -> tuple[Trial, ...]:
    """The trials of a joint that fails, best first; in the prefill or while decoding (from
    ``start`` on) alone, or in another part, if it fails there alone."""
    later = _later(one, every, limit)
    found = list(_trials(one, later, runs[2]))
    if not any(trial.r_ratio < EXPLAINS for trial in found):
        found.extend(_in_part(one, later, runs, limit, start or 0))
    return tuple(sorted(found, key=lambda trial: trial.r_ratio))


def _in_part(
    one: Checked, later: frozenset[Place] | None, runs: Sequence[Run], limit: float, start: int
) -> Iterator[Trial]:
    """The trials where alone a joint fails: in one phase, in rows of the batch, or in channels."""
    for words, axis, places in _parts(one, runs, start):
        if len(places) == 0:
            continue
        cut = [Stretch(run, axis, places) for run in runs]
        part = checked(one.joint, cut)
        if part is not None and not part.ratio < limit:
            for trial in _trials(part, later, cut[2]):
                yield trial._replace(limited=True, says=f"{trial.says}, {words}")


def _parts(one: Checked, runs: Sequence[Run], start: int) -> Iterator[tuple[str, int, Any]]:
    sides = [one.joint.sides(run) for run in runs[1:]]
    low, target = sides
    if low is None or target is None or target.output.ndim != 3:
        return
    lost = [each.output - computed(one.joint.reading, each.given) for each in (low, target)]
    own = np.arange(target.output.shape[1])
    phases = {"prefill": own[own < start], "decode": own[own >= start]}
    wrong = {name for name, rows in phases.items()
             if len(rows) and not checked_part(lost, target.output, rows) < LIMIT}  # fmt: skip
    if len(wrong) == 1:
        name = wrong.pop()
        yield WHERE[name], 1, phases[name]
        return
    for part in of_output(lost[1], lost[0], target.output, slice(None)):
        axis = next(at for at, count in enumerate(part.mask.shape) if count > 1)
        yield part.words, axis, np.flatnonzero(part.mask.ravel())


def checked_part(lost: Sequence[Any], output: Any, rows: Any) -> float:
    """R of a sum at some positions; ``lost`` holds the differences of the low-precision reference
    and of the target from the sum."""
    low, target = (float(np.linalg.norm(each[:, rows].astype(np.float64))) for each in lost)
    return target / max(low, FLOOR * float(np.linalg.norm(output[:, rows])), 1e-20)


def _later(one: Checked, every: Sequence[Checked], limit: float) -> frozenset[Place] | None:
    """The terms that still reach the output of the layer; None if unknown."""
    layer = one.joint.name.removesuffix(" (input)").rpartition(".")[0]
    whole = next((each for each in every if each.joint.name == layer), None)
    if whole is None:
        return None
    return frozenset(whole.joint.terms) if whole.ratio < limit else frozenset()


def _trials(one: Checked, later: frozenset[Place] | None, target: Run) -> Iterator[Trial]:
    joint, noise = one.joint, one.noise
    yield from _by_factors(one, later, target)
    for at in range(len(joint.terms)):
        given = (joint.terms[at][0], "in", 0)  # the module that gives the term is passed by
        for other in (*joint.others, *((given,) if target.has(*given) else ())):
            changed = joint._replace(terms=(*joint.terms[:at], other, *joint.terms[at + 1 :]))
            left = _off(changed, target)
            if left is not None:
                old, new = _shown(joint.terms[at]), _shown(other)
                source = other[0] if other[1] == "out" else ""
                yield Trial(
                    ENTRIES["source"], left / noise,
                    f"it takes {new} where the reference takes {old}", source=source,
                )  # fmt: skip
    yield from _rounded(one, target)
    if len(joint.terms) < 3:
        for other in joint.others:
            more = joint._replace(terms=(*joint.terms, other), factors=(*joint.factors, 1.0))
            sides = more.sides(target)
            if sides is not None:
                rounded = max(noise, ROUNDED * size(sides))
                left = error(more.reading, sides)
                yield Trial(ENTRIES["source"], left / rounded, f"{_shown(other)} is added to it")


def _rounded(one: Checked, target: Run) -> Iterator[Trial]:
    """The sum is kept in eight bits. If rounding went the other way, it is off by a step."""
    sides = one.joint.sides(target)
    if sides is None:
        return
    whole = computed(one.joint.reading, sides.given)
    noise = np.random.default_rng(0).uniform(-ROUNDED, ROUNDED, whole.shape).astype(np.float32)
    for name in ("F8_E4M3", "F8_E5M2"):
        made = in_format(in_format(whole, "BF16"), name)
        moved = in_format(in_format(whole * (1 + noise), "BF16"), name)
        usual = float(np.hypot(np.linalg.norm(made - moved), one.noise))
        yield Trial(ENTRIES["rounded"], off(made, sides.output) / usual,
                    f"the sum is kept in eight bits ({name})")  # fmt: skip


def _by_factors(one: Checked, later: frozenset[Place] | None, target: Run) -> Iterator[Trial]:
    """Other factors. If a term is lost here but reaches the output of the layer, its factor is
    right: the module had another input."""
    fit = explained(one.joint, target)
    if fit is None:
        return
    factors, left = fit
    words = _words(one.joint, factors)
    known = zip(one.joint.terms, one.joint.factors, factors, strict=True)
    lost = [place for place, old, new in known if abs(new) < CHANGED * abs(old)]
    if lost and len(lost) < len(factors) and one.joint.output[1] == "in":
        if later is None or set(lost) & later:
            yield Trial(ENTRIES["source"], left / one.noise, words)
        if later is not None and set(lost) <= later:
            return
    only = one.joint.terms[0][0] if len(factors) == 1 else ""
    entry = "embedding" if EMBEDDING.search(only) else "factor"
    yield Trial(ENTRIES[entry], left / one.noise, words)


def normed(one: Checked, target: Run, module_of: Callable[[str], Module | None]) -> Iterator[Trial]:
    """The trials of a joint that only passes on the output of a norm: that of its input and of the
    other values that the layer has computed by then. This is the case if blocks have one norm for
    all branches, and are computed one after another instead of side by side."""
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


ENTRIES = {
    "factor": _entry("joint-factor", "residual-multiplier-wrong"),
    "embedding": _entry("joint-embedding", "embedding-multiplier-wrong"),
    "rounded": _entry("joint-rounded", "precision-ordering"),
    "source": _entry("joint-source", "wrong-input"),
}
