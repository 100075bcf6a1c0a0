"""The JSON Schemas beside the knowledge are those of today's models, and accept the knowledge."""

import json
from pathlib import Path

import jsonschema
import pytest

from modelmedic.engine.kb.schemas import file_schema
from modelmedic.facts.strict_yaml import load

FORMS = ("diagnoses", "rules", "errors", "trees", "classifications", "tests")


@pytest.mark.parametrize("form", FORMS)
def test_the_committed_schema_is_up_to_date(root: Path, form: str) -> None:
    committed = json.loads((root / f"knowledge/schemas/{form}.json").read_text(encoding="utf-8"))
    assert committed == file_schema(form), f"run: diagnose kb schema {form}"


@pytest.mark.parametrize("form", FORMS)
def test_every_shipped_file_of_the_form_is_valid(root: Path, form: str) -> None:
    validator = jsonschema.Draft202012Validator(file_schema(form))
    checked = 0
    for path in sorted((root / "knowledge").rglob("*.yaml")):
        data = load(path.read_text(encoding="utf-8"), path.name).data
        if data["schema"] == f"modelmedic/{form}/1":
            checked += 1
            problems = [f"{path.name}: {e.message[:200]}" for e in validator.iter_errors(data)]
            assert not problems
    assert checked


def test_a_schema_refuses_what_the_loader_refuses() -> None:
    broken = {"schema": "modelmedic/rules/1", "domain": "d", "rules": [{"id": "a.b"}]}
    validator = jsonschema.Draft202012Validator(file_schema("rules"))
    assert not validator.is_valid(broken)
