"""Completion in real shells: what they are offered, and that it is there at once."""

import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

PREFIX = "tinker.perf.gil-c"
FOUND = ["tinker.perf.gil-clear", "tinker.perf.gil-contention"]


@pytest.fixture(scope="module")
def shell_environment(root, compiled, tmp_path_factory):
    """An environment in which the command of this tree is the first of its name."""
    folder = tmp_path_factory.mktemp("bin")
    command = folder / "diagnose"
    command.write_text(
        f'#!/bin/sh\nexec "{sys.executable}" -m modelmedic.interfaces.cli.main "$@"\n'
    )
    command.chmod(0o755)
    kept = {name: os.environ[name] for name in ("HOME", "LANG") if name in os.environ}
    state = tmp_path_factory.mktemp("state")
    return kept | {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "TERM": "dumb",
                   "MODELMEDIC_CACHE": str(compiled), "PYTHONPATH": str(root / ".typing"),
                   "XDG_STATE_HOME": str(state)}  # fmt: skip


def run(shell, program, environment, folder=None):
    done = subprocess.run([shell, *program], env=environment, capture_output=True, text=True,
                          cwd=folder, timeout=60, check=False)  # fmt: skip
    assert done.stderr == ""
    return done.stdout


@pytest.fixture(scope="module")
def in_bash(shell_environment):
    """The completions that bash gets for words; the last word is still being typed."""

    def in_bash(*words, folder=None):
        if shutil.which("bash") is None:
            pytest.skip("no bash here")
        listed = " ".join(f"'{word}'" for word in words)
        program = (
            'eval "$(diagnose completion bash)"; complete -p diagnose >/dev/null || exit 9; '
            "compopt() { echo files; }; "  # outside of a completion, bash refuses it
            f"COMP_WORDS=(diagnose {listed}); COMP_CWORD={len(words)}; "
            "_diagnose_completion diagnose; printf '%s\\n' \"${COMPREPLY[@]}\""
        )
        return run("bash", ["--norc", "-c", program], shell_environment, folder).split("\n")[:-1]

    return in_bash


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("words", "some"),
    [
        (("why-not", PREFIX), FOUND),
        (("--why", PREFIX), FOUND),
        (("inspect", "x", "--why", PREFIX), FOUND),
        (("explain", "tinker.tree.hang"), ["tinker.tree.hang"]),
        (("explain", PREFIX), FOUND),
        (("kb", "graph", "tinker.tree.ha"), ["tinker.tree.hang"]),
        (("kb", "lint", "--explain", "MM25"), ["MM250", "MM259"]),
        (("kb", "mutate", "--entry", "tinker.tree.ha"), ["tinker.tree.hang"]),
        (("facts", "timing_s"), ["timing_summary"]),
        (("whatif", "--set", "packa"), ["package"]),
        (("probe", "env"), ["environment"]),
        (("probe", ""), ["logs", "service", "list"]),
        (("comp",), ["completion"]),
        (("kb", ""), ["lint", "test", "graph"]),
        (("--format", "s"), ["sarif"]),
        (("--fail-on", ""), ["error", "never"]),
        (("inspect", "--foll"), ["--follow-up"]),
        (("completion", "z"), ["zsh"]),
        (("explain", "no.such"), []),
    ],
)
def test_what_bash_is_offered(in_bash, words, some):
    found = in_bash(*words)
    assert set(some) <= set(found)
    assert all(each.startswith(words[-1]) for each in found if each)
    if not some:
        assert found in ([], [""])


@pytest.mark.parametrize(
    "words", [("--facts", "fac"), ("fac",), ("inspect", "fac"), ("diff", "fac"), ("decode", "fac")]
)
def test_files_are_offered_where_they_are_taken(in_bash, tmp_path, words):
    """By bash itself: the command only says that files are meant. A text may be anything."""
    (tmp_path / "facts.json").touch()
    found = in_bash(*words, folder=tmp_path)
    wanted = {"fac": ["facts"], "decode": [""]}.get(words[0], ["files", ""])
    assert found == wanted


