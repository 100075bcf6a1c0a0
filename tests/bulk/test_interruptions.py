"""A job that is interrupted, however roughly, and given again ends as if nothing had been."""

import json
import os
import random
import shutil
import signal
import subprocess
import time
from functools import partial
from pathlib import Path

import pytest

from modelmedic.facts import ModelMedicError
from modelmedic.interfaces.bulk.job import run_job
from modelmedic.interfaces.bulk.progress import NoProgress

RECORDS = 1200
QUIET = NoProgress()


@pytest.fixture(scope="module")
def folder(tmp_path_factory, record, write_lines):
    """Many records, some of them bad, in two inputs, and what comes out without interruption."""
    folder = tmp_path_factory.mktemp("many")
    lines = [record(n) if n % 97 else f"bad {n}" for n in range(RECORDS)]
    write_lines(folder / "a.jsonl", lines[:800])
    write_lines(folder / "b.jsonl", lines[800:])
    return folder


ARGUMENTS = ("a.jsonl", "b.jsonl", "--workers", 2, "--chunk", 40, "--checkpoint", 0)


@pytest.fixture(scope="module")
def wanted(folder, bulk):
    assert bulk(folder, *ARGUMENTS, "-o", "wanted.jsonl", "--summary", "wanted.json")[0] == 0
    return outputs(folder, "wanted")


def outputs(folder: Path, name: str) -> list[bytes]:
    endings = (".jsonl", ".jsonl.errors.jsonl", ".json")
    return [(folder / (name + ending)).read_bytes() for ending in endings]


def noted(journal: Path) -> int:
    """How many records the journal vouches for."""
    try:
        tally = json.loads(journal.read_bytes())["state"]["tally"]
    except FileNotFoundError:
        return 0
    return int(tally["all"]["records"] + tally["refused"])


def children(pid: int) -> list[int]:
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = place.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(place.parent.name))
    return found


