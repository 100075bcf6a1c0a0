"""Experiment folders at every stopping point: the next stage, its command and what it lacks.

A case (``cases/*.yaml``) is put together from ``parts/``: each part holds what one run or one hand
left in the folder, and later parts come later in time (Python files end in ``.py.txt`` there, so
that no tool takes them for ours). To add a case, add a file.
"""

import json
from pathlib import Path

import pytest
import yaml

from modelmedic.interfaces.cli.main import main

HERE = Path(__file__).parent
CASES = sorted((HERE / "cases").glob("*.yaml"))
STAGES = ("0", "1", "2", "3", "4", "5", "6", "7")


@pytest.fixture(params=CASES, ids=lambda path: path.stem)
def case(request):
    return yaml.safe_load(request.param.read_text("utf-8"))


@pytest.fixture
def experiment(folder_of, case):
    return folder_of(case)


@pytest.fixture
def inspect(experiment, capsys):
    def run(*options):
        with pytest.raises(SystemExit) as end:
            main(["inspect", str(experiment), *options])
        assert end.value.code in (0, 1), capsys.readouterr().err
        return capsys.readouterr().out

    return run


def test_next_stage_command_and_missing_input(inspect, experiment, case):
    lines = inspect("-v").splitlines()
    lines = lines[lines.index("Where the port stands:") + 1 :]
    lines = lines[: lines.index("")]
    table = [line for line in lines if line[5:6] in STAGES and line.startswith(("     ", "  -> "))]
    assert {int(line[5]): line[31:42].strip() for line in table} == case["states"]
    due = [int(line[5]) for line in table if line.startswith("  ->")]
    assert due == ([] if case["due"] is None else [case["due"]])
    block = [line.strip() for line in lines]
    block = block[next(at for at, line in enumerate(block) if line.startswith("Next: ")) :]
    assert block[0].startswith(f"Next: {case['next']}")
    command = case.get("command", "").replace("EXP_DIR", str(experiment))
    assert [line[2:] for line in block if line.startswith("$ ")] == ([command] if command else [])
    said = " ".join(block)
    for label, names in (("Missing: ", case.get("missing")), ("Set first: ", case.get("unset"))):
        assert (label in said) == bool(names), said
        assert f"{label}{', '.join(names or ())}" in said or not names


def test_one_flow_finding_and_the_expected_problems(inspect, case):
    report = json.loads(inspect("--format", "json"))
    flow = [d["id"] for d in report["diagnoses"] if d["id"].startswith("neuron.flow.")]
    assert flow == ([case["finding"]] if case.get("finding") else [])
    problems = {d["id"] for d in report["diagnoses"]
                if d["kind"] != "benign" and d["confidence"] != "possible"}  # fmt: skip
    assert problems == set(case.get("problems", ()))


def test_there_are_enough_cases():
    """An empty folder of cases would pass everything."""
    assert len(CASES) >= 10
