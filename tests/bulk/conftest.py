"""Records, and the command that diagnoses them: real processes, real files."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from modelmedic.engine import Diagnoser
from modelmedic.interfaces.bulk.inputs import Inputs
from modelmedic.interfaces.bulk.job import Identity, Plan
from modelmedic.interfaces.bulk.records import Chunk, Limits, Result
from modelmedic.interfaces.bulk.worker import Setup, Worker, packed
from modelmedic.interfaces.reports.output_guard import this_machine

ROOT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-m", "modelmedic.interfaces.cli.main", "bulk")
SCHEMA = "modelmedic/facts/1"


@pytest.fixture(scope="session")
def fact_sets() -> list[list[dict[str, Any]]]:
    """Real sets of facts, some sick, some healthy, with the packages of different machines."""
    paths = [
        *(ROOT / "facts/examples").glob("*.json"),
        *(ROOT / "knowledge/healthy").glob("*.json"),
    ]
    known = [json.loads(path.read_text())["facts"] for path in sorted(paths)]
    versions = ("2.12.5", "2.13.0b1", "2.13.0b2", "2.14.3")
    return [
        *known,
        *([{"kind": "package", "name": "pydantic", "version": v}, *known[-1]] for v in versions),
        [{"kind": "symptom", "name": "slow-steps"}],
        [],
    ]


@pytest.fixture(scope="session")
def record(fact_sets: list[list[dict[str, Any]]]) -> Callable[[int], dict[str, Any]]:
    """The n-th record of a long list."""

    def record(number: int) -> dict[str, Any]:
        facts = fact_sets[number % len(fact_sets)]
        time = f"2026-{number % 9 + 1:02}-{number % 28 + 1:02}T12:00:00+02:00"
        return {"schema": SCHEMA, "id": f"run-{number}", "time": time, "facts": facts}

    return record


@pytest.fixture(scope="session")
def write_lines() -> Callable[[Path, Iterable[Any]], Path]:
    """Writes JSON lines; a text is a line as it is."""

    def write(path: Path, lines: Iterable[Any]) -> Path:
        with path.open("w", encoding="utf-8", newline="\n") as file:
            for line in lines:
                file.write((line if isinstance(line, str) else json.dumps(line)) + "\n")
        return path

    return write


@pytest.fixture(scope="session")
def environment(compiled: Path) -> dict[str, str]:
    quiet = ("MODELMEDIC", "PYTHON", "CI", "NO_PROGRESS")  # CI shows no progress
    kept = {n: v for n, v in os.environ.items() if not n.startswith(quiet)}
    return kept | {
        "PYTHONPATH": str(ROOT / ".typing"),
        "MODELMEDIC_CACHE": str(compiled),
        "MODELMEDIC_SALT": "tests",
    }


@pytest.fixture(scope="session")
def start(environment: dict[str, str], doctor: Diagnoser) -> Callable[..., subprocess.Popen[str]]:
    """Begins ``diagnose bulk`` with these arguments in a folder."""

    def start(cwd: Path, *arguments: object, **variables: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*COMMAND, *map(str, arguments)],
            cwd=cwd,
            env=environment | variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start


@pytest.fixture(scope="session")
def bulk(start: Callable[..., subprocess.Popen[str]]) -> Callable[..., tuple[int, str]]:
    """Runs ``diagnose bulk`` to its end: exit code and what it says. stdout stays empty."""

    def bulk(cwd: Path, *arguments: object, **variables: str) -> tuple[int, str]:
        with start(cwd, *arguments, **variables) as process:
            out, err = process.communicate(timeout=100)
        assert out == ""
        assert "Traceback" not in err, err
        return process.returncode, err

    return bulk


class InThisProcess:
    """A runner without processes; ``stop_before`` interrupts it before the chunk of that number."""

    def __init__(self, setup: Setup, stop_before: int | None = None) -> None:
        self._worker = Worker(setup)
        self._stop_before = stop_before

    def results(self, chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, Result]]:
        for number, chunk in enumerate(chunks):
            if number == self._stop_before:
                raise KeyboardInterrupt
            yield chunk, self._worker.work(chunk)

    def close(self) -> None:
        pass


@pytest.fixture(scope="session")
def setup_of(doctor: Diagnoser, compiled: Path) -> Callable[..., Setup]:
    """The setup that workers need; ``more`` are fields of it."""
    with pytest.MonkeyPatch.context() as changed:
        changed.setenv("MODELMEDIC_CACHE", str(compiled))
        knowledge = packed(doctor.base)
    machine = (b"tests", *this_machine()[1:])
    return lambda **more: Setup(knowledge, machine, **more)


@pytest.fixture(scope="session")
def in_this_process(setup_of: Callable[..., Setup]) -> Callable[..., InThisProcess]:
    return lambda stop_before=None, **more: InThisProcess(setup_of(**more), stop_before)


@pytest.fixture(scope="session")
def plan_of(doctor: Diagnoser) -> Callable[..., Plan]:
    """A plan for these inputs that notes every chunk."""

    def plan_of(target: Path, *inputs: Path, records: int = 3, **options: Any) -> Plan:
        read = Inputs(inputs, runs=False)
        identity = Identity(read.fingerprints, doctor.base.digest, "1", options)
        return Plan(read, target, identity, Limits(records), checkpoint=0)

    return plan_of


@pytest.fixture(scope="session")
def lines_of() -> Callable[[Path], list[Any]]:
    """The JSON documents in the lines of a file."""
    return lambda path: [json.loads(line) for line in path.read_text().splitlines()]
