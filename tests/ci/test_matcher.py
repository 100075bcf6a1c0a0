"""The problem matcher finds file, line, severity and message in what `--format lines` prints."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from modelmedic.facts import Fact, Location, Problem, Provenance
from modelmedic.interfaces.reports.formats import Document, Failure, render, render_failure
from modelmedic.interfaces.reports.output_guard import redacted

COMMAND = (sys.executable, "-m", "modelmedic.interfaces.cli.main")


@pytest.fixture(scope="module")
def matchers(root):
    path = root / "interfaces" / "ci" / "problem-matcher.json"
    listed = json.loads(path.read_text(encoding="utf-8"))["problemMatcher"]
    return {each["owner"]: each for each in listed}


@pytest.fixture(scope="module")
def match(matchers):
    """Read a line with the matcher, as a runner does."""

    def match(line, owner="modelmedic"):
        (pattern,) = matchers[owner]["pattern"]
        found = re.search(pattern["regexp"], line)
        if not found:
            return None
        names = ("file", "line", "column", "severity", "message", "code")
        return {name: found[pattern[name]] for name in names if name in pattern}

    return match


@pytest.fixture
def run_folder(root, tmp_path, monkeypatch):
    shutil.copytree(root / "tests/probes/data/metrics/runs/no_pipeline", tmp_path / "run")
    shutil.copyfile(root / "tests/probes/data/logs/traceback_config__402.txt", tmp_path / "a.log")
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_line_of_an_inspection_is_matched(run_folder, match, compiled, monkeypatch):
    monkeypatch.setenv("MODELMEDIC_CACHE", str(compiled))
    done = subprocess.run([*COMMAND, "inspect", "run", "a.log", "-f", "lines"], timeout=100,
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 1
    found = [match(line) for line in done.stdout.splitlines()]
    assert found and all(found)
    by_code = {each["code"]: each for each in found}
    billing = by_code["tinker.billing.blocked"]
    assert (billing["file"], billing["severity"]) == ("a.log", "error")
    assert "402" in (run_folder / "a.log").read_text().splitlines()[int(billing["line"]) - 1]
    for each in found:
        assert (run_folder / each["file"]).is_file()
        assert each["severity"] in ("error", "warning", "notice") and each["message"]


@pytest.mark.parametrize(
    ("place", "file", "line"),
    [("a b.log:3", "a b.log", "3"), ("a.log", "a.log", None), ("gone.log:3", None, None),
     ("x: y.log:1", "x: y.log", "1"), ("", None, None)],
)  # fmt: skip
def test_places(run_folder, match, doctor, place, file, line):
    for name in ("a b.log", "x: y.log"):
        (run_folder / name).write_text("x\n" * 5)
    fact = Fact.of("timing_summary", [Provenance("probe:logs", place)], operation="sample",
                   submit_s=40.0)  # fmt: skip
    text = render(redacted(Document(doctor.diagnose([fact]))), "lines").value
    found = match(text.splitlines()[0])
    assert (found["file"], found["line"]) == (file, line)


def test_nothing_found_and_nothing_read(match, doctor):
    (line,) = render(redacted(Document(doctor.diagnose([]))), "lines").value.splitlines()
    assert match(line)["severity"] == "notice"
    problem = Problem("MM101", "no such\nfile", Location("gone.json", 3))
    failure = render_failure(redacted(Failure({"name": "x", "version": "0"}, (problem,))), "lines")
    assert failure is not None
    (line,) = failure.value.splitlines()
    assert match(line)["code"] == "MM101" and "gone.json" in line


def test_problems_of_an_input_as_text(match, tmp_path, compiled, monkeypatch):
    monkeypatch.setenv("MODELMEDIC_CACHE", str(compiled))
    (tmp_path / "facts.json").write_text('[\n {"kind": "pakage"}\n]')
    done = subprocess.run([*COMMAND, "--facts", "facts.json"], cwd=tmp_path, timeout=100,
                          capture_output=True, text=True, check=False)  # fmt: skip
    found = [match(line, "modelmedic-input") for line in done.stderr.splitlines()]
    (told,) = [each for each in found if each]
    assert told["code"] == "MM112" and told["file"].startswith("facts.json")


OTHERS = ("Epoch 3: error: 0.25", "::error file=a.log,line=3::x", "[x]", "error: [with spaces]",
          "  warning: x [y]")  # fmt: skip


@pytest.mark.parametrize("line", OTHERS)
def test_other_lines_are_none(match, line):
    assert match(line) is None


def test_the_pattern_takes_no_time(match):
    assert match("a:" * 5_000 + "1: err") is None


def test_the_command_prints_its_path(matchers, tmp_path, monkeypatch, root):
    done = subprocess.run([*COMMAND, "ci", "matcher"], capture_output=True, text=True, timeout=60,
                          check=True)  # fmt: skip
    assert json.loads(Path(done.stdout.rstrip("\n")).read_text("utf-8"))["problemMatcher"]
    copy = tmp_path / "matcher.json"
    subprocess.run([*COMMAND, "ci", "matcher", "-o", str(copy)], timeout=60, check=True)
    shipped = root / "interfaces" / "ci" / "problem-matcher.json"
    assert copy.read_text("utf-8") == shipped.read_text("utf-8")
