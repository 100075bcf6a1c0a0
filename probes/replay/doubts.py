"""Evidence against a cause that explains a module: tensors around its parts are wrong as well, or a
fitted value leaves more than rounding."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterable
from typing import Any

from ...reading.tensors import np
from ...reading.tensors.captures import Run
from .hypotheses import Hypothesis
from .modules import EXPLAINS, Module, Trial, computed

_PART = re.compile(r"(?:.*\.)?([qkv])_proj\Z|(?:.*\.)?w([qkv])\Z", re.ASCII)
_ELSEWHERE = Hypothesis("elsewhere", "computed-otherwise", ("linear",), "", {}, {}, (), {})
OTHERWISE = "the module around it computes something else too with what this part gives"
LEFT = 0.005
"""Share of the error, in squares, that a fitted value may leave. A change of another kind that it
comes near to leaves more; those of 113 firm and right causes left less."""
ROUNDING = 1.15
"""R that any explanation may leave, if sound modules have one."""
SAYS = (
    "a value was looked for, and the best one leaves more than rounding: it may be something near"
)

TIE = "only some tokens are wrong: their experts may have been chosen by a near tie"
ROUNDED = "precision-ordering"
WRONG, SOME = 3.0, 0.5
"""R of a wrong token, and the share of tokens that few bits would make wrong."""


def differs(module: Module, names: Iterable[str], run: Run, limit: float) -> bool:
    """Whether attention differs from the reference with the queries, keys and values that its
    projections gave in the target. The part that is missing in one of them may have been added
    after it."""
    parts: dict[str, Any] = {}
    for name in names:
        found = _PART.match(name)
        values = run.get(f"{module.name}.{name}", "out") if found else None
        if found and values is not None:
            parts[f"{found[1] or found[2]}.given"] = values
    if len(parts) < 3:
        return False

    def edit(node: str, value: Any) -> Any:
        known = parts.get(node)
        return known if known is not None and known.shape == value.shape else value

    reading = module.reading
    return not module.ratio(reading._replace(spec=reading.spec | {"edit": edit})) < limit


def of_bias(trials: tuple[Trial, ...]) -> tuple[Trial, ...]:
    """Mark the trials of a part as unsure if the best one blames its bias."""
    best = trials[0] if trials else None
    if best is None or not best.r_ratio < EXPLAINS or not best.hypothesis.cause.startswith("bias"):
        return trials
    return (trials[0], trials[0]._replace(hypothesis=_ELSEWHERE, says=OTHERWISE), *trials[1:])


def usual(ratios: Iterable[float]) -> float:
    """The usual R of the sound modules of a run, at least one: sums of ranks and other orders of
    rounding raise it in all of them."""
    known = list(ratios)
    return max(1.0, statistics.median(known)) if known else 1.0


def with_doubt(
    trials: tuple[Trial, ...], sound: float, plain: float, module: Module | None = None
) -> tuple[Trial, ...]:
    """Mark the best trial as unsure if its numbers were fitted and it still leaves more than
    rounding and a little of the error (R of the module is ``plain``): any smooth change has some
    value that comes near to the error."""
    limit = max(ROUNDING * sound, math.sqrt(sound * sound + LEFT * plain * plain))
    best = min(trials, key=lambda trial: trial.r_ratio, default=None)
    if best is None or not best.r_ratio < EXPLAINS:
        return trials
    says = SAYS if best.r_ratio > limit and _chooses(best.hypothesis) else ""
    says = says or (TIE if module and _of_near_ties(module, best.hypothesis) else "")
    if not says:
        return trials
    near = Hypothesis("something-near", "computed-otherwise", best.hypothesis.families, says,
                      {}, {}, (), {})  # fmt: skip
    return (trials[0], best._replace(hypothesis=near, says=says), *trials[1:])


def _of_near_ties(module: Module, hypothesis: Hypothesis) -> bool:
    """Whether a format of few bits explains an error that only some tokens of a mixture of
    experts have. Few bits move every token; a near tie of the router moves only the tokens that
    have one."""
    if module.reading.family != "moe" or hypothesis.cause != ROUNDED:
        return False
    output = module.target.output
    left = computed(module.reading, module.target.given).reshape(output.shape) - output
    rows = np.linalg.norm(left.reshape(-1, output.shape[-1]).astype(np.float64), axis=-1)
    return float((rows * math.sqrt(len(rows)) > WRONG * module.noise).mean()) < SOME


def _chooses(hypothesis: Hypothesis) -> bool:
    """Whether a hypothesis fits its numbers: a fitted value, whole numbers that are all tried, or
    many that are read off."""
    whole = any(" .. " in str(value) for value in hypothesis.settings.values())
    return bool(hypothesis.fit) or hypothesis.last or whole
