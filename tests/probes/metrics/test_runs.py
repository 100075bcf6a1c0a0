"""The facts of run folders that the cookbook wrote."""

import shutil

import pytest

from modelmedic.probes.metrics.probe import gather_metrics
from modelmedic.probes.metrics.recognition import looks_like_metrics


@pytest.fixture
def runs(data):
    return data / "metrics" / "runs"


def find(outcome, kind, **values):
    return [
        fact
        for fact in outcome.facts
        if fact.kind == kind and all(fact.get(k) == v for k, v in values.items())
    ]


def one(outcome, kind, **values):
    (fact,) = find(outcome, kind, **values)
    return fact


@pytest.mark.parametrize(
    ("run", "pipelined", "alternates"),
    [
        ("no_pipeline", False, False),
        ("slow_network", True, False),
        ("slow_server", True, True),
        ("slow_first", True, False),
        ("slow_data", True, False),
    ],
)
def test_the_form_of_the_loop_is_seen_in_its_spans(runs, vocabulary, run, pipelined, alternates):
    outcome = gather_metrics(runs / run, vocabulary)
    step = one(outcome, "timing_summary", operation="step")
    assert step.get("pipelined") is pipelined
    assert step.get("alternates") is alternates
    patterns = find(outcome, "code_pattern", pattern="cookbook-train-loop")
    assert bool(patterns) is pipelined
    assert not outcome.problems


def test_where_the_time_goes(runs, vocabulary):
    shares = {}
    for run in ("slow_data", "slow_server", "slow_network"):
        outcome = gather_metrics(runs / run, vocabulary)
        shares[run] = {
            name: one(outcome, "timing_summary", operation=name).get("share")
            for name in ("get_batch", "result-wait")
        }
    assert shares["slow_data"]["get_batch"] > 0.95
    assert shares["slow_server"]["get_batch"] < 0.02
    assert min(shares[run]["result-wait"] for run in ("slow_server", "slow_network")) > 0.95


def test_the_first_step_against_the_rest(runs, vocabulary):
    slow = one(gather_metrics(runs / "slow_first", vocabulary), "timing_summary", operation="step")
    assert slow.get("first_over_rest") > 100
    even = one(gather_metrics(runs / "slow_network", vocabulary), "timing_summary",
               operation="step")  # fmt: skip
    assert 1 < even.get("first_over_rest") < 2


def test_evaluations_and_checkpoints_are_no_part_of_the_step(runs, vocabulary):
    outcome = gather_metrics(runs / "sft", vocabulary)
    first, second, third, _ = find(outcome, "step_timing")
    assert first.get("aside_s") == pytest.approx(0.0718, abs=1e-4)
    assert first.get("total_s") == pytest.approx(0.0069, abs=1e-4)
    assert second.get("aside_s") is None
    assert third.get("aside_s") == pytest.approx(0.0304, abs=1e-4)
    assert one(outcome, "timing_summary", operation="step").get("first_over_rest") < 1


def test_hand_over_and_wait_are_told_apart(runs, vocabulary):
    outcome = gather_metrics(runs / "slow_server", vocabulary)
    call = one(outcome, "timing_summary", operation="forward_backward_async")
    assert call.get("submit_s") < 0.001
    assert call.get("wait_s") == pytest.approx(0.806, abs=0.01)  # in the rows that wait
    assert not find(outcome, "step_timing")  # single rows of such a loop are not steps


def test_both_generations_of_names(runs, vocabulary):
    old = gather_metrics(runs / "sft", vocabulary)
    new = gather_metrics(runs / "sft_061", vocabulary)
    assert one(old, "timing_summary", operation="optim_step_async").get("submit_s") is not None
    assert one(new, "timing_summary", operation="optim_step").get("submit_s") is not None
    logprobs = one(new, "timing_summary", operation="compute_logprobs")
    assert logprobs.get("count") == 8
    assert logprobs.get("max_s") == pytest.approx(0.02465, abs=1e-4)
    assert logprobs.get("share") is None  # calls at the same time, and no spans


def test_calls_at_the_same_time_count_once(runs, vocabulary):
    outcome = gather_metrics(runs / "rl", vocabulary)
    sampling = one(outcome, "timing_summary", operation="policy_sample")
    assert 0.3 < sampling.get("share") < 0.9
    assert sampling.get("mean_s") * sampling.get("count") > 2


