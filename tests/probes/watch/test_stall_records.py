"""The line that a record blames for a stall, and records that blame none."""

import json
import sys
import textwrap

import pytest

from modelmedic.probes.watch.command import run_watch
from modelmedic.probes.watch.probe import gather_watch

HEAD = {"format": "modelmedic/watch/1", "pid": 7}
STATE = {"seconds": 10.0, "count": 100, "mean": 0.002, "max": 0.1, "ended": True}
LIBRARY = "/usr/lib/python3.11/"
LOOP = [
    ["_run", LIBRARY + "asyncio/events.py", 80],
    ["run", LIBRARY + "asyncio/runners.py", 190],
    ["<module>", "/home/ada/train.py", 40],
]
SAVE = ["save", "/home/ada/train.py", 12]


def states(tmp_path, vocabulary, *events, **figures):
    path = tmp_path / "run.jsonl"
    lines = [HEAD, STATE | figures, *events]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return [f for f in gather_watch(path, vocabulary).facts if f.kind == "thread_state"]


def loop_stall(*threads, late=2.0, **more):
    return {"event": "loop-stall", "late": late, "threads": list(threads), **more}


def thread(name, *frames, **more):
    return {"thread": name, "frames": list(frames), **more}


def test_the_line_that_was_seen_most_is_blamed(tmp_path, vocabulary):
    other = ["load", "/home/ada/train.py", 5]
    stall = loop_stall(
        thread("main", ["deepcopy", LIBRARY + "copy.py", 128], SAVE, *LOOP, looks=2),
        thread("main", other, *LOOP, looks=3),
        thread("main", ["deepcopy", LIBRARY + "copy.py", 144], SAVE, *LOOP, looks=2),
    )
    (fact,) = states(tmp_path, vocabulary, stall)
    assert fact.get("where") == "deepcopy (copy.py:128), called by save (/home/ada/train.py:12)"
    assert fact.get("loop") is True and fact.get("share") == 0.2
    assert fact.provenance[0].location == "/home/ada/train.py:12"


def test_stalls_that_are_not_in_the_record_count_for_the_share(tmp_path, vocabulary):
    stall = loop_stall(thread("main", SAVE, *LOOP, looks=3), late=1.0)
    (fact,) = states(tmp_path, vocabulary, stall, blocked_s=5.0)
    assert fact.get("share") == 0.5


def test_a_loop_that_waits_for_work_is_not_blocked_by_a_line(tmp_path, vocabulary):
    idle = [
        ["select", LIBRARY + "selectors.py", 468],
        ["_run_once", LIBRARY + "asyncio/base_events.py", 1884],
    ]
    assert not states(tmp_path, vocabulary, loop_stall(thread("main", *idle, *LOOP, looks=3)))


def test_what_the_sdk_does_on_its_own_thread_is_no_line_of_the_users(tmp_path, vocabulary):
    own = ["SerializeToString", LIBRARY + "site-packages/tinker/proto/public.py", 9]
    (fact,) = states(tmp_path, vocabulary, loop_stall(thread("sdk", own, *LOOP[:2], looks=3)))
    assert not fact.get("loop")


IDLE = [
    ["select", LIBRARY + "selectors.py", 468],
    ["_run_once", LIBRARY + "asyncio/base_events.py", 1884],
]
HELPER = ["call", LIBRARY + "site-packages/lib/deep.py", 7]


@pytest.mark.parametrize(("found", "blamed"), [(True, None), (False, True)])
def test_a_loop_of_a_library_is_named_only_where_the_job_calls_the_sdk_on_it(
    tmp_path, vocabulary, found, blamed
):
    """A loop that was merely found may be one that a library runs for itself."""
    more = {"found": True} if found else {}
    stall = loop_stall(thread("loop", HELPER, *LOOP[:2], looks=3), **more)
    (fact,) = states(tmp_path, vocabulary, stall)
    assert fact.get("loop") is blamed
    users = loop_stall(thread("loop", HELPER, SAVE, *LOOP[:2], looks=3), **more)
    (fact,) = states(tmp_path, vocabulary, users)
    assert fact.get("loop") is True and fact.get("where").endswith("train.py:12)")


