"""The command in a process of its own, measured and watched."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from modelmedic.engine import Diagnoser
from modelmedic.facts import Vocabulary

ROOT = Path(__file__).resolve().parents[2]
# -P: the working folder, which may be a stranger's, is not searched for modules; the installed
# command does not search it either.
COMMAND = (sys.executable, "-P", "-m", "modelmedic.interfaces.cli.main")
# Runs the command line in argv[2:] and writes what the interpreter did to argv[1].
WATCHED = """
import json, os, sys
out, *arguments = sys.argv[1:]
seen = []
def note(event, values):
    kept = event.startswith(("exec", "compile", "import", "open", "socket.", "subprocess.", "os.",
                             "pickle.", "shutil.", "ctypes.", "urllib", "http", "marshal",
                             "tempfile.", "code.", "ftplib", "smtplib"))
    if kept and event not in ("os.putenv", "os.unsetenv"):
        seen.append([event, *(repr(value)[:300] if not isinstance(value, (str, int)) else value
                              for value in values)])
from modelmedic.interfaces.cli.main import main
sys.addaudithook(note)
try:
    main(arguments)
finally:
    noted = list(seen)
    with open(out, "w") as file:
        json.dump(noted, file)
"""
# Runs the command line in argv[2:] and writes the most memory it held to argv[1]. (What the parent
# holds counts for a child until it starts another program, so the usage of resources misleads.)
MEASURED = """
import sys
from modelmedic.interfaces.cli.main import main
out, *arguments = sys.argv[1:]
try:
    main(arguments)
finally:
    with open("/proc/self/status") as status, open(out, "w") as file:
        file.write(next(line.split()[1] for line in status if line.startswith("VmHWM")))
"""


class Answer(NamedTuple):
    """The exit code and the output of a run."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def environment(compiled: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A home, a cache and a state of its own."""
    kept = {n: v for n, v in os.environ.items() if not n.startswith(("MODELMEDIC", "PYTHON"))}
    home = tmp_path_factory.mktemp("home")
    shutil.copytree(compiled, home / "compiled")
    return kept | {"PYTHONPATH": str(ROOT / ".typing"), "HOME": str(home),
                   "MODELMEDIC_CACHE": str(home / "compiled"), "MODELMEDIC_SALT": "test",
                   "XDG_STATE_HOME": str(home / "state"), "PYTHONDONTWRITEBYTECODE": "1"}  # fmt: skip


@pytest.fixture(scope="session")
def run(environment: dict[str, str]) -> Callable[..., Answer]:
    """Runs a command; ``variables`` change the environment (None removes one)."""

    def run(
        *command: object, stdin: bytes = b"", cwd: Path = ROOT, **variables: str | None
    ) -> Answer:
        changed = {n: v for n, v in (environment | variables).items() if v is not None}
        done = subprocess.run([str(word) for word in command], input=stdin, cwd=cwd, env=changed,
                              capture_output=True, timeout=100, check=False)  # fmt: skip
        out, err = (each.decode("utf-8", "replace") for each in (done.stdout, done.stderr))
        assert "Traceback" not in out + err, err
        return Answer(done.returncode, out, err)

    return run


@pytest.fixture(scope="session")
def diagnose(run: Callable[..., Answer]) -> Callable[..., Answer]:
    """Runs ``diagnose`` with these arguments."""

    def diagnose(*arguments: object, **more: Any) -> Answer:
        return run(*COMMAND, *arguments, **more)

    return diagnose


@pytest.fixture
def watched(
    run: Callable[..., Answer], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., tuple[Answer, list[list[Any]]]]:
    """Runs ``diagnose`` and gives the audit events of the interpreter as well."""

    def watched(*arguments: object, **more: Any) -> tuple[Answer, list[list[Any]]]:
        out = tmp_path_factory.mktemp("seen") / "events.json"
        answer = run(sys.executable, "-P", "-c", WATCHED, out, *arguments, **more)
        return answer, json.loads(out.read_text())

    return watched


@pytest.fixture
def peak_of(
    run: Callable[..., Answer], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., tuple[Answer, float]]:
    """Runs ``diagnose`` and gives the most memory that it held, in MiB, as well."""

    def peak_of(*arguments: object) -> tuple[Answer, float]:
        out = tmp_path_factory.mktemp("peak") / "kilobytes"
        answer = run(sys.executable, "-P", "-c", MEASURED, out, *arguments)
        return answer, float(out.read_text()) / 1024

    return peak_of


