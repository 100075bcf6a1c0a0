"""The learning rate that the cookbook recommends for a model, from the table beside this module."""

from __future__ import annotations

from ...reading.text.values import json_table


def recommended_rate(model: str | None) -> float | None:
    """The rate for LoRA training; None if the cookbook has no formula for the model."""
    table = json_table(__file__, "learning_rates.json")
    name = (model or "").partition(":")[0]  # a variant such as :peft:262144 has the same size
    size = table["hidden_sizes"].get(name)
    if size is None:
        return None
    exponents = table["exponents"].items()
    exponent: float = next(value for family, value in exponents if family in name.lower())
    start: float = table["base_rate"] * table["lora_factor"]
    rate: float = start * (table["reference_size"] / size) ** exponent
    return rate


def against_recommendation(rate: float, model: str | None) -> dict[str, float]:
    """``recommended`` and ``ratio`` of a ``hyperparameter``; empty without a recommendation."""
    recommended = recommended_rate(model)
    if recommended is None or rate <= 0:
        return {}
    return {"recommended": float(f"{recommended:.3g}"), "ratio": float(f"{rate / recommended:.3g}")}