@pytest.mark.parametrize("run", ["rl", "rl_async", "rl_stream", "rl_kl_061"])
def test_kl_at_step_zero_and_settings_of_rl(runs, vocabulary, run):
    outcome = gather_metrics(runs / run, vocabulary)
    kl = one(outcome, "training_metric", name="optim/kl_sample_train_v2")
    assert kl.get("role") == "kl"
    assert kl.get("step0") == pytest.approx(0.0394, abs=0.01)
    assert one(outcome, "training_metric", name="env/all/reward/total").get("trend") == "flat"
    assert find(outcome, "code_pattern", pattern="cookbook-train-loop")


def test_settings_of_the_run(runs, vocabulary):
    outcome = gather_metrics(runs / "rl", vocabulary)
    settings = {fact.get("name"): fact.get("value") for fact in find(outcome, "hyperparameter")}
    assert settings["group_size"] == 4
    assert settings["groups_per_batch"] == 3
    assert settings["kl_coef"] == 0
    assert "batch_size" not in settings
    assert one(outcome, "hyperparameter", name="loss_fn").get("text") == "importance_sampling"
    assert one(outcome, "workload").get("type") == "rl"
    assert one(outcome, "renderer").get("name") == "qwen3"
    lr = one(outcome, "hyperparameter", name="learning_rate")
    assert lr.get("model") == "Qwen/Qwen3-8B"
    assert lr.provenance[0].location.endswith("config.json:2")


def test_the_record_of_a_run(runs, vocabulary):
    record = one(gather_metrics(runs / "sft", vocabulary), "run_record")
    assert (record.get("steps"), record.get("epochs_done"), record.get("checkpoints")) == (4, 1, 2)
    assert record.get("tracker") is False
    bare = one(gather_metrics(runs / "slow_data", vocabulary), "run_record")
    assert bare.get("checkpoints") is None  # only part of the folder is there
    assert find(gather_metrics(runs / "sft", vocabulary), "checkpoint", type="sampler")


def test_samples_that_were_kept_are_counted(runs, vocabulary, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(runs / "rl", folder)
    for number in (0, 2):
        (folder / f"iteration_00000{number}").mkdir()
        (folder / f"iteration_00000{number}" / "train_rollout_summaries.jsonl").write_text("{}\n")
    assert one(gather_metrics(folder, vocabulary), "run_record").get("sample_checks") == 2


def test_spans_alone_give_times(runs, vocabulary):
    outcome = gather_metrics(runs / "no_pipeline" / "timing_spans.jsonl", vocabulary)
    step = one(outcome, "timing_summary", operation="step")
    # Alone they may be those of 0.3, whose rows look like that though it works ahead.
    assert step.get("pipelined") is None
    assert step.get("median_s") == pytest.approx(0.8175, abs=1e-3)
    assert one(outcome, "timing_summary", operation="result-wait").get("share") > 0.95


def test_folders_and_files_are_recognised(runs, data, tmp_path):
    assert looks_like_metrics(runs / "sft")
    assert not looks_like_metrics(tmp_path)
    for path, expected in [
        (runs / "sft" / "metrics.jsonl", True),
        (runs / "rl" / "timing_spans.jsonl", True),
        (runs / "sft" / "config.json", False),
        (runs / "sft" / "checkpoints.jsonl", False),
        (data / "dataset" / "good.jsonl", False),
        (data / "profile" / "trace_sft.jsonl", False),
        (data / "profile" / "pyspy_dump_gil.txt", False),
    ]:
        assert looks_like_metrics(path, path.read_bytes()[:65_536]) is expected, path
    assert looks_like_metrics(tmp_path / "x.csv", b"step,loss\n0,1.5\n1,1.2\n")
    assert not looks_like_metrics(tmp_path / "x.csv", b"name,step\nsomething,else\n")
    assert not looks_like_metrics(tmp_path / "x", b"\x80\x04\x95\x00\xff")
    assert not looks_like_metrics(tmp_path / "x", b"")


def test_the_same_facts_each_time(runs, vocabulary):
    assert gather_metrics(runs / "rl", vocabulary) == gather_metrics(runs / "rl", vocabulary)
