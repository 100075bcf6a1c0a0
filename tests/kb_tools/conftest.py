"""The maintainers' commands, run in this process on the shipped knowledge and on small folders."""

from __future__ import annotations

import gc
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from modelmedic.interfaces.cli.main import main


class Answer(NamedTuple):
    """The exit code and the output of a run."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out)


Run = Callable[..., Answer]


@pytest.fixture(scope="session")
def compiled(compiled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder of these tests alone, with the compiled knowledge in it."""
    return Path(shutil.copytree(compiled, tmp_path_factory.mktemp("cache") / "compiled"))


@pytest.fixture
def diagnose(
    compiled: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Run]:
    """Runs ``diagnose`` with arguments."""
    monkeypatch.setenv("MODELMEDIC_CACHE", str(compiled))

    def run(*arguments: object) -> Answer:
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return Answer(int(stop.value.code or 0), out, err)

    yield run
    gc.enable()


@pytest.fixture
def on_small(
    diagnose: Run, small_base: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Run:
    """Runs ``diagnose`` with the small knowledge as the shipped one."""
    monkeypatch.setenv("MODELMEDIC_CACHE", str(tmp_path / "small"))
    return diagnose


@pytest.fixture
def folder(tmp_path: Path) -> Callable[..., Path]:
    """Writes a folder from a mapping of paths to texts."""

    def write(name: str, files: dict[str, str]) -> Path:
        for path, text in files.items():
            target = tmp_path / name / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        return tmp_path / name

    return write


DISK_DIAGNOSES = """
schema: modelmedic/diagnoses/1
domain: local
sources: [{ref: local notes}]
diagnoses:
  - id: local.disk.full
    title: The local disk is full
    severity: error
    kind: root-cause
    summary: Nothing can be written.
    actions: [{do: Make 10 GB of room., verify: df shows 10 GB.}]
"""


@pytest.fixture
def disk(folder: Callable[..., Path]) -> Callable[[str, str], Path]:
    """Writes an overlay about a full disk: its one diagnosis, with rules and cases."""

    def write(rules: str, cases: str) -> Path:
        files = {"diagnoses.yaml": DISK_DIAGNOSES, "disk.yaml": rules, "disk.test.yaml": cases}
        return folder("local", files)

    return write
