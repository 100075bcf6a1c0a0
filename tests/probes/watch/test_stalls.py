"""Programs that train with the SDK, in each of which one line stops an event loop or all threads.

``stalls/*.py`` run under the recorder against a server on this machine. The line is marked with
``# stall: loop`` or ``# stall: gil``; those without a mark are sound. Many threads that leave each
other few turns count as the latter: they keep the lock together. The loops of ``loop_*.py`` never
call the SDK: another thread trains beside them.
"""

import functools
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import pytest

from modelmedic.interfaces.cli.main import main
from modelmedic.probes import load_probe
from modelmedic.probes.watch.command import run_watch
from modelmedic.probes.watch.outside import find_tool

HERE = Path(__file__).parent
PROGRAMS = {path.stem: path for path in sorted((HERE / "stalls").glob("*.py"))}
SHARED = sorted((HERE / "stalls/project").glob("*.py"))
MARK = re.compile(r"# stall: (loop|gil)\b")
TRIES = 3
PLACE = re.compile(r"([\w.-]+:\d+)\)\Z")
NEEDED = ("tinker", "tokenizers", "numpy", "uvloop")
BLOCKED = "A line of your code blocks an event loop"
TITLES = {"loop": (BLOCKED,), "gil": ("Your own code holds the interpreter lock", BLOCKED)}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.heavy,
    pytest.mark.xdist_group("stalls"),
    pytest.mark.skipif(not all(map(find_spec, NEEDED)), reason=f"needs {', '.join(NEEDED)}"),
]


def marked(path):
    """(kind, place) of the marks in a file. A cell of a notebook is a file of its own."""
    found = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if mark := MARK.search(line):
            place = f"{path.name}:{number}"
            if line.count("\\n") > 1:  # the cell after three others
                place = f"4.py:{line[: mark.start()].count(chr(92) + 'n') + 1}"
            found.append((mark[1], place))
    return found


def expected(name):
    path = PROGRAMS[name]
    used = [each for each in SHARED if f"project.{each.stem}" in path.read_text()]
    return next((mark for each in (path, *used) for mark in marked(each)), None)


STALLS = [name for name in PROGRAMS if expected(name)]
SOUND = [name for name in PROGRAMS if not expected(name)]


class Records:
    """The record of each program. A busy machine can stall a program too: what does not fit is
    recorded again, alone, and once undisturbed is enough."""

    def __init__(self, names, folder, environment, vocabulary):
        self._folder, self._environment, self._vocabulary = folder, environment, vocabulary
        with ThreadPoolExecutor(4) as pool:  # they wait more than they compute
            self._kept = dict(zip(names, pool.map(self._recorded, names), strict=True))

    def _recorded(self, name):
        keep = self._folder / f"{name}.jsonl"
        command = [sys.executable, str(PROGRAMS[name])]
        watched = run_watch(command, self._vocabulary, environment=self._environment, keep=keep)
        assert watched.exit_code == 0
        return keep

    def until(self, name, fits):
        """Whether a record fits, at one of a few tries; the last one is kept."""
        for _ in range(TRIES):
            if fits(self._kept[name]):
                return True
            self._kept[name] = self._recorded(name)
        return fits(self._kept[name])


@pytest.fixture(scope="module")
def records(request, tmp_path_factory, vocabulary):
    asked = (getattr(item, "callspec", None) for item in request.session.items)
    names = sorted({each.params.get("name") for each in asked if each} & PROGRAMS.keys())
    folder = tmp_path_factory.mktemp("stalls")
    command = [sys.executable, str(HERE / "stall_server.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        environment = {
            **os.environ, "TINKER_API_KEY": "tml-EXAMPLE", "TINKER_TELEMETRY": "0",
            "TINKER_BASE_URL": (server.stdout or sys.stdin).readline().strip(),
        }  # fmt: skip
        try:
            yield Records(names, folder, environment, vocabulary)
        finally:
            server.kill()


def blamed(record, vocabulary):
    """(seconds, kind, place) of the lines that are named, the longest first."""
    found = []
    for fact in load_probe("recording")(record, vocabulary).facts:
        if fact.kind != "thread_state":
            continue
        together = fact.get("threads") is not None
        holds = fact.get("state") == "holding-gil" and fact.get("live")
        if holds or together or fact.get("loop"):
            place = PLACE.search(str(fact.get("where")))
            kind = "loop" if fact.get("loop") else "gil"
            found.append((float(fact.get("duration_s") or 0), kind, place[1] if place else ""))
    return sorted(found, reverse=True)


@functools.cache
def may_look():
    """Whether the system lets py-spy read another process. That it is there is for us to see to."""
    command = [sys.executable, "-c", "input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        look = [find_tool(), "dump", "--nonblocking", "--pid", str(process.pid)]
        found = False
        for _ in range(20):  # until the interpreter has started
            done = subprocess.run(look, capture_output=True, text=True, timeout=60, check=False)
            found = done.returncode == 0 and "Thread" in done.stdout
            if found or "ermission" in done.stderr:
                break
        process.communicate(b"\n")
    return found


def skip_where_nobody_may_look(name, kind):
    if kind == "gil" and name != "overlap" and not may_look():
        pytest.skip("the system does not let py-spy read another process")


@pytest.mark.sweep
@pytest.mark.parametrize("name", STALLS)
def test_the_line_and_the_kind(name, records, vocabulary):
    kind, place = expected(name)
    skip_where_nobody_may_look(name, kind)
    assert records.until(
        name, lambda record: [x[1:] for x in blamed(record, vocabulary)[:1]] == [(kind, place)]
    )


@pytest.mark.sweep
@pytest.mark.parametrize("name", STALLS)
def test_inspect_names_the_line(name, records, compiled, monkeypatch, capsys):
    kind, place = expected(name)
    skip_where_nobody_may_look(name, kind)
    monkeypatch.setenv("MODELMEDIC_CACHE", str(compiled))

    def names_it(record):
        with pytest.raises(SystemExit):
            main(["inspect", str(record)])
        screen = capsys.readouterr().out
        where = screen.partition("Where: ")[2]
        said = any(title in screen for title in TITLES[kind])
        return said and f"/{place}" in "".join(where.split())

    assert records.until(name, names_it)


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_program_is_blamed_for_nothing(name, records, vocabulary):
    assert records.until(name, lambda record: not blamed(record, vocabulary))


def test_how_many_there_are():
    kinds = [expected(name)[0] for name in STALLS]
    assert (len(STALLS), kinds.count("loop"), len(SOUND)) == (37, 29, 5)
