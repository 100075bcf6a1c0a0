"""The facts that statements become, those of a pack too."""

from __future__ import annotations

from pathlib import Path

import pytest

from modelmedic.engine.compiler.store.files import vocabulary_in
from modelmedic.facts import Vocabulary
from modelmedic.facts.declarations import load_vocabulary
from modelmedic.probes import load_probe
from modelmedic.probes.statements.probe import read_statements

ROOT = Path(__file__).resolve().parents[3]
PACK = """schema: modelmedic/vocabulary/1
kinds:
  pump: {description: A pump., key: [name], attributes: {
    name: {type: string, required: true, description: Which.},
    litres: {type: number, minimum: 0, description: Litres per minute.}}}
statements:
  pump-flow:
    kind: pump
    attribute: litres
    names: [flow rate]
    units: {ml/min: 0.001, l: 1}
    subject: name
    subjects: {north: [north pump], south: [south pump]}
"""


def told(text: str, vocabulary: Vocabulary) -> list[tuple[str, dict[str, object]]]:
    return [(fact.kind, dict(fact.values)) for fact in read_statements(text, vocabulary).facts]


def test_a_fact_has_its_place_and_is_stated(vocabulary):
    (fact,) = read_statements("a\nrotary: R-ratio 48.31, limit 1.2", vocabulary, name="x").facts
    assert dict(fact.values) == {"component": "rotary", "r_ratio": 48.31, "tolerance": 1.2}
    (seen,) = fact.provenance
    assert (seen.source, seen.location, seen.certainty) == ("probe:statements", "x:2", "stated")


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("R-ratio is 3.4", [("component_result", {"component": "component", "r_ratio": 3.4})]),
        ("LoRA rank 32", [("hyperparameter", {"name": "lora_rank", "value": 32})]),
        ("tp_degree=8, pp_degree=2", [("neuron_config", {"pp_degree": 2, "tp_degree": 8})]),
        ("NumPy 2.2.1", [("package", {"name": "numpy", "version": "2.2.1"})]),
        ("step time 45 s", [("timing_summary", {"operation": "step", "mean_s": 45})]),
        ("moe_tp_degree: 4", [("neuron_setting", {"name": "moe_tp_degree", "number": 4})]),
        (
            "mlp R-ratio went from 4.2 to 1.1",
            [("component_result", {"component": "mlp", "r_ratio": 1.1})],
        ),
        (
            "| component | R-ratio | cosine |\n|---|---|---|\n| mlp | 4.5 | 0.98 |",
            [("component_result", {"component": "mlp", "r_ratio": 4.5, "cosine": 0.98})],
        ),
    ],
)
def test_statements_become_facts(text, facts, vocabulary):
    assert told(text, vocabulary) == facts


def test_points_are_shares_and_a_loss_is_worked_out(vocabulary):
    text = "task,n,hf,neuron,diff\ngsm8k,500,79.4,72.9,-6.5\ntriviaqa,500,63.8,63.4,-0.4"
    assert told(text, vocabulary) == [
        ("benchmark_result", {"task": "gsm8k", "score": 0.729, "baseline": 0.794, "delta": 0.065}),
        (
            "benchmark_result",
            {"task": "triviaqa", "score": 0.634, "baseline": 0.638, "delta": 0.004},
        ),
    ]


def test_of_values_that_differ_the_one_of_the_row_for_all_counts(vocabulary):
    text = "| prompt | token match rate |\n|---|---|\n| a | 0.4 |\n| b | 0.6 |\n| **all** | 0.5 |"
    assert told(text, vocabulary) == [
        ("smoke_result", {"check": "token-matching", "match_rate": 0.5})
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\x00",
        "hello",
        "lr=1e-5\nlr=1e-4\nlr=1e-3",
        "instance: inf2.xlarge\ninstance: trn1.2xlarge",
    ],
)
def test_values_that_differ_say_nothing(text, vocabulary):
    assert read_statements(text, vocabulary).facts == ()


def test_a_pack_needs_no_python():
    texts = [(name, Path(path).read_text("utf-8")) for name, path in vocabulary_in(str(ROOT))]
    vocabulary = Vocabulary.from_plain(load_vocabulary([*texts, ("pack.yaml", PACK)]))
    text = "The north pump has a flow rate of 12.5 l, LoRA rank 8"
    assert told(text, vocabulary) == [
        ("pump", {"name": "north", "litres": 12.5}),
        ("hyperparameter", {"name": "lora_rank", "value": 8}),
    ]


def test_it_is_a_probe(vocabulary):
    assert load_probe("statements")("lr=1e-4", vocabulary).facts
