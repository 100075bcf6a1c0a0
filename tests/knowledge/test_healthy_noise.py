"""Noise on healthy sets: what an ordinary machine and an ordinary run add proves no problem.

The noise is made from the healthy sets themselves: values of timings lie between those of healthy
runs, versions of the packages that matter are those of healthy environments. A set keeps what it
already says about a thing; noise only describes things that it is silent about.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from modelmedic.engine import Diagnoser
from modelmedic.engine.diagnosis.report import Report
from modelmedic.facts import Fact, Vocabulary
from modelmedic.facts.declarations import load_vocabulary
from modelmedic.facts.fact_file import read_facts

ROOT = Path(__file__).resolve().parents[2]
VOCABULARY = Vocabulary.from_plain(
    load_vocabulary(
        (str(p), p.read_text("utf-8")) for p in sorted((ROOT / "facts/vocabulary").glob("*.yaml"))
    )
)
SETS = {
    path.stem: read_facts(path, VOCABULARY)
    for path in sorted((ROOT / "knowledge" / "healthy").glob("*.json"))
}
POOL = sorted({fact for facts in SETS.values() for fact in facts}, key=str)

# Packages that have no part in training or in a port.
STRANGERS = (
    "requests",
    "rich",
    "pandas",
    "matplotlib",
    "scikit-learn",
    "ipython",
    "black",
    "Django",
)
# Kinds whose facts stand for themselves: seen in one healthy run, harmless in any other.
ALONE = {
    "gil_jitter", "serialization_benchmark", "sdk_loop_delay", "call_outcomes", "loop_dump",
    "http_response", "tokenization_check", "image_comparison", "python",
}  # fmt: skip
WORDS = (
    "starting run in /home/ada/runs/7", "saved 12 samples", "wandb: run synced",
    "epoch 2 of 3", "GET /health 200", "loaded 5000 conversations", "writing metrics.jsonl",
)  # fmt: skip
ABSENT = ("symptom", "code_pattern", "dataset_problem", "datum_problem")


def _between(name: str, attribute: str) -> SearchStrategy[float]:
    """A number between the smallest and the largest that healthy runs show for an operation."""
    values = [
        float(value)
        for fact in POOL
        if fact.kind == "timing_summary" and fact.get("operation") == name
        for value in [fact.get(attribute)]
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    ]
    return st.floats(min(values), max(values), allow_nan=False)


@st.composite
def timings(draw: st.DrawFn) -> Fact:
    known = sorted(
        {
            (str(fact.get("operation")), name)
            for fact in POOL
            if fact.kind == "timing_summary"
            for name, value in fact.values
            if isinstance(value, float) and name in ("median_s", "submit_s", "share")
        }
    )
    operation, attribute = draw(st.sampled_from(known))
    values: dict[str, Any] = {attribute: draw(_between(operation, attribute))}
    return Fact.of("timing_summary", operation=operation, **values)


def _version() -> SearchStrategy[str]:
    part = st.integers(0, 40)
    return st.builds(lambda a, b, c: f"{a}.{b}.{c}", part, part, part)


def _absent() -> SearchStrategy[Fact]:
    """That something was looked for and is not there."""
    found = []
    for kind in ABSENT:
        key = VOCABULARY.kinds[kind].key[0]
        for value in VOCABULARY.kinds[kind].attributes[key].values or ():
            values: dict[str, Any] = {key: value, "present": False}
            found.append(Fact.of(kind, **values))
    return st.sampled_from(found)


NOISE: SearchStrategy[Fact] = st.one_of(
    st.builds(lambda n, v: Fact.of("package", name=n, version=v),
              st.sampled_from(STRANGERS), _version()),
    timings(),
    st.sampled_from([fact for fact in POOL if fact.kind in ALONE]),
    st.builds(lambda text: Fact.of("error_message", text=text, level="INFO", source="log"),
              st.sampled_from(WORDS)),
    st.builds(lambda n, s: Fact.of("env_var", name=n, is_set=s),
              st.sampled_from(("HOME", "LANG", "EDITOR", "VIRTUAL_ENV")), st.booleans()),
    _absent(),
)  # fmt: skip


def _key(fact: Fact) -> tuple[Any, ...]:
    kind = VOCABULARY.kinds[fact.kind]
    return (fact.kind, *(fact.get(name) for name in kind.key))


def _noisy(facts: tuple[Fact, ...], noise: list[Fact]) -> list[Fact]:
    """The facts, and the noise about things that no fact mentions yet."""
    told = {_key(fact) for fact in facts}
    kept = list(facts)
    for fact in noise:
        if not VOCABULARY.kinds[fact.kind].functional or _key(fact) not in told:
            told.add(_key(fact))
            kept.append(fact)
    return kept


def _problems(report: Report) -> list[str]:
    return [d.id for d in report.diagnoses if d.kind != "benign"]


@pytest.mark.parametrize("name", SETS)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(noise=st.lists(NOISE, min_size=1, max_size=12))
def test_noise_makes_no_problem(doctor: Diagnoser, name: str, noise: list[Fact]) -> None:
    assert _problems(doctor.diagnose(_noisy(SETS[name], noise))) == []


def test_a_real_problem_is_not_lost_in_noise(doctor: Diagnoser) -> None:
    """The test above could not fail if the noise hid everything."""
    trouble = Fact.of("package", name="transformers", version="5.3.0")
    model = Fact.of("base_model", name="deepseek-ai/DeepSeek-V3.1", family="deepseek")
    facts = [f for f in SETS[min(SETS)] if f.get("name") != "transformers"]
    noise = [Fact.of("package", name=n, version="1.0") for n in STRANGERS]
    assert _problems(doctor.diagnose([*facts, trouble, model, *noise]))
