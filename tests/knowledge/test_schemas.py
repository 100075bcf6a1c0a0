"""The JSON Schemas beside the knowledge are those of today's models, and accept the knowledge."""

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import referencing

from modelmedic.authoring.editor_headers import add_headers, with_header
from modelmedic.authoring.editor_schemas import SHARED, schema_files
from modelmedic.engine.compiler.source.schemas import FORMS, file_schema, names_of
from modelmedic.facts.strict_yaml import load
from modelmedic.interfaces.cli.kb.schema import FORMS as EVERY_FORM

PUBLIC = "report-1.json"


@pytest.fixture(scope="module")
def names(built):
    return names_of(built)


@pytest.fixture(scope="module")
def files(names) -> dict[str, Any]:
    """The files that editors read, by name."""
    written = schema_files({form: file_schema(form, names) for form in EVERY_FORM})
    return {name: json.loads(text) for name, text in written}


def validator_of(files: dict[str, Any], form: str) -> jsonschema.Draft7Validator:
    """The check of an editor on a file: the schema of its form, and the file it refers to."""
    shared = referencing.Resource.from_contents(files[SHARED])
    registry = referencing.Registry().with_resource(SHARED, shared)
    return jsonschema.Draft7Validator(files[f"{form}.json"], registry=registry)


