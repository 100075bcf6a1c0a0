"""Overlays on stored knowledge give the same as when they are compiled together with it."""

from __future__ import annotations

import json
from functools import cache
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modelmedic.engine.compiler import knowledge_base
from modelmedic.engine.compiler.build import build, ordered
from modelmedic.engine.compiler.knowledge_base import KnowledgeBase, shipped_layer
from modelmedic.engine.compiler.overlaid import laid_over
from modelmedic.engine.compiler.store.compiled import decode, encode
from modelmedic.engine.compiler.store.files import read_folder
from modelmedic.engine.inference.derivation import Work
from modelmedic.facts import ModelMedicError
from modelmedic.facts.strict_yaml import load

HERE = Path(__file__).parent
BELOW = HERE / "below" / "knowledge"
CASES = {path.stem: load(path.read_text("utf-8"), path.name).data
         for path in (HERE / "overlay_cases").glob("*.yaml")}  # fmt: skip
BROKEN = {name: {f"{name}.yaml": text} for name, text in CASES.pop("broken")["broken"].items()}
OVERLAYS = {name: case["overlay"] for name, case in CASES.items()} | BROKEN
ENTRIES = load((HERE / "entries_of_overlays.yaml").read_text("utf-8"), "entries").data
read = cache(load)


@cache
def vocabulary():
    return shipped_layer(tests=False, knowledge=False).texts()[0]


def together(below, *overlays):
    """The stored form of what is compiled as a whole, or its problems."""
    built = build(vocabulary(), below, [([], texts) for texts in overlays], read=read)
    return ordered(built.problems) or encode(built.compiled)


def upon(content, texts):
    """The stored form of what is laid over another one, or its problems."""
    try:
        return laid_over(content, 0, texts, work=Work())
    except ModelMedicError as error:
        return list(error.problems)


def meaning(content):
    """Compiled knowledge whatever its patterns are numbered."""
    compiled = decode(content)
    program, index = compiled.program, compiled.program.network

    def shown(mode, number, *rest):
        if mode != "aggregate":
            return repr((mode, program.patterns[number], *rest))
        counted = program.aggregates[number]
        return repr((mode, program.patterns[counted.pattern], counted[1:], *rest))

    rules = [
        (
            rule._replace(literals=(), waits=()),
            [shown(*literal) for literal in rule.literals],
            sorted(shown(*signal) for signal in rule.waits),
        )
        for rule in program.rules
    ]
    waiting = {
        shown(mode, number): sorted(index.uses[mode, number])
        for number in range(len(program.patterns))
        for mode in ("match", "refuted")
        if index.uses[mode, number]
    }
    used = {x.pattern for rule in program.rules for x in rule.literals if x.mode != "aggregate"}
    used |= {counted.pattern for counted in program.aggregates}
    found = []
    for table in index.alpha.values():
        found += [(number, "") for number in table.general]
        for name, values in table.by_value.items():
            found += [(n, f"{name} {value}") for value, ns in values.items() for n in ns]
        for name, pieces in table.by_text.items():
            found += [(n, f"{name} {x}") for y, ns in pieces.items() for x, n in ns if y in x]
    return {
        "rules": repr(rules),
        "waiting": waiting,
        "found": sorted((repr(program.patterns[n]), at) for n, at in found if n in used),
        "concluding": {name: [*numbers] for name, numbers in index.concluding.items()},
        "needed": [{repr(program.patterns[n]) for n in each}
                   for each in (index.blocking, index.refutable)],
        "always": [*index.always_ready],
        "rest": [program.strata, index.concluded, compiled.validity, compiled.verified],
        "causes": {**compiled.causes},
        "catalogue": {name: json.dumps({**part}) for name, part in compiled.catalogue.items()
                      if name != "beginnings"},
        "beginnings": {**compiled.catalogue["beginnings"]},
        "overlays": json.dumps(compiled.overlays),
    }  # fmt: skip


def assert_same(content, below, texts):
    """Says whether the overlay alone was enough."""
    laid, whole = upon(content, texts), together(below, texts)
    if isinstance(laid, bytes) and isinstance(whole, bytes):
        assert meaning(laid) == meaning(whole)
    else:
        assert laid is None or laid == whole
    return laid is not None


@pytest.mark.parametrize("name", sorted(OVERLAYS))
def test_overlays(name):
    below = read_folder(BELOW, tests=False)
    texts = [(f"acme/{path}", text) for path, text in OVERLAYS[name].items() if "/" not in path]
    alone = assert_same(together(below), below, texts)
    assert alone or any(word in name for word in ("replace", "tighten", "renamed"))


def test_the_same_whether_something_was_stored_before(folder, monkeypatch, tmp_path):
    monkeypatch.setattr(knowledge_base, "SHIPPED_KNOWLEDGE", str(BELOW))
    overlay = folder("acme", OVERLAYS["add"])
    rules = overlay / "rules.yaml"
    for word in ("variable", "name", "value"):
        rules.write_text(rules.read_text("utf-8").replace("variable", word), "utf-8")
        for cache_folder in ("kept", word):
            KnowledgeBase.load([overlay], cache=tmp_path / cache_folder)
        for new in (tmp_path / word).glob("knowledge-*"):
            assert new.read_bytes() == (tmp_path / "kept" / new.name).read_bytes()


def files(entries, word):
    """The files of an overlay that holds some entries, in which ``WORD`` stands for a word."""
    found = []
    for section, same in groupby(sorted(entries, key=lambda e: e[0]), key=lambda e: e[0]):
        head = {"schema": f"modelmedic/{section}/1", "domain": "acme", "sources": [{"ref": "x"}]}
        if section == "errors":
            head["emitter"] = "tinker"
        text = json.dumps(head | {section: [entry for _, entry in same]})
        found.append((f"acme/{section}.yaml", text.replace("WORD", word)))
    return found


diagnoses = [("diagnoses", entry) for entry in ENTRIES.pop("diagnoses")]
pool = [(section, entry) for section, entries in ENTRIES.items() for entry in entries]
drawn = st.lists(st.sampled_from(pool), unique_by=lambda e: e[1]["id"], min_size=1)
words = st.sampled_from(["slow-steps", "hang", "disk", "interpreter lock"])


@settings(max_examples=48)
@given(drawn, drawn, words)
def test_any_entries_over_any_others(lower, upper, word):
    below = [*read_folder(BELOW, tests=False), *files([*diagnoses, *lower], "hang")]
    content = together(below)
    if isinstance(content, bytes):
        assert_same(content, below, files(upper, word))  # some of them twice
        own = [entry for entry in upper if entry not in lower]
        assert_same(content, below, files(own, word))


@settings(max_examples=20)
@given(drawn, words)
def test_any_entries_with_their_diagnoses(entries, word):
    below = read_folder(BELOW, tests=False)
    assert_same(together(below), below, files([*diagnoses, *entries], word))
