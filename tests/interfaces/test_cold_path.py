"""Modules that a start of the main job does not load. Each would cost more than the diagnosis."""

import subprocess
import sys
import time

import pytest

HEAVY = {
    "click", "hypothesis", "jsonschema", "numpy", "packaging", "prompt_toolkit", "pydantic",
    "pydantic_core", "rich", "tinker", "tinker_cookbook", "torch", "transformers", "yaml",
}  # fmt: skip
# Parts of the standard library that are slow to import and that the main job has no use for.
SLOW = {
    "asyncio", "contextlib", "ctypes", "email", "http", "importlib.metadata", "logging",
    "multiprocessing", "pathlib", "socket", "ssl", "subprocess", "typing", "unittest",
    "urllib.request", "xml",
}  # fmt: skip


# Modules that an interpreter may have loaded for others; the report for programs does without them.
EXPRESSIONS = {"enum", "importlib", "json", "re", "shlex", "warnings"}


@pytest.mark.parametrize("arguments", [[], ["-f", "json"], ["-v"], ["--engine", "native"]])
def test_the_main_job_loads_nothing_heavy(modules_after, diagnose, slow_steps, arguments):
    diagnose("--facts", slow_steps)  # compiles the knowledge
    time.sleep(0.3)  # digests of what has just been written are not kept
    diagnose("--facts", slow_steps)
    loaded = modules_after("--facts", slow_steps, *arguments)
    assert "modelmedic.interfaces.cli.fast_lane" in loaded
    assert not loaded & HEAVY
    assert not loaded & SLOW
    assert not any(name.startswith("modelmedic.engine.diagnosis.words") for name in loaded)


def test_the_report_for_programs_takes_no_expression(modules_after, diagnose, run, slow_steps):
    diagnose("--facts", slow_steps)
    time.sleep(0.3)
    diagnose("--facts", slow_steps)
    bare = set(run(sys.executable, "-c", "import sys; print(*sys.modules)").out.split())
    loaded = modules_after("--facts", slow_steps, "-f", "json")
    assert not (loaded - bare) & EXPRESSIONS


def test_own_words_cost_nothing_until_some_are_said(modules_after, tmp_path):
    """The first prompt of a consultation comes without the lexicon."""
    lexicon = "modelmedic.engine.diagnosis.words.understanding"
    answers = tmp_path / "answers.txt"
    for said, loads in (("slow-steps", False), ("training is slow", True)):
        answers.write_text(said + "\n")
        loaded = modules_after("--answers", answers, "--fail-on", "info")
        assert "modelmedic.interfaces.consult.loop" in loaded
        assert (lexicon in loaded) == loads


def test_a_cold_cache_loads_what_compiling_takes(modules_after, slow_steps):
    assert {"yaml", "pydantic"} <= modules_after("--facts", slow_steps, MODELMEDIC_CACHE="")


def test_the_interpreter_agrees(diagnose, environment, slow_steps):
    """The same by ``-X importtime``, which also sees what is imported and dropped again."""
    diagnose("--facts", slow_steps)
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "modelmedic.interfaces.cli.main",
         "--facts", str(slow_steps)],
        env=environment, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "modelmedic.engine.diagnosis.diagnoser" in imported
    assert not imported & HEAVY


def test_other_commands_load_no_extras(modules_after, slow_steps):
    message = "Error code: 401 - {'detail': 'Invalid API key'}"
    modules_after("decode", message, "--fail-on", "info")  # keeps the compiled knowledge
    loaded = modules_after("decode", message, "--fail-on", "info")
    assert "modelmedic.probes.messages.probe" in loaded
    assert not loaded & {"numpy", "tinker", "torch", "transformers", "yaml", "pydantic"}


def test_importing_the_library_loads_nothing_heavy(run):
    code = "import sys; from modelmedic.engine import Diagnoser; print(*sys.modules)"
    loaded = set(run(sys.executable, "-c", code).out.split())
    assert "modelmedic.engine.diagnosis.diagnoser" in loaded
    assert not loaded & HEAVY
