"""Faults of the machine: killed at any moment, a reader that goes, a full disk, no home, an old
terminal. Written files are whole or not there, and no user sees a traceback."""

import contextlib
import ctypes
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import time

import pytest

from modelmedic.interfaces.reports.formats import FORMATS

COMMAND = (sys.executable, "-P", "-m", "modelmedic.interfaces.cli.main")
LIBC = ctypes.CDLL(None)
UNSTARTED = re.compile(
    "Fatal Python error|Could not import runpy|Exception ignored in: <function _get_module_lock"
)
ENDS = {0, 1, 130, -signal.SIGTERM, -signal.SIGKILL, -signal.SIGINT}
# The write and the replacement of a file take less than a signal needs: here the disk is slow.
SLOW_DISK = """
import os, sys, time
from pathlib import Path
class Slow:
    def __init__(self, file): self.file = file
    def __enter__(self): self.file.__enter__(); return self
    def __exit__(self, *error): return self.file.__exit__(*error)
    def write(self, data):
        for at in range(0, len(data), 500):
            self.file.write(data[at : at + 500]); self.file.flush(); time.sleep(0.02)
before = Path.open
def slow(path, mode="r", *more, **named):
    file = before(path, mode, *more, **named)
    return Slow(file) if "x" in mode else file
Path.open = slow
from modelmedic.interfaces.cli.main import main
main(sys.argv[1:])
"""


@pytest.fixture(scope="module")
def hang(tmp_path_factory):
    """A facts file about which the small knowledge has something to say."""
    path = tmp_path_factory.mktemp("hang") / "facts.json"
    facts = [{"kind": "symptom", "name": "hang"}]
    path.write_text(json.dumps({"schema": "modelmedic/facts/1", "facts": facts}))
    return str(path)


def killed(command, environment, number, after):
    """Start, wait, send a signal; the exit code and what was said."""
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)  # fmt: skip
    time.sleep(after)
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(number)
    out, err = process.communicate(timeout=60)
    return process.returncode, out.decode(), err.decode()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_stopped_at_any_moment(environment, slow_steps, tmp_path, diagnose, number):
    """The report that was there before stays until the new one is whole."""
    random_times = random.Random(number)
    old, out = {"old": True}, tmp_path / "report.json"
    whole = diagnose("--facts", slow_steps, "-f", "json").json
    for _ in range(10):
        out.write_text(json.dumps(old))
        command = [*COMMAND, "--facts", slow_steps, "-f", "json", "-o", out]
        code, said, err = killed(command, environment, number, random_times.uniform(0.0, 0.5))
        assert code in ENDS, err
        assert said == ""
        # Before our code runs, and in callbacks of its imports, Python says it its own way.
        assert "Traceback" not in err or code == -signal.SIGINT or UNSTARTED.search(err)
        assert json.loads(out.read_text()) in (old, whole)
    left = {path.name for path in tmp_path.iterdir()} - {"report.json"}
    assert number == signal.SIGKILL or left == set()


@pytest.mark.slow
def test_stopped_while_it_compiles(environment, slow_steps, tmp_path, diagnose):
    """A cache that was being written is whole or not there: the next run gives the same answer."""
    expected = diagnose("--facts", slow_steps, "-f", "json").out
    random_times = random.Random(7)
    cache = tmp_path / "cache"
    changed = environment | {"MODELMEDIC_CACHE": str(cache)}
    for _ in range(6):
        command = [*COMMAND, "--facts", slow_steps]
        killed(command, changed, signal.SIGKILL, random_times.uniform(0.3, 1.5))
        for stored in cache.glob("knowledge-*") if cache.exists() else ():
            header = json.loads(stored.read_bytes().split(b"\n")[0])
            assert header["sha256"]
    again = diagnose("--facts", slow_steps, "-f", "json", MODELMEDIC_CACHE=str(cache))
    assert again.out == expected


@pytest.mark.parametrize("arguments", [
    ("--facts", "FACTS"), ("kb", "list"), ("facts",), ("facts", "--schema"), ("--help",),
    ("explain", "tinker.perf.slow-steps"), ("decode", "tinker.RateLimitError: 429"),
    ("probe", "list"), ("inspect", "FACTS", "-f", "html"), ("kb", "--help"),
    ("probe", "environment")], ids=lambda words: "-".join(words[:2]))  # fmt: skip
def test_a_reader_that_has_gone(environment, slow_steps, arguments):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        given = [str(slow_steps) if word == "FACTS" else word for word in arguments]
        done = subprocess.run([*COMMAND, *given], stdout=writer, stderr=subprocess.PIPE,
                              env=environment, timeout=100, check=False)  # fmt: skip
    finally:
        os.close(writer)
    assert done.stderr == b""
    assert done.returncode in (0, 1, 4)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.parametrize("arguments", [
    ("kb", "list"), ("facts", "--schema"), ("--help",), ("explain", "tinker.perf.slow-steps"),
    ("--version",), ("probe", "list"), ("decode", "x", "-f", "json")], ids="-".join)  # fmt: skip
def test_stdout_on_a_full_disk(environment, arguments):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE,
                              env=environment, timeout=100, check=False)  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith(b"MM320 cannot write the answer: No space left on device")


@pytest.mark.sweep
@pytest.mark.parametrize("format_", FORMATS)
def test_a_full_disk_under_the_output(environment, small_command, hang, tmp_path, format_):
    """The limit on the size of files stands for the end of the disk: the old report stays."""
    out = tmp_path / "report"
    out.write_text("old")

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (700, 700))

    command = [*small_command, "--facts", hang, "-f", format_, "-o", out]
    small = environment | {"MODELMEDIC_CACHE": ""}
    done = subprocess.run(command, env=small, capture_output=True, preexec_fn=limit, timeout=100,
                          check=False)  # fmt: skip
    said = (done.stdout + done.stderr).decode()
    if done.returncode == 1:  # some reports are as short as that
        assert out.stat().st_size <= 700
    else:
        assert done.returncode == 2
        assert "MM320" in said and "Traceback" not in said
        assert out.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


