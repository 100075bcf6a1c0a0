"""Typical mistakes of a maintainer: each is the first thing that is said, at its line, with advice.

:file:`mistakes/sound` is an overlay with nothing wrong; each other folder holds what differs.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import jsonschema
import pytest

from modelmedic.authoring.lint import lint
from modelmedic.engine.compiler.build import build
from modelmedic.engine.compiler.knowledge_base import shipped_layer
from modelmedic.engine.compiler.source.schemas import file_schema, names_of
from modelmedic.engine.compiler.store.files import read_folder
from modelmedic.facts import ModelMedicError
from modelmedic.facts.strict_yaml import load
from modelmedic.probes.messages.probe import read_messages

MISTAKES = Path(__file__).with_name("mistakes")
_LIST = MISTAKES / "mistakes.yaml"
EXPECTED = load(_LIST.read_text(encoding="utf-8"), _LIST.name).data["mistakes"]
AFTER_ALL_DAYS = "9999-99-99"


@cache
def read(text, path):
    return load(text, path)


def texts(name):
    """The overlay with one mistake, by path, as an overlay named ``acme``."""
    found = dict(read_folder(MISTAKES / "sound"))
    changed = dict(read_folder(MISTAKES / name))
    both = found | {path.replace(f"{name}/", "sound/", 1): text for path, text in changed.items()}
    return {path.replace("sound/", "acme/", 1): text for path, text in both.items()}


def built_of(name):
    vocabulary, _ = shipped_layer(tests=False).texts()
    every = texts(name).items()
    own = [file for file in every if "/vocabulary/" in file[0]]
    overlay = own, [file for file in every if "/vocabulary/" not in file[0]]
    below = read_folder(MISTAKES / "below")
    return build(vocabulary, below, [overlay], today=AFTER_ALL_DAYS, tests=True, read=read)


def problems_of(name):
    try:
        built = built_of(name)
    except ModelMedicError as error:
        return list(error.problems)
    found = lint(built, lambda text: read_messages(text, built.vocabulary).facts)
    return [p for p in found if p.where and p.where.path.startswith("acme/")]


def test_without_a_mistake_nothing_is_said():
    assert problems_of("sound") == []


@pytest.mark.parametrize("name", EXPECTED)
def test_a_mistake_is_named_first_at_its_line_with_advice(name):
    expected = EXPECTED[name]
    first, *others = problems_of(name)
    place = (f"acme/{expected['file']}", expected["line"], expected["code"])
    assert (first.where.path, first.where.line, first.code) == place
    assert expected["advice"] in f"{first.message} {first.hint}"
    assert first.hint
    assert len(others) < 4, "consequences hide the cause"


def test_there_are_thirty_and_each_folder_is_one():
    folders = {path.name for path in MISTAKES.iterdir() if path.is_dir()} - {"sound", "below"}
    assert folders == set(EXPECTED)
    assert len(EXPECTED) >= 30


@pytest.fixture(scope="module")
def schemas():
    """The schemas as an editor has them: made from the overlay before the mistake."""
    names = names_of(built_of("sound"))
    forms = ("rules", "errors", "trees", "diagnoses", "classifications", "tests", "vocabulary")
    return {
        f"modelmedic/{form}/1": jsonschema.Draft7Validator(file_schema(form, names))
        for form in (*forms, "overlay")
    }


def complaints(schemas, path, text):
    """The problems that an editor underlines; "" for a text that is not YAML."""
    try:
        data = load(text, path).data
    except ModelMedicError:
        return [""]
    form = data["schema"]
    return [error.message for error in schemas[form].iter_errors(data)]


def test_an_editor_finds_nothing_where_nothing_is_wrong(schemas):
    for path, text in texts("sound").items():
        assert complaints(schemas, path, text) == [], path


@pytest.mark.parametrize("name", EXPECTED)
def test_the_schema_shows_what_a_schema_can_show(schemas, name):
    expected = EXPECTED[name]
    path = f"acme/{expected['file']}"
    shown = any(complaints(schemas, path, texts(name)[path]))
    assert shown == expected["editor"]


def test_most_mistakes_are_caught_in_the_editor():
    assert sum(expected["editor"] for expected in EXPECTED.values()) >= 20
