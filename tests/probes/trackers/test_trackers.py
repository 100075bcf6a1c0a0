"""Files that two releases of each tracker have written (60 steps of one run; paths replaced)."""

import struct
from pathlib import Path

import pytest

from modelmedic.interfaces.inspection import gather
from modelmedic.probes.trackers.probe import gather_trackers
from modelmedic.probes.trackers.recognition import looks_like_trackers

DATA = Path(__file__).with_name("data")
FILES = sorted(DATA.iterdir())


def facts_of(path, vocabulary):
    outcome = gather_trackers(path, vocabulary)
    return {(f.kind, f.get("name") or f.get("operation")): f for f in outcome.facts}, outcome


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_real_files(path, vocabulary):
    head = b"" if path.is_dir() else path.read_bytes()[:4096]
    assert looks_like_trackers(path, head)
    facts, outcome = facts_of(path, vocabulary)
    assert not outcome.problems
    loss = facts["training_metric", "train_mean_nll"]
    assert (loss.get("count"), loss.get("role"), loss.get("trend")) == (60, "train-loss", "falling")
    assert loss.get("first") == pytest.approx(3, abs=0.1)
    assert loss.get("last") == pytest.approx(0.1969, abs=1e-3)
    assert facts["training_metric", "reward/total"].get("trend") == "rising"
    assert facts["timing_summary", "step"].get("median_s") == pytest.approx(2.049, abs=1e-3)


@pytest.mark.parametrize(
    "name", ["wandb-0.16.wandb", "wandb-0.31.wandb", "mlflow-2.9", "mlflow-3.17"]
)
def test_settings(name, vocabulary):
    facts, _ = facts_of(DATA / name, vocabulary)
    assert facts["hyperparameter", "learning_rate"].get("value") == 1e-4
    assert facts["hyperparameter", "lora_rank"].get("value") == 32
    assert [f.get("model") for (kind, _), f in facts.items() if kind == "renderer"] == [
        "Qwen/Qwen3-8B"
    ]


def test_a_scalar_as_a_tensor(vocabulary, tmp_path):
    """The form of newer writers: Value.tensor with one float."""

    def field(number, raw):
        return bytes([number << 3 | 2, len(raw)]) + raw

    events = (DATA / "tensorboard-2.21.tfevents").read_bytes()
    (first,) = struct.unpack("<Q", events[:8])
    made = [events[: first + 16]]
    for step in range(5):
        tensor = b"\x08\x01" + field(4, struct.pack("<f", step / 2))
        value = field(1, field(1, b"eval/loss") + field(8, tensor))
        raw = b"\x10" + bytes([step]) + field(5, value)
        made.append(struct.pack("<Q", len(raw)) + b"\0" * 4 + raw + b"\0" * 4)
    path = tmp_path / "events.out.tfevents.1"
    path.write_bytes(b"".join(made))
    facts, _ = facts_of(path, vocabulary)
    assert facts["training_metric", "eval/loss"].get("last") == 2.0


@pytest.mark.parametrize("path", [p for p in FILES if p.is_file()], ids=lambda path: path.name)
@pytest.mark.parametrize("share", [0.02, 0.3, 0.6, 0.9])
def test_cut_files_give_what_is_there(path, share, vocabulary, tmp_path):
    raw = path.read_bytes()
    cut = tmp_path / path.name
    cut.write_bytes(raw[: int(len(raw) * share)])
    facts, outcome = facts_of(cut, vocabulary)
    known = facts.get(("training_metric", "train_mean_nll"))
    assert (known.get("count") if known else 0) < 60
    assert {p.code for p in outcome.problems} <= {"MM440", "MM441", "MM442", "MM453"}


@pytest.mark.parametrize("path", [p for p in FILES if p.is_file()], ids=lambda path: path.name)
@pytest.mark.parametrize("place", range(40, 4000, 360))
def test_broken_bytes_cost_what_they_hit(path, place, vocabulary, tmp_path):
    raw = bytearray(path.read_bytes())
    raw[place : place + 24] = bytes(range(231, 255))
    broken = tmp_path / path.name
    broken.write_bytes(raw)
    _, outcome = facts_of(broken, vocabulary)
    assert {p.code for p in outcome.problems} <= {"MM440", "MM441", "MM442", "MM450", "MM453"}


