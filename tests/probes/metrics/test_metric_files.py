"""Metrics of other origin, and files that are broken."""

import gzip
import json
import os
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from modelmedic.probes.metrics import courses, timing
from modelmedic.probes.metrics.courses import role_of
from modelmedic.probes.metrics.probe import gather_metrics
from modelmedic.probes.metrics.recognition import looks_like_metrics


def write(folder, rows, name="metrics.jsonl"):
    path = folder / name
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def metric(outcome, name):
    (fact,) = (f for f in outcome.facts if f.kind == "training_metric" and f.get("name") == name)
    return fact


def summary(outcome, operation):
    (fact,) = (
        f for f in outcome.facts if f.kind == "timing_summary" and f.get("operation") == operation
    )
    return fact


def codes(outcome):
    return [problem.code for problem in outcome.problems]


def test_a_loss_with_a_spike_and_values_that_are_no_numbers(tmp_path, vocabulary):
    rows: list[dict[str, object]] = [{"step": i, "train_mean_nll": 2 - i / 60} for i in range(60)]
    rows[30]["train_mean_nll"] = 9.0
    rows[40]["train_mean_nll"] = float("nan")
    rows[41]["train_mean_nll"] = "Infinity"
    rows[42]["train_mean_nll"] = None
    outcome = gather_metrics(write(tmp_path, rows), vocabulary)
    loss = metric(outcome, "train_mean_nll")
    assert loss.get("role") == "train-loss"
    assert (loss.get("spikes"), loss.get("non_finite"), loss.get("count")) == (1, 2, 59)
    assert loss.get("trend") == "falling"
    assert loss.get("max") == 9
    assert loss.get("slope") < 0


def test_a_resumed_run_counts_each_step_once(tmp_path, vocabulary):
    rows = [{"step": i, "loss": 5.0} for i in range(10)]
    rows += [{"step": i, "loss": 1.0} for i in range(6, 12)]
    loss = metric(gather_metrics(write(tmp_path, rows), vocabulary), "loss")
    assert (loss.get("count"), loss.get("mean")) == (12, 3)


def test_rows_of_one_step_are_merged(tmp_path, vocabulary):
    rows = [{"step": 0, "loss": 1.0}, {"step": 0, "eval/loss": 2.0}, {"step": 1, "loss": 0.9}]
    outcome = gather_metrics(write(tmp_path, rows), vocabulary)
    assert metric(outcome, "eval/loss").get("role") == "eval-loss"
    assert metric(outcome, "loss").get("count") == 2


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_csv(tmp_path, vocabulary, separator):
    text = "\ufeffstep,loss,grad_norm,note\n0,2.0,1.5,a\n1,1.5,nan,b\n2,1.0,,c\n3,0.5,2,\n4,0.2\n"
    path = tmp_path / "log.csv"
    path.write_text(text.replace(",", separator), "utf-8")
    outcome = gather_metrics(path, vocabulary)
    assert metric(outcome, "loss").get("step0") == 2
    assert metric(outcome, "grad_norm").get("non_finite") == 1
    (problem,) = outcome.problems
    assert str(problem.where) == f"{path}:6:0"
    assert "2 cells under 4 columns" in problem.message


def test_csv_with_a_broken_header(tmp_path, vocabulary):
    path = tmp_path / "log.csv"
    path.write_bytes(b"step,lo\rss\n0,2.0\n")
    problems = gather_metrics(path, vocabulary).problems
    assert any(str(p.where) == f"{path}:1:0" and "not valid CSV" in p.message for p in problems)


def test_times_of_a_hand_written_loop(tmp_path, vocabulary):
    rows = [
        {"step": i, "time/total": 10.0 + 40 * (i == 0), "time/forward_backward": 6.0,
         "time/optim_step": 1.0, "time/get_batch": 2.0}
        for i in range(8)
    ]  # fmt: skip
    outcome = gather_metrics(write(tmp_path, rows), vocabulary)
    step = summary(outcome, "step")
    assert (step.get("first_over_rest"), step.get("median_s")) == (5, 10)
    assert step.get("gap_share") == pytest.approx(48 / 120)
    assert summary(outcome, "forward_backward").get("submit_s") is None
    assert not [f for f in outcome.facts if f.kind == "code_pattern"]


def test_the_first_cookbooks_layout(tmp_path, vocabulary):
    """0.1 to 0.3 time get_batch and step alone; their total spans two steps."""
    rows = [{"step": i, "train_mean_nll": 1.0, "time/get_batch": 0.5, "time/step": 1.5,
             "time/total": 4.0} for i in range(6)]  # fmt: skip
    outcome = gather_metrics(write(tmp_path, rows), vocabulary)
    assert summary(outcome, "step").get("median_s") == 2
    assert summary(outcome, "get_batch").get("share") == 0.25
    assert summary(outcome, "step").get("gap_share") is None


