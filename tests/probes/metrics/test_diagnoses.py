"""From run folders, profiles and data to diagnoses: causes that are known are told apart."""

import json
from pathlib import Path

import pytest

from modelmedic.engine.compiler.build import build_or_raise
from modelmedic.engine.compiler.knowledge_base import KnowledgeBase
from modelmedic.engine.compiler.store.files import texts_of, vocabulary_in
from modelmedic.engine.diagnosis.diagnoser import Diagnoser
from modelmedic.facts.fact_file import parse_facts
from modelmedic.probes import load_probe

SLOW = {"kind": "symptom", "name": "slow-steps"}
REMAINING = {"tinker.service.server-side-slow", "tinker.service.network-slow",
             "tinker.perf.gil-contention"}  # fmt: skip


@pytest.fixture(scope="module")
def doctor(root):
    """A diagnoser on the Tinker knowledge."""

    def texts(folder):
        paths = sorted(folder.rglob("*.yaml"))
        return [(str(p), p.read_text("utf-8")) for p in paths if ".test." not in p.name]

    vocabulary = texts_of((n, Path(p).read_bytes()) for n, p in vocabulary_in(str(root)))
    compiled = build_or_raise(vocabulary, texts(root / "knowledge/tinker"))
    return Diagnoser.of(KnowledgeBase.of(compiled, "test"), "reference")


@pytest.fixture
def diagnose(doctor, data):
    def run(probe, path, *more):
        vocabulary = doctor.base.vocabulary
        outcome = load_probe(probe)(data / path, vocabulary)
        flat = json.dumps([*(fact.plain() for fact in outcome.facts), *more])
        return doctor.diagnose(parse_facts(flat, "facts", vocabulary))

    return run


def ids(report, *severities):
    return [d.id for d in report.diagnoses if not severities or d.severity in severities]


def test_waiting_in_every_row_of_a_sequential_loop(diagnose):
    report = diagnose("metrics", "metrics/runs/no_pipeline")
    assert ids(report)[0] == "tinker.perf.missing-pipelining"


def test_slow_data(diagnose):
    report = diagnose("metrics", "metrics/runs/slow_data")
    assert ids(report)[0] == "tinker.perf.data-loading-bottleneck"
    ruled_out = {each.id for each in report.ruled_out}
    assert {"tinker.service.server-side-slow", "tinker.perf.missing-pipelining"} <= ruled_out


def test_a_slow_first_step_is_warm_up(diagnose):
    report = diagnose("metrics", "metrics/runs/slow_first")
    assert "tinker.perf.normal-warmup" in ids(report)
    assert not ids(report, "error", "warning")


@pytest.mark.parametrize("run", ["slow_server", "slow_network"])
def test_server_and_network_are_left_open(diagnose, run):
    """Their metrics look alike, and waiting is usual for few tokens. Where the user finds the steps
    slow the wait is named, none of its causes is, and what tells them apart is asked for."""
    path = f"metrics/runs/{run}"
    alone = diagnose("metrics", path)
    assert [(d.id, d.severity) for d in alone.diagnoses if d.kind != "benign"] == [
        ("tinker.perf.waits-for-few-tokens", "info")
    ]
    assert alone.next[0].id == "service"
    report = diagnose("metrics", path, SLOW)
    assert {each.id for each in report.unknown} >= REMAINING
    assert ids(report)[0] == "tinker.perf.high-wait-time"
    assert not REMAINING & set(ids(report))
    assert not REMAINING & {each.id for each in report.ruled_out}
    assert "tinker.perf.data-loading-bottleneck" in {each.id for each in report.ruled_out}
    assert "service" in {step.id for step in report.next}


@pytest.mark.parametrize(
    ("latency", "cause"),
    [(0.2, "tinker.service.server-side-slow"), (4.0, "tinker.service.network-slow")],
)
def test_the_round_trip_decides(diagnose, latency, cause):
    check = {"kind": "service_check", "check": "capabilities", "ok": True, "latency_s": latency}
    report = diagnose("metrics", "metrics/runs/slow_server", SLOW, check)
    assert cause in ids(report)
    assert (
        len({"tinker.service.server-side-slow", "tinker.service.network-slow"} & set(ids(report)))
        == 1
    )


@pytest.mark.parametrize("run", ["sft", "sft_061", "rl", "rl_async", "rl_stream", "rl_kl_061"])
def test_healthy_runs_have_no_fault_of_speed(diagnose, run):
    report = diagnose("metrics", f"metrics/runs/{run}")
    # The rewards of these runs are all zero, which is rightly told.
    assert set(ids(report, "error", "warning")) <= {"tinker.dynamics.reward-flat"}


@pytest.mark.parametrize(
    ("dump", "expected"),
    [
        ("gil", ["tinker.perf.gil-contention"]),
        ("py", ["tinker.perf.main-thread-blocked"]),  # a lead
        ("wait", []),
        ("async", []),
    ],
)
def test_stack_dumps(diagnose, dump, expected):
    assert ids(diagnose("profile", f"profile/pyspy_dump_{dump}.txt")) == expected


def test_profiles(diagnose):
    cli = diagnose("profile", "profile/pyinstrument_cli_epoll.json")
    assert ids(cli) == ["tinker.usage.pyinstrument-no-async-mode"]
    waits = diagnose("profile", "profile/pyinstrument_async_inside_loop.json", SLOW)
    assert ids(waits)[0] == "tinker.perf.high-wait-time"
    for trace in ("trace_sft.jsonl", "trace_rl.jsonl"):
        assert not ids(diagnose("profile", f"profile/{trace}"))


def test_data_and_checkpoints(diagnose):
    assert ids(diagnose("dataset", "dataset/broken.jsonl"))[0] == "tinker.data.bad-jsonl"
    for name in ("good.jsonl", "tools.jsonl", "thinking.jsonl"):
        assert not ids(diagnose("dataset", f"dataset/{name}"), "error", "warning")
    report = diagnose("checkpoint", "checkpoint/script.py")
    assert {"tinker.checkpoint.wrong-type", "tinker.checkpoint.bad-path"} <= set(ids(report))
    assert not ids(diagnose("checkpoint", "metrics/runs/sft/checkpoints.jsonl"))
