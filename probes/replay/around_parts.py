"""Whether what is around the parts of a module is right, given what the parts give."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from .captures import Run
from .hypotheses import Hypothesis
from .modules import EXPLAINS, Module, Trial

_PART = re.compile(r"(?:.*\.)?([qkv])_proj\Z|(?:.*\.)?w([qkv])\Z", re.ASCII)
_ELSEWHERE = Hypothesis("elsewhere", "computed-otherwise", ("linear",), "", {}, {}, (), {})
SAYS = "the module around it computes something else too with what this part gives"


def differs(module: Module, names: Iterable[str], run: Run, limit: float) -> bool:
    """Whether attention differs from the reference with the queries, keys and values that its
    projections gave in the target. What one lacks may have come behind it."""
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


def with_doubt(trials: tuple[Trial, ...]) -> tuple[Trial, ...]:
    """Trials of a part that tell of its bias, of which none is sure any more."""
    best = trials[0] if trials else None
    if best is None or not best.r_ratio < EXPLAINS or not best.hypothesis.cause.startswith("bias"):
        return trials
    return (trials[0], trials[0]._replace(hypothesis=_ELSEWHERE, says=SAYS), *trials[1:])
