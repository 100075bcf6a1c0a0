"""Computes a module of the target under each hypothesis, from its own input."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

from ...reading.tensors import np
from .failing_parts import Part, of_heads, of_output
from .finding.given import Given
from .finding.masks import heads_of
from .finding.registry import FINDERS
from .formula.attention import mixed_heads
from .formula.remembered import Remembered
from .hypotheses import Hypothesis, Variant, all_hypotheses, fits, variants
from .modules import (
    EXPLAINS,
    FAILURES,
    NEAR,
    Module,
    Sides,
    Trial,
    computed,
    error,
    marked,
    size,
    work_on,
)
from .phases import WHERE
from .shares import shared, terms
from .solving import solve
from .spec import Reading
from .weight_orders import Around

REPRODUCED = 5e-4
"""Relative error up to which a formula is that of the reference."""
AT_ONCE = 5e-6
WHOLE_ONLY = ("weights-not-loaded",)
"""Causes that are not tried in parts: a zero part may be a rank that is missing in the sum."""
LOST = 0.02
"""Share of a value up to which a fitted factor means that the value is lost."""
NEARER = 0.9
"""Largest share of the error that a hypothesis may leave for its larger rounding to be allowed for:
else anything is explained by rounding alone."""
MUCH = 10.0
"""R of a module from which on a larger output is examined for its size as well."""
GRID, STEPS = 25, 18
"""Points of a grid, at least, and steps of the search around the best one."""
POINTS = 3.2
"""Points of a grid for each factor of e."""


def choose(readings: Iterator[Reading], reference: Sides) -> Reading | None:
    """The reading that reproduces the reference; None if none does."""
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


def try_all(
    module: Module, around: Around, solving: bool = True, prompt: bool = True
) -> list[Trial]:
    """R under every hypothesis that makes a difference, best first; one for each hypothesis. If no
    hypothesis explains the module, search for relations of values inside (``solving``), and for
    causes in the ``prompt`` alone."""
    memory = Remembered((*module.reading.weights.values(), module.target.given.get("x")))
    given = {**module.target.given, "memory": memory}
    module = module._replace(target=module.target._replace(given=given), work=work_on(module))
    rows = module.phase.rows if module.phase else slice(None)
    one = Given(module.reading, given, module.target.output, rows, {})
    if solving:
        module = _with_parts(module, one)
    found: list[Trial] = []
    for last in (False, True):
        found.extend(_best_of_each(module, around, one, last))
        if not last and prompt and module.prompt is not None and not any(map(_explains, found)):
            found.extend(_of_prompt(module, around, one))
        if solving and not last and not any(trial.r_ratio < EXPLAINS for trial in found):
            found.extend(_solved(module, around))
        if any(_tells(trial) for trial in found):
            break
    # Sorting keeps the order of the file among those that are as good as equal.
    return sorted(found, key=lambda trial: round(trial.r_ratio, 1))


def _best_of_each(module: Module, around: Around, one: Given, last: bool) -> Iterator[Trial]:
    """The best trial of each hypothesis."""
    alone = module.alone()
    for hypothesis in all_hypotheses():
        if hypothesis.last is not last or alone > hypothesis.below:
            continue
        every = itertools.chain(variants(hypothesis, module.reading, around),
                                _looked_for(hypothesis, one))  # fmt: skip
        tried = [trial for variant in every for trial in _try(module, variant)]
        if tried:
            # Among equally good trials, one that holds everywhere.
            yield min(tried, key=lambda trial: (round(trial.r_ratio, 1), trial.limited,
                                                trial.r_ratio))  # fmt: skip


def _of_prompt(module: Module, around: Around, one: Given) -> Iterator[Trial]:
    """Explain the prefill alone for a module that also fails while decoding: the cache may be right
    there, or wrong in another way."""
    phase = module.prompt
    if phase is None:
        return
    one = one._replace(rows=phase.rows, solved={})
    module = module._replace(phase=phase, parts=(), terms=None)
    alone = module.alone()
    for hypothesis in all_hypotheses():
        every = () if hypothesis.last or alone > hypothesis.below else itertools.chain(
            variants(hypothesis, module.reading, around), _looked_for(hypothesis, one))  # fmt: skip
        tried = [trial for variant in every for trial in _in_phase(module, variant)]
        if tried:
            yield min(tried, key=lambda trial: trial.r_ratio)


def _in_phase(module: Module, variant: Variant) -> Iterator[Trial]:
    """A hypothesis that explains a phase and nothing else; that it does not explain all of the
    module is known, unless a finder read it off again."""
    if not module.work.left:
        return
    if not _explains(_measured(module, variant, module.counted)):
        return
    yield from (trial for trial in _try(module, variant) if trial.limited and _explains(trial))


def _explains(trial: Trial) -> bool:
    return trial.r_ratio < EXPLAINS


def _tells(trial: Trial) -> bool:
    """Whether a trial explains the module by a named cause."""
    return trial.r_ratio < EXPLAINS and trial.hypothesis.cause != solve.VAGUE


def _solved(module: Module, around: Around) -> Iterator[Trial]:
    """The relations of values inside a module that no hypothesis explains; one of each cause."""
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
    """Yield the proposals of a hypothesis's finder."""
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
    """The module with the parts of its output to which its failure is limited."""
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
    """Try a hypothesis for the whole module, for the failing phase alone if that is not enough, and
    for the failing part of the output."""
    best = _measured(module, variant, module.ratio)
    yield best
    where = ""
    if module.phase is not None and not best.r_ratio < EXPLAINS:
        found = _measured(module, variant, module.within)
        where = f", {WHERE[module.phase.name]}"
        if found.r_ratio < min(best.r_ratio, NEAR):
            best = found._replace(limited=True, says=f"{found.says}{where}")
            yield best
    if variant.hypothesis.cause in WHOLE_ONLY:
        return
    if best.r_ratio < EXPLAINS or not module.goes(variant):
        return
    for part in module.parts:
        found = _measured(module, variant, functools.partial(module.partly, part=part), part)
        if found.r_ratio < EXPLAINS:
            best = found._replace(limited=True, says=f"{found.says}{where}, {part.words}")
            yield best
    if module.terms is not None and variant.fit is None and not best.r_ratio < EXPLAINS:
        yield from _in_shares(module, variant, where)


