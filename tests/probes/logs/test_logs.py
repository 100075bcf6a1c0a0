"""Logs as they are -> facts. The samples came out of the real SDK and cookbook."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from modelmedic.facts import Location
from modelmedic.probes.logs import probe as log_probe
from modelmedic.probes.logs import tally as log_tally
from modelmedic.probes.logs.probe import gather_logs
from modelmedic.probes.messages.probe import MAX_MESSAGES, read_messages
from modelmedic.probes.shared.redaction import SessionNames

STAMP = "2026-01-02 03:{:02}:{:02},000 - tinker.lib.x - "


def of_kind(outcome, kind):
    return [dict(fact.values) for fact in outcome.facts if fact.kind == kind]


def events(outcome):
    """The events that are there."""
    found = of_kind(outcome, "log_event")
    return {fact["event"]: fact for fact in found if fact["present"]}


@pytest.fixture
def read(tmp_path, vocabulary):
    def read(text, **options):
        path = tmp_path / "train.log"
        path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
        return gather_logs(path, vocabulary, **options)

    return read


@pytest.mark.parametrize("name", ["sft", "rl", "rl_async", "rl_kl", "rl_stream"])
def test_a_healthy_run_shows_no_problem(name, data, vocabulary):
    outcome = gather_logs(data / "logs" / f"healthy_{name}.log", vocabulary)
    assert not outcome.problems
    assert not events(outcome)
    assert not of_kind(outcome, "http_response")
    for message in of_kind(outcome, "error_message"):  # normal for this renderer
        assert message["text"].startswith("WARNING: Using train_on_what=ALL_ASSISTANT_MESSAGES")
    absent = {fact["event"] for fact in of_kind(outcome, "log_event")}
    assert absent == {"billing-paused", "capacity-wait", "heartbeat-failed", "queue-paused"}


def test_the_lines_that_the_sdk_logs(data, vocabulary):
    outcome = gather_logs(data / "logs" / "sdk_log_lines.txt", vocabulary)
    found = events(outcome)
    counts = {name: fact["count"] for name, fact in found.items()}
    assert counts == {
        "billing-paused": 5, "capacity-wait": 2, "deprecation": 1, "heartbeat-failed": 14,
        "poller-failed": 2, "queue-paused": 5, "rate-limited": 1, "retry": 3,
        "session-finished": 1, "silence": 1, "telemetry-dropped": 6,
    }  # fmt: skip
    assert found["heartbeat-failed"]["duration_s"] == 150.34468001300002
    assert found["billing-paused"]["duration_s"] == 15.029523615000016
    statuses = {fact["status"]: fact["count"] for fact in of_kind(outcome, "http_response")}
    assert statuses == {401: 5, 402: 4, 403: 2, 500: 4}


def scenarios(text):
    for part in text.split("# scenario ")[1:]:
        name, _, body = part.partition("\n")
        yield name, body


def test_the_messages_are_those_of_the_messages_probe(data, vocabulary, tmp_path):
    """If a log is small enough to be read as text, both probes find the same."""
    text = (data / "logs" / "sdk_log_lines.txt").read_text("utf-8")
    for name, body in scenarios(text):
        path = tmp_path / f"{name}.log"
        path.write_text(body)
        logs = set(gather_logs(path, vocabulary).facts)
        body = body.replace("00000000-stub-0000-0000-000000000001", "session-1")
        body = body.replace("sessionless-0967ae1b-6705-40ba-80f2-f49b50f658c5", "session-1")
        messages = set(read_messages(body, vocabulary, name=name).facts)
        extra = {dict(fact.values).get("event") for fact in logs - messages}
        assert messages <= logs, name
        assert extra <= {"silence", "billing-paused", "capacity-wait", "heartbeat-failed",
                         "queue-paused"}  # fmt: skip


@pytest.mark.parametrize(
    "name", ["fb__401", "save__409", "config__402", "refused_start", "fb_future__410"]
)
def test_a_traceback_is_read_as_by_the_messages_probe(name, data, vocabulary):
    path = data / "logs" / f"traceback_{name}.txt"
    messages = read_messages(path.read_text("utf-8"), vocabulary, name=path.name)
    assert gather_logs(path, vocabulary).facts[: len(messages.facts)] == messages.facts


@pytest.mark.parametrize(
    ("name", "status", "operation", "count"),
    [("debug_fb_500x2", 500, "forward_backward", 2), ("debug_sample_429x3", 429, "asample", 3),
     ("debuglog_save409x2", 409, "save_weights", 2)],
)  # fmt: skip
def test_statuses_in_debug_logs(name, status, operation, count, data, vocabulary):
    outcome = gather_logs(data / "logs" / f"{name}.txt", vocabulary)
    assert of_kind(outcome, "http_response") == [
        {"status": status, "operation": operation, "count": count, "owner": "tinker"}
    ]


def test_every_fact_says_where_it_stands(read):
    outcome = read("fine\n" * 9 + "WARNING:a.b:disk slow\n")
    (fact,) = outcome.facts
    assert fact.provenance[0].source == "probe:logs"
    assert Path(fact.provenance[0].location).name == "train.log:10"


def test_repetitions_are_counted_however_many(read):
    lines = [f"WARNING:tinker.lib.x:Session heartbeat failed for {n}.5 seconds for session "
             f"{n:08d}-aaaa-bbbb-cccc-000000000001. Last exception: APITimeoutError: Request "
             "timed out..\nYour connection may be unreliable or Tinker is down.\n"
             for n in range(120, 1120)]  # fmt: skip
    outcome = read("".join(lines))
    (event,) = events(outcome).values()
    assert (event["count"], event["duration_s"]) == (1000, 1119.5)
    causes = [m for m in of_kind(outcome, "error_message") if m.get("chain") == "cause"]
    assert [(m["exception"], m["count"]) for m in causes] == [("APITimeoutError", 1000)]
    heads = [m for m in of_kind(outcome, "error_message") if m.get("chain") != "cause"]
    assert sum(m["count"] for m in heads) == 1000
    assert len(heads) == 5


def test_repeated_tracebacks_are_counted(read):
    one = ("ERROR:root:step {0} failed\nTraceback (most recent call last):\n"
           '  File "a.py", line 3, in f\n    raise KeyError({0})\nKeyError: {0}\n\n'
           "During handling of the above exception, another exception occurred:\n\n"
           'Traceback (most recent call last):\n  File "b.py", line 9, in g\n    g()\n'
           "ValueError: bad error value {0}\n")  # fmt: skip
    outcome = read("".join(one.format(n) for n in range(300)))
    sums: dict[str, int] = {}
    for message in of_kind(outcome, "error_message"):
        name = message.get("exception", "")
        sums[name] = sums.get(name, 0) + message["count"]
    assert sums == {"": 300, "KeyError": 300, "ValueError": 300}
    assert outcome.facts[0].get("chain") == "final"


def test_answers_with_different_statuses_are_told_apart(read):
    line = 'INFO:httpx:HTTP Request: POST https://x/api/v1/{} "HTTP/1.1 {} X"\n'
    text = "".join(line.format("optim_step", status) for status in (200, 500, 503) * 40)
    text += line.format("asample", 429) * 7
    outcome = read(text)
    found = {(f["status"], f["operation"]): f["count"] for f in of_kind(outcome, "http_response")}
    assert found == {(500, "optim_step"): 40, (503, "optim_step"): 40, (429, "asample"): 7}


def test_a_word_of_trouble_in_a_message_of_many_lines_belongs_to_it(read):
    text = "INFO:a.b:first\nINFO:a.b:a table\n  x | error 1\n  y | 2\nINFO:a.b:last\n"
    (message,) = of_kind(read(text), "error_message")
    assert message["text"] == "a table\n  x | error 1\n  y | 2"
    assert (message["level"], message["count"]) == ("INFO", 1)


def test_keys_and_sessions_are_cut_out(read):
    text = (
        "WARNING:tinker:session 5f0f4a1c-1111-4222-8333-0123456789ab: key tml-abcdefgh refused\n"
        "WARNING:tinker:session 5f0f4a1c-1111-4222-8333-0123456789ab: failed again\n"
        "WARNING:tinker:session 99994a1c-1111-4222-8333-0123456789ab: failed too\n"
        "WARNING:tinker:Training for 99994a1c-1111-4222-8333-0123456789ab:train:0 failed\n"
    )
    texts = {m["text"] for m in of_kind(read(text), "error_message")}
    assert texts == {
        "session session-1: key <redacted> refused", "session session-1: failed again",
        "session session-2: failed too", "Training for session-2:train:0 failed",
    }  # fmt: skip


def test_only_a_log_of_the_sdk_shows_what_it_lacks(read):
    assert not of_kind(read("INFO:mine:fine\n" * 5), "log_event")
    found = of_kind(read("INFO:tinker.lib.x:fine\n" * 5), "log_event")
    assert {(f["event"], f["present"], f["count"]) for f in found} == {
        (name, False, 0)
        for name in ("billing-paused", "capacity-wait", "heartbeat-failed", "queue-paused")
    }


def test_the_error_that_ended_a_long_chatty_log_is_found(read, monkeypatch):
    monkeypatch.setattr(log_tally, "BUDGETS", (20, 20, 20))
    monkeypatch.setattr(log_tally, "TAIL", 600)
    monkeypatch.setattr(log_probe, "MAX_SHORT", 1000)
    letters = "ghijklmnopqrstuvwxyz"
    words = [a + b + c for a in letters for b in letters for c in letters[:3]]
    text = "".join(f"INFO:a.b:sample\nthe {w} was an error\nWARNING:a.b:{w}\n" for w in words)
    text += 'Traceback (most recent call last):\n  File "a.py", line 1, in f\nOSError: at last\n'
    outcome = read(text)
    assert [problem.code for problem in outcome.problems] == ["MM491", "MM491"]
    assert "train.log:59" in outcome.problems[1].message
    assert outcome.facts[0].get("text") == "at last"
    kept = {m["text"] for m in of_kind(outcome, "error_message")}
    assert {words[0], words[-1]} <= kept and words[600] not in kept


def test_so_many_messages_are_kept(read):
    letters = "ghijklmnopqrst"
    text = "".join(f"ERROR:x:{a}{b} broke\n" for a in letters for b in letters for _ in (1, 2))
    text += "".join(f"WARNING:x:{a}{b} slow\n" for a in letters for b in letters)
    outcome = read(text)
    messages = of_kind(outcome, "error_message")
    assert len(messages) == MAX_MESSAGES
    assert {m["count"] for m in messages if m["level"] == "ERROR"} == {2}
    assert "MM412" in [problem.code for problem in outcome.problems]


def test_colours_progress_bars_and_windows_line_ends(read):
    bar = "\r".join(f" {n}%|###| {n}/100" for n in range(101))
    text = f"{bar}\r\n\x1b[31mERROR:a.b:disk full\x1b[0m\r\nINFO:a.b:ok\r\n"
    (message,) = of_kind(read(text), "error_message")
    assert message["text"] == "disk full"


def test_json_lines(read):
    rows = [{"level": "info", "msg": "fine"}, {"level": "error", "msg": "no disk", "status": 503}]
    outcome = read("".join(json.dumps(row) + "\n" for row in rows * 3))
    (message,) = of_kind(outcome, "error_message")
    assert (message["text"], message["level"], message["count"]) == ("no disk", "ERROR", 3)
    assert of_kind(outcome, "http_response") == [{"status": 503, "count": 3}]


@pytest.mark.parametrize("stamp", ["2025-05-05 12:00:01.123: ", ""])
def test_a_head_with_one_letter_and_a_path(stamp, read):
    outcome = read(f"[{stamp}W neuronx_distributed/trace/trace.py:12] it takes the slow way\n")
    (fact,) = of_kind(outcome, "error_message")
    assert (fact["level"], fact["logger"]) == ("WARNING", "neuronx_distributed.trace.trace")
    assert fact["text"] == "it takes the slow way"
    assert fact["owner"] == "neuronx_distributed"


@pytest.mark.parametrize("text", ["", "\n\n", "   \n"])
def test_an_empty_log(text, read):
    outcome = read(text)
    assert not outcome.facts
    assert [problem.code for problem in outcome.problems] == ["MM492"]


@pytest.mark.parametrize("silence_s", [0.0, -1.0, float("nan"), float("inf")])
def test_a_silence_needs_a_length(silence_s, read):
    outcome = read("x\n", silence_s=silence_s)
    assert [problem.code for problem in outcome.problems] == ["MM497"]


def test_facts_fit_the_vocabulary(data, vocabulary):
    for path in sorted((data / "logs").iterdir()):
        for fact in gather_logs(path, vocabulary, rotated=False).facts:
            assert not vocabulary.problems(fact.plain(), Location("x"))


def test_a_text_that_is_no_log_is_named(read):
    outcome = read("dear diary\nnothing happened today\n")
    assert not outcome.facts
    assert [problem.code for problem in outcome.problems] == ["MM498"]
    healthy = read("2026-01-02 03:04:05 INFO tinker.x: step 1\n" * 5)
    assert not [problem.code for problem in healthy.problems]


def errors(outcome):
    """Exceptions, warnings and errors without the ids of sessions."""
    names = SessionNames()
    found = (fact for fact in outcome.facts if fact.kind == "error_message")
    return {
        (fact.get("exception"), fact.get("level"), names.hide(str(fact.get("text"))))
        for fact in found
        if fact.get("exception") or fact.get("level") in ("WARNING", "ERROR", "CRITICAL")
    }


def test_no_error_is_missed_that_the_messages_probe_finds(data, read, vocabulary):
    samples = [path.read_text("utf-8") for path in sorted((data / "messages").glob("*.txt"))]
    rows = (data / "real_errors.jsonl").read_text("utf-8").splitlines()
    samples += [row["text"] + "\n" for row in map(json.loads, rows) if row["exception"]]
    for text in samples:
        assert errors(read_messages(text, vocabulary)) <= errors(read(text)), text[:200]


def test_the_module_loads_light():
    code = "import sys, modelmedic.probes.logs.probe; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    heavy = {"re2", "yaml", "pydantic", "json", "gzip", "bz2", "lzma", "numpy"}
    assert not heavy & set(done.stdout.split())
