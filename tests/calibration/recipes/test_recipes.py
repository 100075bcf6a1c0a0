"""Recipes of the installed cookbook against a server on this machine: healthy runs that the library
itself has made, with its own SDK. Nothing is wrong with them, and nothing is found."""

import subprocess
import sys
from pathlib import Path

import pytest

from modelmedic.interfaces.inspection import gather

pytestmark = pytest.mark.deep

RUNNER = Path(__file__).with_name("run_recipe.py")


@pytest.mark.parametrize("recipe", ["sl_basic", "math_rl"])
def test_a_recipe_that_runs_well(recipe, doctor, tmp_path):
    pytest.importorskip("tinker_cookbook")
    folder = tmp_path / recipe
    command = [sys.executable, str(RUNNER), recipe, str(folder), "6"]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=280, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    facts, problems, read = gather([folder], doctor.base.vocabulary)
    assert not problems
    assert {what for _, what, _ in read} == {"run folder of the cookbook", "log or traceback"}
    found = [d for d in doctor.diagnose(facts).diagnoses if not d.explained_by]
    assert [d.id for d in found if d.severity in ("error", "warning")] == []