def without_ids(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without names, which change with every new entry and attribute."""
    kept = {
        n: {**d, "allOf": []} if "allOf" in d else d
        for n, d in schema["definitions"].items()
        if not n.endswith("-id") and not n.startswith(("where-", "fact-"))
    }
    if "Case" in kept:
        kept["Case"] = copy.deepcopy(kept["Case"])
        kept["Case"]["properties"]["facts"].pop("items", None)
    return {**schema, "definitions": kept}


def test_the_committed_schemas_are_up_to_date(root: Path, files) -> None:
    folder = root / "knowledge" / "schemas"
    committed = {path.name: json.loads(path.read_text("utf-8")) for path in folder.iterdir()}
    assert {*committed} == {*files, PUBLIC}
    for name, today in files.items():
        assert without_ids(committed[name]) == without_ids(today), f"{name}: run: make pages"
        suggested = {n for n in committed[name]["definitions"] if n.endswith("-id")}
        assert suggested == {n for n in today["definitions"] if n.endswith("-id")}


@pytest.mark.parametrize("form", EVERY_FORM)
def test_the_files_say_what_the_whole_schema_says(names, files, form: str) -> None:
    def whole(part: Any) -> Any:
        if isinstance(part, list):
            return [whole(each) for each in part]
        if not isinstance(part, dict):
            return part
        said = {name: whole(value) for name, value in part.items()}
        if "$ref" in said:
            assert said["$ref"].removeprefix(SHARED) in declared
            said["$ref"] = said["$ref"].removeprefix(SHARED)
        return said

    schema, shared = files[f"{form}.json"], files[SHARED]["definitions"]
    own = schema["definitions"]
    declared = {f"#/definitions/{name}" for name in (*own, *shared)}
    wanted = file_schema(form, names)
    definitions = {name: own.get(name, shared[name]) for name in wanted["definitions"]}
    assert whole({**schema, "definitions": definitions}) == wanted


def test_the_public_schema_of_reports_stands_alone(root: Path) -> None:
    text = (root / "knowledge" / "schemas" / PUBLIC).read_text("utf-8")
    assert SHARED not in text


@pytest.mark.parametrize("form", FORMS)
def test_the_schema_is_sound_and_says_what_every_field_is(names, form: str) -> None:
    schema = file_schema(form, names)
    jsonschema.Draft7Validator.check_schema(schema)
    assert "$defs" not in json.dumps(schema)
    for name, part in {form: schema, **schema["definitions"]}.items():
        if name.startswith(("where-", "fact-", "tested-")):
            continue  # what the vocabulary knows
        for field, declared in part.get("properties", {}).items():
            assert declared.get("description"), f"{name}.{field} has no description"


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS)
def test_shipped_files_of_the_form_are_valid(
    root: Path, names, files, form: str, pytestconfig: pytest.Config
) -> None:
    """Every ninth; all of them with --deep. The shortest as an editor does it, by the files."""
    validator = jsonschema.Draft7Validator(file_schema(form, names))
    vocabulary = [*root.glob("facts/vocabulary/*.yaml"), *root.glob("probes/*/probe.yaml")]
    knowledge = [*root.glob("knowledge/**/*.yaml"), *root.glob("probes/replay/*.yaml")]
    checked = 0
    head = f"schema: modelmedic/{form}/1"
    texts = {
        p: p.read_text(encoding="utf-8")
        for p in (vocabulary if form == "vocabulary" else knowledge)
    }
    of_form = sorted(path for path, text in texts.items() if head in text)
    shortest = min(of_form, key=lambda path: len(texts[path]))
    assert validator_of(files, form).is_valid(load(texts[shortest], shortest.name).data)
    for path in of_form[:: 1 if pytestconfig.getoption("deep") else 9]:
        data = load(texts[path], path.name).data
        if data["schema"] == f"modelmedic/{form}/1":
            checked += 1
            problems = [f"{path.name}: {e.message[:200]}" for e in validator.iter_errors(data)]
            assert not problems
    assert checked


def test_examples_of_fields_are_values_that_they_take(names) -> None:
    for form in FORMS:
        schema = file_schema(form, names)
        for name, part in {form: schema, **schema["definitions"]}.items():
            for field, declared in part.get("properties", {}).items():
                root = {**declared, "definitions": schema["definitions"]}
                for example in declared.get("examples", []):
                    found = jsonschema.Draft7Validator(root).iter_errors(example)
                    assert not [e.message for e in found], f"{name}.{field}: {example!r}"


def test_every_shipped_file_names_its_schema(root: Path) -> None:
    schemas = root / "knowledge" / "schemas"
    files = ("knowledge/**/*.yaml", "facts/vocabulary/*.yaml", "probes/*/*.yaml")
    wrong = [
        str(path.relative_to(root))
        for pattern in files
        for path in root.glob(pattern)
        if with_header(path, text := path.read_text(encoding="utf-8"), schemas) != text
        or not text.startswith("# yaml-language-server: $schema=../")
    ]
    assert not wrong, "run: make pages"


def test_headers_are_mended_and_nothing_else_is_touched(root: Path, tmp_path: Path) -> None:
    schemas = root / "knowledge" / "schemas"
    body = "schema: modelmedic/rules/1\ndomain: d\nrules: []\n"
    files = {
        "new.yaml": body,
        "moved.yaml": "# yaml-language-server: $schema=../elsewhere.json\n" + body,
        "other.yaml": "schema: something\n",
        "broken.yaml": "a: [\n",
        "list.yaml": "- 1\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert add_headers([tmp_path], schemas) == 2
    assert add_headers([tmp_path], schemas) == 0
    for name, text in files.items():
        now = (tmp_path / name).read_text()
        if name in ("new.yaml", "moved.yaml"):
            first, rest = now.split("\n", 1)
            assert rest == body
            target = first.removeprefix("# yaml-language-server: $schema=")
            assert (tmp_path / target).resolve() == schemas / "rules.json"
        else:
            assert now == text


def test_real_ids_are_suggested(names) -> None:
    suggested = file_schema("rules", names)["definitions"]
    assert "tinker.perf.slow-steps" in suggested["diagnosis-id"]["enum"]
    assert "package" in suggested["kind-id"]["enum"]


@pytest.mark.parametrize(
    "broken",
    [
        {"id": "a.b"},
        {"id": "a.b", "title": "T", "when": {"fact": "package"}, "mesage": "x"},
        {"id": "a.b", "title": "T", "when": {"fact": "package"}, "status": "new"},
        {"id": "a.b", "title": "T", "when": {"fakt": "package"}},
        {"id": "a.b", "title": "T", "when": {"fact": "package"}, "conclude": [{"strength": 1}]},
    ],
)
def test_a_schema_refuses_what_the_loader_refuses(files, broken) -> None:
    document = {"schema": "modelmedic/rules/1", "domain": "d", "rules": [broken]}
    assert not validator_of(files, "rules").is_valid(document)
