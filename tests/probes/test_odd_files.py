"""Paths that are not files, have no end, are larger than any disk, or may not be read: whatever
lies in a folder, looking at it ends soon, and says what it could not read."""

import os
import socket
import threading

import pytest

from modelmedic.probes.logs.probe import gather_logs
from modelmedic.probes.recognition import find_units, gather_unit

HUGE = 100 << 30
LINE = b"2026-03-01 09:00:00,000 ERROR x: shard is broken\n"
ENDINGS = ("log", "py", "json", "jsonl", "csv", "yaml", "txt", "gz", "npz", "safetensors", "ipynb")


def gathered(paths, vocabulary):
    units, problems = find_units(paths, vocabulary)
    outcomes = [gather_unit(unit, vocabulary) for unit in units]
    found = [problem for outcome in outcomes for problem in outcome.problems]
    return [fact for o in outcomes for fact in o.facts], [*problems, *found]


def codes(problems):
    return {problem.code for problem in problems}


def sparse(path, head=b""):
    """A file of 100 GB that takes no room."""
    path.write_bytes(head)
    try:
        os.truncate(path, HUGE)
    except OSError:
        pytest.skip("no sparse files of that size here")
    return path


def test_a_folder_of_files_larger_than_the_disk(tmp_path, vocabulary):
    for ending in ENDINGS:
        sparse(tmp_path / f"huge.{ending}")
    facts, problems = gathered([tmp_path], vocabulary)
    assert not facts
    assert problems
    for ending in ENDINGS:
        facts, problems = gathered([tmp_path / f"huge.{ending}"], vocabulary)
        assert not facts
        assert codes(problems) <= {"MM406", "MM439"}
        assert problems


@pytest.mark.parametrize("head", [LINE, LINE * 3000], ids=["a line", "150 KB"])
def test_the_text_before_a_hole_is_read(tmp_path, vocabulary, head):
    facts, _ = gathered([sparse(tmp_path / "run.log", head)], vocabulary)
    whole = tmp_path / "whole.log"
    whole.write_bytes(head)
    wanted, _ = gathered([whole], vocabulary)
    texts = {fact.get("text") for fact in facts if fact.kind == "error_message"}
    assert len(head) < 100 or texts == {fact.get("text") for fact in wanted} - {None}


def test_what_is_no_file(tmp_path, vocabulary, monkeypatch):
    os.mkfifo(tmp_path / "fifo.log")
    with socket.socket(socket.AF_UNIX) as listening:
        monkeypatch.chdir(tmp_path)  # the name of a socket must be short
        listening.bind("socket.log")
        os.symlink("/dev/zero", tmp_path / "zero.log")
        os.symlink("self.log", tmp_path / "self.log")
        os.symlink(".", tmp_path / "loop")
        (tmp_path / "run.log").write_bytes(LINE * 3)
        facts, problems = gathered([tmp_path], vocabulary)
        assert len(facts) == 1
        assert not problems
        for name in ("fifo.log", "socket.log", "zero.log", "self.log"):
            facts, problems = gathered([tmp_path / name], vocabulary)
            assert (facts, codes(problems)) == ([], {"MM403"})


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read(tmp_path, vocabulary):
    (tmp_path / "closed").mkdir(mode=0)
    (tmp_path / "run.log").touch(mode=0)
    facts, problems = gathered([tmp_path], vocabulary)
    assert (facts, codes(problems)) == ([], {"MM403"})


def test_a_log_that_grows_faster_than_it_is_read(tmp_path, vocabulary):
    path = tmp_path / "run.log"
    path.write_bytes(LINE * 1000)
    ended = threading.Event()

    def write():
        with path.open("ab", 0) as file:
            for _ in range(2000):
                if ended.is_set():
                    break
                file.write(LINE * 10_000)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        outcome = gather_logs(path, vocabulary)
    finally:
        ended.set()
        writer.join()
    first, *cut = sorted((str(fact.get("text")) for fact in outcome.facts), reverse=True)
    assert first == "x: shard is broken"
    assert all(first.startswith(each) for each in cut), "the last line may be half written"
    assert not outcome.problems


def test_the_files_of_one_log_are_read_once(tmp_path, vocabulary):
    for name in ("run.log", "run.log.1", "run.log.2", "other.log"):
        (tmp_path / name).write_bytes(LINE.replace(b"shard", name.encode()) * 3)
    units, _ = find_units([tmp_path], vocabulary)
    names = [[path.name for path in unit.paths] for unit in units]
    assert names == [["other.log"], ["run.log.2", "run.log.1", "run.log"]]


@pytest.mark.parametrize(
    "text",
    ["03:14 INFO started\n03:15 ERROR loader: shard is broken\n",
     "[   12.345678] INFO started\n[   13.345678] ERROR loader: shard is broken\n"],
    ids=["no seconds", "kernel"],
)  # fmt: skip
def test_short_stamps(tmp_path, vocabulary, text):
    path = tmp_path / "run.txt"
    path.write_text(text)
    facts, problems = gathered([tmp_path], vocabulary)
    assert [fact.get("text") for fact in facts] == ["loader: shard is broken"]
    assert not problems


def test_a_named_log_is_read_whatever_it_looks_like(tmp_path, vocabulary):
    path = tmp_path / "named.log"
    path.write_text("03:14 started\n03:15 a shard\n03:16 Error: the shard is broken\n03:17 end\n")
    assert "MM406" not in codes(gathered([path], vocabulary)[1])
    path.write_text("nothing of the kind\n" * 3)
    assert codes(gathered([path], vocabulary)[1]) == {"MM498"}
    assert codes(gathered([tmp_path], vocabulary)[1]) == {"MM406"}
