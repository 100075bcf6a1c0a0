"""Laws of what lint decides by itself: contradictions, required text, cycles."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelmedic.authoring.lint.cycles import cycle
from modelmedic.authoring.lint.satisfiable import contradiction
from modelmedic.engine.compiler.source.error_rows import template_pattern
from modelmedic.engine.inference.operators import compile_re2
from modelmedic.engine.inference.patterns import compile_tests
from modelmedic.engine.inference.program import Test as PatternTest
from modelmedic.facts.kinds import Attribute, Kind
from modelmedic.facts.required_text import required_text, required_texts

KIND = Kind(
    "thing",
    "A thing.",
    {
        "number": Attribute("number", "number", minimum=0, maximum=4),
        "count": Attribute("count", "integer", minimum=0, maximum=4),
        "state": Attribute("state", "string", values={"on": "", "off": "", "broken": ""}),
        "fine": Attribute("fine", "boolean"),
        "tool": Attribute("tool", "version"),
    },
)
VALUES: dict[str, list[Any]] = {
    "number": [n / 4 for n in range(17)],
    "count": list(range(5)),
    "state": ["on", "off", "broken"],
    "fine": [True, False],
    "tool": ["0.9", "1.0b1", "1.0", "1.1", "1.2", "1.10", "2.0", "2.1"],
}
ORDER = st.sampled_from(["lt", "le", "gt", "ge"])
TESTS = st.one_of(
    st.tuples(st.just("number"), ORDER, st.sampled_from([0, 0.5, 1, 2.25, 4])),
    st.tuples(st.just("count"), ORDER, st.sampled_from([0, 0.5, 1, 3, 4])),
    st.tuples(st.just("state"), st.sampled_from(["eq", "ne"]), st.sampled_from(VALUES["state"])),
    st.tuples(
        st.just("state"),
        st.sampled_from(["in", "not_in"]),
        st.lists(st.sampled_from(VALUES["state"]), min_size=1, max_size=3),
    ),
    st.tuples(st.just("fine"), st.sampled_from(["eq", "ne"]), st.booleans()),
    st.tuples(
        st.just("tool"),
        st.sampled_from(["version_lt", "version_le", "version_gt", "version_ge", "version_eq"]),
        st.sampled_from(["1.0", "1.1", "1.2", "2.0"]),
    ),
)


def passing(name, tests):
    """The sampled values of an attribute that pass its tests."""
    check = compile_tests(tuple(PatternTest(*test) for test in tests if test[0] == name))
    return [value for value in VALUES[name] if check({name: value}) is True]


@given(st.lists(TESTS, min_size=1, max_size=5))
def test_what_is_called_a_contradiction_holds_for_no_value(tests):
    reason = contradiction(KIND, tests)
    if reason:
        name = reason.partition(":")[0]
        assert not passing(name, tests), reason


@given(st.lists(TESTS.filter(lambda t: t[0] in ("count", "state", "fine")), max_size=5))
def test_over_few_values_every_contradiction_is_found(tests):
    if any(not passing(name, tests) for name in {test[0] for test in tests}):
        alone = {name: [t for t in tests if t[0] == name] for name in VALUES}
        single = [t for ts in alone.values() if len(ts) == 1 for t in ts if t[1] in ("in", "eq")]
        assert contradiction(KIND, tests) or single


WORDS = st.text(st.sampled_from("ab .(|)*7\n"), max_size=12)


@given(st.lists(WORDS, min_size=1, max_size=4), st.lists(WORDS, min_size=4, max_size=4))
def test_a_text_of_a_template_holds_what_it_requires(parts, fillings):
    template = "{x}".join(parts)
    text = "".join(part + filling for part, filling in zip(parts, fillings, strict=False))
    pattern = template_pattern(template)
    if compile_re2(pattern).search(text):
        assert required_text(pattern) in text.lower()


WORD = st.text(st.sampled_from("abC"), min_size=1, max_size=6)
GROUPS = st.lists(st.lists(WORD, min_size=1, max_size=4), min_size=1, max_size=3)


@given(GROUPS, st.data())
def test_a_text_of_alternatives_holds_one_of_those_required(groups, data):
    pattern = "x*".join(f"({'|'.join(group)})" for group in groups)
    text = "xx".join(data.draw(st.sampled_from(group)) for group in groups)
    required = required_texts(pattern)
    assert not required or any(each in text.lower() for each in required)
    if any(min(map(len, group)) >= 3 for group in groups):
        assert required


@pytest.mark.parametrize(
    ("pattern", "required"),
    [
        (r"Error code: 4(09|22)\b", "error code: 4"),
        (r"slept [0-9.]+ s instead", " s instead"),
        (r"colou?r is wrong", "r is wrong"),
        (r"abcd|efgh", ""),
        (r"(?i)ABCDEF", "abcdef"),
        (r"abcdx{0,2}ef(optional)?ghijk", "ghijk"),
        (r"\[GIL monitor\]", "[gil monitor]"),
    ],
)
def test_the_required_text_of_a_pattern(pattern, required):
    assert required_text(pattern) == required


LINKS = st.dictionaries(st.sampled_from("abcdef"), st.lists(st.sampled_from("abcdef"), max_size=3))


@given(LINKS)
def test_a_cycle_is_one_and_is_found_if_there_is_one(links):
    found = cycle(links)
    if found:
        assert found[0] == found[-1]
        assert all(b in links[a] for a, b in pairwise(found))
    else:
        order: list[str] = []
        left = set(links)
        while left:
            free = [n for n in left if not set(links[n]) & left]
            assert free, "nothing without links is left, so there is a cycle"
            order += free
            left -= set(free)
