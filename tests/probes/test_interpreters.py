"""Asking another interpreter: real ones, and programs that misbehave."""

import os
import shutil
import sys
import time
from pathlib import Path

import pytest

from modelmedic.facts import ModelMedicError
from modelmedic.probes.environment import interpreter_report
from modelmedic.probes.environment.interpreters import ask_interpreter
from modelmedic.probes.shared import child_processes
from modelmedic.reading.packages.environments import find_interpreter

needs_shell = pytest.mark.skipif(os.name != "posix", reason="the fake programs are shell scripts")


def program(folder: Path, text: str) -> Path:
    path = folder / "fake"
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path


def test_this_interpreter_answers_from_outside_as_from_inside():
    inside = interpreter_report.report(["pytest", "no-such-package"], False)
    outside = ask_interpreter(Path(sys.executable), ["pytest", "no-such-package"])
    assert outside["python"] == inside["python"]
    assert outside["missing"] == inside["missing"] == ["no-such-package"]
    assert outside["packages"][0][:2] == list(inside["packages"][0][:2])


def test_all_packages_are_given_with_normal_names():
    answer = ask_interpreter(Path(sys.executable), ["pytest"], everything=True)
    names = [name for name, *_ in answer["packages"]]
    assert "typing-extensions" in names
    assert names == sorted(set(names))
    assert answer["missing"] == []


@pytest.mark.parametrize("version", ["3.8", "3.9", "3.10", "3.12", "3.13"])
def test_older_and_newer_pythons_can_be_asked(version):
    command = shutil.which(f"python{version}")
    if command is None:
        pytest.skip(f"no Python {version} here")
    try:
        answer = ask_interpreter(Path(command), ["pip"])
    except ModelMedicError as error:
        pytest.skip(f"Python {version} does not start here: {error}")
    assert answer["python"]["version"].startswith(version)


def test_a_folder_of_an_environment_will_do(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    assert find_interpreter(tmp_path) == tmp_path / "bin" / "python"


def test_a_command_on_the_search_path_will_do(tmp_path, monkeypatch):
    (tmp_path / "my-python").symlink_to(sys.executable)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_interpreter(Path("my-python")).name == "my-python"


@pytest.mark.parametrize("target", ["missing", "."])
def test_no_interpreter_there(tmp_path, target):
    with pytest.raises(ModelMedicError, match="MM420"):
        find_interpreter(tmp_path / target)


@needs_shell
def test_a_file_that_is_no_program(tmp_path):
    plain = tmp_path / "notes.txt"
    plain.write_text("hello")
    with pytest.raises(ModelMedicError, match="MM421 this file is not executable"):
        ask_interpreter(plain, [])
    plain.chmod(0o755)
    with pytest.raises(ModelMedicError, match=r"MM42[13]"):
        ask_interpreter(plain, [])


@needs_shell
def test_a_program_that_hangs_is_ended_with_its_children(tmp_path):
    hung = program(tmp_path, "sleep 60 & echo $! > " + str(tmp_path / "pid") + "\nwait\n")
    start = time.monotonic()
    with pytest.raises(ModelMedicError, match=r"MM422 .*within 0.5 s"):
        ask_interpreter(hung, [], timeout_s=0.5)
    assert time.monotonic() - start < 50  # of 60
    child = int((tmp_path / "pid").read_text())
    for _ in range(300):
        status = Path(f"/proc/{child}/stat")
        if not status.exists() or status.read_text().split()[2] == "Z":
            return
        time.sleep(0.1)
    pytest.fail("the child of the program is still alive")


@needs_shell
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("echo hello", "MM424"),
        ("exit 0", "MM424"),
        ("echo broken >&2; exit 3", "MM423 .*broken"),
        ("exit 3", "MM423 .*exit status 3"),
        (f"echo '{interpreter_report.MARK}[1, 2'", "MM424 .*broken report"),
        (f"echo '{interpreter_report.MARK}{{\"packages\": 5}}'", "MM424 .*broken report"),
    ],
)
def test_a_program_that_is_no_python(tmp_path, text, code):
    with pytest.raises(ModelMedicError, match=code):
        ask_interpreter(program(tmp_path, text), [])


@needs_shell
def test_a_program_that_says_too_much_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(child_processes, "MAX_BYTES", 200_000)
    start = time.monotonic()
    with pytest.raises(ModelMedicError, match="MM423"):
        ask_interpreter(program(tmp_path, "while :; do echo xxxxxxxxxxxxxxxxxxxxx; done"), [])
    assert time.monotonic() - start < 50


@needs_shell
def test_what_an_environment_prints_at_start_does_no_harm(tmp_path):
    noisy = program(tmp_path, f'echo "welcome"; exec {sys.executable} "$@"\n')
    assert ask_interpreter(noisy, ["pytest"])["packages"][0][0] == "pytest"


def test_the_script_reads_metadata_and_imports_no_package():
    before = set(sys.modules)
    interpreter_report.report(["pydantic-core", "torch", "numpy"], True)
    loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
    assert not loaded & {"torch", "numpy", "pydantic_core", "transformers", "tinker"}
