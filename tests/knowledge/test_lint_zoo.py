"""The problem of every broken file of the zoo is reported, at the line marked `# <- CODE`.

Each file is added alone to the sound knowledge beside it. A file is exact about its problems, but
for the missing cases and conclusions of an entry that is there to be broken.
"""

import re
from pathlib import Path

import pytest

from modelmedic.authoring.lint import lint
from modelmedic.engine.compiler.build import build
from modelmedic.engine.compiler.knowledge_base import shipped_layer
from modelmedic.engine.compiler.store.files import read_folder
from modelmedic.facts import ModelMedicError
from modelmedic.probes.messages.probe import read_messages

ROOT = Path(__file__).resolve().parents[2]
ZOO = Path(__file__).with_name("zoo")
BROKEN = sorted((ZOO / "broken").glob("*.yaml"))
VOCABULARY = sorted((ZOO / "vocabulary").glob("*.yaml"))
SPEAK_FOR_THEMSELVES = {"MM210", "MM220"}  # what pydantic says of a value
UNFINISHED = {"MM268", "MM269", "MM288"}
"""No case shows the entry, nothing concludes the diagnosis, no message names the number."""


@pytest.fixture(scope="module")
def sound():
    """Vocabulary and knowledge that nothing is wrong with."""
    shipped, _ = shipped_layer(tests=False).texts()
    return [*shipped, *read_folder(ZOO / "sound" / "vocabulary")], [
        (name, text) for name, text in read_folder(ZOO / "sound") if "/vocabulary/" not in name
    ]


def found(vocabulary, knowledge):
    try:
        built = build(vocabulary, knowledge, tests=True)
    except ModelMedicError as error:
        return list(error.problems)
    return lint(built, lambda text: read_messages(text, built.vocabulary).facts)


def marked(text):
    """(line, code) of every mark."""
    return {
        (number, code)
        for number, line in enumerate(text.splitlines(), 1)
        for mark in re.findall(r"# <-((?: MM[0-9]{3})+)", line)
        for code in mark.split()
    }


def compare(path, problems):
    wanted = marked(path.read_text())
    ignored = UNFINISHED - {code for _, code in wanted}
    seen = {(p.where.line, p.code) for p in problems if p.code not in ignored}
    assert {p.where.path for p in problems} <= {f"zoo/{path.name}"}, problems
    assert seen == wanted, "\n".join(map(str, problems))
    assert all(p.hint for p in problems if p.code not in SPEAK_FOR_THEMSELVES)


def test_the_sound_knowledge_has_no_problem(sound):
    assert found(*sound) == []


@pytest.mark.parametrize("path", BROKEN, ids=lambda path: path.stem)
def test_broken_knowledge_is_told_what_is_wrong(sound, path):
    vocabulary, knowledge = sound
    compare(path, found(vocabulary, [*knowledge, (f"zoo/{path.name}", path.read_text())]))


@pytest.mark.parametrize("path", VOCABULARY, ids=lambda path: path.stem)
def test_broken_vocabulary_is_told_what_is_wrong(sound, path):
    vocabulary, knowledge = sound
    compare(path, found([*vocabulary, (f"zoo/{path.name}", path.read_text())], knowledge))


def test_the_zoo_is_large():
    assert len(BROKEN) + len(VOCABULARY) >= 60
    assert not [p.name for p in [*BROKEN, *VOCABULARY] if not marked(p.read_text())]


def test_one_file_gets_the_problems_that_it_has_in_the_whole(sound):
    vocabulary, knowledge = sound
    broken = [(f"zoo/{path.name}", path.read_text()) for path in BROKEN]
    built = build(vocabulary, [*knowledge, *broken], tests=True)

    def decode(text):
        return read_messages(text, built.vocabulary).facts

    whole = lint(built, decode)
    for name, _ in broken[::7]:
        own = [p for p in whole if p.where and p.where.path == name]
        assert lint(built, decode, wanted=name.__eq__) == own, name
    assert len(whole) > len(BROKEN)
