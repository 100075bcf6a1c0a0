"""Watching a command: what the monitor sees, and that the command does not notice."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelmedic.probes.watch.command import run_watch
from modelmedic.probes.watch.monitor import monitor
from modelmedic.probes.watch.probe import gather_watch

# Keeps the interpreter lock for some time in one call of compiled code.
HOLD = """
import time
def hold(seconds):
    size = 300_000
    while True:
        begin = time.perf_counter()
        7 ** size
        if time.perf_counter() - begin > seconds:
            return
        size = int(size * 1.6)
"""


def run(code, vocabulary, **options):
    return run_watch([sys.executable, "-c", textwrap.dedent(code)], vocabulary, **options)


def of_kind(outcome, kind):
    return [fact for fact in outcome.facts if fact.kind == kind]


def codes(outcome):
    return [problem.code for problem in outcome.problems]


@pytest.mark.slow
def test_a_job_that_keeps_the_lock_is_seen_with_its_place(vocabulary):
    watched = run(HOLD + "time.sleep(0.3)\nhold(1.6)\nhold(1.6)\ntime.sleep(0.3)\n", vocabulary)
    (jitter,) = of_kind(watched.outcome, "gil_jitter")
    assert jitter.get("max_s") > 0.5
    states = of_kind(watched.outcome, "thread_state")
    main = [f for f in states if f.get("thread") == "main" and f.get("state") == "holding-gil"]
    assert main and main[0].get("where").startswith("hold (")
    assert main[0].provenance[0].source == "probe:watch"
    assert watched.exit_code == 0 and not watched.outcome.problems


@pytest.mark.slow
def test_a_job_that_lets_others_run_is_clear(vocabulary):
    code = "import time\nend = time.time() + 5.5\nwhile time.time() < end: sum(range(1000))\n"
    for _ in range(8):  # a busy machine can delay a thread too; once undisturbed is enough
        (jitter,) = of_kind(run(code, vocabulary).outcome, "gil_jitter")
        if jitter.get("max_s") < 0.5 and jitter.get("stalls") == 0:
            break
    assert jitter.get("max_s") < 0.5 and jitter.get("stalls") == 0


def test_a_short_look_shows_nothing(vocabulary):
    assert not run("pass", vocabulary).outcome.facts


FAKE_SDK = """
import asyncio, sys, threading, time, types
module = types.ModuleType("tinker.lib.internal_client_holder")
class Holder:
    def __init__(self):
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._background_thread_func, daemon=True).start()
    def _background_thread_func(self):
        self._loop.run_forever()
holder = module._internal_client_holder_thread_singleton = Holder()
sys.modules[module.__name__] = module
"""


@pytest.mark.slow
def test_a_blocked_sdk_loop_is_timed(vocabulary):
    code = FAKE_SDK + (
        "holder._loop.call_soon_threadsafe(lambda: time.sleep(2.5))\ntime.sleep(4.2)\n"
    )
    (delay,) = of_kind(run(code, vocabulary).outcome, "sdk_loop_delay")
    assert 1 < delay.get("max_s") < 4
    assert delay.get("count") >= 1


def test_the_exit_status_is_the_commands(vocabulary):
    assert run("import sys; sys.exit(7)", vocabulary).exit_code == 7
    code = "import os, signal; os.kill(os.getpid(), signal.SIGTERM)"
    assert run(code, vocabulary).exit_code == 128 + signal.SIGTERM


def test_an_error_at_the_end_becomes_a_fact(vocabulary):
    watched = run("import sys\nprint('note', file=sys.stderr)\nraise KeyError('x')", vocabulary)
    (fact,) = of_kind(watched.outcome, "error_message")
    assert (watched.exit_code, fact.get("exception")) == (1, "KeyError")


def test_output_of_a_job_that_succeeded_is_no_error(vocabulary):
    code = "import sys\nprint('step 1', file=sys.stderr)\nprint('ERROR:x:lost', file=sys.stderr)"
    facts = of_kind(run(code, vocabulary).outcome, "error_message")
    assert [(f.get("text"), f.get("level")) for f in facts] == [("lost", "ERROR")]


def test_a_command_that_cannot_be_started_is_a_problem(vocabulary):
    for command in (["no-such-command-anywhere"], [], ["a\0b"]):
        watched = run_watch(command, vocabulary)
        assert (watched.exit_code, codes(watched.outcome)) == (127, ["MM464"])


def test_a_command_without_the_monitor_is_a_problem(vocabulary):
    watched = run_watch([sys.executable, "-I", "-c", "pass"], vocabulary)
    assert (watched.exit_code, codes(watched.outcome)) == (0, ["MM465"])


DRIVER = """
import sys
from pathlib import Path
from modelmedic.facts import Vocabulary
from modelmedic.facts.declarations import load_vocabulary
from modelmedic.probes.watch.command import run_watch
files = sorted((Path(sys.argv[1]) / "facts" / "vocabulary").glob("*.yaml"))
texts = ((str(p), p.read_text("utf-8")) for p in files)
v = Vocabulary.from_plain(load_vocabulary(texts))
watched = run_watch([sys.executable, "-u", "-c", sys.argv[2]], v)
print("FACTS", [f.kind for f in watched.outcome.facts])
sys.exit(watched.exit_code)
"""


def drive(code):
    root = Path(__file__).resolve().parents[3]
    return subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(root), textwrap.dedent(code)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )


def test_input_and_output_pass_through():
    code = """
    import sys
    data = sys.stdin.read()
    print(data.upper())
    sys.stderr.write("x" * 200_000 + "end")
    """
    out, err = drive(code).communicate("abc", timeout=60)
    assert out.startswith("ABC\n")
    assert err == "x" * 200_000 + "end"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_reach_the_command_and_its_own_handling_counts(number):
    code = f"""
    import signal, sys, time
    signal.signal({int(number)}, lambda *_: sys.exit(9))
    print("ready", flush=True)
    time.sleep(60)
    """
    process = drive(code)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 9
    assert "FACTS" in out


@pytest.mark.deep  # the recorder has to get the lock a few times before the signal
def test_a_job_that_is_killed_while_it_keeps_the_lock_shows_where():
    code = HOLD + "time.sleep(1.5)\nprint('ready', flush=True)\nhold(60)\n"
    process = drive(code)
    assert process.stdout.readline() == "ready\n"
    time.sleep(20)
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert "gil_jitter" in out


def test_the_environments_own_sitecustomize_still_runs(vocabulary, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(f"open({str(tmp_path / 'mark')!r}, 'w')\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    code = "import sys; assert not [p for p in sys.path if p.endswith('watch/start')]"
    watched = run(code, vocabulary, environment=environment)
    assert watched.exit_code == 0
    assert (tmp_path / "mark").exists()


def test_a_forked_child_is_left_alone(vocabulary):
    code = """
    import os
    child = os.fork()
    if child == 0:
        raise SystemExit(0)
    raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    assert run(code, vocabulary).exit_code == 0


