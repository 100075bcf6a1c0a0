"""Errors -> facts on where they come from."""

import subprocess
import sys
from pathlib import Path

import pytest

from modelmedic.probes.source.probe import gather_source

ROOT = Path(__file__).resolve().parents[3]
FRAME = '  File "{file}", line {line}, in f\n    x\n'
TRACEBACK = "Traceback (most recent call last):\n{frames}{error}\n"


def traceback(error, *frames):
    lines = "".join(FRAME.format(file=file, line=line) for file, line in frames)
    return TRACEBACK.format(frames=lines, error=error)


@pytest.fixture
def gather(vocabulary, monkeypatch, tmp_path):
    monkeypatch.setenv("MODELMEDIC_CACHE", str(tmp_path / "cache"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")

    def gather(text, **options):
        outcome = gather_source(text, vocabulary, **options)
        sites = [fact for fact in outcome.facts if fact.kind == "source_site"]
        arguments = [(fact.get("name"), fact.get("value"), fact.get("doc"))
                     for fact in outcome.facts if fact.kind == "source_argument"]  # fmt: skip
        return sites, arguments, [problem.code for problem in outcome.problems]

    return gather


ERROR = "ValueError: factor must be above zero, got -1 for width 8"
ARGUMENTS = [
    ("factor", "-1", "What it is multiplied with."),
    ("width", "8", "The width in pixels."),
]


def test_a_frame_names_the_package_and_the_statement(gather, shapes):
    text = traceback(ERROR, ("/a/train.py", 3), ("/env/site-packages/shapes/core.py", 12))
    (site,), arguments, problems = gather(text, site=shapes)
    assert arguments == ARGUMENTS and not problems
    wanted = {
        "package": "shapes", "version": "2.1", "module": "shapes.core", "function": "scale",
        "file": "shapes/core.py", "line": 12, "guard": "factor <= 0", "statement": "raise",
        "basis": "traceback", "message": ERROR.partition(": ")[2], "exception": "ValueError",
    }  # fmt: skip
    assert {name: site.get(name) for name in wanted} == wanted


def test_a_frame_needs_no_index(gather, shapes, tmp_path):
    text = traceback(ERROR, ("/env/site-packages/shapes/core.py", 12))
    assert gather(text, site=shapes)[0] and not (tmp_path / "cache").exists()
    # The message of a class may be in another file.
    text = traceback("shapes.errors.ShapeError: width has a wrong shape: 2",
                     ("/env/site-packages/shapes/core.py", 14))  # fmt: skip
    (site,), arguments, _ = gather(text, site=shapes)
    assert site.get("template") == "width has a wrong shape: {width}"
    assert arguments == [("width", "2", "The width in pixels.")]
    assert (tmp_path / "cache").exists()


def test_a_package_of_another_version_is_searched_by_text(gather, shapes):
    text = traceback(ERROR, ("/env/site-packages/shapes/core.py", 14))
    (site,), arguments, _ = gather(text, site=shapes)
    assert (site.get("basis"), site.get("line"), arguments) == ("text", 12, ARGUMENTS)


def test_a_message_alone_needs_the_name_of_a_package(gather, shapes):
    assert gather(ERROR, site=shapes)[0] == []
    (site,), _, _ = gather(ERROR, site=shapes, packages="shapes")
    assert (site.get("basis"), site.get("line")) == ("text", 12)
    (site,), _, _ = gather("shapes.errors.ShapeError: width has a wrong shape: 2", site=shapes)
    assert site.get("line") == 14
    (site,), _, _ = gather("ERROR:shapes.core:scaled 8 pixels too slowly", site=shapes)
    assert (site.get("line"), site.get("statement")) == (15, "log")


def test_a_class_that_is_raised_in_one_place(gather, install):
    site = install("odd", files={
        "odd/a.py": "class OddError(Exception): pass\ndef f(text):\n    raise OddError(text)\n",
    })  # fmt: skip
    (found,), _, _ = gather("odd.a.OddError: who knows what", site=site)
    assert (found.get("basis"), found.get("line")) == ("class", 3)


OWN = """\
def train(rate):
    '''
    :param rate: How fast.
    '''
    if rate:
        table[rate]
"""


def test_own_code_in_the_current_folder(gather, shapes):
    Path("train.py").write_text(OWN)
    for file in ("train.py", Path("train.py").resolve()):
        (site,), arguments, _ = gather(traceback("KeyError: 3", (file, 6)), site=shapes)
        assert (site.get("function"), site.get("line")) == ("train", 6)
        assert (site.get("statement"), site.get("template")) == ("statement", "table[rate]")
        assert arguments == [("rate", None, "How fast.")]


def test_files_elsewhere_are_not_read(gather, shapes, tmp_path):
    (tmp_path / "secret.py").write_text(OWN)
    Path("link.py").symlink_to(tmp_path / "secret.py")
    Path("notes.txt").write_text(OWN)
    outside = (tmp_path / "secret.py", "../secret.py", "link.py", "/dev/zero")
    for file in (*outside, "notes.txt", "a\0.py", "missing.py"):
        assert gather(traceback("KeyError: 3", (file, 6)), site=shapes)[:2] == ([], [])
    (site,), _, _ = gather(traceback("KeyError: 3", (tmp_path / "secret.py", 6)), site=tmp_path)
    assert site.get("function") == "train"


@pytest.mark.parametrize(("options", "code"), [
    ({"site": Path("/nowhere")}, "MM486"), ({"python": Path("/nowhere")}, "MM420"),
    ({"packages": "no-such-package"}, "MM487"),
])  # fmt: skip
def test_bad_places_are_problems(gather, options, code):
    sites, _, problems = gather(ERROR, **options)
    assert sites == [] and code in problems


def test_the_environment_of_an_interpreter_is_found_without_running_it(gather, install):
    prefix = install("shapes", site="env/lib/python3.9/site-packages",
                     files={"shapes.py": "raise A('this is from nine')\n"}).parents[2]  # fmt: skip
    install("shapes", site="env/lib/python3.12/site-packages",
            files={"shapes.py": "raise A('this is from twelve')\n"})  # fmt: skip
    (prefix / "pyvenv.cfg").write_text("home = /usr\nversion = 3.9.1\n")
    (prefix / "bin").mkdir()
    python = prefix / "bin" / "python"
    python.write_text("#!/bin/sh\ntouch ran\n")
    python.chmod(0o755)
    for given in (prefix, python):
        (site,), _, _ = gather("this is from nine", python=given, packages="shapes")
        assert site.get("module") == "shapes"
    assert not list(Path().iterdir())


WATCHED = """
import sys
from modelmedic.probes.source import origins, probe
from modelmedic.reading.packages import index
import concurrent.futures, csv, platformdirs, sysconfig
evil, cache = sys.argv[1:]
seen = []
def hook(event, args):
    if event == "import" and args[0].partition(".")[0] in ("canary", "helper"):
        seen.append((event, args[0]))
    elif event == "exec" and evil in getattr(args[0], "co_filename", ""):
        seen.append((event, args[0].co_filename))
    elif event == "compile" and evil in str(args[1]):
        seen.append((event, str(args[1])))
    elif event.startswith(("subprocess", "os.exec", "os.spawn", "os.posix_spawn", "os.system",
                           "os.fork", "pty", "socket", "ctypes", "marshal", "pickle")):
        seen.append((event, str(args)))
sys.addaudithook(hook)
found = index.open_index(evil, cache=cache)
asked = origins.Question("the canary has sung 3 times", file=evil + "/canary/__init__.py", line=5)
origin, = origins.Origins(found, [evil]).find(asked)
print(origin.site.function, origin.arguments[0].value, found.count("canary"), seen)
"""


def test_nothing_of_a_package_is_imported_or_run(install, cache, tmp_path):
    site = install("canary", files={
        "canary/__init__.py": (
            "import helper\nopen('ran', 'w')\n"
            "def sing(times=open('ran', 'w')):\n    exec('1/0')\n"
            "    raise ValueError(f'the canary has sung {times} times')\nsing()\n"
        ),
        "canary.pth": "import os; open('ran', 'w')\n", "sitecustomize.py": "open('ran', 'w')\n",
    })  # fmt: skip
    command = [sys.executable, "-c", WATCHED, str(site), cache]
    done = subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": str(ROOT / ".typing")},
                          capture_output=True, text=True, timeout=100, check=False)  # fmt: skip
    assert done.stdout == "sing 3 1 []\n", done.stderr
    assert not list(tmp_path.rglob("ran")) and not list(site.rglob("*.pyc"))
