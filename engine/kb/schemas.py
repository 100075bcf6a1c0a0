"""JSON Schemas of knowledge files, generated from the models that check them."""

from __future__ import annotations

from typing import Any

from .entries import FILES


def file_schema(form: str) -> dict[str, Any]:
    """The schema of ``modelmedic/<form>/1``."""
    name = f"modelmedic/{form}/1"
    generated = FILES[name].model_json_schema(by_alias=True)
    return {"$id": name, "title": name, **{k: v for k, v in generated.items() if k != "title"}}