@pytest.mark.parametrize("arguments", [
    ("report", "bundle", "FACTS", "-o", "OUT"), ("inspect", "FACTS", "--save-facts", "OUT"),
    ("baseline", "write", "--facts", "FACTS", "-o", "OUT"),
    ("probe", "environment", "-o", "OUT")], ids=lambda words: "-".join(words[:2]))  # fmt: skip
def test_a_full_disk_under_other_files(environment, small_command, hang, tmp_path, arguments):
    """Packets, saved facts, baselines: the old one stays until the new one is whole."""
    out = tmp_path / "out"
    out.write_text("old")
    names = {"FACTS": hang, "OUT": out}

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    command = [*small_command, *(str(names.get(word, word)) for word in arguments)]
    small = environment | {"MODELMEDIC_CACHE": ""}
    done = subprocess.run(command, env=small, capture_output=True, preexec_fn=limit, timeout=100,
                          check=False)  # fmt: skip
    said = (done.stdout + done.stderr).decode()
    assert done.returncode == 2 and "MM320" in said, said
    assert "Traceback" not in said
    assert out.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_no_room_for_the_cache(environment, small_command, hang, tmp_path):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, 2_000))

    changed = environment | {"MODELMEDIC_CACHE": str(tmp_path / "cache")}
    command = [*small_command, "--facts", hang]
    done = subprocess.run(command, env=changed, capture_output=True, preexec_fn=limit, timeout=100,
                          check=False)  # fmt: skip
    room = subprocess.run(command, env=environment | {"MODELMEDIC_CACHE": ""}, capture_output=True,
                          timeout=100, check=False)  # fmt: skip
    assert (done.returncode, done.stderr, done.stdout) == (room.returncode, b"", room.stdout)
    assert room.stdout
    assert not list((tmp_path / "cache").glob("knowledge-*"))
    assert not list((tmp_path / "cache").glob(".new-*"))


def ordinary():
    """In the child: root no longer writes where the permissions forbid it (Linux)."""
    if os.geteuid() == 0 and sys.platform == "linux":
        drop_from_bounding_set, dac_override, dac_read_search = 24, 1, 2
        for capability in (dac_override, dac_read_search):
            LIBC.prctl(drop_from_bounding_set, capability, 0, 0, 0)


@pytest.mark.sweep
@pytest.mark.parametrize("home", ["read-only", "missing", "a file", "unset", "not absolute", "~"])
def test_no_home_to_write_to(environment, small_command, hang, tmp_path_factory, home):
    folder = tmp_path_factory.mktemp("homes")
    (folder / "read-only").mkdir()
    (folder / "read-only").chmod(0o555)
    (folder / "file").touch()
    homes = {"read-only": str(folder / "read-only"), "missing": str(folder / "none"),
             "a file": str(folder / "file"), "not absolute": "here", "~": "~"}  # fmt: skip
    kept = {n: v for n, v in environment.items()
            if n not in ("HOME", "MODELMEDIC_CACHE", "XDG_STATE_HOME", "XDG_CACHE_HOME")}  # fmt: skip
    changed = kept | ({"HOME": homes[home]} if home in homes else {})
    command = [*small_command, "--facts", hang]
    wanted = subprocess.run(command, env=environment | {"MODELMEDIC_CACHE": ""},
                            capture_output=True, timeout=100, check=False)  # fmt: skip
    done = subprocess.run(command, env=changed, capture_output=True, cwd="/", timeout=100,
                          preexec_fn=ordinary, check=False)  # fmt: skip
    assert (done.returncode, done.stderr, done.stdout) == (wanted.returncode, b"", wanted.stdout)
    assert wanted.stdout
    asked = subprocess.run([*small_command, "--accessible"], env=changed, capture_output=True,
                           cwd="/", input=b"hang\nreport\nquit\n", timeout=100,
                           preexec_fn=ordinary, check=False)  # fmt: skip
    assert asked.returncode in (0, 1, 4), asked.stderr.decode()
    assert b"Traceback" not in asked.stderr + asked.stdout


@pytest.mark.sweep
@pytest.mark.parametrize("variables", [
    {"LC_ALL": "C"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    {"LC_ALL": "POSIX", "LANG": ""}, {"LC_ALL": "xx_YY.nonsense"}, {"TERM": "dumb"},
    {"TERM": "nonsense"}, {"TERM": None}, {"COLUMNS": "0"}, {"COLUMNS": "1"}, {"COLUMNS": "-5"},
    {"COLUMNS": "many"}, {"TZ": "Nowhere/Else"}, {"PYTHONIOENCODING": "latin-1"}, {"PATH": None},
    {"TMPDIR": "/nowhere"}], ids=str)  # fmt: skip
def test_odd_environments(diagnose, facts_file, variables):
    """Text that not every terminal can show, and wide lines."""
    facts = facts_file({"kind": "symptom", "name": "slow-steps",
                        "provenance": {"location": "naïve → 漢字"}})  # fmt: skip
    for arguments in (("--facts", facts, "-v"), ("inspect", facts), ("decode", "Fehler: größer")):
        answer = diagnose(*arguments, **variables)
        assert answer.code in (0, 1, 4), answer.err
        assert answer.err == ""
    plain = diagnose("--facts", facts, "-f", "json", **variables)
    assert "naïve → 漢字" in str(plain.json["facts"])
