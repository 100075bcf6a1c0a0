"""A probe that is asked to end gives what it knows, says what it left out, and calls nothing right,
absent or whole that it has not seen whole."""

import importlib
import json

import pytest

from modelmedic.probes.dataset.probe import gather_dataset
from modelmedic.probes.logs.probe import gather_logs
from modelmedic.probes.messages.probe import read_messages
from modelmedic.probes.profile.probe import gather_profile
from modelmedic.reading.text import files


def codes(outcome):
    return [problem.code for problem in outcome.problems]


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr("modelmedic.probes.logs.files.CHUNK", 4096)
    monkeypatch.setattr(files, "_CHUNK", 1024)


def test_a_log(vocabulary, tmp_path, small_pieces, stops_after):
    log = tmp_path / "run.log"
    line = "2026-01-02 10:00:00 INFO tinker.lib.x: step {} is done and nothing else\n"
    lines = [line.format(n) for n in range(1000)]
    log.write_text("OSError: first\n" + "".join(lines) + "OSError: last\n")
    whole = gather_logs(log, vocabulary)
    assert any(fact.get("present") is False for fact in whole.facts)
    cut = gather_logs(log, vocabulary, progress=stops_after(3))
    assert codes(cut) == ["MM407"]
    assert [f.get("text") for f in cut.facts if f.kind == "error_message"] == ["first"]
    assert [f.get("event") for f in cut.facts if f.kind == "log_event"] == ["input-cut"]
    assert gather_logs(log, vocabulary, progress=stops_after(10_000)) == whole


def test_an_end_that_is_asked_for_too_late_leaves_nothing_out(vocabulary, tmp_path, stops_after):
    log = tmp_path / "run.log"
    log.write_text("OSError: first\nOSError: last\n")
    whole = gather_logs(log, vocabulary)
    assert gather_logs(log, vocabulary, progress=stops_after(1)) == whole
    assert read_messages("OSError: a", vocabulary, progress=stops_after(1)).problems == ()


def test_a_text(vocabulary, stops_after):
    text = "OSError: first\n" + "ValueError: second\n" * 9
    cut = read_messages(text, vocabulary, progress=stops_after(1))
    assert codes(cut) == ["MM407"]
    assert "what follows pasted:2 was not read" in cut.problems[0].message
    assert [fact.get("text") for fact in cut.facts] == ["first"]


def test_a_data_set(vocabulary, tmp_path, small_pieces, stops_after):
    rows = tmp_path / "data.jsonl"
    chat = {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}
    rows.write_text("no JSON\n" + (json.dumps(chat) + "\n") * 200)
    whole = gather_dataset(rows, vocabulary)
    assert any(fact.get("present") is False for fact in whole.facts)
    cut = gather_dataset(rows, vocabulary, progress=stops_after(2))
    assert codes(cut) == ["MM407"]
    problems = [fact for fact in cut.facts if fact.kind == "dataset_problem"]
    assert "not-json" in [fact.get("problem") for fact in problems]
    assert all(fact.get("present") for fact in problems)


def test_a_trace(vocabulary, tmp_path, small_pieces, stops_after):
    trace = tmp_path / "trace_events.jsonl"
    bar = '{{"name": "train_step", "ph": "X", "ts": {}, "dur": 5, "pid": 1, "tid": 1}}\n'
    trace.write_text("".join(bar.format(10 * n) for n in range(200)))
    cut = gather_profile(trace, vocabulary, progress=stops_after(2))
    assert codes(cut) == ["MM407"]
    assert [fact.kind for fact in cut.facts] == ["timeline"]


def test_tensors(vocabulary, tmp_path, stops_after):
    np = pytest.importorskip("numpy")
    probe = importlib.import_module("modelmedic.probes.tensors.probe")
    for role in ("ref_fp32", "ref_bf16", "target"):
        (tmp_path / role).mkdir()
        for number in range(6):
            values = np.arange(32.0, dtype=np.float32) * (1 + 0.001 * len(role))
            np.save(tmp_path / role / f"layers.{number}.mlp.npy", values)
    cut = probe.gather_tensors(tmp_path, vocabulary, progress=stops_after(2))
    assert codes(cut) == ["MM407"]
    assert "4 of 6 tensors were not compared" in cut.problems[0].message
    compared = [fact.get("component") for fact in cut.facts if fact.kind == "component_result"]
    assert compared == ["layers.0.mlp", "layers.1.mlp"]
    assert codes(probe.gather_tensors(tmp_path, vocabulary, progress=stops_after(6))) == []