def test_time_that_follows_the_data(tmp_path, vocabulary):
    rows = [
        {"step": i, "num_tokens": 100 * (i % 5), "time/total": 3.0 * (1 + i % 5),
         "time/get_batch": 1.0 * (1 + i % 5)}
        for i in range(20)
    ]  # fmt: skip
    step = summary(gather_metrics(write(tmp_path, rows), vocabulary), "step")
    assert step.get("correlation_data") == pytest.approx(1)
    assert step.get("correlation_tokens") == pytest.approx(1)
    for row in rows:  # the rest of the step stays the same: no link but the part in the whole
        row["time/total"] = 5 + row["time/get_batch"]
    step = summary(gather_metrics(write(tmp_path, rows), vocabulary), "step")
    assert step.get("correlation_data") is None


def test_caps_are_reported(tmp_path, vocabulary, monkeypatch):
    monkeypatch.setattr(courses, "MAX_METRICS", 3)
    monkeypatch.setattr(timing, "MAX_OPERATIONS", 2)
    rows = [
        {"step": i, "time/total": 5.0, "time/a": 1, "time/b": 1, "time/c": 1}
        | {f"m{j}": j for j in range(5)}
        | {"loss": 1.0}
        for i in range(500)
    ]
    outcome = gather_metrics(write(tmp_path, rows), vocabulary)
    assert codes(outcome) == ["MM451", "MM450"]
    assert metric(outcome, "loss")  # a known role comes first
    steps = [int(str(f.get("step"))) for f in outcome.facts if f.kind == "step_timing"]
    assert len(steps) == timing.MAX_STEPS
    assert steps == sorted(set(steps))
    assert (steps[:20], steps[-1]) == (list(range(20)), 499)
    assert summary(outcome, "step").get("count") == 500


