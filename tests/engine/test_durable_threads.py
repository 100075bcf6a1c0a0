"""The durable-rules network under threads and forks, and the memory it leaves behind."""

from __future__ import annotations

import gc
import os
import random
import sys
import threading
from collections.abc import Callable

import pytest

pytest.importorskip("durable_rules_engine")

from modelmedic.engine.inference.durable_network import DurableNetwork
from modelmedic.engine.inference.mark_network import Mark, Shape

PAIR = Shape(2, 0, ((1, 0, 0, 0),))
GUARDED = Shape(1, 1, ((1, 0, 0, 0),))


def chain_diagnosis(network: DurableNetwork, seed: int) -> bool:
    """Run a chain of `depth` rounds with negation; tell whether every round was right."""
    depth, key = seed % 5 + 1, seed % 1000
    with network.session() as session:
        session.feed([Mark(1, 1, (key + 3,)), Mark(0, 0, (key,)), Mark(0, 1, (key,))])
        pairs, singles = 0, []
        for activation in session.activations():
            if activation.shape == 0:
                pairs += 1
                step = key + pairs
                marks = [Mark(1, 0, (step,))]
                if pairs < depth:
                    marks += [Mark(0, 0, (step,)), Mark(0, 1, (step,))]
                session.feed(marks)
            else:
                singles.append(activation.marks)
        return pairs == depth and len(singles) == depth - (depth >= 3)


def run_threads(work: Callable[[int], bool], threads: int, rounds: int) -> list[bool]:
    results: list[bool] = []
    barrier = threading.Barrier(threads)

    def run(thread: int) -> None:
        barrier.wait()
        results.extend([work(thread * rounds + number) for number in range(rounds)])

    running = [threading.Thread(target=run, args=(thread,)) for thread in range(threads)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    return results


THREAD_ROUNDS = int(os.environ.get("MARK_NETWORK_ROUNDS", "200"))


def test_sixteen_threads_share_a_network() -> None:
    network = DurableNetwork([PAIR, GUARDED])
    results = run_threads(lambda seed: chain_diagnosis(network, seed), 16, THREAD_ROUNDS)
    assert results == [True] * (16 * THREAD_ROUNDS)
    network.close()


def test_more_threads_than_session_ids_wait_their_turn() -> None:
    network = DurableNetwork([PAIR, GUARDED])
    gate = threading.Barrier(256)

    def hold(seed: int) -> bool:
        with network.session():
            if seed < 256:
                gate.wait(timeout=20)
        return chain_diagnosis(network, seed)

    assert run_threads(hold, 280, 1) == [True] * 280
    network.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_children_of_a_fork_share_nothing() -> None:
    network = DurableNetwork([PAIR, GUARDED])
    open_here = network.session()
    open_here.feed([Mark(0, 0, (1,))])
    children = []
    for child in range(4):
        pid = os.fork()
        if pid == 0:
            right = all(chain_diagnosis(network, child * 500 + n) for n in range(500))
            open_here.feed([Mark(0, 1, (1,))])
            right = right and len(list(open_here.activations())) == 1
            os._exit(0 if right else 1)
        children.append(pid)
    assert all(chain_diagnosis(network, n) for n in range(500))
    assert [os.waitpid(pid, 0)[1] for pid in children] == [0] * 4
    open_here.feed([Mark(0, 1, (1,))])
    assert len(list(open_here.activations())) == 1


def resident_kb() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE") // 1024


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
def test_sessions_leave_no_memory_behind() -> None:
    network = DurableNetwork([PAIR, GUARDED])
    many = int(os.environ.get("MARK_NETWORK_SESSIONS", "2000"))

    def after(sessions: int) -> int:
        rng = random.Random(sessions)
        for _ in range(sessions):
            assert chain_diagnosis(network, rng.randrange(1000))
        gc.collect()
        return resident_kb()

    before = after(many // 4)
    assert after(many) - before < 1024


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
def test_networks_leave_no_memory_behind() -> None:
    def after(networks: int) -> int:
        for seed in range(networks):
            network = DurableNetwork([PAIR, GUARDED])
            assert chain_diagnosis(network, seed)
        gc.collect()
        return resident_kb()

    before = after(50)
    assert after(200) - before < 1024
