"""A module of the target, and how far it is from what it should compute under a reading.

R of a module alone = ||target - f(input of target)|| / ||ref_bf16 - f(input of ref_bf16)||, where f
computes in float32 with the weights of the reference. Faults before the module are in its input, so
they do not count.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ...reading.tensors import np
from .failing_parts import Part
from .formula.feedforward import route
from .formula.few_bits import stored, weight_in
from .formula.formulas import FORMULAS
from .hypotheses import Hypothesis, Variant
from .phases import Phase, error_within, limited
from .spec import Reading

FLOOR = 5e-4
"""Least noise that is allowed for, relative to the output: a copy has none."""
ROUTED_AGAIN, UNSURE, MOST_UNSURE = 6, 2.0**-5, 0.6
"""Number of times that a router is tried with rounded inputs, the error of these, and the largest
share of rows that may then be routed otherwise."""
EXPLAINS = 1.8
"""Same value as in the rules: a hypothesis with this R or more explains nothing."""
FAILURES = (ValueError, IndexError, KeyError, ArithmeticError, TypeError)
NEAR = 30.0
"""R from which on a hypothesis is not examined more closely."""
MOST_SENSITIVE = 50.0
JITTER = 2.0**-8
ROUNDED_TWICE = 1.4
"""How much larger the rounding of a table is that is rounded once more."""
MARKS, ALIKE = 256, 0.5
"""Numbers of an output that are compared, and how far they may be off, in units of the noise."""
COPIED = 2.0**-10
"""Error of rounding a product to BF16, relative to the product."""


MOST_NUMBERS = 1 << 32
"""Budget of numbers (weights and values) for trials of parts and phases of one module: a tiny
module is tried in full, one of billions only as far as the budget allows."""
TOWARDS = 0.05
"""Cosine of a hypothesis's change with the error, from which attention is tried in parts: if only
one of the heads is affected, its share of the error is smaller than this."""


class Work:
    """Budget of computations of a module beyond once for each hypothesis. It is a count, so that
    the same captures have the same answer on every machine."""

    def __init__(self, left: int) -> None:
        self.left = left

    def take(self) -> bool:
        """Take one computation from the budget; false if it is used up."""
        self.left -= self.left > 0
        return self.left > 0


class Sides(NamedTuple):
    """The inputs and the output of a module in one run."""

    given: Mapping[str, Any]
    output: Any


class Trial(NamedTuple):
    """R of a module under a hypothesis, in the words of its entry. It is ``limited`` if it explains
    the module only if it is about a single phase; ``source`` is the module whose output it takes
    for its input."""

    hypothesis: Hypothesis
    r_ratio: float
    says: str
    limited: bool = False
    source: str = ""
    mark: tuple[float, ...] = ()
    """Some numbers of the output under it, in units of its noise; trials with the same output share
    them."""


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
    work: Work = Work(0)

    def ratio(self, reading: Reading) -> float:
        """R under another reading; infinite if it cannot be computed. If few positions may be
        routed otherwise, the larger one of R of all and of those that are decoded (``late``)."""

        def measure() -> float:
            made = computed(reading, self.target.given)
            rows = sure(reading, self.target)
            found = off(made, self.target.output, rows) / self.noise
            if not self.late:
                return found
            return max(found, off_late(made, self.target.output, reading, rows) / self.late)

        return self._tried(measure)

    def there(self, reading: Reading) -> Reading:
        """A reading in the phase in which the module fails."""
        phase, memory = self.phase, self.target.given.get("memory")
        if phase is None:
            return reading
        if memory is None:
            return limited(reading, self.reading, phase)
        found: Reading = memory.again(
            "there", (reading, phase), lambda: limited(reading, self.reading, phase))  # fmt: skip
        return found

    def within(self, reading: Reading) -> float:
        """Like :meth:`ratio`, for the phase in which the module fails."""
        phase = self.phase
        if phase is None:
            return math.inf
        one = self.there(reading)
        return self._tried(lambda: error_within(
            computed(one, self.target.given), self.target.output, phase))  # fmt: skip

    def counted(self, reading: Reading) -> float:
        """Like :meth:`within`, as long as the budget of work lasts."""
        return self.within(reading) if self.work.take() else math.inf

    def goes(self, variant: Variant) -> bool:
        """Whether a hypothesis moves the output of attention towards the target, so that it may
        hold in a part; unknown if it fits a value."""
        if self.plain is None or self.reading.family != "attention" or variant.fit is not None:
            return True

        def measure() -> float:
            rows = self.phase.rows if self.phase else slice(None)
            made = computed(self.there(variant.reading), self.target.given)
            moved = made.reshape(self.plain[0].shape)[:, rows] - self.plain[0][:, rows]
            wrong = self.target.output[:, rows] - self.plain[0][:, rows]
            whole = float(np.linalg.norm(moved)) * float(np.linalg.norm(wrong))
            return float((moved * wrong).sum()) / whole if whole else 0.0

        found = self._tried(measure)
        return math.isinf(found) or found > TOWARDS

    def partly(self, reading: Reading, part: Part) -> float:
        """Like :meth:`ratio`, if the module is correct except for one part, in the phase in which
        it fails."""
        reading = self.there(reading)
        noise = self.phase.noise if self.phase else self.noise
        rows = self.phase.rows if self.phase else slice(None)

        def measure() -> float:
            if not self.work.take():
                return math.inf
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
        """R of the correct module. If an earlier mistake makes its input larger, its rounding is
        larger too."""
        return self.ratio(self.reading) / self.more(self.reading)

    def more(self, reading: Reading) -> float:
        """The factor by which a reading amplifies rounding, relative to the low-precision
        reference: the rounding of its input, and that of its output, which grows with it."""
        if reading.family in ("embedding", "logits"):  # some only copy, which rounds nothing
            more = COPIED * (2 if reading.spec.get("summed") else 1)
            return max(1.0, more * size(self.target) / self.noise)
        if reading.family == "rotary" and reading.spec is not self.reading.spec:
            return ROUNDED_TWICE
        if not self.usual or not self.whole:
            return 1.0
        found = sensitivity(reading, self.target.given) / self.usual
        return max(1.0, min(MOST_SENSITIVE, found), self.larger())

    def larger(self) -> float:
        """The factor by which the output, and so its rounding, is larger than that of the
        low-precision reference. A large factor counts only if most tokens have it: a single
        diverging token does not count."""
        if not self.whole:
            return 1.0
        output = self.target.output
        tokens = np.linalg.norm(output.reshape(-1, output.shape[-1]).astype(np.float64), axis=-1)
        usual = float(np.median(tokens)) * math.sqrt(len(tokens)) / self.whole
        whole = size(self.target) / self.whole
        return max(1.0, min(MOST_SENSITIVE, whole), min(whole, usual))


def work_on(module: Module) -> Work:
    """The budget of trials in phases and parts of a module."""
    numbers = sum(int(each.size) for each in module.reading.weights.values())
    return Work(MOST_NUMBERS // max(1, numbers + 16 * int(module.target.output.size)))


def computed(reading: Reading, given: Mapping[str, Any]) -> Any:
    """Compute the output of a module under a reading."""
    if (other := reading.spec.get("other_input")) is not None:
        given = {**given, "x": other, "memory": None}
    if name := reading.spec.get("weight_bits"):
        reading = reading._replace(spec=reading.spec | {"weight_bits": None}, weights={
            key: weight_in(each, name) if each.ndim > 1 and "router" not in key else each
            for key, each in reading.weights.items()})  # fmt: skip
    if name := reading.spec.get("in_format"):
        if reading.spec.get("inside_too"):
            more = {"product_format": name, "rounded_parts": "m", "parts_format": name}
            reading = reading._replace(spec=reading.spec | more)
        x = stored(given["x"], name, reading.spec.get("decode_from"))
        given = {**given, "x": x, "memory": None}
    if (memory := given.get("memory")) is None:
        return FORMULAS[reading.family](reading.spec, reading.weights, given)
    return memory.again("computed", (reading, given), lambda: FORMULAS[reading.family](
        reading.spec, reading.weights, given))  # fmt: skip


def error(reading: Reading, sides: Sides) -> float:
    """Norm of the difference between a run and the formula."""
    return off(computed(reading, sides.given), sides.output, sure(reading, sides))


def off(made: Any, output: Any, rows: Any = None) -> float:
    """Norm of the difference between an output and the computed values, scaled to all rows if only
    some count."""
    left = (made.reshape(output.shape) - output).astype(np.float64)
    squares = (left * left).reshape(-1, left.shape[-1]).sum(axis=-1)
    if rows is None:
        return float(np.sqrt(squares.sum()))
    return float(np.sqrt(squares[rows].mean() * len(squares)))


def off_late(made: Any, output: Any, reading: Reading, rows: Any = None) -> float:
    """Like :func:`off`, for the decoded positions alone, which are too few to count among all."""
    start = int(reading.spec["decode_from"])
    late = None if rows is None else rows.reshape(output.shape[:-1])[:, start:].ravel()
    if late is not None and not late.any():
        late = None
    return off(made.reshape(output.shape)[:, start:], output[:, start:], late)


def late_noise(reading: Reading, sides: Sides) -> float:
    """The noise of decoded positions of a mixture of experts; 0 if there are none."""
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


def marked(made: Any, noise: float) -> tuple[float, ...]:
    """Some numbers of an output, in units of the noise of each."""
    flat = made.ravel()
    some = flat[:: max(1, flat.size // MARKS)] / max(noise, 1e-30)
    return tuple(float(each) for each in some)


def alike(one: Trial, other: Trial) -> bool:
    """Whether both trials give the same output, within rounding."""
    if not one.mark or len(one.mark) != len(other.mark):
        return False
    off = np.subtract(one.mark, other.mark)
    return bool(np.sqrt((off * off).mean()) < ALIKE)


def sensitivity(reading: Reading, given: Mapping[str, Any]) -> float:
    """The change of an output when the input is rounded to BF16; 0 if it is meaningless."""
    if reading.family in ("embedding", "rotary") or "x" not in given:
        return 0.0
    try:
        with np.errstate(all="ignore"):
            off = computed(reading, _moved(given)) - computed(reading, given)
    except FAILURES:
        return 0.0
    squares = (off.astype(np.float64) ** 2).reshape(-1, off.shape[-1]).sum(axis=-1)
    # If the softmax is all but hard, a few rows move much, and the rest not at all.
    middle = np.mean if reading.family == "attention" else np.median
    found = math.sqrt(float(middle(squares)))
    return found if math.isfinite(found) else 0.0


def _moved(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Round the inputs of a module to BF16; always the same way."""
    memory = given.get("memory")

    def make() -> Mapping[str, Any]:
        noise = np.random.default_rng(0).uniform(-JITTER, JITTER, given["x"].shape)
        x = (given["x"] * (1 + noise)).astype(np.float32)
        return {**given, "x": x, "memory": None if memory is None else memory.like(x)}

    found: Mapping[str, Any] = make() if memory is None else memory.again("moved", (given,), make)
    return found