@pytest.mark.parametrize(("idle", "blamed"), [(4, 0), (2, 1)])
def test_a_loop_that_was_mostly_at_rest_was_not_let_run(tmp_path, vocabulary, idle, blamed):
    line, rest = thread("main", SAVE, *LOOP, looks=2), thread("main", *IDLE, *LOOP, looks=idle)
    assert len(states(tmp_path, vocabulary, loop_stall(line, rest))) == blamed


@pytest.mark.parametrize(
    "file",
    [
        LIBRARY + "pdb.py",
        LIBRARY + "site-packages/debugpy/_vendored/pydevd/pydevd.py",
        LIBRARY + "site-packages/_pydevd_bundle/pydevd_frame.py",
    ],
)
def test_a_debugger_blocks_nothing(tmp_path, vocabulary, file):
    waits = [["readline", LIBRARY + "codecs.py", 319], ["interaction", file, 357], SAVE]
    before = thread("main", SAVE, *LOOP, looks=1)
    stall = loop_stall(before, thread("main", *waits, *LOOP, looks=3))
    assert not states(tmp_path, vocabulary, stall)


def test_importing_a_library_in_a_coroutine_is_no_stall_and_ones_own_module_is(
    tmp_path, vocabulary
):
    imports = ["_find_and_load", "<frozen importlib._bootstrap>", 1176]
    library = loop_stall(thread("main", HELPER, imports, SAVE, *LOOP, looks=3))
    assert not states(tmp_path, vocabulary, library)
    own = ["<module>", "/home/ada/tables.py", 3]
    (fact,) = states(
        tmp_path, vocabulary, loop_stall(thread("main", own, imports, SAVE, *LOOP, looks=3))
    )
    assert fact.get("loop") is True and "tables.py:3" in fact.get("where")


@pytest.mark.parametrize(
    ("frames", "blamed"),
    [
        ([["wait", LIBRARY + "threading.py", 327], SAVE], "wait"),
        ([["wait", LIBRARY + "threading.py", 327], ["start", LIBRARY + "threading.py", 9], SAVE],
         "work"),
    ],
)  # fmt: skip
def test_who_waits_for_many_threads_is_blamed_and_who_only_starts_them_is_not(
    tmp_path, vocabulary, frames, blamed
):
    others = [thread("pool_0", ["work", "/home/ada/train.py", 20], looks=30)]
    stall = loop_stall(thread("main", *frames, *LOOP, looks=3), looks=3, others=others)
    facts = states(tmp_path, vocabulary, stall)
    found = [f for f in facts if f.get("loop") or f.get("threads")]
    assert [fact.get("where").split()[0] for fact in found] == [blamed]


@pytest.mark.parametrize(("count", "blamed"), [(30, "work"), (6, "save")])
def test_threads_that_take_turns_are_blamed_where_they_are_many(
    tmp_path, vocabulary, count, blamed
):
    others = [thread("pool_0", ["work", "/home/ada/train.py", 20], looks=count)]
    stall = loop_stall(thread("main", SAVE, *LOOP, looks=3), looks=3, others=others)
    facts = states(tmp_path, vocabulary, stall)
    found = [f for f in facts if f.get("loop") or f.get("threads")]
    assert [fact.get("where").split()[0] for fact in found] == [blamed]