def test_names_of_kept_consultations(in_bash, shell_environment):
    folder = Path(shell_environment["XDG_STATE_HOME"], "modelmedic", "sessions")
    folder.mkdir(parents=True)
    for name in ("hang-1", "hang-2", "slow-steps-1"):
        (folder / f"{name}.json").write_text("{}")
    assert in_bash("--resume", "ha") == ["hang-1", "hang-2"]


def test_ids_of_an_overlay_that_is_named(in_bash, tmp_path):
    (tmp_path / "diagnoses").mkdir()
    (tmp_path / "diagnoses" / "own.yaml").write_text(
        "schema: modelmedic/diagnoses/1\ndomain: local\nsources: [{ref: made up}]\ndiagnoses:\n"
        "  - {id: local.disk.full, title: Full, severity: error, kind: root-cause,"
        " summary: Nothing can be written., actions: [{do: Delete something.}]}\n"
    )
    found = in_bash("--kb", str(tmp_path), "explain", "local.")
    assert found == ["local.disk.full"]


def test_an_interactive_bash(shell_environment):
    if shutil.which("bash") is None:
        pytest.skip("no bash here")
    child = pexpect.spawn("bash", ["--norc", "--noprofile"], env=shell_environment, timeout=60,
                          encoding="utf-8", dimensions=(24, 200))  # fmt: skip
    child.sendline("PS1='ready> '")
    child.expect("\nready> ")
    child.sendline('eval "$(diagnose completion bash)"')
    child.expect("\nready> ")
    child.send("echo diagnose; diagnose why-not tinker.perf.gil-cl\t")
    child.expect("gil-clear ")
    child.sendcontrol("c")
    child.sendline("exit")
    child.expect(pexpect.EOF)


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_take_their_scripts(shell_environment, shell):
    """The script, and the answer in the shell's own form; the shell itself where it is there."""
    command = [sys.executable, "-m", "modelmedic.interfaces.cli.main"]
    script = subprocess.run([*command, "completion", shell], env=shell_environment, text=True,
                            capture_output=True, timeout=60, check=True).stdout  # fmt: skip
    assert f"_DIAGNOSE_COMPLETE={shell}_complete" in script
    typed = {"COMP_WORDS": f"diagnose why-not {PREFIX}", "_DIAGNOSE_COMPLETE": f"{shell}_complete",
             "COMP_CWORD": PREFIX if shell == "fish" else "2"}  # fmt: skip
    answer = subprocess.run(command, env=shell_environment | typed, text=True, capture_output=True,
                            timeout=60, check=True).stdout  # fmt: skip
    for name in FOUND:
        assert name in answer
    assert "interpreter" in answer, "these shells show the titles, too"
    if shutil.which(shell):
        check = ["-n", "-c", script] if shell == "zsh" else ["--no-execute", "-c", script]
        assert run(shell, check, shell_environment) == ""


def test_broken_knowledge_completes_nothing_and_says_nothing(in_bash, tmp_path):
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "bad.yaml").write_text("schema: [")
    assert in_bash("--kb", str(tmp_path), "explain", PREFIX) in ([], [""])


def test_ids_come_at_once(shell_environment):
    """In processor time, against the bare interpreter as a measure of the machine."""
    typed = {"COMP_WORDS": f"diagnose why-not {PREFIX}", "COMP_CWORD": "2",
             "_DIAGNOSE_COMPLETE": "bash_complete"}  # fmt: skip

    def seconds(*program, **more):
        best = 99.0
        for _ in range(5):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, *program], env=shell_environment | more, check=True,
                           capture_output=True, timeout=60)  # fmt: skip
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return best

    program = ("-m", "modelmedic.interfaces.cli.main")
    seconds(*program, **typed)  # fills the cache
    took, bare = seconds(*program, **typed), seconds("-c", "import click")
    assert took < max(0.2, 4 * bare), json.dumps({"completion": took, "bare": bare})
