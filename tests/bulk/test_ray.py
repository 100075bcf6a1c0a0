"""The Ray runner: on a real cluster of several processes and several nodes, without a network."""

import gc
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

ray = pytest.importorskip("ray")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.xdist_group("ray"),
    # Of Ray itself: sockets and files that it leaves to the garbage collector.
    pytest.mark.filterwarnings("default::ResourceWarning"),
    pytest.mark.filterwarnings("default::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("default::DeprecationWarning"),
    pytest.mark.filterwarnings("default::FutureWarning"),
]

from modelmedic.facts import ModelMedicError  # noqa: E402
from modelmedic.interfaces.bulk.job import run_job  # noqa: E402
from modelmedic.interfaces.bulk.progress import NoProgress  # noqa: E402
from modelmedic.interfaces.bulk.ray_runner import RayRunner  # noqa: E402

RECORDS = 1500
HEAD = ("gcs_server", "raylet")


@pytest.fixture(scope="module")
def folder(tmp_path_factory, record, write_lines):
    folder = tmp_path_factory.mktemp("ray")
    lines = [record(n) if n % 97 else f"bad {n}" for n in range(RECORDS)]
    write_lines(folder / "r.jsonl", lines)
    return folder


@pytest.fixture(scope="module")
def wanted(folder, plan_of, in_this_process):
    """The outputs for the records when this process does all the work."""
    run_job(plan_of(folder / "wanted", folder / "r.jsonl"), in_this_process, NoProgress())
    return outputs(folder / "wanted")


def outputs(target: Path) -> list[bytes]:
    return [target.with_name(target.name + end).read_bytes() for end in ("", ".errors.jsonl")]


class Saboteur(NoProgress):
    """Does harm when so many records are behind."""

    def __init__(self, after, harm):
        self._after = after
        self._harm = harm
        self.done = False

    def advance(self, records, stored):
        if records >= self._after and not self.done:
            self.done = True
            self._harm()


def started(nodes: int) -> Any:
    """A cluster of nodes of one core each. Ray gives a node half a minute to start, which can be
    too little where other tests run; so this tries again."""
    from ray.cluster_utils import Cluster

    small: dict[str, Any] = {"num_cpus": 1, "object_store_memory": 100 * 1024 * 1024}
    for last in (False, False, True):
        cluster = Cluster()
        try:
            cluster.add_node(**small, include_dashboard=False)
            others = [cluster.add_node(**small) for _ in range(nodes - 1)]
            cluster.wait_for_nodes()
            ray.init(cluster.address, log_to_driver=False, logging_level="error")
            return cluster, others
        except Exception:
            ray.shutdown()
            cluster.shutdown()
            if last:
                raise
    return None


@pytest.fixture(scope="module")
def cluster(environment):
    """Three nodes of one core each, and nothing of Ray that would call home."""
    with pytest.MonkeyPatch.context() as changed:
        for name in ("PYTHONPATH", "MODELMEDIC_CACHE"):
            changed.setenv(name, environment[name])
        changed.setenv("RAY_USAGE_STATS_ENABLED", "0")
        changed.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        cluster, others = started(3)
        try:
            yield cluster, others
        finally:
            ray.shutdown()
            cluster.shutdown()
            for thing in gc.get_objects():  # Ray kills its processes, but does not wait for them
                if isinstance(thing, subprocess.Popen) and thing.returncode is None:
                    thing.wait(timeout=30)


def test_the_command_on_this_machine(folder, wanted, bulk):
    arguments = ("r.jsonl", "--chunk", 50, "--workers", 2)
    code, _ = bulk(folder, *arguments, "-o", "here.jsonl")
    assert code == 0
    code, said = bulk(folder, *arguments, "-o", "ray.jsonl", "--runner", "ray")
    assert code == 0
    assert outputs(folder / "ray.jsonl") == outputs(folder / "here.jsonl")
    assert f"{RECORDS - 16:,} records diagnosed" in said


def test_several_nodes_and_one_is_lost(folder, wanted, plan_of, setup_of, cluster):
    target = folder / "nodes"
    nodes, others = cluster
    lost = others.pop()
    saboteur = Saboteur(200, lambda: nodes.remove_node(lost, allow_graceful=False))
    plan = plan_of(target, folder / "r.jsonl", records=20)
    run_job(plan, partial(RayRunner, setup_of(), workers=3), saboteur)
    assert saboteur.done
    assert outputs(target) == wanted


def test_killed_workers_lose_nothing(folder, wanted, plan_of, setup_of, cluster):
    target = folder / "killed"

    def kill():
        for pid in working("ray::_work", "ray::IDLE"):
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    killed: list[int] = []
    saboteur = Saboteur(200, kill)
    plan = plan_of(target, folder / "r.jsonl", records=20)
    run_job(plan, partial(RayRunner, setup_of(), workers=3), saboteur)
    assert killed
    assert outputs(target) == wanted


