"""The recorder: what it notes of the SDK's calls, and that the job does not notice."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from modelmedic.probes import load_probe
from modelmedic.probes.watch.command import run_watch

SDK = Path(__file__).with_name("sdk_like.py")


def recorded(code, vocabulary, tmp_path):
    """The facts of a job that uses the SDK-like classes, by kind."""
    keep = tmp_path / "run.jsonl"
    whole = f"exec(open({str(SDK)!r}).read())\n" + textwrap.dedent(code)
    watched = run_watch([sys.executable, "-c", whole], vocabulary, keep=keep)
    assert watched.exit_code == 0
    found: dict[str, list[object]] = {}
    for fact in load_probe("recording")(keep, vocabulary).facts:
        found.setdefault(fact.kind, []).append(fact)
    return found


def test_times_of_calls(vocabulary, tmp_path):
    facts = recorded(
        """
        time.sleep(0.3)
        for _ in range(6):
            client.forward_backward(examples(2), "cross_entropy").result()
            client.optim_step(Adam(3e-2)).result()
        """,
        vocabulary,
        tmp_path,
    )
    times = {f.get("operation"): f for f in facts["timing_summary"]}
    assert times["forward_backward"].get("count") == 6
    assert 0.04 < times["forward_backward"].get("median_s") < 1
    assert 0.04 < times["forward_backward"].get("wait_s") < 1
    assert times["forward_backward"].get("submit_s") < 0.04
    (rate,) = facts["hyperparameter"]
    assert (rate.get("name"), rate.get("value")) == ("learning_rate", 3e-2)
    assert facts["run_record"][0].get("steps") == 6


def test_a_slow_submit_is_told_from_a_slow_result(vocabulary, tmp_path):
    code = """
        time.sleep(0.3)
        Slow.submit = 0.1
        for _ in range(4):
            client.forward_backward(examples(1), "cross_entropy").result()
        """
    (times,) = recorded(code, vocabulary, tmp_path)["timing_summary"]
    assert times.get("submit_s") >= 0.1 > times.get("wait_s")


def test_calls_in_flight_count_their_samples(vocabulary, tmp_path):
    code = """
        time.sleep(0.3)
        futures = [sampler.sample(Prompt([1, 2, 3]), 4, Params(16)) for _ in range(5)]
        [future.result() for future in futures]
        """
    facts = recorded(code, vocabulary, tmp_path)
    (flying,) = facts["concurrency"]
    assert (flying.get("operation"), flying.get("in_flight")) == ("sample", 20)
    (budget,) = facts["sampling_budget"]
    assert (budget.get("prompt_tokens"), budget.get("max_tokens")) == (3, 16)
    assert budget.get("length_stop_share") == 0.5


def test_faults_of_examples(vocabulary, tmp_path):
    code = """
        time.sleep(0.3)
        tokens = list(range(10))
        bad = [Datum(tokens, tokens, [0.0] * 10), Datum(tokens, tokens[1:] + [5], [1.0] * 9)]
        client.forward_backward(bad, "cross_entropy").result()
        """
    facts = recorded(code, vocabulary, tmp_path)["datum_problem"]
    present = {f.get("problem"): f.get("present") for f in facts}
    assert present == {
        "empty-chunk": False, "id-out-of-vocabulary": False, "non-finite": False,
        "targets-unshifted": True, "weights-all-zero": True, "weights-length": True,
    }  # fmt: skip


def test_exceptions_and_odd_arguments_pass_through(vocabulary, tmp_path):
    facts = recorded(
        """
        time.sleep(0.3)
        for wrong in (None, 5, "text", [object()]):
            try:
                client.forward_backward(wrong, loss_fn="x")
            except TypeError as error:
                assert str(error) == f"not for {wrong!r}", error
            else:
                raise SystemExit(3)
        assert client.forward_backward.__name__ == "forward_backward"
        assert client.forward_backward.__doc__ == "Forward and backward."
        """,
        vocabulary,
        tmp_path,
    )
    assert "datum_problem" not in facts


@pytest.mark.slow
def test_a_blocked_event_loop_is_seen_with_the_line(vocabulary, tmp_path):
    facts = recorded(
        """
        import asyncio
        async def main():
            await asyncio.sleep(0.3)
            client.optim_step(Adam(1e-4))
            await asyncio.sleep(0.5)
            pause()
            await asyncio.sleep(0.5)
        def pause():
            time.sleep(1.5)
        asyncio.run(main())
        """,
        vocabulary,
        tmp_path,
    )
    blocked = [f for f in facts["thread_state"] if f.get("state") == "blocked"]
    assert blocked[0].get("where").startswith("pause (")
    assert 1 < blocked[0].get("duration_s") < 4


@pytest.mark.slow
def test_a_killed_job_leaves_its_record(vocabulary, tmp_path):
    path = tmp_path / "run.jsonl"
    root = Path(__file__).resolve().parents[3]
    code = f"""
    exec(open({str(SDK)!r}).read())
    from modelmedic.probes import record
    record({str(path)!r})
    for _ in range(30):
        client.optim_step(Adam(1e-4)).result()
    time.sleep(1.5)
    os.kill(os.getpid(), 9)
    """
    script = "import os\n" + textwrap.dedent(code)
    job = subprocess.run([sys.executable, "-c", script], cwd=root, check=False)
    assert job.returncode == -9
    state = json.loads(path.read_text().splitlines()[1])
    assert state["operations"]["optim_step"]["calls"] == 30
    assert state["ended"] is False


@pytest.mark.heavy
def test_the_real_sdk_sends_the_same_with_and_without(tmp_path):
    """Bodies and headers of all requests; the order of those of one client."""
    pytest.importorskip("tinker")
    here = Path(__file__).parent
    sent = []
    for folder in ("", str(tmp_path)):
        start = Path(here.parents[2], "probes/watch/start") if folder else ""
        environment = {**os.environ, "PYTHONPATH": str(start), "MODELMEDIC_WATCH": folder}
        job = [sys.executable, str(here / "sdk_loopback.py")]
        answer = subprocess.run(job, env=environment, capture_output=True, text=True, check=True)
        sent.append(json.loads(answer.stdout.splitlines()[-1]))
    assert sent[0] == sent[1] and len(sent[0]["training"]) == 80
    (record,) = tmp_path.glob("*.jsonl")
    state = json.loads(record.read_text().splitlines()[1])
    assert {n: o["calls"] for n, o in state["operations"].items()} == {
        "forward_backward": 40, "optim_step": 40, "sample": 80, "save_state": 1,
    }  # fmt: skip
