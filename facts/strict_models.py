"""Checks plain YAML data against pydantic models and names the place of each problem."""

from __future__ import annotations

import re
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from .problems import Problem, did_you_mean, excerpt, shortened
from .strict_yaml import Document, Path

MAX_PROBLEMS = 100  # of one file
_CODE = re.compile(r"MM[0-9]{3}")
_NUMBER = re.compile(r"[-+]?[0-9.]+([eE][-+]?[0-9]+)?")
_YES_NO = frozenset({"yes", "no", "on", "off", "y", "n"})

Model = TypeVar("Model", bound=BaseModel)

_ADVICE = {
    "missing": "add it",
    "extra_forbidden": "remove it or mend the spelling",
    "literal_error": "write one of these words",
    "string_type": "put it in quotes if text is meant",
    "MM254": "add it: not everybody knows every answer",
}


class Strict(BaseModel):
    """Base of all declarations: no unknown keys, no silent conversion, frozen."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


def check(document: Document, model: type[Model], code: str) -> tuple[Model | None, list[Problem]]:
    """The model, or None with one problem for each place that breaks it."""
    try:
        return model.model_validate(document.data), []
    except ValidationError as error:
        items = error.errors()
        found = [_problem(document, model, code, item) for item in items[:MAX_PROBLEMS]]
        if len(items) > MAX_PROBLEMS:
            message = f"{len(items) - MAX_PROBLEMS:,} more problems in this file"
            found.append(Problem(code, message, document.where(), "solve the ones above first"))
        return None, list(dict.fromkeys(found))


def _problem(document: Document, model: type[BaseModel], code: str, item: Any) -> Problem:
    path = _known_path(document.data, item["loc"])
    name = str(item["loc"][-1]) if item["loc"] else "the document"
    kind = item["type"]
    if kind == "missing":
        message = f"{_spell(path)}the field {name!r} is missing"
    elif kind == "extra_forbidden":
        message = f"{_spell(path[:-1])}there is no field {name!r}"
    else:
        message = f"{_spell(path)}{item['msg'].removeprefix('Value error, ')}"
        if not isinstance(item.get("input"), (dict, list)):
            message += f" (found {excerpt(item.get('input'))})"
    hint = _trap(kind, item.get("input")) or _ADVICE.get(kind, "")
    if kind == "extra_forbidden":
        hint = did_you_mean(name, _all_fields(model) - {name}) or _moved(document, path) or hint
    elif kind == "missing" and (meant := _meaning(model, name)):
        hint = f"{hint}: {meant}"
    own = _CODE.fullmatch(kind)  # a check of ours that has a code of its own
    return Problem(kind if own else code, shortened(message), document.where(path), hint)


def _trap(kind: str, value: Any) -> str:
    """A hint for values that YAML reads as another type than was meant."""
    if kind == "bool_type" and str(value).lower() in _YES_NO:
        return f"{value} is text in YAML 1.2: write true or false"
    if kind in ("int_type", "float_type") and isinstance(value, str) and _NUMBER.fullmatch(value):
        return "a number in quotes is text: remove the quotes"
    if kind == "string_type" and isinstance(value, float):
        return f"without quotes it is the number {value!r}: put it in quotes"
    return ""


def _moved(document: Document, path: Path) -> str:
    """A hint for a test of an attribute that is written next to the kind of the fact."""
    inside: Any = document.data
    for part in path[:-1]:
        inside = inside[part]
    name = path[-1] if path else ""
    beside = isinstance(inside, dict) and {"fact"} <= inside.keys() and "set" not in inside
    return f"tests of attributes stand one level deeper, under 'where': {name}" if beside else ""


def _meaning(model: type[BaseModel], name: str) -> str:
    """The description of a field, if all fields of that name have the same."""
    schema = model.model_json_schema()
    parts = (schema, *schema.get("$defs", {}).values())
    fields = [part["properties"][name] for part in parts if name in part.get("properties", {})]
    said = {field.get("description", "") for field in fields}
    return said.pop() if len(said) == 1 else ""


def _known_path(data: Any, loc: tuple[int | str, ...]) -> Path:
    """The part of a pydantic location that exists in the data. Tags of unions are skipped, also
    those that are named like a key of the data."""
    path: list[str | int] = []
    for part, following in zip(loc, (*loc[1:], None), strict=False):
        if not _has(data, part):
            continue
        if following is not None and _has(data, following) and not _has(data[part], following):
            continue
        data = data[part]
        path.append(part)
    return tuple(path)


def _has(data: Any, part: Any) -> bool:
    if isinstance(data, dict):
        return part in data
    return isinstance(data, list) and isinstance(part, int) and part < len(data)


def _spell(path: Path) -> str:
    return ".".join(str(part) for part in path) + ": " if path else ""


def _all_fields(model: type[BaseModel]) -> set[str]:
    """Every field name that the schema of ``model`` knows, at any depth."""
    schema = model.model_json_schema()
    names: set[str] = set()
    for part in (schema, *schema.get("$defs", {}).values()):
        names.update(part.get("properties", {}))
    return names
