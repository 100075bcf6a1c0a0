"""Run folders that the loops of three releases of the cookbook have written; see data/README.md."""

import json
import shutil
from pathlib import Path

import pytest

from modelmedic.interfaces.inspection import gather
from modelmedic.probes.metrics.probe import gather_metrics
from modelmedic.probes.metrics.recognition import looks_like_metrics
from modelmedic.probes.recognition import Table, find_units

DATA = Path(__file__).with_name("data")
RELEASES = ("0.1.0", "0.3.0", "0.6.1")


def folder(release, recipe):
    return DATA / f"cookbook-{release}" / recipe


def facts_of(outcome, kind, **wanted):
    return [
        fact for fact in outcome.facts
        if fact.kind == kind and all(fact.get(name) == value for name, value in wanted.items())
    ]  # fmt: skip


def one(outcome, kind, **wanted):
    (fact,) = facts_of(outcome, kind, **wanted)
    return fact


@pytest.mark.parametrize("release", RELEASES)
def test_supervised_learning(release, vocabulary):
    outcome = gather_metrics(folder(release, "sl_basic"), vocabulary)
    assert not outcome.problems
    loss = one(outcome, "training_metric", name="train_mean_nll")
    assert (loss.get("count"), loss.get("role"), loss.get("trend")) == (8, "train-loss", "falling")
    assert one(outcome, "training_metric", name="test/nll").get("role") == "eval-loss"
    assert one(outcome, "hyperparameter", name="learning_rate").get("value") == 2e-4
    assert one(outcome, "workload").get("type") == "sft"
    assert [f.get("type") for f in facts_of(outcome, "checkpoint")].count("state") == 2
    step = one(outcome, "timing_summary", operation="step")
    assert step.get("count") == 8 and 0.05 < step.get("mean_s") < 0.4
    assert (step.get("gap_share") or 0) < 0.05


@pytest.mark.parametrize("release", RELEASES)
def test_reinforcement_learning(release, vocabulary):
    outcome = gather_metrics(folder(release, "math_rl"), vocabulary)
    assert not outcome.problems
    reward = one(outcome, "training_metric", name="env/all/reward/total")
    assert (reward.get("count"), reward.get("role")) == (8, "reward")
    kl = one(outcome, "training_metric", name="optim/kl_sample_train_v1")
    assert kl.get("role") == "kl" and abs(kl.get("step0")) < 0.01
    assert one(outcome, "workload").get("type") == "rl"
    assert one(outcome, "hyperparameter", name="group_size").get("value") == 4
    assert one(outcome, "timing_summary", operation="step").get("count") == 8


def test_the_first_release_does_not_time_its_sampling(vocabulary):
    """Time that no operation accounts for is its sampling, then, and not a gap."""
    shares = {
        release: one(
            gather_metrics(folder(release, "math_rl"), vocabulary), "timing_summary",
            operation="step",
        ).get("gap_share")
        for release in RELEASES
    }  # fmt: skip
    assert shares["0.1.0"] is None
    assert all(shares[release] < 0.2 for release in RELEASES[1:])


@pytest.mark.parametrize(
    ("release", "cut", "overlaps"),
    [("0.3.0", False, True), ("0.3.0", True, None), ("0.6.1", False, True), ("0.6.1", True, True)],
)
def test_a_batch_ahead(release, cut, overlaps, vocabulary, tmp_path):
    """A row of 0.3.0 ends its batch and submits the next: it looks like a loop that waits for each
    batch. Only its last row, without a submission, tells; a run that was cut leaves it open."""
    run = tmp_path / "run"
    shutil.copytree(folder(release, "sl_basic"), run)
    if cut:
        for name in ("metrics.jsonl", "timing_spans.jsonl"):
            lines = (run / name).read_text().splitlines(keepends=True)
            (run / name).write_text("".join(lines[:-1]))
    step = one(gather_metrics(run, vocabulary), "timing_summary", operation="step")
    assert step.get("pipelined") is overlaps