def stop_somewhere(process: subprocess.Popen[str], journal: Path, after: int, how: int) -> bool:
    """Send a signal when so many records are noted; whether that was before the end."""
    limit = time.monotonic() + 60
    while process.poll() is None and noted(journal) < after and time.monotonic() < limit:
        time.sleep(0.002)
    process.send_signal(how)
    process.communicate(timeout=60)
    return journal.exists()


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.deep) for n in (1, 2, 3))])
def test_killed_at_random_moments(folder, wanted, start, seed):
    chance = random.Random(seed)
    journal = folder / f"killed{seed}.jsonl.journal"
    name = f"killed{seed}"
    command = (*ARGUMENTS, "-o", f"{name}.jsonl", "--summary", f"{name}.json")
    stopped = 0
    for after in sorted(chance.randrange(RECORDS * 9 // 10) for _ in range(3)):
        process = start(folder, *command)
        time.sleep(chance.random() * 0.05)
        stopped += stop_somewhere(process, journal, after, signal.SIGKILL)
    with start(folder, *command) as process:
        _, said = process.communicate(timeout=100)
    assert process.returncode == 0
    assert stopped >= 2
    assert "went on after" in said
    assert outputs(folder, name) == wanted
    assert not list(folder.glob(f"{name}.jsonl.[jp]*"))


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_asked_to_stop(folder, wanted, start, bulk, how):
    name = f"asked{how}"
    command = (*ARGUMENTS, "-o", f"{name}.jsonl", "--summary", f"{name}.json", "--checkpoint", 3600)
    with start(folder, *command) as process:
        part = folder / f"{name}.jsonl.part"
        while process.poll() is None and not (part.exists() and part.stat().st_size):
            time.sleep(0.002)
        process.send_signal(how)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "run the same command to resume" in said
    assert "Traceback" not in said
    before = noted(folder / f"{name}.jsonl.journal")
    assert 0 < before < RECORDS
    _, said = bulk(folder, *command)
    assert f"went on after {before:,} records" in said
    assert outputs(folder, name) == wanted


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_no_worker_outlives_its_job(folder, wanted, start):
    process = start(folder, *ARGUMENTS, "-o", "orphans.jsonl")
    journal = folder / "orphans.jsonl.journal"
    while process.poll() is None and not noted(journal):
        time.sleep(0.002)
    workers = children(process.pid)
    assert len(workers) >= 2
    process.kill()
    process.communicate(timeout=60)
    limit = time.monotonic() + 30
    while any(alive(pid) for pid in workers) and time.monotonic() < limit:
        time.sleep(0.02)
    assert not any(alive(pid) for pid in workers)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.slow
def test_a_killed_worker_loses_nothing(folder, wanted, start):
    name = "worker"
    command = (*ARGUMENTS, "-o", f"{name}.jsonl", "--summary", f"{name}.json")
    with start(folder, *command) as process:
        journal = folder / f"{name}.jsonl.journal"
        killed: set[int] = set()
        for after in (100, 900):
            while process.poll() is None and noted(journal) < after:
                time.sleep(0.002)
            for pid in children(process.pid)[-1:]:
                os.kill(pid, signal.SIGKILL)
                killed.add(pid)
        process.communicate(timeout=100)
    assert process.returncode == 0
    assert len(killed) == 2
    assert outputs(folder, name) == wanted


@pytest.mark.slow
def test_two_jobs_do_not_share_an_output(folder, wanted, start, bulk):
    command = (*ARGUMENTS, "-o", "shared.jsonl")
    with start(folder, *command) as first:
        while first.poll() is None and not noted(folder / "shared.jsonl.journal"):
            time.sleep(0.002)
        first.send_signal(signal.SIGSTOP)  # or it may have ended before the other has begun
        try:
            code, said = bulk(folder, *command)
        finally:
            first.send_signal(signal.SIGCONT)
        first.communicate(timeout=100)
    assert (code, "MM331" in said) == (2, True), said
    assert first.returncode == 0
    assert (folder / "shared.jsonl").read_bytes() == wanted[0]


@pytest.fixture
def small(tmp_path, record, write_lines):
    return write_lines(tmp_path / "r.jsonl", [record(n) if n % 5 else "bad" for n in range(31)])


def test_interrupted_before_every_chunk(small, plan_of, in_this_process, tmp_path):
    whole = run_job(plan_of(tmp_path / "whole", small), in_this_process, QUIET)
    for number in range(11):
        target = tmp_path / f"o{number}"
        plan = plan_of(target, small)
        with pytest.raises(KeyboardInterrupt):
            run_job(plan, partial(in_this_process, number), QUIET)
        assert not target.exists()
        outcome = run_job(plan, in_this_process, QUIET)
        assert outcome.went_on_after == 3 * number
        assert outcome.tally.plain() == whole.tally.plain()
        for ending in ("", ".errors.jsonl"):
            a, b = (p.with_name(p.name + ending).read_bytes() for p in (target, tmp_path / "whole"))
            assert a == b


def test_what_was_written_after_the_journal_is_done_again(
    small, plan_of, in_this_process, tmp_path
):
    whole = tmp_path / "whole"
    run_job(plan_of(whole, small), in_this_process, QUIET)
    plan = plan_of(tmp_path / "o", small)
    with pytest.raises(KeyboardInterrupt):
        run_job(plan, lambda: in_this_process(4), QUIET)
    for name in ("o.part", "o.errors.jsonl.part"):
        with (tmp_path / name).open("ab") as file:
            file.write(b'{"half a line')
    run_job(plan, in_this_process, QUIET)
    assert (tmp_path / "o").read_bytes() == whole.read_bytes()


def test_an_end_that_fails_is_made_up_for(small, plan_of, in_this_process, tmp_path):
    """The results cannot get their name; when they can, nothing is diagnosed again."""
    target = tmp_path / "o"
    target.mkdir()
    with pytest.raises(ModelMedicError) as caught:
        run_job(plan_of(target, small), in_this_process, QUIET)
    assert [p.code for p in caught.value.problems] == ["MM320"]
    target.rmdir()
    outcome = run_job(plan_of(target, small), lambda: in_this_process(0), QUIET)
    assert outcome.went_on_after == 31
    assert len(target.read_bytes().splitlines()) == 24
    again = run_job(plan_of(target, small), lambda: in_this_process(0), QUIET)
    assert again.tally.plain() == outcome.tally.plain()
    assert len(target.read_bytes().splitlines()) == 24


@pytest.fixture
def interrupted(small, plan_of, in_this_process, tmp_path):
    plan = plan_of(tmp_path / "o", small)
    with pytest.raises(KeyboardInterrupt):
        run_job(plan, lambda: in_this_process(5), QUIET)
    return plan


def refused(plan, in_this_process) -> str:
    with pytest.raises(ModelMedicError) as caught:
        run_job(plan, in_this_process, QUIET)
    (problem,) = caught.value.problems
    assert problem.code == "MM330"
    assert "--restart" in problem.hint
    return problem.message


def test_another_job_does_not_go_on_with_it(interrupted, in_this_process, small, plan_of, tmp_path):
    other = shutil.copy(small, tmp_path / "other.jsonl")
    plan, identity = interrupted, interrupted.identity
    same = plan.target
    assert "inputs" in refused(plan_of(same, other), in_this_process)
    assert "inputs" in refused(plan_of(same, small, other), in_this_process)
    assert "options" in refused(plan_of(same, small, full=True), in_this_process)
    for name, word in (("knowledge", "knowledge"), ("version", "version")):
        changed = plan._replace(identity=identity._replace(**{name: "other"}))
        assert word in refused(changed, in_this_process)
    with small.open("a") as file:
        file.write("[]\n")
    assert "inputs" in refused(plan_of(same, small), in_this_process)
    assert run_job(plan_of(same, small), in_this_process, QUIET, restart=True).went_on_after == 0
    assert len(same.read_bytes().splitlines()) == 25


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"schema": 1}', b"\xff"])
def test_a_broken_journal_is_told_of(interrupted, in_this_process, tmp_path, content):
    (tmp_path / "o.journal").write_bytes(content)
    refused(interrupted, in_this_process)


def test_results_that_were_tampered_with(interrupted, in_this_process, tmp_path):
    os.truncate(tmp_path / "o.part", 10)
    assert "shorter" in refused(interrupted, in_this_process)
    (tmp_path / "o.part").unlink()
    assert "gone" in refused(interrupted, in_this_process)
