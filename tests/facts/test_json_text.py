"""The C half of the JSON module alone gives what the whole module gives, errors included."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelmedic.facts.json_text import dumps, loads, reader

PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
VALUES = st.recursive(
    PLAIN,
    lambda each: st.lists(each) | st.lists(each).map(tuple) | st.dictionaries(st.text(), each),
    max_leaves=20,
)
PIECES = ["{", "}", "[", "]", ",", ":", '"a"', '"\\u00e9"', '"\\x"', "1", "-", "1e5", "NaN", " ",
          "\n", "true", "nul", "\ufeff", "\x00", '"', "9" * 5_000]  # fmt: skip


def outcome(read, text):
    try:
        return repr(read(text))
    except (ValueError, RecursionError) as error:
        return type(error), str(error)


@given(VALUES)
def test_what_is_written_is_the_same(value):
    assert dumps(value) == json.dumps(value, indent=2)


@given(st.dictionaries(st.integers() | st.booleans() | st.none(), PLAIN))
def test_keys_that_are_no_texts_are_written_the_same(value):
    assert dumps(value) == json.dumps(value, indent=2)


def test_what_is_no_json_is_refused():
    with pytest.raises(TypeError, match="set"):
        dumps({"a": {1}})


@given(VALUES.map(json.dumps) | st.lists(st.sampled_from(PIECES), max_size=9).map("".join))
def test_what_is_read_is_the_same(text):
    assert outcome(loads, text) == outcome(json.loads, text)


def test_objects_and_constants_are_made_as_asked():
    text = ' {"a": [NaN, {"a": 1}]} '
    assert loads(text, list, str) == [("a", ["NaN", [("a", 1)]])]
    assert reader()('{"a": 1}, 2', 0) == ({"a": 1}, 8)


def test_a_deep_nest_is_refused_like_everywhere():
    deep = "[" * 100_000
    assert outcome(loads, deep)[0] is outcome(json.loads, deep)[0]
