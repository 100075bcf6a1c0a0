"""Sources that are not well-behaved Python: coded problems, and the rest is read."""

import subprocess
import sys
import textwrap
import time

import pytest

from modelmedic.probes.recognition import find_units, gather_unit
from modelmedic.reading.python import project
from modelmedic.reading.python.project import Project

CALL = "import tinker\ntinker.SamplingParams(max_new_tokens=3)\n"
HEAD, REST = CALL.split("\n", 1)


def nested_ifs(depth):
    return "".join(" " * i + "if x:\n" for i in range(depth)) + " " * depth + "pass\n"


# name -> (files, codes of the problems)
SOURCES = {
    "latin-1": ({"t.py": ("# coding: latin-1\n" + CALL + "x = 'é'\n").encode("latin-1")}, set()),
    "unknown encoding": ({"t.py": b"# coding: no-such-thing\n" + CALL.encode()}, set()),
    "decoding encoding": ({"t.py": b"# coding: rot13\n" + CALL.encode()}, set()),
    "byte order mark": ({"t.py": b"\xef\xbb\xbf" + CALL.encode()}, set()),
    "newer syntax": ({"t.py": CALL + "lazy import json\nwith x as y do z\n"}, {"MM466"}),
    "long line": ({"t.py": CALL + "x = [" + "1," * 60_000 + "]\n"}, {"MM442"}),
    "signs": ({"t.py": CALL + "x = " + "-" * 90_000 + "1\n"}, {"MM466"}),
    "names": ({"t.py": CALL + "x = a" + ".b" * 40_000 + "\n"}, {"MM466"}),
    "cases": ({"t.py": CALL + "if x: pass\n" + "elif x: pass\n" * 5_000}, {"MM466"}),
    "ifs": ({"t.py": CALL + nested_ifs(90)}, set()),
    "recursion": ({"t.py": CALL + "def a(x): return b(a(x))\ndef b(x): return a(b(x))\na(b(1))\n"},
                  set()),
    "large import": ({"t.py": f"import data\n{CALL}", "data.py": "x = 1\n" * 400_000}, set()),
    "deep notebook": ({"t.py": CALL, "n.ipynb": '{"cell_type": 1, "source": ["import tinker\\n"],'
                                                '"cells":' + "[" * 50_000},
                      {"MM440", "MM441"}),  # its code, and what its cells printed
}  # fmt: skip


def gathered(folder, vocabulary):
    units, problems = find_units([folder], vocabulary)
    outcomes = [gather_unit(unit, vocabulary) for unit in units]
    problems += [problem for outcome in outcomes for problem in outcome.problems]
    facts = [fact for outcome in outcomes for fact in outcome.facts]
    return {f.get("pattern") for f in facts if f.get("present")}, {p.code for p in problems}


@pytest.mark.parametrize(("files", "codes"), SOURCES.values(), ids=SOURCES)
def test_the_rest_is_read(files, codes, tmp_path, vocabulary):
    for name, content in files.items():
        raw = content if isinstance(content, bytes) else content.encode()
        (tmp_path / name).write_bytes(raw)
    started = time.process_time()
    assert gathered(tmp_path, vocabulary) == ({"api-max-new-tokens"}, codes)
    assert time.process_time() - started < 5


def test_fifty_megabytes_are_not_read(tmp_path, vocabulary):
    with (tmp_path / "t.py").open("wb") as file:
        file.write(CALL.encode())
        file.truncate(50_000_000)
    (tmp_path / "u.py").write_text(CALL)
    present, _ = gathered(tmp_path, vocabulary)
    assert present == {"api-max-new-tokens"}


def test_utf_16_is_said_to_be_unknown(tmp_path, vocabulary):
    (tmp_path / "t.py").write_bytes(CALL.encode("utf-16"))
    assert gathered(tmp_path, vocabulary) == (set(), {"MM406"})


