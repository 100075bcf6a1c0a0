"""The two ways of a first look for secrets find the same, and a pattern is looked for wherever it
could match."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelmedic.facts.records import lazy
from modelmedic.facts.redaction.detectors import searchable
from modelmedic.facts.redaction.look import FEW, FirstLook, is_quick

PIECES = [
    "hf_", "sk-", "tml-", "ghp_", "AKIA", "0Q~", "pn", "u_", "token", "api_key", "Bearer ",
    "authorization: ", "://user:", "@host.", "-----BEGIN PRIVATE KEY", "password = ", "\\n", "%41",
    "abcDEF123456", "deadbeef" * 5, "x" * 30, " ", "\n", "|sudo", "$2b", "SK1a2", ".internal",
    "1234567890:abc", "é", "…", "KEY", "--", "e2b_", "cookie2: ", "ip-10",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=6), max_size=12).map("".join)
LOOK = FirstLook.shipped()


@given(TEXTS)
def test_both_ways_find_the_same(text):
    data = searchable(text)
    assert list(LOOK.one_by_one(data)) == list(LOOK.by_automaton(data))


@pytest.mark.parametrize(("kind", "name", "pattern"), [(k, n, p) for k, n, p, _ in LOOK._asked])
def test_what_a_pattern_needs_is_in_its_own_letters(kind, name, pattern):
    """A text made of the pattern itself, with the classes as their first member, is not missed."""
    plain = re.sub(r"\(\?i\)|\\b|[\\^$(){}?*+|]", "", re.sub(r"\[([^]^])[^]]*\]", r"\1", pattern))
    data = searchable(plain * 3)
    assert list(LOOK.one_by_one(data)) == list(LOOK.by_automaton(data))


def test_a_long_run_looks_with_the_automaton():
    look = FirstLook([("code", "a", "needle", ["needle"]), ("code", "b", "[0-9]{3}", [])])
    for _ in range(2 * FEW):
        assert list(look.found(b"a needle 123")) == [("code", "a"), ("code", "b")]
        assert list(look.found(b"a Needle")) == []
    assert look._automaton is not None


def test_a_lazy_pattern_is_a_pattern():
    pattern = lazy("a(b+)", re.IGNORECASE)
    assert pattern.sub("x", "ABBa") == "xa"
    assert pattern.findall("abab") == ["b", "b"]
    assert pattern.pattern == "a(b+)"


@pytest.mark.parametrize(
    ("need", "quick"),
    [("hf_", True), ("key =", True), ("-u", False), (" -u", False), ("a b", False), ("", False)],
)
def test_a_need_begins_with_three_characters_of_a_word(need, quick):
    assert is_quick(need) == quick
