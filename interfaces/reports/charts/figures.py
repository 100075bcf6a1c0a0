"""Figures of facts, and how charts write them."""

from __future__ import annotations

from ....facts import Fact


def number(fact: Fact, name: str) -> float | None:
    """An attribute as a number; None if the fact does not have it."""
    value = fact.get(name)
    return None if value is None else float(str(value))


def percent(share: float) -> str:
    """``98.9 %``."""
    return f"{100 * share:.1f} %"


def seconds(value: float | None) -> str:
    """A time in the unit that suits it; empty if it is not known."""
    if value is None:
        return ""
    if value >= 1 or value == 0:
        return f"{value:.3g} s" if value < 1e4 else f"{value:,.0f} s"
    return f"{1e3 * value:.3g} ms" if value >= 1e-4 else f"{1e6 * value:.3g} us"
