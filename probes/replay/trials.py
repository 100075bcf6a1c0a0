"""Computes a module of the target under each hypothesis, from its own input.

R of a module alone = ||target - f(input of target)|| / ||ref_bf16 - f(input of ref_bf16)||, where f
computes in float32 with the weights of the reference. What went wrong before the module is in its
input, and so does not count.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from ..shared import np
from .failing_parts import Part, of_heads, of_output
from .finding.given import Given
from .finding.masks import heads_of
from .finding.registry import FINDERS
from .formula.attention import mixed_heads
from .formula.feedforward import route
from .formula.formulas import FORMULAS
from .formula.remembered import Remembered
from .hypotheses import Hypothesis, Variant, all_hypotheses, fits, variants
from .phases import WHERE, Phase, error_within, limited
from .shares import shared, terms
from .solving import solve
from .spec import Reading
from .weight_orders import Around

REPRODUCED = 5e-4
"""Relative error up to which a formula is that of the reference."""
AT_ONCE = 5e-6
FLOOR = 5e-4
"""Least noise that is allowed for, relative to the output: a copy has none."""
ROUTED_AGAIN, UNSURE, MOST_UNSURE = 6, 2.0**-5, 0.6
"""How often a router is tried with rounded inputs, how far these are off, and the share of rows
that may be routed otherwise then, at most."""
GRID, STEPS = 25, 18
"""Points of a grid, at least, and steps of the search around the best one."""
POINTS = 3.2
"""Points of a grid for each factor of e."""
EXPLAINS = 1.8
"""As in the rules: R from which on a hypothesis explains nothing."""
FAILURES = (ValueError, IndexError, KeyError, ArithmeticError, TypeError)
NEAR = 30.0
"""R from which on a hypothesis is not looked at more closely."""
MOST_SENSITIVE = 50.0
JITTER = 2.0**-8
ROUNDED_TWICE = 1.4
"""How much larger the rounding of a table is that is rounded once more."""
MARKS, ALIKE = 256, 0.5
"""Numbers of an output that are compared, and how far they may be off, in units of the noise."""
COPIED = 2.0**-10
"""What rounding to BF16 does to numbers that were multiplied, relative to them."""


class Sides(NamedTuple):
    """What goes into a module and comes out of it in one run."""

    given: Mapping[str, Any]
    output: Any


class Trial(NamedTuple):
    """R of a module under a hypothesis, in the words of its entry. It is ``limited`` if it explains
    the module only where it is about a single phase; ``source`` is the module whose output it takes
    for its input."""

    hypothesis: Hypothesis
    r_ratio: float
    says: str
    limited: bool = False
    source: str = ""
    mark: tuple[float, ...] = ()
    """Some numbers of the output under it, in units of its noise: what two of the same output
    have in common."""


class Module(NamedTuple):
    """A module whose formula reproduces the reference. ``noise`` is the error of the low-precision
    reference, ``usual`` how far its output moves when its input is rounded, ``whole`` the norm of
    that output."""

    name: str
    reading: Reading
    target: Sides
    noise: float
    usual: float = 0.0
    whole: float = 0.0
    phase: Phase | None = None
    late: float = 0.0
    prompt: Phase | None = None
    rounding: Any = None
    parts: tuple[Part, ...] = ()
    plain: Any = None
    terms: tuple[str, list[Any]] | None = None

    def ratio(self, reading: Reading) -> float:
        """R under another reading; infinite where it cannot be computed. Where few positions may be
        routed otherwise, the larger one of R of all and of those that are decoded (``late``)."""

        def measure() -> float:
            made = computed(reading, self.target.given)
            rows = sure(reading, self.target)
            found = off(made, self.target.output, rows) / self.noise
            if not self.late:
                return found
            return max(found, off_late(made, self.target.output, reading, rows) / self.late)

        return self._tried(measure)

    def within(self, reading: Reading) -> float:
        """As :meth:`ratio`, of the phase in which the module fails."""
        phase = self.phase
        if phase is None:
            return math.inf
        one = limited(reading, self.reading, phase)
        return self._tried(lambda: error_within(
            computed(one, self.target.given), self.target.output, phase))  # fmt: skip

    def partly(self, reading: Reading, part: Part) -> float:
        """As :meth:`ratio`, if the module is as it should be but for a part, in the phase in which
        it fails."""
        if self.phase is not None:
            reading = limited(reading, self.reading, self.phase)
        noise = self.phase.noise if self.phase else self.noise
        rows = self.phase.rows if self.phase else slice(None)

        def measure() -> float:
            output = self.target.output
            if part.heads:
                spec = reading.spec | {"other_heads": (part.mask, self.plain[1])}
                made = computed(reading._replace(spec=spec), self.target.given)
                return off(made.reshape(output.shape)[:, rows], output[:, rows]) / noise
            made = computed(reading, self.target.given).reshape(output.shape)
            whole = np.where(part.mask, made, self.plain[0])[:, rows] - output[:, rows]
            squares = whole.astype(np.float64) ** 2
            here = np.broadcast_to(part.mask, output.shape)[:, rows]
            share = math.sqrt(float(here.mean()))
            inside = math.sqrt(float(squares[here].sum())) / max(share, 1e-6)
            return max(math.sqrt(float(squares.sum())), inside) / noise

        return self._tried(measure)

    def _tried(self, measure: Callable[[], float]) -> float:
        try:
            with np.errstate(all="ignore"):
                found = measure()
        except FAILURES:
            return math.inf
        return found if math.isfinite(found) else math.inf

    def alone(self) -> float:
        """R of the module as it should be. Where an earlier mistake makes what goes into it larger,
        its rounding is larger too."""
        return self.ratio(self.reading) / self.more(self.reading)

    def more(self, reading: Reading) -> float:
        """By how much a reading makes more of rounding than the low-precision reference: of that
        of its input, and of that of its output, which grows with it."""
        if reading.family in ("embedding", "logits"):  # some only copy, which rounds nothing
            more = COPIED * (2 if reading.spec.get("summed") else 1)
            return max(1.0, more * size(self.target) / self.noise)
        if reading.family == "rotary" and reading.spec is not self.reading.spec:
            return ROUNDED_TWICE
        if not self.usual or not self.whole:
            return 1.0
        found = sensitivity(reading, self.target.given) / self.usual
        larger = size(self.target) / self.whole
        return min(MOST_SENSITIVE, max(1.0, found, larger))


def computed(reading: Reading, given: Mapping[str, Any]) -> Any:
    """What a module computes under a reading."""
    if (other := reading.spec.get("other_input")) is not None:
        given = {**given, "x": other, "memory": None}
    return FORMULAS[reading.family](reading.spec, reading.weights, given)


def error(reading: Reading, sides: Sides) -> float:
    """Norm of what a run has more or less than the formula."""
    return off(computed(reading, sides.given), sides.output, sure(reading, sides))


def off(made: Any, output: Any, rows: Any = None) -> float:
    """Norm of what an output has more or less than what was computed, as if of all rows where only
    some count."""
    left = (made.reshape(output.shape) - output).astype(np.float64)
    squares = (left * left).reshape(-1, left.shape[-1]).sum(axis=-1)
    if rows is None:
        return float(np.sqrt(squares.sum()))
    return float(np.sqrt(squares[rows].mean() * len(squares)))


def off_late(made: Any, output: Any, reading: Reading, rows: Any = None) -> float:
    """As :func:`off`, of the decoded positions alone, which are too few to count among all."""
    start = int(reading.spec["decode_from"])
    late = None if rows is None else rows.reshape(output.shape[:-1])[:, start:].ravel()
    if late is not None and not late.any():
        late = None
    return off(made.reshape(output.shape)[:, start:], output[:, start:], late)


def late_noise(reading: Reading, sides: Sides) -> float:
    """The noise of decoded positions of a mixture of experts; 0 where there are none."""
    start = reading.spec.get("decode_from")
    if reading.family != "moe" or not start or sides.output.ndim < 3:
        return 0.0
    if sides.output.shape[1] <= start:
        return 0.0
    rows = sure(reading, sides)
    found = off_late(computed(reading, sides.given), sides.output, reading, rows)
    return max(found, FLOOR * off_late(np.zeros_like(sides.output), sides.output, reading))


def sure(reading: Reading, sides: Sides) -> Any | None:
    """The rows that a mixture of experts routes the same if its scores are rounded otherwise; None
    for all, of other modules."""
    if reading.family != "moe" or "shares_given" in reading.spec:
        return None
    rows = sides.given["x"].reshape(-1, sides.given["x"].shape[-1])
    random = np.random.default_rng(0)
    chosen = np.sort(route(reading.spec, reading.weights, rows)[0], axis=1)
    same = np.ones(len(rows), bool)
    for _ in range(ROUTED_AGAIN):
        noise = 1 + random.uniform(-UNSURE, UNSURE, rows.shape).astype(np.float32)
        other = route(reading.spec, reading.weights, rows * noise)[0]
        same &= (np.sort(other, axis=1) == chosen).all(axis=1)
    return same if same.mean() > 1 - MOST_UNSURE else np.ones(len(rows), bool)


def size(sides: Sides) -> float:
    """Norm of an output."""
    return float(np.linalg.norm(sides.output.astype(np.float64)))


def choose(readings: Iterator[Reading], reference: Sides) -> Reading | None:
    """The reading that reproduces the reference; None where none does."""
    best, chosen = REPRODUCED, None
    whole = size(reference)
    for reading in readings:
        try:
            with np.errstate(all="ignore"):
                off = error(reading, reference) / whole if whole else math.inf
        except FAILURES:
            continue
        if off < best * (1 if chosen is None else 0.5):
            best, chosen = off, reading
        if best < AT_ONCE:
            break
    return chosen


def try_all(module: Module, around: Around, solving: bool = True) -> list[Trial]:
    """R under every hypothesis that makes a difference, best first; one for each hypothesis. Where
    none explains the module, relations of values inside are looked for."""
    memory = Remembered((*module.reading.weights.values(), module.target.given.get("x")))
    given = {**module.target.given, "memory": memory}
    module = module._replace(target=module.target._replace(given=given))
    rows = module.phase.rows if module.phase else slice(None)
    one = Given(module.reading, given, module.target.output, rows, {})
    module = _with_parts(module, one)
    found: list[Trial] = []
    for last in (False, True):
        found.extend(_best_of_each(module, around, one, last))
        if not last and module.prompt is not None and not any(map(_explains, found)):
            found.extend(_of_prompt(module, around, one))
        if solving and not last and not any(trial.r_ratio < EXPLAINS for trial in found):
            found.extend(_solved(module, around))
        if any(_tells(trial) for trial in found):
            break
    # Sorting keeps the order of the file among those that are as good as equal.
    return sorted(found, key=lambda trial: round(trial.r_ratio, 1))


def _best_of_each(module: Module, around: Around, one: Given, last: bool) -> Iterator[Trial]:
    """The best trial of each hypothesis."""
    for hypothesis in all_hypotheses():
        if hypothesis.last is not last:
            continue
        every = itertools.chain(variants(hypothesis, module.reading, around),
                                _looked_for(hypothesis, one))  # fmt: skip
        tried = [trial for variant in every for trial in _try(module, variant)]
        if tried:
            yield min(tried, key=lambda trial: (trial.r_ratio, trial.limited))


def _of_prompt(module: Module, around: Around, one: Given) -> Iterator[Trial]:
    """What explains the prefill alone, of a module that fails while decoding, too: what the cache
    holds may be right there, or wrong in another way."""
    phase = module.prompt
    if phase is None:
        return
    one = one._replace(rows=phase.rows, solved={})
    for trial in _best_of_each(module._replace(phase=phase), around, one, False):
        if trial.limited and _explains(trial):
            yield trial


def _explains(trial: Trial) -> bool:
    return trial.r_ratio < EXPLAINS


def _tells(trial: Trial) -> bool:
    """Whether it explains the module by a cause that has a name."""
    return trial.r_ratio < EXPLAINS and trial.hypothesis.cause != solve.VAGUE


def _solved(module: Module, around: Around) -> Iterator[Trial]:
    """The relations of values inside that explain what no hypothesis does; one of each cause."""
    if not module.alone() > solve.CLEAR:
        return
    told: dict[str, Trial] = {}
    with np.errstate(all="ignore"):
        for one in solve.Solver(module, around, computed).solved():
            mark = marked(one.made, solve.noise_of(module) / math.sqrt(one.made.size))
            trial = Trial(one.hypothesis, one.r_ratio, one.says, one.limited, mark=mark)
            known = told.get(one.hypothesis.cause)
            if known is None or _rank(trial) < _rank(known):
                told[one.hypothesis.cause] = trial
    yield from told.values()


def _rank(trial: Trial) -> tuple[bool, float]:
    return trial.limited, round(trial.r_ratio, 1)


def _looked_for(hypothesis: Hypothesis, one: Given) -> Iterator[Variant]:
    """What the finder of a hypothesis proposes."""
    if not hypothesis.find or not fits(hypothesis, one.reading):
        return
    find = FINDERS[hypothesis.find]
    try:
        with np.errstate(all="ignore"):
            for reading, words in find(one):
                yield Variant(hypothesis, reading, None, words)
    except (*FAILURES, np.linalg.LinAlgError):
        return


def _with_parts(module: Module, one: Given) -> Module:
    """The module with the parts of its output in which alone it fails."""
    output = module.target.output
    if module.rounding is None or output.ndim != 3:
        return module
    try:
        plain = computed(module.reading, module.target.given).reshape(output.shape)
        mixed = None
        parts = list(of_output(output - plain, module.rounding, output, one.rows))
        if module.reading.family == "attention" and (known := heads_of(one)) is not None:
            mixed = mixed_heads(module.reading.spec, module.reading.weights, one.given)
            heads = of_heads(mixed, known[0], one.rows)
            parts = [heads, *parts] if heads is not None else parts
    except (*FAILURES, np.linalg.LinAlgError):
        return module
    module = module._replace(parts=tuple(parts), plain=(plain, mixed))
    if any(part.heads for part in parts):
        return module
    try:
        return module._replace(terms=terms(module.reading, one.given))
    except FAILURES:
        return module


def _try(module: Module, variant: Variant) -> Iterator[Trial]:
    """A hypothesis as it is, in the failing phase alone if that is not enough, and in the failing
    part of the output."""
    best = _measured(module, variant, module.ratio)
    yield best
    where = ""
    if module.phase is not None and not best.r_ratio < EXPLAINS:
        found = _measured(module, variant, module.within)
        where = f", {WHERE[module.phase.name]}"
        if found.r_ratio < min(best.r_ratio, NEAR):
            best = found._replace(limited=True, says=f"{found.says}{where}")
            yield best
    for part in module.parts if not best.r_ratio < EXPLAINS else ():
        found = _measured(module, variant, functools.partial(module.partly, part=part), part)
        if found.r_ratio < EXPLAINS:
            best = found._replace(limited=True, says=f"{found.says}{where}, {part.words}")
            yield best
    if module.terms is not None and variant.fit is None and not best.r_ratio < EXPLAINS:
        yield from _in_shares(module, variant, where)


def _in_shares(module: Module, variant: Variant, where: str) -> Iterator[Trial]:
    """A hypothesis in those parts of the sum in which it holds best."""
    reading, phase = variant.reading, module.phase
    if module.terms is None or reading.family != module.reading.family:
        return
    name, plain = module.terms
    rows = phase.rows if phase else slice(None)
    try:
        with np.errstate(all="ignore"):
            one = limited(reading, module.reading, phase) if phase else reading
            made = terms(one, module.target.given)
            found = None if made is None else shared(
                plain, made[1], name, module.target.output - module.plain[0], rows)  # fmt: skip
    except FAILURES:
        return
    if found is None:
        return
    ratio = float(np.linalg.norm(found.left)) / (phase.noise if phase else module.noise)
    ratio /= module.more(reading) if ratio < NEAR else 1
    if ratio < EXPLAINS:
        words = {"old": shown(variant.old), "new": shown(variant.new)}
        says = f"{variant.hypothesis.says.format(**words)}{where}, {found.words}"
        yield Trial(variant.hypothesis, ratio, says, True, mark=_mark(module, reading))


def _measured(
    module: Module, variant: Variant, measure: Callable[[Reading], float], part: Part | None = None
) -> Trial:
    new, reading = variant.new, variant.reading
    if variant.fit is not None:
        key, low, high = variant.fit
        new = _fitted(lambda value: measure(_with(reading, key, value)), float(variant.old),
                      low, high)  # fmt: skip
        reading = _with(reading, key, new)
    words = {"old": shown(variant.old), "new": shown(new)}
    ratio = measure(reading)
    if ratio < NEAR:
        ratio /= module.more(reading)
    mark = _mark(module, reading, part) if ratio < EXPLAINS else ()
    return Trial(variant.hypothesis, ratio, variant.hypothesis.says.format(**words), mark=mark)


def _mark(module: Module, reading: Reading, part: Part | None = None) -> tuple[float, ...]:
    output, phase = module.target.output, module.phase
    if phase is not None:
        reading = limited(reading, module.reading, phase)
    try:
        made = computed(reading, module.target.given).reshape(output.shape)
    except FAILURES:
        return ()
    if part is not None and not part.heads:
        made = np.where(part.mask, made, module.plain[0])
    made = made[:, phase.rows] if phase is not None else made
    noise = (phase.noise if phase else module.noise) / math.sqrt(made.size)
    return marked(made, noise)


def marked(made: Any, noise: float) -> tuple[float, ...]:
    """Some numbers of an output, in units of the noise of each."""
    flat = made.ravel()
    some = flat[:: max(1, flat.size // MARKS)] / max(noise, 1e-30)
    return tuple(float(each) for each in some)


def alike(one: Trial, other: Trial) -> bool:
    """Whether both give the same output, as far as rounding would tell them apart."""
    if not one.mark or len(one.mark) != len(other.mark):
        return False
    off = np.subtract(one.mark, other.mark)
    return bool(np.sqrt((off * off).mean()) < ALIKE)


def sensitivity(reading: Reading, given: Mapping[str, Any]) -> float:
    """How far an output moves when the input is rounded as BF16 does; 0 where that says nothing."""
    if reading.family in ("embedding", "rotary") or "x" not in given:
        return 0.0
    noise = np.random.default_rng(0).uniform(-JITTER, JITTER, given["x"].shape)
    moved = {**given, "x": (given["x"] * (1 + noise)).astype(np.float32), "memory": None}
    try:
        with np.errstate(all="ignore"):
            off = computed(reading, moved) - computed(reading, given)
    except FAILURES:
        return 0.0
    squares = (off.astype(np.float64) ** 2).reshape(-1, off.shape[-1]).sum(axis=-1)
    # Where the softmax is all but hard, a few rows move much, and the rest not at all.
    middle = np.mean if reading.family == "attention" else np.median
    found = math.sqrt(float(middle(squares)))
    return found if math.isfinite(found) else 0.0


def _with(reading: Reading, key: str, value: float) -> Reading:
    return reading._replace(spec=reading.spec | {key: value})


def _fitted(ratio: Callable[[float], float], old: float, low: float, high: float) -> float:
    """The value with the least R: the best of a grid, then golden sections around it."""
    start, end = math.log(low), math.log(high)
    points = max(GRID, round((end - start) * POINTS))
    step = (end - start) / (points - 1)
    best = min(range(points), key=lambda at: ratio(old * math.exp(start + at * step)))
    left, right = start + (best - 1) * step, start + (best + 1) * step
    share = (math.sqrt(5) - 1) / 2
    for _ in range(STEPS):
        one, two = right - share * (right - left), left + share * (right - left)
        if ratio(old * math.exp(one)) < ratio(old * math.exp(two)):
            right = two
        else:
            left = one
    return old * math.exp((left + right) / 2)


def shown(value: Any) -> str:
    """A setting as a report shows it."""
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e6 and value != int(value) else f"{value:g}"
    if value is None:
        return "none"
    return str(value).lower() if isinstance(value, bool) else str(value)
