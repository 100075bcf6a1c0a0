"""The JSON Schema (draft-07) of facts files, from the vocabulary."""

from __future__ import annotations

from typing import Any

from .fact_file import SCHEMA
from .kinds import MAX_STRING, MAX_TEXT, Attribute, Kind, Vocabulary

_TYPES = {"integer": "integer", "number": "number", "boolean": "boolean"}


def facts_schema(vocabulary: Vocabulary) -> dict[str, Any]:
    """Accepts what :func:`.fact_file.parse_facts` accepts (but for duplicate keys and NaN)."""
    kinds = [k for k in sorted(vocabulary.kinds.values(), key=lambda k: k.name) if not k.derived]
    facts = {"type": "array", "items": {"$ref": "#/definitions/fact"}}
    document = {
        "type": "object",
        "properties": {"schema": {"const": SCHEMA}, "note": {}, "facts": facts},
        "required": ["schema", "facts"],
        "additionalProperties": False,
    }
    provenance = {
        "type": "object",
        "properties": {
            name: {"type": "string", "maxLength": MAX_STRING}
            for name in ("source", "location", "at", "certainty")
        },
        "additionalProperties": False,
    }
    several = {"anyOf": [provenance, {"type": "array", "items": provenance}]}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "ModelMedic facts",
        "anyOf": [document, facts],
        "definitions": {
            "provenance": several,
            "fact": {"oneOf": [_kind(kind) for kind in kinds]},
        },
    }


def _kind(kind: Kind) -> dict[str, Any]:
    properties: dict[str, Any] = {
        "kind": {"const": kind.name},
        "provenance": {"$ref": "#/definitions/provenance"},
    }
    properties |= {name: _attribute(a) for name, a in kind.attributes.items()}
    required = [a.name for a in kind.attributes.values() if a.required]
    return {
        "title": kind.name,
        "description": kind.description,
        "type": "object",
        "properties": properties,
        "required": ["kind", *required],
        "additionalProperties": False,
    }


def _attribute(attribute: Attribute) -> dict[str, Any]:
    unit = f" Unit: {attribute.unit}." if attribute.unit else ""
    schema: dict[str, Any] = {
        "type": _TYPES.get(attribute.type, "string"),
        "description": attribute.description + unit,
    }
    if schema["type"] == "string":
        schema["maxLength"] = MAX_TEXT if attribute.type == "text" else MAX_STRING
    if attribute.values is not None:
        schema["enum"] = list(attribute.values)
    if attribute.minimum is not None:
        schema["minimum"] = attribute.minimum
    if attribute.maximum is not None:
        schema["maximum"] = attribute.maximum
    return schema