def working(*names: str) -> list[int]:
    """The processes of Ray that have a task, or that have these names."""
    limit = time.monotonic() + 30
    while time.monotonic() < limit:
        found = [
            int(place.parent.name)
            for place in Path("/proc").glob("[0-9]*/cmdline")
            if _text(place).startswith(names or "ray::_work")
        ]
        if found:
            return found
    return []


def above(place: Path) -> list[int]:
    """The processes above one: other clusters may run beside, those of other tests among them."""
    found: list[int] = []
    while fields := _text(place / "stat").rpartition(")")[2].split():
        found.append(int(fields[1]))
        place = place.with_name(fields[1])
    return found


def _text(place: Path) -> str:
    try:
        return place.read_text()
    except OSError:
        return ""


def test_interrupted_with_one_runner_and_ended_with_the_other(
    folder, wanted, plan_of, setup_of, in_this_process, cluster
):
    plan = plan_of(folder / "both", folder / "r.jsonl", records=20)
    with pytest.raises(KeyboardInterrupt):
        run_job(plan, lambda: in_this_process(20), NoProgress())
    outcome = run_job(plan, partial(RayRunner, setup_of(), workers=3), NoProgress())
    assert outcome.went_on_after == 400
    assert outputs(plan.target) == wanted


def test_another_version_on_the_cluster_is_refused(setup_of, cluster, folder, plan_of):
    plan = plan_of(folder / "version", folder / "r.jsonl")
    with pytest.raises(ModelMedicError) as caught:
        run_job(plan, partial(RayRunner, setup_of(version="0.0.1")), NoProgress())
    assert [p.code for p in caught.value.problems] == ["MM338"]


def test_no_cluster_there(folder, bulk):
    arguments = ("r.jsonl", "-o", "none.jsonl", "--runner", "ray", "--address", "127.0.0.1:1")
    code, said = bulk(folder, *arguments)
    assert (code, "MM338" in said) == (2, True), said
    assert not (folder / "none.jsonl").exists()


def test_nobody_else_can_give_work_to_a_cluster_of_our_own(folder, start):
    """It listens, but not without the token that only this job knows."""
    command = ("r.jsonl", "-o", "own.jsonl", "--runner", "ray", "--workers", 1)
    with start(folder, *command) as process:
        while process.poll() is None and not working():
            time.sleep(0.02)
        found = [
            part.partition("=")[2]
            for place in Path("/proc").glob("[0-9]*/cmdline")
            if "/raylet" in _text(place) and process.pid in above(place.parent)
            for part in _text(place).split("\0")
            if part.startswith("--gcs-address=")
        ]
        assert len(found) == 1
        stranger = subprocess.run(
            [sys.executable, "-c", STRANGER, found[0]],
            env={n: v for n, v in os.environ.items() if not n.startswith("RAY_AUTH")},
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        process.kill()
        process.communicate(timeout=60)
    assert "admitted" not in stranger.stdout
    assert stranger.returncode != 0


STRANGER = """
import sys
from ray._raylet import GcsClient
client = GcsClient(address=sys.argv[1])
print("admitted", client.get_all_node_info(timeout=5))
"""


@pytest.mark.parametrize("lost", [HEAD, HEAD[1:]], ids="-".join)
def test_the_head_is_lost(folder, start, bulk, lost):
    """Ray ends the process that uses it after a while, with the exit code of findings."""
    name = f"{len(lost)}.jsonl"
    command = ("r.jsonl", "-o", name, "--chunk", 5, "--checkpoint", 0)
    with start(folder, *command, "--runner", "ray", "--workers", 1) as process:
        while process.poll() is None and not (folder / f"{name}.journal").exists():
            time.sleep(0.02)
        own = [p for p in Path("/proc").glob("[0-9]*") if process.pid in above(p)]
        own = [p for p in own if any(f"/{part}" in _text(p / "cmdline") for part in lost)]
        assert len(own) >= len(lost)
        for place in own:
            os.kill(int(place.name), signal.SIGKILL)
        begin = time.monotonic()
        _, said = process.communicate(timeout=100)
    assert process.returncode == 2, said
    assert "MM338" in said
    assert "to resume" in said
    assert time.monotonic() - begin < 50
    code, said = bulk(folder, *command)
    assert code == 0, said
    assert "went on after" in said
    bulk(folder, "r.jsonl", "-o", "undisturbed.jsonl", "--restart")
    assert outputs(folder / name) == outputs(folder / "undisturbed.jsonl")