def test_spans_alone_of_a_loop_that_waits_leave_it_open(vocabulary, tmp_path):
    rows = [
        {"step": n, "spans": [
            {"name": "submit_batch", "duration": 0.1, "wall_start": 0.0, "wall_end": 0.1},
            {"name": "finish_batch", "duration": 0.5, "wall_start": 0.1, "wall_end": 0.6},
        ]} for n in range(6)
    ]  # fmt: skip
    (tmp_path / "timing_spans.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    losses = [{"step": n, "train_mean_nll": 2.0, "train_mean_bpb": 1.0, "time/get_batch": 0.1,
               "time/submit_batch": 0.1, "time/step": 0.4, "time/finish_batch": 0.5}
              for n in range(6)]  # fmt: skip
    found = gather_metrics(tmp_path / "timing_spans.jsonl", vocabulary)
    assert one(found, "timing_summary", operation="step").get("pipelined") is None
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in losses))
    # A metric that came with 0.5 shows that each row holds one batch.
    found = gather_metrics(tmp_path, vocabulary)
    assert one(found, "timing_summary", operation="step").get("pipelined") is False


@pytest.mark.parametrize("release", ["0.3.0", "0.6.1"])
def test_what_a_run_says_of_its_iterations_is_neither_data_nor_metrics(release, vocabulary):
    run = folder(release, "math_rl")
    units, problems = find_units([run], vocabulary)
    assert [unit.artefact.name for unit in units] == ["run", "log"] and not problems
    for path in sorted((run / "iteration_000000").iterdir()):
        assert Table(vocabulary).of_file(path, path.read_bytes()) is None, path.name
    outcome = gather_metrics(run, vocabulary)
    assert one(outcome, "run_record").get("sample_checks") == 1


def test_what_a_run_changed_in_the_code_is_no_list_of_checkpoints(vocabulary, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(folder("0.6.1", "sl_basic"), run)
    (run / "code.diff").write_text("+path = 'tinker://x:train:0/weights/000100'\n")
    assert [unit.artefact.name for unit in find_units([run], vocabulary)[0]] == ["run", "log"]


def test_metrics_with_something_listed_are_metrics(tmp_path):
    path = tmp_path / "x.jsonl"
    for value in ([], [1, 2], ["a"], {"a": 1}):
        assert looks_like_metrics(path, json.dumps({"step": 0, "loss": 1.0, "x": value}).encode())
    row = {"iteration": 0, "reward": 1.0, "steps": [{"reward": 1.0}]}
    assert not looks_like_metrics(path, json.dumps(row).encode())


@pytest.mark.parametrize("recipe", ["sl_basic", "math_rl"])
@pytest.mark.parametrize("release", RELEASES)
def test_a_healthy_run_has_no_problem(release, recipe, doctor):
    facts, problems, _ = gather([folder(release, recipe)], doctor.base.vocabulary)
    assert not problems
    found = [d for d in doctor.diagnose(facts).diagnoses if not d.explained_by]
    assert [d.id for d in found if d.severity in ("error", "warning")] == []
    # The SDK warns of a call that the loop of 0.6.1 makes by itself.
    own = (release, recipe) == ("0.6.1", "math_rl")
    assert ("tinker.usage.cookbook-sync-call" in {d.id for d in found}) is own


def test_a_folder_that_is_not_read_to_its_end_has_no_record(vocabulary, tmp_path, stops_after):
    """The missing part may be behind the end of the reading."""
    run = tmp_path / "run"
    shutil.copytree(folder("0.6.1", "sl_basic"), run)
    (run / "timing_spans.jsonl").unlink()
    row = json.loads((run / "metrics.jsonl").read_text().splitlines()[0])
    lines = (json.dumps(row | {"step": n}) + "\n" for n in range(4_000))
    (run / "metrics.jsonl").write_text("".join(lines))
    outcome = gather_metrics(run, vocabulary, progress=stops_after(1))
    assert [problem.code for problem in outcome.problems] == ["MM407"]
    assert 0 < one(outcome, "training_metric", name="train_mean_nll").get("count") < 4_000
    assert not facts_of(outcome, "run_record")
    assert facts_of(gather_metrics(run, vocabulary), "run_record")