def test_nothing_is_left_behind(vocabulary, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    run("pass", vocabulary)
    assert not list(tmp_path.iterdir())


def test_the_monitor_can_be_started_in_code_and_its_file_read(vocabulary, tmp_path):
    path = tmp_path / "watch.jsonl"
    with monitor(path, interval_s=0.005) as watching:
        time.sleep(0.1)
    watching.stop()
    assert path.stat().st_size < 20_000
    lines = path.read_text().splitlines()
    state = json.loads(lines[1])
    assert state["ended"] is True and state["count"] > 5
    state["seconds"] = 10.0  # as if it had run long enough
    path.write_text("\n".join([lines[0], json.dumps(state)]))
    (jitter,) = gather_watch(path, vocabulary).facts
    assert jitter.get("max_s") == round(state["max"], 4)


def test_a_file_that_is_no_record_is_a_problem(vocabulary, tmp_path):
    path = tmp_path / "watch.jsonl"
    assert codes(gather_watch(path, vocabulary)) == ["MM463"]
    path.write_bytes(b"\xff\0{}")
    assert codes(gather_watch(path, vocabulary)) == ["MM463"]


VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["event", "late", "cpu", "threads", "frames", "thread", "for", "count", "max", "mean",
             "seconds", "stalls", "over_1s", "sdk_max", "sdk_pending", "sdk_count", "ended"]
        ),
        inner, max_size=6,
    ),
    max_leaves=20,
)  # fmt: skip


@given(lines=st.lists(VALUES, max_size=5), event=VALUES)
def test_no_record_makes_the_reader_raise(vocabulary, tmp_path_factory, lines, event):
    path = tmp_path_factory.getbasetemp() / "fuzz.jsonl"
    stall = {"event": "stall", "late": 1.0, "threads": event}
    rows = [{"format": "modelmedic/watch/1"}, *lines, stall]
    path.write_text("\n".join(map(json.dumps, rows)))
    assert all(p.code != "MM402" for p in gather_watch(path, vocabulary).problems)


WATCHED = """
import sys, threading, time
open(sys.argv[1], "w").close()
while any(t.name == "modelmedic-monitor" for t in threading.enumerate()):
    time.sleep(0.02)
open(sys.argv[1] + ".free", "w").close()
time.sleep(60)
"""
WATCH = "import sys; from modelmedic.interfaces.cli.main import main; main()"


@pytest.mark.slow
def test_a_watch_that_is_killed_leaves_nothing_behind(tmp_path):
    """The job goes on, without monitor; also where its processes are not Python."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    environment = os.environ | {"TMPDIR": str(temporary), "MODELMEDIC_CACHE": str(tmp_path)}
    job = (sys.executable, "-c", WATCHED, str(tmp_path / "mark"))
    command = (sys.executable, "-c", WATCH, "watch", "--")

    def wait_for(true):
        limit = time.monotonic() + 60
        while not true() and time.monotonic() < limit:
            time.sleep(0.01)
        assert true()

    watch = subprocess.Popen((*command, *job), env=environment, stderr=subprocess.DEVNULL)
    wait_for((tmp_path / "mark").exists)
    assert len(list(temporary.glob("modelmedic-watch-*/*.jsonl"))) == 1
    (child,) = (
        int(place.parent.name)
        for place in Path("/proc").glob("[0-9]*/stat")
        if place.read_text().rpartition(")")[2].split()[1] == str(watch.pid)
    )
    watch.kill()
    watch.wait()
    wait_for((tmp_path / "mark.free").exists)
    wait_for(lambda: not list(temporary.iterdir()))
    os.kill(child, signal.SIGKILL)

    watch = subprocess.Popen((*command, "sleep", "60"), env=environment, start_new_session=True)
    wait_for(lambda: list(temporary.glob("modelmedic-watch-*/watcher")))
    os.killpg(watch.pid, signal.SIGKILL)
    watch.wait()
    assert list(temporary.iterdir())
    subprocess.run((*command, "true"), env=environment, check=False, capture_output=True)
    assert not list(temporary.iterdir())
