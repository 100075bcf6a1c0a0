"""By what the product of the matrices of a LoRA module is multiplied: alpha / r, with PEFT's
exceptions for single modules (``rank_pattern``, ``alpha_pattern``) and its square-root rule."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

MAX_PATTERNS = 10_000
MAX_PATTERN = 1_000
MAX_EXPRESSIONS = 200
_PLAIN = re.compile(r"[\w.-]+")
_PREFIX = "base_model.model."


class Scales:
    """The scales of an adapter's modules, from its configuration."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._rank, self._alpha = number(config.get("r")), number(config.get("lora_alpha"))
        self.stabilised = config.get("use_rslora") is True
        self._ranks = _Patterns(config.get("rank_pattern"))
        self._alphas = _Patterns(config.get("alpha_pattern"))

    def of(self, module: str, rows: int) -> tuple[float, float, str]:
        """The scale of a module whose first matrix has so many rows, the scale that it would have
        without patterns, and the patterns that name it (rank, alpha, both, or empty)."""
        rank, alpha = self._rank, self._alpha
        if rank is None or alpha is None:
            return 1.0, 1.0, ""
        plain = self._scale(rank, alpha)
        name = module.removeprefix(_PREFIX)
        # The matrices tell the rank better than a pattern does.
        own_rank = float(rows) if self._ranks else rank
        own_alpha = self._alphas.value(name) or alpha
        other_alpha = "alpha" if own_alpha != alpha else ""
        kind = other_alpha if own_rank == rank else "both" if other_alpha else "rank"
        return self._scale(own_rank, own_alpha), plain, kind

    def _scale(self, rank: float, alpha: float) -> float:
        return alpha / (math.sqrt(rank) if self.stabilised else rank)


class _Patterns:
    """Values by name, as PEFT reads them: a key is an expression that fits the end of a name."""

    def __init__(self, entries: Any) -> None:
        found = entries if isinstance(entries, dict) else {}
        self._values = {key: value for key, text in list(found.items())[:MAX_PATTERNS]
                        if isinstance(key, str) and len(key) <= MAX_PATTERN
                        and (value := number(text)) is not None}  # fmt: skip
        self._compiled: list[tuple[Any, float]] | None = None

    def __bool__(self) -> bool:
        return bool(self._values)

    def value(self, module: str) -> float | None:
        """The value of the first key that fits, or None."""
        if not self._values:
            return None
        end = module
        while end:  # a key that is a plain ending needs no search through the others
            if end in self._values:
                return self._values[end]
            end = end.partition(".")[2]
        if self._compiled is None:
            self._compiled = list(_compiled(self._values))
        return next((value for fits, value in self._compiled if fits(module)), None)


def _compiled(values: Mapping[str, float]) -> list[tuple[Any, float]]:
    """Expressions in RE2, which takes linear time; plain names are left out."""
    import re2

    options = re2.Options()
    options.log_errors = False
    options.max_mem = 1 << 20
    found = []
    keys = [key for key in values if not _PLAIN.fullmatch(key)]
    for key in keys[:MAX_EXPRESSIONS]:
        try:
            found.append((re2.compile(rf"(?:.*\.)?(?:{key})", options).fullmatch, values[key]))
        except re2.error:
            continue
    return found


def number(value: Any) -> float | None:
    """A positive number of ordinary size, or None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if 0 < value < 1e9 else None
