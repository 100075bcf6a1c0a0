"""Two runs whose metrics look alike: only the record of the run tells why results are late.

``records/*.jsonl`` are records of `diagnose watch --keep` over two jobs: one that holds the
interpreter lock in a regular expression between submitting and waiting, and one whose calls take
two seconds to return their future."""

import json
import shutil
from pathlib import Path

import pytest

from modelmedic.interfaces.cli.main import main

RECORDS = Path(__file__).with_name("records")
CAUSES = {"gil_hold": "tinker.perf.gil-contention", "slow_submit": "tinker.perf.high-submit-time"}
ROW = {
    "learning_rate": 1e-4, "num_tokens": 32_000, "time/get_batch": 0.05,
    "time/forward_backward_async": 0.02, "time/optim_step_async": 0.01, "time/submit_batch": 0.1,
}  # fmt: skip


@pytest.fixture
def run(tmp_path, monkeypatch, compiled):
    """A run folder in which nearly each step is waiting for results."""
    monkeypatch.setenv("MODELMEDIC_CACHE", str(compiled))
    folder = tmp_path / "run"
    folder.mkdir()
    waits = [45 + 0.2 * (step % 3) for step in range(12)]
    rows = [
        {"step": step, **ROW, "train_mean_nll": 2 - 0.05 * step, "time/step": wait,
         "time/finish_batch": wait + 0.1}
        for step, wait in enumerate(waits)
    ]  # fmt: skip
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    settings = {"model_name": "Qwen/Qwen3-8B", "learning_rate": 1e-4, "lora_rank": 32}
    (folder / "config.json").write_text(json.dumps(settings))
    return folder


def inspected(folder, capsys, *options):
    with pytest.raises(SystemExit):
        main(["inspect", str(folder), *options])
    return capsys.readouterr().out


@pytest.mark.parametrize("fault", CAUSES)
def test_metrics_and_the_record_name_the_fault(fault, run, capsys):
    shutil.copyfile(RECORDS / f"{fault}.jsonl", run / "run.jsonl")
    found = json.loads(inspected(run, capsys, "--format", "json"))["diagnoses"]
    assert found[0]["id"] == CAUSES[fault]


def test_the_line_that_held_the_lock_is_shown(run, capsys):
    shutil.copyfile(RECORDS / "gil_hold.jsonl", run / "run.jsonl")
    where = inspected(run, capsys).partition("Where: ")[2].partition("Do:")[0]
    assert "match (re/__init__.py:166), called by clean (~/train.py:5)" in " ".join(where.split())


def test_without_a_record_it_says_what_is_open_and_how_to_record(run, capsys):
    screen = " ".join(inspected(run, capsys).split())
    assert "tell lock, submission, network and server apart" in screen
    assert "diagnose watch --keep run.jsonl -- python train.py" in screen
    found = json.loads(inspected(run, capsys, "--format", "json"))["diagnoses"]
    assert not {d["id"] for d in found} & set(CAUSES.values())
