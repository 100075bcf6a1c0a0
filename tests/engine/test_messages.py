"""Messages of rules: what they name is filled in, with numbers as people read them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

import pytest

from modelmedic.engine.diagnosis.wording import quantity
from modelmedic.facts import Value

KINDS: dict[str, Any] = {
    "step": {"key": ["name"], "attributes": {
        "name": {"type": "string", "required": True},
        "seconds": {"type": "number", "unit": "s"},
        "share": {"type": "number", "minimum": 0, "maximum": 1},
        "number": {"type": "integer"},
        "line": {"type": "integer"},
        "file": {"type": "path"}}},
}  # fmt: skip
PARAMETERS = {"slow_s": {"value": 300, "origin": "o"}, "large": {"value": 0.5, "origin": "o"}}

Said = Callable[..., list[str]]


@pytest.fixture
def said(kit: ModuleType, engine: str) -> Said:
    """The messages of one rule over some facts, by a condition, its message and repair."""

    def find(
        when: Any, message: str | Sequence[str], *facts: Mapping[str, Any], repair: Any = None
    ) -> list[str]:
        files = kit.knowledge_of([("one", when, {"diagnosis": "t.d.one"})])
        files["rules"]["rules"][0]["message"] = message
        files["rules"]["rules"][0]["repair"] = repair
        files["rules"]["parameters"] = PARAMETERS
        files["classifications"] = {
            "schema": "modelmedic/classifications/1", "domain": "t", "classifications": [{
                "id": "t.class.share", "title": "t", "observe": {"fact": "step"},
                "attribute": "share", "subject": "name",
                "bands": [{"label": "small", "to": 0.5}, {"label": "large", "from": 0.5}]}],
        }  # fmt: skip
        world = kit.make_world(KINDS, files, [engine])
        assert not world.problems
        plain = world.doctors[engine].diagnose(world.facts(facts)).plain()
        return [how["message"] for d in plain["diagnoses"] for how in d["explanation"]["how"]]

    return find


def step(name: str = "load", **values: Any) -> dict[str, Any]:
    return {"kind": "step", "name": name, **values}


SLOW = {"fact": "step", "as": "s", "where": {"seconds": {"ge": "@slow_s"}}}


def test_values_and_parameters_have_the_units_of_the_vocabulary(said: Said) -> None:
    message = "{s.name} takes {s.seconds} ({s.share} of all); below {slow_s} is normal."
    facts = step(seconds=12345.5, share=0.989389)
    assert said(SLOW, message, facts) == [
        "load takes 12,346 s (98.9 % of all); below 300 s is normal."
    ]


def test_a_unit_that_the_text_names_stands_once(said: Said) -> None:
    assert said(SLOW, "{s.seconds} s, then {s.seconds}", step(seconds=400)) == ["400 s, then 400 s"]


def test_a_line_is_no_amount(said: Said) -> None:
    facts = step(seconds=400, file="train.py", line=12345, number=12345)
    assert said(SLOW, "{s.file}:{s.line} ran {s.number} times", facts) == [
        "train.py:12345 ran 12,345 times"
    ]


def test_of_several_facts_the_worst_is_told(said: Said) -> None:
    facts = [step("a", seconds=310), step("b", seconds=500), step("c", seconds=320)]
    assert said(SLOW, "{s.name}: {s.seconds}", *facts) == ["b: 500 s"]
    fast = {"fact": "step", "as": "s", "where": {"seconds": {"lt": "@slow_s"}}}
    assert said(fast, "{s.name}: {s.seconds}", step("a", seconds=30), step("b", seconds=5)) == [
        "b: 5 s"
    ]


def test_counts_and_statistics_are_told(said: Said) -> None:
    count = {"count": {"fact": "step", "as": "n", "where": {"seconds": {"ge": 1}}}, "at_least": 2}
    steps = [step(f"s{n}", seconds=n, number=n) for n in range(4)]
    assert said(count, "{n} slow steps, at least 2", *steps) == ["3 slow steps, at least 2"]
    series = {
        "series": {"fact": "step", "as": "s", "value": "seconds", "order": "number"},
        "stat": "median", "ge": "@large", "min_points": 3,
    }  # fmt: skip
    assert said(series, "{s} in the middle; {large} is enough", *steps) == [
        "1.5 s in the middle; 0.5 s is enough"
    ]


def test_what_a_band_rests_on_is_told(said: Said) -> None:
    band = {"band": "t.class.share", "label": "large", "subject": "load", "as": "b"}
    assert said(band, "{b.name} takes {b.share}", step(share=0.75), step("x", share=0.9)) == [
        "load takes 75 %"
    ]


def test_each_alternative_has_its_message_and_the_telling_one_is_told(said: Said) -> None:
    when = {"any": [{"fact": "symptom", "where": {"name": "slow"}}, SLOW]}
    message = ["{s.name} takes {s.seconds}", "Slow, as reported"]
    symptom = {"kind": "symptom", "name": "slow"}
    assert said(when, message, symptom) == ["Slow, as reported"]
    assert said(when, message, step(seconds=400)) == ["load takes 400 s"]
    assert said(when, message, symptom, step(seconds=400)) == ["load takes 400 s"]


def test_what_is_unknown_is_left_to_the_next_message(said: Said) -> None:
    messages = ["{s.file} takes {s.seconds}", "A file takes {s.seconds} (in step {s.number})"]
    assert said(SLOW, messages, step(seconds=400, file="a.py")) == ["a.py takes 400 s"]
    assert said(SLOW, messages, step(seconds=400, number=3)) == ["A file takes 400 s (in step 3)"]
    assert said(SLOW, messages, step(seconds=400)) == ["A file takes 400 s"]
    assert said(SLOW, "{s.file} is slow", step(seconds=400)) == ["? is slow"]


def test_a_report_has_a_message_and_its_repair_in_one_text(said: Said) -> None:
    repair = {"do": "Cut {s.name}.", "command": "cut {slow_s}", "verify": "It takes less."}
    assert said(SLOW, "It is slow.", step(seconds=400), repair=repair) == [
        "It is slow. To do: Cut load. Command: cut 300 s Worked if: It takes less."
    ]
    code = {"code": "load(fast=True)", "note": "or leave it out"}
    assert said(SLOW, "It is slow.", step(seconds=400), repair=code) == [
        "It is slow. Right form: load(fast=True), or leave it out."
    ]


def test_a_message_whose_repair_names_something_unknown_is_left_out(said: Said) -> None:
    messages = ["{s.name} is slow.", "It is slow."]
    repairs = [{"do": "Look at {s.file}."}, None]
    assert said(SLOW, messages, step(seconds=400), repair=repairs) == ["It is slow."]
    assert said(SLOW, messages, step(seconds=400, file="a.py"), repair=repairs) == [
        "load is slow. To do: Look at a.py."
    ]


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.989389, "%", "98.9 %"),
        (1, "%", "100 %"),
        (40.0, "s", "40 s"),
        (4.8537, "s", "4.854 s"),
        (1.2e-05, "", "1.2e-05"),
        (9999, "tokens", "9999 tokens"),
        (12500, "tokens", "12,500 tokens"),
        (1234567.8, "", "1,234,568"),
        (-0.25, "", "-0.25"),
        (1e20, "", "1e+20"),
        (0, "s", "0 s"),
        (8080, "#", "8080"),
        (True, "", "true"),
        ("qwen3", "s", "qwen3"),
    ],
)
def test_numbers_for_people(value: Value, unit: str, text: str) -> None:
    assert quantity(value, unit) == text
