"""The strict YAML reader: the YAML 1.2 core schema, places, and each refusal with its place."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelmedic.facts import ModelMedicError
from modelmedic.facts import strict_yaml as strict
from modelmedic.facts.strict_yaml import load


@pytest.mark.cases("yaml_refusals")
def test_refusal(case):
    with pytest.raises(ModelMedicError) as caught:
        load(case["text"], "some.yaml")
    (problem,) = caught.value.problems
    where = problem.where
    assert where is not None
    found = (problem.code, where.path, where.line, where.column)
    assert found == (case["code"], "some.yaml", case["line"], case["column"])
    assert case["says"] in problem.message


@pytest.mark.parametrize(
    ("text", "value"),
    [("yes", "yes"), ("on", "on"), ("No", "No"), ("012", 12), ("0o17", 15), ("0x1F", 31),
     ("2024-01-31", "2024-01-31"), ("12:30:45", "12:30:45"), ("1_000", "1_000"), ("~", None),
     ("null", None), ("Null", None), ("", None), ("true", True), ("FALSE", False), ("tRue", "tRue"),
     ("1.", 1.0), (".5", 0.5), ("-1e3", -1000.0), ("1e", "1e"), (".", "."), ("+.inf", math.inf),
     ("-.INF", -math.inf), ("2.13.0b1", "2.13.0b1"), ("2.10", 2.1), ("0b1", "0b1"), ("1e5", 1e5),
     ("-0o7", "-0o7"), ("9" * 41, "9" * 41), ("'012'", "012"), ('"true"', "true")],
)  # fmt: skip
def test_core_schema(text, value):
    found = load(f"a: {text}\n", "f").data["a"]
    assert found == value and type(found) is type(value)


def test_not_a_number():
    assert math.isnan(load("a: .NaN", "f").data["a"])


def test_places_of_values_and_of_what_is_not_there():
    document = load("a:\n  - b: 1\n    c: [x,\n      y]\n", "f.yaml")
    assert str(document.where(("a", 0, "c", 1))) == "f.yaml:4:7"
    assert str(document.where(("a", 0, "b"))) == "f.yaml:2:8"
    assert str(document.where(("a", 0, "nope", "deeper"))) == "f.yaml:2:5"
    assert str(document.where()) == "f.yaml:1:1"


@pytest.mark.parametrize("limit", ["MAX_BYTES", "MAX_NODES", "MAX_DEPTH"])
def test_limits(monkeypatch, limit):
    text = "[[[1, 2, 3]]]"
    assert load(text, "f").data == [[[1, 2, 3]]]
    monkeypatch.setattr(strict, limit, 2)
    with pytest.raises(ModelMedicError) as caught:
        load(text, "f")
    assert caught.value.problems[0].code == "MM201"


def test_a_bomb_is_refused_before_it_goes_off():
    lines = ["a0: &a0 [x, x]"]
    lines += [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 60)]
    with pytest.raises(ModelMedicError) as caught:
        load("\n".join(lines), "f")
    assert caught.value.problems[0].code == "MM205"


WORDS = st.text("ab01:-#'\"[]{},&*!|>% \n\t.~?\\é\u2028", max_size=40)


@given(st.one_of(st.text(max_size=60), WORDS, st.lists(WORDS).map("\n".join)))
def test_any_text_is_read_or_refused(text):
    try:
        document = load(text, "f")
    except ModelMedicError as error:
        assert all(p.code.startswith("MM20") and p.where for p in error.problems)
    else:
        assert json.dumps(document.data) is not None


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**18), 10**18), st.floats(allow_nan=False,
    allow_infinity=False), st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cn"]))
)  # fmt: skip
KEYS = st.text("abcdefgh", min_size=1, max_size=5)


@given(st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner)))
def test_json_is_yaml(data):
    text = json.dumps({"data": data}, ensure_ascii=False).replace("\x7f", "")
    try:
        found = load(text, "f").data["data"]
    except ModelMedicError as error:  # characters that YAML does not allow unescaped
        assert error.problems[0].code == "MM202"
    else:
        assert found == json.loads(text)["data"]
