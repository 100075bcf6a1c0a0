"""The time allowed for a step follows its tokens, the model and the samples; slowdowns are
found."""

import json
import random

import pytest

from modelmedic.probes import load_probe
from modelmedic.probes.metrics.expected_times import active_billions
from modelmedic.probes.shared.level_changes import level_change


@pytest.mark.parametrize(
    ("model", "billions"),
    [
        ("Qwen/Qwen3-235B-A22B-Instruct-2507", 22),
        ("Qwen/Qwen3.5-4B", 4),
        ("meta-llama/Llama-3.2-1B", 1),
        ("openai/gpt-oss-120b:peft:131072", 5.1),
        ("deepseek-ai/DeepSeek-V3.1", 37),
        ("thinking/Unknown", None),
        (None, None),
    ],
)
def test_active_parameters_by_name(model, billions):
    assert active_billions(model) == billions


def summaries(folder, vocabulary, rows, **config):
    folder.mkdir(exist_ok=True)
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "metrics.jsonl").write_text(lines, "utf-8")
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    facts = [fact.plain() for fact in load_probe("metrics")(folder, vocabulary).facts]
    return {each["operation"]: each for each in facts if each["kind"] == "timing_summary"}


def supervised(waits, tokens=100_000):
    return [
        {
            "step": step, "num_tokens": tokens, "train_mean_nll": 1.0, "time/get_batch": 0.01,
            "time/forward_backward": 2e-5, "time/submit_batch": 0.011, "time/step": wait,
            "time/finish_batch": wait + 0.001,
        }
        for step, wait in enumerate(waits)
    ]  # fmt: skip


def test_more_tokens_and_larger_models_may_take_longer(tmp_path, vocabulary):
    def expected(tokens, model):
        rows = supervised([20.0] * 8, tokens)
        return summaries(tmp_path, vocabulary, rows, model_name=model)["step"]["expected_s"]

    small, large = "Qwen/Qwen3-4B", "Qwen/Qwen3-235B-A22B"
    assert expected(4_000, small) < expected(400_000, small) < expected(400_000, large)
    assert expected(400_000, large) == expected(400_000, "Qwen/Qwen3-30B-A22B")
    assert expected(400_000, "own/model") >= expected(400_000, large)


def test_nothing_is_expected_without_tokens(tmp_path, vocabulary):
    rows = [{k: v for k, v in row.items() if k != "num_tokens"} for row in supervised([400.0] * 8)]
    found = summaries(tmp_path, vocabulary, rows, model_name="Qwen/Qwen3-4B")
    assert "expected_s" not in found["step"] and "over_expected" not in found["step"]


def test_a_lasting_slowdown_has_its_step(tmp_path, vocabulary):
    chance = random.Random(1)
    waits = [(10.0 if step < 40 else 35.0) * chance.uniform(0.8, 1.2) for step in range(80)]
    found = summaries(tmp_path, vocabulary, supervised(waits))["result-wait"]
    assert abs(found["changed_at"] - 40) <= 1
    assert found["slowdown"] == pytest.approx(3.5, rel=0.1)
    assert found["before_s"] == pytest.approx(10, rel=0.1)


def test_longer_texts_are_no_slowdown(tmp_path, vocabulary):
    rows = supervised([35.0] * 40, 60_000) + supervised([92.0] * 40, 240_000)
    rows = [row | {"step": step} for step, row in enumerate(rows)]
    found = summaries(tmp_path, vocabulary, rows, model_name="Qwen/Qwen3-4B")["result-wait"]
    assert found.get("slowdown", 1.0) < 1.5


def test_chance_makes_no_change_of_level():
    found = 0
    for seed in range(200):
        chance = random.Random(seed)
        found += level_change([chance.lognormvariate(0, 0.3) for _ in range(60)]) is not None
    assert found <= 2


def test_a_change_of_level_is_found_among_far_values():
    values = [1.0, 1.1, 0.9, 1.05, 50.0, 0.95, 1.0, 1.1, 0.9, 1.0] * 2 + [2.0, 2.2, 1.9, 2.1] * 5
    change = level_change(values)
    assert change is not None and abs(change.at - 20) <= 1
    assert level_change([3.0] * 40) is None
    assert level_change(values[:9]) is None