@pytest.fixture(scope="session")
def vocabulary(doctor: Diagnoser) -> Vocabulary:
    return doctor.base.vocabulary


@pytest.fixture(scope="session")
def slow_steps() -> Path:
    return ROOT / "facts" / "examples" / "slow_steps.json"


@pytest.fixture
def facts_file(tmp_path: Path) -> Callable[..., Path]:
    """Writes a facts file."""

    def facts_file(*facts: dict[str, Any], name: str = "facts.json") -> Path:
        path = tmp_path / name
        path.write_text(json.dumps({"schema": "modelmedic/facts/1", "facts": facts}))
        return path

    return facts_file


class Trap:
    """A pickle that leaves a mark when it is loaded."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return (os.mkdir, (str(self.mark),))


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    return Trap(tmp_path / "executed")


@pytest.fixture
def hostile_folder(tmp_path: Path, trap: Trap) -> Path:
    """A run folder of a stranger: everything in it that anything might run by itself."""
    import pickle
    import zipfile

    folder = tmp_path / "stranger"
    (folder / ".venv" / "bin").mkdir(parents=True)
    (folder / "tests").mkdir()
    code = f"import os\nos.mkdir({str(trap.mark)!r})\n"
    for name in ("conftest.py", "setup.py", "sitecustomize.py", "usercustomize.py", "yaml.py",
                 "numpy.py", "json.py", "modelmedic.py", "tests/test_mlp.py", "modeling_toy.py",
                 "train.py"):  # fmt: skip
        (folder / name).write_text(code)
    (folder / "evil.pth").write_text(f"import os; os.mkdir({str(trap.mark)!r})\n")
    (folder / "pyproject.toml").write_text(
        f'[tool.modelmedic]\nkb = "overlay"\ncommand = "mkdir {trap.mark}"\n'
    )
    (folder / ".envrc").write_text(f"mkdir {trap.mark}\n")
    (folder / "Makefile").write_text(f"all:\n\tmkdir {trap.mark}\n")
    python = folder / ".venv" / "bin" / "python"
    python.write_text(f"#!/bin/sh\nmkdir {trap.mark}\n")
    python.chmod(0o755)
    pickled = pickle.dumps(trap)
    for name in ("a.pt", "a.bin", "a.pkl", "a.npy", "a.safetensors", "a.ckpt", "ref_fp32.npz",
                 "adapter_model.safetensors", "target.npy", "ref_bf16.pt"):  # fmt: skip
        (folder / name).write_bytes(pickled)
    with zipfile.ZipFile(folder / "b.pt", "w") as archive:
        archive.writestr("archive/data.pkl", pickled)
    (folder / "c.safetensors").write_bytes((folder / "b.pt").read_bytes())
    (folder / "target.npz").write_bytes((folder / "b.pt").read_bytes())
    (folder / "metrics.jsonl").write_text('{"step": 0, "loss": 2.0}\n' * 3)
    (folder / "config.json").write_text(
        '{"model_type": "toy", "auto_map": {"AutoModel": "modeling_toy.Toy"}}'
    )
    (folder / "requirements.txt").write_text("tinker==0.38.0\npydantic==2.13.0b2\n-e .\n")
    return folder


OVERLAY = """
schema: modelmedic/diagnoses/1
domain: local
sources: [{{ref: "local notes"}}]
diagnoses:
  - id: local.perf.trap
    title: A trap
    severity: error
    kind: root-cause
    summary: A stranger wants you to run something.
    actions: [{{do: Run this., command: "mkdir {mark}"}}]
"""
RULES = """
schema: modelmedic/rules/1
domain: local
sources: [{ref: "local notes"}]
rules:
  - id: local.rule.trap
    title: A trap
    when: {fact: symptom, where: {name: slow-steps}}
    conclude: [{diagnosis: local.perf.trap, strength: decisive}]
"""


@pytest.fixture
def overlay(tmp_path: Path, trap: Trap) -> Path:
    """A folder of knowledge that somebody else wrote."""
    folder = tmp_path / "overlay"
    folder.mkdir()
    (folder / "diagnoses.yaml").write_text(OVERLAY.format(mark=trap.mark))
    (folder / "rules.yaml").write_text(RULES)
    return folder
