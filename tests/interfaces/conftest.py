"""The command as a person or a script runs it: its own process, real streams, real exit codes."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ..conftest import ON_KNOWLEDGE

ROOT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-m", "modelmedic.interfaces.cli.main")

# Runs the command line in argv[2:] and then writes the names of all loaded modules to argv[1].
LISTING = """
import sys
from modelmedic.interfaces.cli.main import main
listing, *arguments = sys.argv[1:]
try:
    main(arguments)
finally:
    with open(listing, "w") as file:
        file.write(" ".join(sys.modules))
"""


class Answer(NamedTuple):
    """The exit code and the output of a run."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON document on stdout; constants that JSON does not have are refused."""

        def refuse(word: str) -> None:
            raise ValueError(f"{word} is not JSON")

        return json.loads(self.out, parse_constant=refuse)


@pytest.fixture(scope="session")
def compiled(compiled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder of these tests alone, with the compiled knowledge in it."""
    return Path(shutil.copytree(compiled, tmp_path_factory.mktemp("cache") / "compiled"))


@pytest.fixture(scope="session")
def environment(compiled: Path) -> dict[str, str]:
    """Environment variables of a run: this tree, a cache of its own, no colour."""
    kept = {n: v for n, v in os.environ.items() if not n.startswith(("MODELMEDIC", "PYTHON"))}
    return kept | {"PYTHONPATH": str(ROOT / ".typing"), "MODELMEDIC_CACHE": str(compiled)}


@pytest.fixture(scope="session")
def run(environment: dict[str, str]) -> Callable[..., Answer]:
    """Runs a command; ``stdin`` is bytes, ``variables`` change the environment (None removes)."""

    def run(
        *command: object, stdin: bytes = b"", cwd: Path = ROOT, **variables: str | None
    ) -> Answer:
        changed = {n: v for n, v in (environment | variables).items() if v is not None}
        done = subprocess.run(
            [str(word) for word in command],
            input=stdin,
            cwd=cwd,
            env=changed,
            capture_output=True,
            timeout=100,
            check=False,
        )
        answer = Answer(done.returncode, done.stdout.decode(), done.stderr.decode())
        assert "Traceback" not in answer.out + answer.err, answer.err
        return answer

    return run


@pytest.fixture(scope="session")
def diagnose(run: Callable[..., Answer]) -> Callable[..., Answer]:
    """Runs ``diagnose`` with these arguments."""

    def diagnose(*arguments: object, **more: Any) -> Answer:
        return run(*COMMAND, *arguments, **more)

    return diagnose


@pytest.fixture(scope="session")
def on_small(
    run: Callable[..., Answer], small_command: tuple[str, ...],
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[..., Answer]:  # fmt: skip
    """Runs ``diagnose`` with these arguments upon the small knowledge."""
    cache = str(tmp_path_factory.mktemp("small"))

    def diagnose(*arguments: object, **more: Any) -> Answer:
        return run(*small_command, *arguments, **{"MODELMEDIC_CACHE": cache, **more})

    return diagnose


@pytest.fixture
def modules_after(run: Callable[..., Answer], tmp_path: Path) -> Callable[..., set[str]]:
    """The modules loaded after ``diagnose`` ran with these arguments and found something."""

    def modules_after(*arguments: object, **more: Any) -> set[str]:
        listing = tmp_path / "modules"
        answer = run(sys.executable, "-c", LISTING, listing, *arguments, **more)
        assert answer.code == 1, answer.err
        return set(listing.read_text().split())

    return modules_after


@pytest.fixture
def modules_on_small(
    run: Callable[..., Answer], small_knowledge: Path, tmp_path: Path
) -> Callable[..., set[str]]:
    """The same upon the small knowledge."""

    def modules_after(*arguments: object, **more: Any) -> set[str]:
        listing = tmp_path / "modules"
        command = (sys.executable, "-c", ON_KNOWLEDGE + LISTING, small_knowledge, listing)
        answer = run(*command, *arguments, **more)
        assert answer.code == 1, answer.err
        return set(listing.read_text().split())

    return modules_after


@pytest.fixture(scope="session")
def examples() -> Path:
    """The facts files that ship with ModelMedic."""
    return ROOT / "facts" / "examples"


@pytest.fixture(scope="session")
def slow_steps(examples: Path) -> Path:
    return examples / "slow_steps.json"


@pytest.fixture(scope="session")
def cleared(examples: Path) -> Path:
    return examples / "cleared_of_pydantic.json"


@pytest.fixture
def facts_file(tmp_path: Path) -> Callable[..., Path]:
    """Writes a facts file."""

    def facts_file(*facts: dict[str, Any], name: str = "facts.json") -> Path:
        path = tmp_path / name
        path.write_text(json.dumps({"schema": "modelmedic/facts/1", "facts": facts}))
        return path

    return facts_file