def _in_shares(module: Module, variant: Variant, where: str) -> Iterator[Trial]:
    """Try a hypothesis in those parts of the sum in which it holds best."""
    reading, phase = variant.reading, module.phase
    if module.terms is None or reading.family != module.reading.family:
        return
    if not module.work.take():
        return
    name, plain = module.terms
    rows = phase.rows if phase else slice(None)
    try:
        with np.errstate(all="ignore"):
            one = module.there(reading)
            made = terms(one, module.target.given)
            found = None if made is None else shared(
                plain, made[1], name, module.target.output - module.plain[0], rows)  # fmt: skip
    except FAILURES:
        return
    if found is None:
        return
    noise = phase.noise if phase else module.noise
    ratio = float(np.linalg.norm(found.left)) / noise
    if ratio < NEAR:
        wrong = (module.target.output - module.plain[0])[:, rows]
        ratio = _beside_rounding(
            module, reading, ratio, lambda: float(np.linalg.norm(wrong)) / noise)  # fmt: skip
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
    lost = part is not None and variant.fit is not None and abs(new) < LOST * abs(variant.old)
    ratio = math.inf if lost else measure(reading)
    if ratio < NEAR or (ratio < NEAR * module.larger() and module.alone() > MUCH):
        ratio = _beside_rounding(module, reading, ratio, lambda: measure(module.reading))
    mark = _mark(module, reading, part) if ratio < EXPLAINS else ()
    return Trial(variant.hypothesis, ratio, variant.hypothesis.says.format(**words), mark=mark)


def _beside_rounding(
    module: Module, reading: Reading, ratio: float, plain: Callable[[], float]
) -> float:
    """R without the rounding that a reading amplifies, if the output comes nearer by it."""
    more = module.more(reading)
    if more > 1 and not ratio < NEARER * plain():
        more = min(more, module.more(module.reading))
    return ratio / more


def _mark(module: Module, reading: Reading, part: Part | None = None) -> tuple[float, ...]:
    output, phase = module.target.output, module.phase
    try:
        made = computed(module.there(reading), module.target.given).reshape(output.shape)
    except FAILURES:
        return ()
    if part is not None and not part.heads:
        made = np.where(part.mask, made, module.plain[0])
    made = made[:, phase.rows] if phase is not None else made
    noise = (phase.noise if phase else module.noise) / math.sqrt(made.size)
    return marked(made, noise)


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