def test_a_file_that_grows_while_it_is_read(tmp_path, vocabulary, monkeypatch):
    """Only the first reading counts; nothing is read again."""
    file = tmp_path / "t.py"
    file.write_text(CALL)
    found = Project([file])
    file.write_text("x = (\n")
    monkeypatch.chdir(tmp_path)
    assert [module.key for module in found.programs()] == [str(file)]
    assert found.problems == []


def test_modules_that_import_each_other_are_few_programs(tmp_path, vocabulary, monkeypatch):
    monkeypatch.setattr(project, "MAX_MODULES", 60)
    for number in range(100):
        (tmp_path / f"m{number:03}.py").write_text(f"import m{(number + 1) % 100:03}\n{CALL}")
    found = Project(sorted(tmp_path.glob("*.py")))
    assert len(found.programs()) == 1
    assert [problem.code for problem in found.problems] == ["MM467"]


def test_installed_packages_are_no_modules_of_each_other(tmp_path, vocabulary):
    """The files of an installed package are one project; its neighbours are other projects."""
    packages = tmp_path / "lib" / "site-packages"
    for name in ("press", "other"):
        (packages / name).mkdir(parents=True)
        (packages / name / "__init__.py").write_text("")
    (packages / "press" / "train.py").write_text(f"import other.wide, press.steps\n{CALL}")
    (packages / "press" / "steps.py").write_text("import tinker\n")
    (packages / "other" / "wide.py").write_text("import press.train\n")
    train = packages / "press" / "train.py"
    found = Project([train])
    assert [module.key for module in found.programs()] == [str(train)]
    assert found.find(str(train), "press.steps", 0) is not None
    assert found.find(str(train), "other.wide", 0) is None


WATCHED = """
import sys
from pathlib import Path
from modelmedic.engine import Diagnoser
from modelmedic.probes.recognition import find_units, gather_unit
vocabulary = Diagnoser.load().base.vocabulary
folder, warm = sys.argv[1:]
def read(path):
    units, _ = find_units([Path(path)], vocabulary)
    return [gather_unit(unit, vocabulary) for unit in units]
read(warm)  # everything of our own is imported now
seen = []
def note(event, values):
    if event == "open" and isinstance(values[0], str):
        seen.append(("open", values[0]))
    elif event in ("import", "exec", "os.system", "subprocess.Popen", "socket.connect"):
        seen.append((event, str(values[0])))
sys.addaudithook(note)
outcomes = read(folder)
for event in list(seen):
    print(*event)
"""


def test_nothing_is_imported_executed_or_opened_elsewhere(tmp_path):
    trap, warm = tmp_path / "project", tmp_path / "warm"
    trap.mkdir()
    warm.mkdir()
    (warm / "train.py").write_text(f"import steps\n{CALL}")
    (warm / "steps.py").write_text("import os\nprint(os.name)\n")
    (tmp_path / "outside.py").write_text("RANK = 1\n")
    (trap / "train.py").write_text(
        textwrap.dedent("""\
        import tinker
        import json, steps, outside
        from ...... import outside as far
        raise SystemExit(open("/etc/passwd").read())
        tinker.SamplingParams(max_new_tokens=3)
        """)
    )
    (trap / "steps.py").write_text("import os\nos.system('touch canary')\n")
    (trap / "outside.py").symlink_to(tmp_path / "outside.py")
    done = subprocess.run(
        [sys.executable, "-P", "-c", WATCHED, trap, warm],
        capture_output=True, text=True, check=True, cwd=trap,
    )  # fmt: skip
    lines = [line.split(" ", 1) for line in done.stdout.splitlines()]
    opened = {path for event, path in lines if event == "open"}
    assert {event for event, _ in lines} <= {"open"}
    assert opened >= {str(trap / "train.py"), str(trap / "steps.py")}
    assert all(path.startswith(str(trap)) for path in opened)
    assert str(trap / "outside.py") not in opened