@pytest.mark.parametrize(
    ("cpu", "status", "largest"),
    [(1.9, "active+gil", 2.0), (0.3, "active+gil", 2.0), (0.22, "active+gil", 0.4),
     (0.01, "active+gil", 0.4), (0.01, "idle+gil", 2.0)],
)  # fmt: skip
def test_a_process_that_was_not_let_run_holds_nothing(tmp_path, vocabulary, cpu, status, largest):
    """A thread that waits for a disk and keeps the lock needs no processor either."""
    held = thread("main", SAVE, gil=True, status=status)
    stall = {"event": "stall", "late": 2.0, "cpu": cpu, "threads": [held]}
    path = tmp_path / "run.jsonl"
    figures = STATE | {"max": 2.0, "max_short": 0.4, "over_1s": 1, "stalls": 1}
    path.write_text("".join(json.dumps(line) + "\n" for line in (HEAD, figures, stall)))
    facts = gather_watch(path, vocabulary).facts
    (jitter,) = [fact for fact in facts if fact.kind == "gil_jitter"]
    assert (jitter.get("max_s"), jitter.get("stalls")) == (largest, int(largest > 1))
    found = [fact.get("state") for fact in facts if fact.kind == "thread_state"]
    assert found == ["holding-gil"] * (largest > 1)


def test_waiting_threads_do_not_hide_who_held_the_lock(tmp_path, vocabulary):
    idle = thread("asyncio_0", ["_worker", LIBRARY + "concurrent/futures/thread.py", 81])
    stall = {"event": "stall", "late": 2.0, "cpu": 1.9, "threads": [thread("main", SAVE), idle]}
    (fact,) = states(tmp_path, vocabulary, stall)
    assert (fact.get("state"), fact.get("live")) == ("holding-gil", False)


def recorded(tmp_path, vocabulary, code, files=()):
    """The record of a program that calls a client like the SDK's."""
    for name, text in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(textwrap.dedent(text))
    program = tmp_path / "train.py"
    sdk = __file__.replace("test_stall_records", "sdk_like")
    program.write_text(f"exec(open({sdk!r}).read())\n" + textwrap.dedent(code))
    watched = run_watch([sys.executable, str(program)], vocabulary)
    assert watched.exit_code == 0
    return watched.outcome.facts


def loops_of(facts):
    return [f.get("where") for f in facts if f.kind == "thread_state" and f.get("loop")]


@pytest.mark.slow
def test_each_of_several_loops_is_timed(tmp_path, vocabulary):
    code = """
    import asyncio
    async def main(seconds):
        for _ in range(4):
            client.optim_step(Adam(1e-4))
            await asyncio.sleep(0.2)
        time.sleep(seconds)
        await asyncio.sleep(0.2)
    asyncio.run(main(0))
    asyncio.run(main(1.5))
    """
    (where,) = loops_of(recorded(tmp_path, vocabulary, code))
    assert where.endswith("train.py:8)")


@pytest.mark.slow
def test_deep_stacks_of_libraries_end_at_the_users_line(tmp_path, vocabulary):
    package = """
    import time
    def call(depth):
        if depth:
            call(depth - 1)
        else:
            time.sleep(1.5)
    """
    code = """
    import asyncio
    sys.path.insert(0, __file__.replace("train.py", "site-packages"))
    import deep
    async def main():
        await asyncio.sleep(0.3)
        client.optim_step(Adam(1e-4))
        await asyncio.sleep(0.5)
        deep.call(60)
        await asyncio.sleep(0.2)
    asyncio.run(main())
    """
    files = [("site-packages/deep.py", package)]
    (where,) = loops_of(recorded(tmp_path, vocabulary, code, files))
    assert where.startswith("call (deep.py:7), called by main (")
    assert where.endswith("train.py:10)")


@pytest.mark.slow
def test_the_import_of_a_library_is_no_stall(tmp_path, vocabulary):
    package = """
    import time
    size, begin = 300_000, time.perf_counter()
    while time.perf_counter() - begin < 1.5:
        size = int(size * 1.6)
        7 ** size
    """
    code = """
    time.sleep(0.3)
    sys.path.insert(0, __file__.replace("train.py", "site-packages"))
    import heavy
    time.sleep(4)
    """
    for _ in range(4):  # a busy machine stalls too; once undisturbed is enough
        facts = recorded(tmp_path, vocabulary, code, [("site-packages/heavy.py", package)])
        (jitter,) = [f for f in facts if f.kind == "gil_jitter"]
        states = [f for f in facts if f.kind == "thread_state"]
        if not states and jitter.get("stalls") == 0:
            break
    assert not states and jitter.get("stalls") == 0