def test_lines_of_mlflow_that_cannot_be_used(vocabulary, tmp_path):
    (tmp_path / "metrics").mkdir()
    (tmp_path / "meta.yaml").write_text("run_id: x\n")
    lines = ["1 0.5 0", "2 nan 1", "3 x 2", "4 0.4 -3", "", "5 0.3 3 9 9", "6 0.25 4"]
    (tmp_path / "metrics" / "loss").write_text("\n".join(lines))
    facts, outcome = facts_of(tmp_path, vocabulary)
    loss = facts["training_metric", "loss"]
    assert (loss.get("count"), loss.get("non_finite"), loss.get("last")) == (3, 1, 0.25)
    assert [p.code for p in outcome.problems] == ["MM441"]


def test_what_is_no_file_of_a_tracker(vocabulary, tmp_path):
    other = tmp_path / "other.txt"
    other.write_text("hello")
    for path in (other, tmp_path, tmp_path / "none"):
        outcome = gather_trackers(path, vocabulary)
        assert not outcome.facts and outcome.problems[0].code in ("MM453", "MM440")
        assert not path.exists() or not looks_like_trackers(path, b"hello")


def test_reading_an_mlflow_run_ends_early(vocabulary, tmp_path, stops_after, monkeypatch):
    """If the user ends it within a metric, the next ones are not begun."""
    monkeypatch.setattr("modelmedic.reading.text.files._CHUNK", 2_000)
    (tmp_path / "metrics").mkdir()
    (tmp_path / "meta.yaml").write_text("run_id: 1\nlifecycle_stage: active\n")
    for name in ("a", "b"):
        lines = (f"1767000000000 {1 / (n + 1):.4f} {n}\n" for n in range(900))
        (tmp_path / "metrics" / name).write_text("".join(lines))
    outcome = gather_trackers(tmp_path, vocabulary, progress=stops_after(1))
    assert "MM407" in {p.code for p in outcome.problems}
    assert {f.get("name") for f in outcome.facts if f.kind == "training_metric"} <= {"a"}
    whole = gather_trackers(tmp_path, vocabulary)
    assert {f.get("name") for f in whole.facts if f.kind == "training_metric"} == {"a", "b"}


@pytest.mark.parametrize("path", sorted(DATA.glob("*.tfevents")), ids=lambda path: path.name)
def test_reading_ends_early(path, vocabulary, stops_after, monkeypatch):
    """Between two pieces of a file the user may end it; what was read by then counts."""
    monkeypatch.setattr("modelmedic.probes.trackers.tensorboard._CHUNK", 2_000)
    outcome = gather_trackers(path, vocabulary, progress=stops_after(2))
    assert "MM407" in {p.code for p in outcome.problems}
    counts = [f.get("count") for f in outcome.facts if f.get("name") == "train_mean_nll"]
    assert not counts or (isinstance(counts[0], int) and counts[0] < 60)


def test_a_long_event_file_is_read_in_stretches(vocabulary, tmp_path, monkeypatch):
    monkeypatch.setattr("modelmedic.probes.trackers.tensorboard.MAX_VALUES", 3_000)
    monkeypatch.setattr("modelmedic.probes.trackers.series.MAX_VALUES", 3_000)
    events = (DATA / "tensorboard-2.21.tfevents").read_bytes()
    (first,) = struct.unpack("<Q", events[:8])
    long = tmp_path / "events.out.tfevents.1"
    long.write_bytes(events[: first + 16] + events[first + 16 :] * 40)
    facts, outcome = facts_of(long, vocabulary)
    assert "MM442" in {p.code for p in outcome.problems}
    assert facts["training_metric", "train_mean_nll"].get("count") == 60


def test_a_run_that_was_not_sent_is_found_where_nothing_else_tells_of_it(tmp_path, vocabulary):
    run = tmp_path / "wandb" / "offline-run-20261120_101500-ab12" / "run-ab12.wandb"
    run.parent.mkdir(parents=True)
    run.write_bytes((DATA / "wandb-0.31.wandb").read_bytes())
    (run.parent / "files").mkdir()
    (run.parent / "files" / "config.yaml").write_text("learning_rate: {value: 1}\n")
    for given in (tmp_path, tmp_path / "wandb"):
        facts, _, _ = gather([given], vocabulary)
        assert {f.get("name") for f in facts if f.kind == "training_metric"} >= {"train_mean_nll"}
    (tmp_path / "metrics.jsonl").write_text('{"step": 0, "train_mean_nll": 2.0}\n')
    facts, _, _ = gather([tmp_path], vocabulary)
    assert not [f for f in facts if ".wandb" in f.provenance[0].location]
