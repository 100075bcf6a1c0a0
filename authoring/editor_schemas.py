"""The JSON Schemas of all forms as files for editors, with what they share in one of them.

The file of a form refers to ``definitions.json`` beside it by a relative path, which editors
resolve against the place of the file. A definition that a form has in a version of its own stays in
the file of that form, and so does what refers to it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

SHARED = "definitions.json"
DRAFT = "http://json-schema.org/draft-07/schema#"
_HERE = "#/definitions/"

Schemas = Mapping[str, Mapping[str, Any]]


def schema_files(schemas: Schemas) -> Iterator[tuple[str, str]]:
    """(name, text) of each file, for the schemas of all forms by form."""
    shared = _most_common(each["definitions"] for each in schemas.values())
    for form, schema in schemas.items():
        own = _own(schema["definitions"], shared)
        yield f"{form}.json", _written({**schema, "definitions": own}, shared.keys() - own.keys())
    title = "What the schemas of the forms share"
    yield SHARED, _written({"$schema": DRAFT, "title": title, "definitions": shared}, set())


def _most_common(definitions: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Each definition in the version that most forms have."""
    versions: dict[str, Counter[str]] = {}
    for each in definitions:
        for name, definition in each.items():
            versions.setdefault(name, Counter())[json.dumps(definition)] += 1
    return {n: json.loads(found.most_common(1)[0][0]) for n, found in sorted(versions.items())}


def _own(definitions: Mapping[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
    """The definitions that differ from the shared ones, and those that lead to them."""
    own = {name for name, definition in definitions.items() if definition != shared[name]}
    while more := {n for n, d in definitions.items() if n not in own and own & {*_names_in(d)}}:
        own |= more
    return {name: definitions[name] for name in definitions if name in own}


def _names_in(part: Any) -> Iterator[str]:
    """The names of the definitions that a part of a schema refers to."""
    for name, value in part.items() if isinstance(part, dict) else enumerate(part):
        if name == "$ref":
            yield value.removeprefix(_HERE)
        elif isinstance(value, dict | list):
            yield from _names_in(value)


def _written(schema: Mapping[str, Any], elsewhere: set[str]) -> str:
    """A schema with one line for each definition; those ``elsewhere`` are in the shared file."""
    head = {name: part for name, part in schema.items() if name != "definitions"}
    definitions = f'"definitions": {{\n{_lines(schema["definitions"], elsewhere)}\n}}'
    return f"{{\n{_lines(head, elsewhere)},\n{definitions}\n}}\n"


def _lines(parts: Mapping[str, Any], elsewhere: set[str]) -> str:
    said = {json.dumps(name): _redirected(part, elsewhere) for name, part in parts.items()}
    return ",\n".join(f"{name}:{json.dumps(p, separators=(',', ':'))}" for name, p in said.items())


def _redirected(part: Any, elsewhere: set[str]) -> Any:
    """A part of a schema whose references to what is ``elsewhere`` name the shared file."""
    if isinstance(part, list):
        return [_redirected(each, elsewhere) for each in part]
    if not isinstance(part, dict):
        return part
    found = {name: _redirected(value, elsewhere) for name, value in part.items()}
    target = found.get("$ref")
    if isinstance(target, str) and target.removeprefix(_HERE) in elsewhere:
        found["$ref"] = SHARED + target
    return found
