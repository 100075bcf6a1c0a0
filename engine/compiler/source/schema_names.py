"""Adds the names in use to the JSON Schemas for editors: kinds, attributes, values, ids. `diagnose
kb lint` checks what a schema cannot.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ....facts import Attribute, Kind, Vocabulary

if TYPE_CHECKING:
    from ..build import Built

_FORMS = ("diagnosis", "rule", "error", "tree", "classification")
_SECTIONS = ("diagnoses", "rules", "errors", "trees", "classifications")
_REFERENCE = {"type": "string", "pattern": "^[$@][A-Za-z]"}
_LINEAR = {"type": "string", "not": {"pattern": r"\(\?(=|!|<=|<!)|\\[1-9]"}}
_VERSION = {"type": "string", "maxLength": 100, "not": {"pattern": r"^\s*[<>=!~^]|[,*]"}}
_EVENTS = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": dict.fromkeys(("introduced", "fixed", "last_affected"), _VERSION),
        "additionalProperties": False,
    },
}
_TEXT = {"type": "string"}
_TEXTUAL = ("string", "text", "path", "version")
_PLAIN: dict[str, dict[str, Any]] = {
    "boolean": {"type": "boolean"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "version": _VERSION,
}
_SPELLED_OUT = [
    *("sec", "secs", "second", "seconds", "millisecond", "milliseconds", "minute", "minutes"),
    *("hour", "hours", "byte", "bytes", "kilobyte", "kilobytes", "megabyte", "megabytes"),
    *("gigabyte", "gigabytes", "terabyte", "terabytes", "kb", "mb", "gb", "tb", "percent"),
]
"""Units that have a symbol."""


class Names(NamedTuple):
    """The ids in use by form, and the vocabulary."""

    ids: Mapping[str, Iterable[str]]
    vocabulary: Vocabulary

    def of(self, what: str) -> dict[str, Any]:
        """The schema of a name: one of those in use."""
        if what == "entry":
            found = [name for form in _FORMS for name in self.ids[form]]
        elif what == "kind":
            found = [*self.vocabulary.kinds]
        elif what == "probe":
            found = [*self.vocabulary.probes, ""]
        elif what == "symptom":
            found = [*(self.vocabulary.kinds["symptom"].attributes["name"].values or ())]
        else:
            found = [*self.ids[what]]
        return {"type": "string", "enum": sorted(found)}


def names_of(built: Built) -> Names:
    """The names in use, even if there are problems."""
    ids: dict[str, list[str]] = {form: [] for form in _FORMS}
    for item in built.source.items:
        ids[item.form].append(item.id)
    return Names(ids, built.vocabulary)


def add_facts(definitions: Mapping[str, Any], names: Names) -> dict[str, Any]:
    """Let patterns and cases hold what the vocabulary knows; returns further definitions."""
    kinds = names.vocabulary.kinds
    found: dict[str, Any] = {}
    for model in ("Pattern", "SeriesSource"):
        if model in definitions:
            found |= {f"where-{name}": _where(kind) for name, kind in kinds.items()}
            found |= _by_type("Diagnosis" in definitions) | _listed(kinds.values())
            definitions[model]["allOf"] = [
                _if({"fact": name}, {"properties": {"where": _to(f"where-{name}")}})
                for name in kinds
            ]
    if "Case" in definitions:
        found |= {f"fact-{name}": _fact(kind) for name, kind in kinds.items()}
        facts = [_if({"kind": name}, _to(f"fact-{name}")) for name in kinds]
        definitions["Case"]["properties"]["facts"]["items"] = {
            "type": "object",
            "required": ["kind"],
            "properties": {"kind": _to("kind-id")},
            "allOf": facts,
        }
        found["kind-id"] = names.of("kind")
    if "QuestionDeclaration" in definitions:
        definitions["QuestionDeclaration"]["allOf"] = list(_questions(kinds.values()))
    if "Parameter" in definitions:
        definitions["Parameter"]["properties"]["unit"]["not"] = {"enum": _SPELLED_OUT}
    return found


def add_laws(definitions: Mapping[str, Any]) -> None:
    """The schema of every file, without the names in use."""
    if "Node" in definitions:
        definitions["Node"]["properties"]["branches"]["required"] = ["unknown"]
    if "ErrorMatch" in definitions:
        for name in ("pattern", "not_pattern"):
            definitions["ErrorMatch"]["properties"][name] |= _LINEAR
    for schema in definitions.values():
        for section in _SECTIONS:
            if {section, "sources"} <= schema.get("properties", {}).keys():
                schema["anyOf"] = [
                    {"required": ["sources"], "properties": {"sources": {"minItems": 1}}},
                    {"properties": {section: {"items": {"required": ["sources"]}}}},
                ]


def _if(constants: Mapping[str, str], then: Mapping[str, Any]) -> dict[str, Any]:
    wanted = {name: {"const": value} for name, value in constants.items()}
    return {"if": {"properties": wanted, "required": [*wanted]}, "then": then}


def _to(name: str) -> dict[str, Any]:
    return {"$ref": f"#/definitions/{name}"}


def _where(kind: Kind) -> dict[str, Any]:
    """The tests that a pattern on a kind may hold."""
    tests = {name: _tested(kind, attribute) for name, attribute in kind.attributes.items()}
    return {"type": "object", "properties": tests, "additionalProperties": False}


def _tested(kind: Kind, attribute: Attribute) -> dict[str, Any]:
    """A value or a test of an attribute."""
    if attribute.values:
        return _to(f"where-{kind.name}.{attribute.name}")
    return _to(f"tested-{attribute.type if attribute.type in _PLAIN else 'text'}")


def _listed(kinds: Iterable[Kind]) -> dict[str, Any]:
    """The tests that a pattern may have for attributes with listed values; each list occurs
    once."""
    found: dict[str, Any] = {}
    for kind in kinds:
        for attribute in kind.attributes.values():
            if attribute.values:
                name = f"where-{kind.name}.{attribute.name}"
                value = _to(f"{name}-value")
                found[f"{name}-value"] = {"enum": [*attribute.values]}
                found[name] = {"anyOf": [value, _REFERENCE, _test(attribute, value)]}
    return found


def _by_type(free: bool) -> dict[str, Any]:
    """The tests that a pattern may have for an attribute without listed values, by type. Unless
    bounds are ``free``, those of measured numbers are parameters."""
    kinds = {*_PLAIN, "text"}
    return {
        f"tested-{name}": {"anyOf": [_value(a), _REFERENCE, _test(a, _value(a), free)]}
        for name in sorted(kinds)
        for a in (Attribute("", name),)
    }


def _value(attribute: Attribute) -> dict[str, Any]:
    if attribute.values:
        return {"enum": [*attribute.values]}
    return {**_PLAIN.get(attribute.type, _TEXT)}


def _test(attribute: Attribute, value: dict[str, Any], free: bool = False) -> dict[str, Any]:
    same: dict[str, Any] = {"anyOf": [value, _REFERENCE]}
    several = {"type": "array", "minItems": 1, "items": value}
    tests: dict[str, Any] = {"eq": same, "ne": same, "in": several, "not_in": several}
    if attribute.type == "number" and not free:  # any other number is a parameter, with an origin
        bound: dict[str, Any] | None = {"anyOf": [{"enum": [0, 1]}, _REFERENCE]}
    else:
        bound = same if attribute.type in ("integer", "number", "version") else None
    if bound is not None:
        tests |= dict.fromkeys(("lt", "le", "gt", "ge"), bound)
    if attribute.type in _TEXTUAL:
        tests |= {"contains": _TEXT, "matches": _LINEAR, "not_matches": _LINEAR}
    if attribute.type == "version":
        tests |= {"affected": _EVENTS, "prerelease": {"type": "boolean"}}
    tests |= {"known": {"const": True}, "bind": {"type": "string", "pattern": "^[$]"}}
    return {"type": "object", "properties": tests, "additionalProperties": False}


def _fact(kind: Kind) -> dict[str, Any]:
    """A fact of a kind, as cases give it."""
    values = {name: _value(attribute) for name, attribute in kind.attributes.items()}
    return {
        "properties": {"kind": {}, "provenance": {}, **values},
        "required": [a.name for a in kind.attributes.values() if a.required],
        "additionalProperties": False,
    }


def _questions(kinds: Iterable[Kind]) -> Iterator[dict[str, Any]]:
    """A question fixes what else makes a fact of its kind."""
    for kind in kinds:
        for attribute in kind.attributes.values():
            if attribute.required:
                asked = _if({"kind": kind.name}, {})
                asked["if"]["properties"]["attribute"] = {"not": {"const": attribute.name}}
                asked["then"] = {
                    "required": ["where"],
                    "properties": {"where": {"required": [attribute.name]}},
                }
                yield asked
