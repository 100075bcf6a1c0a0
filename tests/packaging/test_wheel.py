"""The wheel as a user gets it: what is in it, and that it works in an empty environment."""

import json
import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.xdist_group("wheel")]

PACKAGES = ("authoring", "engine", "facts", "interfaces", "knowledge", "probes", "reading")
NOT_DATA = {".pyc", ".pxd", ".pyo"}


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run without the environment of the tests, so that nothing of the tree is within reach."""
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(("PYTHON", "VIRTUAL_ENV", "MODELMEDIC"))}  # fmt: skip
    arguments = list(map(str, command))
    return subprocess.run(
        arguments, cwd=cwd, env=env, capture_output=True, text=True, timeout=500, check=False
    )


def checked(*command: str | Path, cwd: Path) -> str:
    done = run(*command, cwd=cwd)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="session")
def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_nothing_lies_outside_modelmedic(names):
    tops = {name.split("/")[0] for name in names}
    info = next(top for top in tops if top.endswith(".dist-info"))
    data = info.replace(".dist-info", ".data")
    assert tops == {"modelmedic", info, data}
    assert [name for name in names if name.startswith(data)] == [
        f"{data}/data/share/man/man1/diagnose.1"
    ]
    assert {name.split("/")[1] for name in names if name.startswith("modelmedic/")} == set(PACKAGES)


def test_every_module_and_data_file_is_in_it(root, names):
    files = {
        f"modelmedic/{path.relative_to(root).as_posix()}"
        for package in PACKAGES
        for path in (root / package).rglob("*")
        if path.is_file() and path.suffix not in NOT_DATA
        if path.parent.name != "schemas" or path.name == "report-1.json"  # others are for editors
    }
    assert {name for name in names if name.startswith("modelmedic/")} == files
    assert any(name.endswith(".test.yaml") for name in files)
    assert "modelmedic/facts/examples/slow_steps.json" in files
    assert "modelmedic/knowledge/schemas/report-1.json" in files


@pytest.mark.parametrize("package", PACKAGES)
def test_it_is_typed(names, package):
    assert f"modelmedic/{package}/py.typed" in names


def test_its_metadata_has_the_readme_the_licence_and_the_command(wheel, names):
    info = next(name.split("/")[0] for name in names if ".dist-info/" in name)
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read(f"{info}/METADATA").decode()
        commands = archive.read(f"{info}/entry_points.txt").decode()
    assert "Description-Content-Type: text/markdown" in metadata
    assert "License-Expression: Apache-2.0" in metadata
    assert f"{info}/licenses/LICENSE" in names
    assert "diagnose = modelmedic.interfaces.cli.main:main" in commands


def test_the_main_job_runs_from_another_folder(installed, root, tmp_path):
    shutil.copy(root / "facts" / "examples" / "slow_steps.json", tmp_path / "facts.json")
    done = run(installed / "diagnose", "--facts", "facts.json", "--format", "json", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    report = json.loads(done.stdout)
    assert report["schema"] == "modelmedic/report/1"
    assert report["diagnoses"][0]["id"] == "tinker.env.pydantic-prerelease-serialization"


@pytest.mark.parametrize("name", PACKAGES)
def test_embedders_may_have_modules_of_the_same_names(installed, tmp_path, name):
    program = f"import modelmedic.{name}, importlib.util as u; print(u.find_spec({name!r}))"
    assert checked(installed / "python", "-c", program, cwd=tmp_path).strip() == "None"


def test_its_data_is_found_where_it_is_installed(installed, tmp_path):
    program = (
        "from importlib.resources import files\n"
        "root = files('modelmedic.facts')\n"
        "print((root / 'examples' / 'slow_steps.json').is_file(), root)"
    )
    answer = checked(installed / "python", "-c", program, cwd=tmp_path).split()
    assert answer[0] == "True"
    assert "site-packages" in answer[1]
