"""Facts files: each refusal with its code and place, and nothing but ModelMedicError ever."""

from __future__ import annotations

import json
import os
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelmedic.facts import Location, ModelMedicError
from modelmedic.facts import fact_file as files
from modelmedic.facts.fact_file import decode, parse_facts, read_facts

GOOD = {"schema": "modelmedic/facts/1", "note": "n", "facts": [
    {"kind": "thing", "name": "a", "note": "", "place": "/x", "release": "1.0", "count": 3,
     "size": -2.5, "good": False, "colour": "red"},
    {"kind": "thing", "name": "é", "provenance": {"source": "probe:x", "at": "now"}}]}  # fmt: skip
DAMAGE = b'_ \x00 \xff " { [ ] , : 1e999 null NaN \\ud800 true'.split()
SPECIAL = {
    "deep": "[" * 100_000,
    "digits": "[" + "9" * 5_000 + "]",
    "long integer": '[{"kind": "thing", "name": "a", "size": 1' + "0" * 400 + "}]",
}


@pytest.mark.cases("facts_refusals")
def test_refusal(case, vocabulary):
    with pytest.raises(ModelMedicError) as caught:
        parse_facts(SPECIAL.get(case["text"], case["text"]), "facts.json", vocabulary)
    problems = caught.value.problems
    places = [(p.code, p.where.line, p.where.column) for p in problems if p.where]
    assert places == [tuple(wanted[:3]) for wanted in case["problems"]]
    assert all(p.where and p.where.path == "facts.json" for p in problems)
    for problem, wanted in zip(problems, case["problems"], strict=True):
        assert wanted[3] in problem.message
    if "hint" in case:
        assert problems[0].hint == case["hint"]


def test_every_code_has_a_case(request):
    from_data = request.config.rootpath / "tests/facts/data/facts_refusals.yaml"
    shown = from_data.read_text(encoding="utf-8")
    in_files = {"MM101", "MM102", "MM103", "MM104"}  # about files; tested below
    wanted = {f"MM1{n:02}" for n in [*range(1, 20)]} - in_files
    assert not {code for code in wanted if code not in shown}


def test_a_good_file(vocabulary):
    facts = parse_facts(json.dumps(GOOD), "f.json", vocabulary)
    assert [f.get("name") for f in facts] == ["a", "é"]
    assert facts[0].plain() == {**GOOD["facts"][0], "provenance": [  # type: ignore[dict-item]
        {"source": "file", "location": "f.json"}]}  # fmt: skip
    assert facts[1].provenance[0].source == "probe:x"
    plain_list = parse_facts(json.dumps(GOOD["facts"]), "f.json", vocabulary)
    assert plain_list == facts


def test_numbers_have_one_form(vocabulary):
    texts = ["1", "1.0", "9007199254740992", "9007199254740992.0", "-0.0", "1e300"]
    facts = [parse_facts(f'[{{"kind": "thing", "name": "a", "size": {text}}}]', "f", vocabulary)
             for text in texts]  # fmt: skip
    values = [fact.get("size") for (fact,) in facts]
    assert list(map(repr, values)) == ["1", "1", "9007199254740992", "9007199254740992", "0",
                                       "1e+300"]  # fmt: skip


@pytest.mark.parametrize(("name", "length"), [("name", 4096), ("note", 65536)])
def test_long_texts(vocabulary, name, length):
    fact = {"kind": "thing", "name": "a", name: "x" * length}
    assert parse_facts(json.dumps([fact]), "f", vocabulary)[0].get(name) == "x" * length
    fact[name] += "x"
    with pytest.raises(ModelMedicError, match=r"MM115.*characters long"):
        parse_facts(json.dumps([fact]), "f", vocabulary)


def code_of(caught):
    (problem,) = caught.value.problems
    assert problem.where and problem.hint
    return problem.code


