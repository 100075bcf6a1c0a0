"""JSON Schemas (draft-07) of knowledge files for editors, generated from the models.

Editors read draft-07. With the names in use, a schema knows which kinds there are, which attributes
each has and which values they take, and all ids, see :mod:`.schema_names`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ....facts.declarations import VocabularyFile
from ....facts.strict_models import Strict
from ....facts.strict_yaml import load
from .entries import FILES
from .hypotheses_file import HypothesesFile
from .issues import IssuesFile
from .lexicon_file import LexiconFile
from .overlay_file import OverlayFile
from .relations_file import RelationsFile
from .schema_names import Names, add_facts, add_laws, names_of
from .tested import TestedFile

__all__ = ["FORMS", "Names", "field_doc", "file_model", "file_schema", "names_of"]

FORMS = (
    *("diagnoses", "rules", "errors", "trees", "classifications", "issues"),
    *("tested", "tests", "vocabulary", "hypotheses", "relations"),
)

_NAMED = {
    "Conclusion": {"diagnosis": "diagnosis", "fact": "kind"},
    "Diagnosis": {"explains": "diagnosis"},
    "Rule": {"rules_out": "diagnosis"},
    "Cause": {"diagnosis": "diagnosis"},
    "ErrorMatch": {"refines": "error", "alongside": "error"},
    "Issue": {"explains": "diagnosis"},
    "Branch": {"conclude": "diagnosis", "rules_out": "diagnosis", "tree": "tree"},
    "Node": {"probe": "probe"},
    "Symptom": {"name": "symptom"},
    "LexiconTopic": {"symptom": "symptom", "diagnosis": "diagnosis"},
    "Band": {"rules_out": "diagnosis"},
    "Pattern": {"fact": "kind"},
    "SeriesSource": {"fact": "kind"},
    "DiagnosisHolds": {"diagnosis": "diagnosis"},
    "BandHolds": {"band": "classification"},
    "Expectation": dict.fromkeys(
        ("diagnoses", "first", "concludes", "silent", "ruled_out", "conflicting"), "diagnosis"
    ),
    "Case": {"entry": "entry"},
    "Silence": {"id": "entry"},
    "Tightening": {"id": "entry"},
    "Change": {"id": "entry"},
    "KindDeclaration": {"probes": "probe"},
    "ProbeDeclaration": {"gathers": "kind"},
    "QuestionDeclaration": {"kind": "kind"},
}


def file_model(form: str) -> type[Strict]:
    """The model of ``modelmedic/<form>/1``."""
    others: dict[str, type[Strict]] = {
        "vocabulary": VocabularyFile,
        "overlay": OverlayFile,
        "lexicon": LexiconFile,
        "issues": IssuesFile,
        "tested": TestedFile,
        "hypotheses": HypothesesFile,
        "relations": RelationsFile,
    }
    return others.get(form) or FILES[f"modelmedic/{form}/1"]


def file_schema(form: str, names: Names | None = None) -> dict[str, Any]:
    """The schema of ``modelmedic/<form>/1``; ``names`` are suggested where ids are expected."""
    model = file_model(form)
    generated = model.model_json_schema(by_alias=True, ref_template="#/definitions/{model}")
    definitions = generated.pop("$defs", {})
    for name, schema in {model.__name__: generated, **definitions}.items():
        _describe(name, schema)
        if names:
            _restrict(schema, _NAMED.get(name, {}))
    if names:
        used = {what for fields in _NAMED.values() for what in fields.values()}
        definitions |= {f"{what}-id": names.of(what) for what in sorted(used)}
        every = {model.__name__: generated, **definitions}
        definitions |= add_facts(every, names)
        add_laws(every)
    generated.pop("title", None)
    about = {"$schema": "http://json-schema.org/draft-07/schema#", "title": f"modelmedic/{form}/1"}
    return {**about, **generated, "definitions": dict(sorted(definitions.items()))}


def field_doc(model: str, field: str) -> tuple[str, list[Any]]:
    """(description, examples) of a field of a model, or of what it inherits from."""
    known = _field_docs()
    for name in (model, *_INHERITED.get(model, ())):
        entry = known.get(name, {}).get(field) or known.get(name, {}).get(f"{field}_")
        if entry:
            return entry.get("text", ""), entry.get("examples", [])
    return "", []


_ENTRIES = ("Diagnosis", "Rule", "ErrorEntry", "Tree", "Classification")
_TABLES = ("DiagnosesFile", "RulesFile", "ErrorsFile", "TreesFile", "ClassificationsFile")
_INHERITED = {
    **dict.fromkeys(_ENTRIES, ("Envelope",)),
    **dict.fromkeys((*_TABLES, "TestsFile", "IssuesFile", "TestedFile"), ("_File",)),
    "Issue": ("Diagnosis", "Envelope"),
    "IssueMessage": ("ErrorEntry",),
}


@cache
def _field_docs() -> dict[str, Any]:
    path = Path(__file__).with_name("field_docs.yaml")
    data: dict[str, Any] = load(path.read_text(encoding="utf-8"), path.name).data
    return data


def _describe(model: str, schema: dict[str, Any]) -> None:
    for name, field in schema.get("properties", {}).items():
        text, examples = field_doc(model, name)
        if "$ref" in field:  # in draft-07 nothing counts beside a reference
            field["allOf"] = [{"$ref": field.pop("$ref")}]
        field.pop("title", None)
        if text:
            field.setdefault("description", text)
        if examples:
            field["examples"] = examples


def _restrict(schema: dict[str, Any], named: Mapping[str, str]) -> None:
    """Let every text in the named properties be one of the ids in use."""
    for field, what in named.items():
        _replace_texts(schema["properties"][field], {"$ref": f"#/definitions/{what}-id"})


def _replace_texts(schema: dict[str, Any], by: dict[str, Any]) -> None:
    parts = schema.get("anyOf", [])
    if schema.get("type") == "string":
        schema.pop("type")
        schema["allOf"] = [by]
    elif schema.get("type") == "array":
        schema["items"] = by
    for number, part in enumerate(parts):
        if part.get("type") == "string":
            parts[number] = by
        else:
            _replace_texts(part, by)