BROKEN = {
    "empty": b"",
    "blank": b"\n\n  \n",
    "binary": bytes(range(256)) * 10,
    "a list": b"[1, 2]\n",
    "cut": b'{"step": 0, "loss": 1.0}\n{"step": 1, "lo',
    "deep": b"[" * 100_000,
    "long line": b'{"step": 0, "x": "' + b"a" * 9_000_000 + b'"}\n{"step": 1, "loss": 2}\n',
    "huge numbers": b'{"step": 1e400, "loss": 1e999}\n{"step": -1, "loss": 1}\n',
    "utf-16": '{"step": 0}\n'.encode("utf-16"),
    "header only": b"step,loss\n",
    "nul": b'{"step": 0, "loss": 1}\n\0\0\0\0\n',
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_cost_only_what_is_broken(tmp_path, vocabulary, name):
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(BROKEN[name])
    outcome = gather_metrics(path, vocabulary)
    assert outcome.problems
    assert all(str(path) in str(problem.where) for problem in outcome.problems)
    kept = {"cut", "long line", "nul"}
    losses = [f for f in outcome.facts if f.get("name") == "loss"]
    assert len(losses) == (1 if name in kept else 0)


def test_a_cut_last_line_is_named(tmp_path, vocabulary):
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(BROKEN["cut"])
    (problem,) = gather_metrics(path, vocabulary).problems
    assert problem.code == "MM441"
    assert str(problem.where) == f"{path}:2:0"
    assert "the file ends within this line" in problem.message


def test_folders_that_miss_things(tmp_path, vocabulary):
    assert codes(gather_metrics(tmp_path, vocabulary)) == ["MM453"]
    write(tmp_path, [{"step": 0, "loss": 1.0}])
    (tmp_path / "config.json").write_text('{"learning_rate": 1e-4, "wandb_api')
    (tmp_path / "timing_spans.jsonl").write_bytes(b"\xff\xfe\x00")
    outcome = gather_metrics(tmp_path, vocabulary)
    assert set(codes(outcome)) == {"MM452", "MM441"}
    assert metric(outcome, "loss")
    assert codes(gather_metrics(tmp_path / "missing", vocabulary)) == ["MM440"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path, vocabulary):
    path = write(tmp_path, [{"step": 0, "loss": 1.0}])
    path.chmod(0)
    assert codes(gather_metrics(path, vocabulary)) == ["MM440"]


def test_a_pipe_is_not_waited_for(tmp_path, vocabulary):
    os.mkfifo(tmp_path / "metrics.jsonl")
    assert codes(gather_metrics(tmp_path / "metrics.jsonl", vocabulary)) == ["MM440"]


def test_packed_metrics_read_as_the_plain_ones(tmp_path, vocabulary):
    rows = [{"step": n, "loss": 2.0 - n / 50, "time/total": 1.0} for n in range(60)]
    plain = write(tmp_path, rows)
    run = tmp_path / "run"
    run.mkdir()
    packed = run / "metrics.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    wanted = {(f.kind, f.values) for f in gather_metrics(plain, vocabulary).facts}
    for path in (packed, run):
        found = {(f.kind, f.values) for f in gather_metrics(path, vocabulary).facts}
        assert wanted <= found
    assert looks_like_metrics(run)


def test_a_packed_file_that_breaks_off_keeps_its_start(tmp_path, vocabulary):
    spread = random.Random(1)
    rows = [{"step": n, "loss": spread.random()} for n in range(5000)]
    raw = gzip.compress(write(tmp_path, rows).read_bytes())
    path = tmp_path / "cut.jsonl.gz"
    path.write_bytes(raw[: len(raw) // 2])
    outcome = gather_metrics(path, vocabulary)
    assert 1000 < metric(outcome, "loss").get("count") < 4500
    (problem,) = outcome.problems
    assert problem.code == "MM441" and "lost" in problem.message


def test_nothing_secret_leaves_config(tmp_path, vocabulary):
    write(tmp_path, [{"step": 0, "loss": 1.0}])
    secret = "tml-SECRETSECRET"
    (tmp_path / "config.json").write_text(
        json.dumps(
            {
                "learning_rate": 1e-4,
                "api_key": secret,
                "base_url": f"https://user:{secret}@host",
                "wandb_project": secret,
                "loss_fn": f"x {secret}",
                "model_name": {"key": secret},
                "renderer_name": secret * 20,
                "num_epochs": secret,
            }
        )
    )
    outcome = gather_metrics(tmp_path, vocabulary)
    assert secret not in json.dumps([fact.plain() for fact in outcome.facts])
    assert secret not in "".join(map(str, outcome.problems))


@pytest.mark.parametrize("word", ["stub_sft", "prompt_distillation", "rlhf/sft", "dpo_run"])
def test_the_kind_of_training_is_told_only_where_it_is_plain(tmp_path, vocabulary, word):
    write(tmp_path, [{"step": 0, "loss": 1.0}])
    config = {"recipe_name": word, "num_epochs": 3, "dataset_builder": {"batch_size": 8}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    kinds = [f.get("type") for f in gather_metrics(tmp_path, vocabulary).facts
             if f.kind == "workload"]  # fmt: skip
    assert kinds == (["sft"] if word == "stub_sft" else [])


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("train_mean_nll", "train-loss"), ("loss", "train-loss"), ("test/nll", "eval-loss"),
        ("optim/lr", "learning-rate"), ("grad_norm:mean", "grad-norm"),
        ("optim/kl_sample_train_v1", "kl"), ("kl_policy_base", "other"),
        ("env/all/reward/total", "reward"), ("env/all/correct", "accuracy"),
        ("env/all/by_group/frac_mixed", "other"), ("rewarding", "other"),
    ],
)  # fmt: skip
def test_roles(name, role):
    assert role_of(name) == role


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5),
    st.lists(st.integers(), max_size=2),
)  # fmt: skip
NAMES = st.sampled_from(
    ["step", "epoch", "progress", "loss", "time/total", "time/step", "time/submit_batch",
     "time/finish_batch", "time/get_batch", "time/a:total", "time/a:count", "time/a:max",
     "time/:total", "time/", "num_tokens", "spans", ""]
)  # fmt: skip
ROWS = st.one_of(st.dictionaries(NAMES, VALUES, max_size=10), VALUES)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(st.lists(st.one_of(ROWS.map(json.dumps), st.text(max_size=30)), max_size=12))
def test_any_lines_are_survived(tmp_path, vocabulary, lines):
    path = tmp_path / "any.jsonl"
    path.write_text("\n".join(lines), "utf-8", errors="replace")
    outcome = gather_metrics(path, vocabulary)
    assert all(problem.code != "MM402" for problem in outcome.problems)


SPANS = st.dictionaries(
    st.sampled_from(["name", "wall_start", "wall_end", "duration"]),
    st.one_of(VALUES, st.sampled_from(["submit_batch", "finish_batch"])),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)
@given(st.lists(st.tuples(VALUES, st.lists(SPANS, max_size=4)), max_size=6), st.binary(max_size=99))
def test_any_spans_and_settings_are_survived(tmp_path, vocabulary, rows, config):
    lines = (json.dumps({"step": step, "spans": spans}) for step, spans in rows)
    (tmp_path / "timing_spans.jsonl").write_text("\n".join(lines))
    (tmp_path / "config.json").write_bytes(config)
    outcome = gather_metrics(tmp_path, vocabulary)
    assert all(problem.code != "MM402" for problem in outcome.problems)