def test_files_that_cannot_be_read(tmp_path, vocabulary, monkeypatch):
    with pytest.raises(ModelMedicError) as caught:
        read_facts(tmp_path / "missing.json", vocabulary)
    assert code_of(caught) == "MM101"
    with pytest.raises(ModelMedicError) as caught:
        read_facts(tmp_path, vocabulary)
    assert code_of(caught) == "MM102"
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelMedicError) as caught:
        read_facts(tmp_path / "pipe", vocabulary)
    assert code_of(caught) == "MM102"
    path = tmp_path / "facts.json"
    path.write_bytes(b'[{"kind": "\xff"}]')
    with pytest.raises(ModelMedicError, match="0xff") as caught:
        read_facts(path, vocabulary)
    assert code_of(caught) == "MM104"
    path.write_bytes(b"\xef\xbb\xbf[]")
    assert read_facts(path, vocabulary) == ()
    monkeypatch.setattr(files, "MAX_BYTES", 3)
    with pytest.raises(ModelMedicError) as caught:
        read_facts(path, vocabulary)
    assert code_of(caught) == "MM103"


def test_too_many_facts_and_too_many_problems(vocabulary, monkeypatch):
    facts = json.dumps([{"kind": "thing", "name": "a"}] * 3)
    monkeypatch.setattr(files, "MAX_FACTS", 3)
    assert len(parse_facts(facts, "f", vocabulary)) == 3
    monkeypatch.setattr(files, "MAX_FACTS", 2)
    with pytest.raises(ModelMedicError) as caught:
        parse_facts(facts, "f", vocabulary)
    assert code_of(caught) == "MM103"
    monkeypatch.undo()
    with pytest.raises(ModelMedicError) as caught:
        parse_facts(json.dumps([{}] * 500), "f", vocabulary)
    assert len(caught.value.problems) == files.MAX_PROBLEMS


def read_anything(raw, vocabulary):
    """The facts in some bytes; the only exception that may leave is ModelMedicError."""
    try:
        return parse_facts(decode(raw, Location("f")), "f", vocabulary)
    except ModelMedicError as error:
        assert all(p.code.startswith("MM1") and p.where for p in error.problems)
        assert str(error)
        return None


@given(st.binary(max_size=80))
def test_any_bytes(vocabulary, raw):
    read_anything(raw, vocabulary)


@given(st.integers(0, 2**32), st.integers(1, 8))
def test_damaged_files(vocabulary, seed, times):
    rng, raw = random.Random(seed), bytearray(json.dumps(GOOD).encode())
    for _ in range(times):
        at = rng.randrange(len(raw) + 1)
        pieces = [*DAMAGE, bytes(raw[: rng.randrange(60)])]
        raw[at : at + rng.randrange(4)] = rng.choice(pieces)
    read_anything(bytes(raw), vocabulary)


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
NAMES = st.sampled_from(["kind", "provenance", *GOOD["facts"][0]])  # type: ignore[misc]


@given(st.lists(st.dictionaries(st.one_of(NAMES, st.text(max_size=6)), VALUES), max_size=3))
def test_any_json(vocabulary, items):
    for item in items:
        item.setdefault("kind", "thing")
    facts = read_anything(json.dumps(items).encode(), vocabulary)
    for fact in facts or ():
        assert vocabulary.problems(fact.plain(), Location("f")) == []


@given(st.fixed_dictionaries({"name": st.text(max_size=5)}, optional={
    "size": st.one_of(st.integers(-(2**62), 2**62), st.floats(-1e299, 1e299)),
    "good": st.booleans(), "count": st.integers(0, 10),
    "release": st.text(max_size=5)}))  # fmt: skip
def test_a_fact_is_read_as_it_was_written(vocabulary, values):
    (fact,) = parse_facts(json.dumps([{"kind": "thing", **values}]), "f", vocabulary)
    assert dict(fact.values) == values
    (again,) = parse_facts(json.dumps([fact.plain()]), "g", vocabulary)
    assert again == fact and again.provenance == fact.provenance
    assert again.sort_key() == fact.sort_key()
