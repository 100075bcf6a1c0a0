"""An output format is one file: a module dropped into the folder of formats works everywhere."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import modelmedic.interfaces.reports.formats as formats
from modelmedic.interfaces.reports.formats import FORMATS, for_programs, format_of

TOY = '''
"""One diagnosis a line."""
SUFFIX = ".toy"

def render(document):
    return "".join(f"{d.id}\\n" for d in document.value.report.diagnoses)

def render_failure(failure):
    return "".join(f"failed: {p.code}\\n" for p in failure.value.problems)
'''


@pytest.fixture(scope="module")
def toy(root, tmp_path_factory):
    """The library with one more file in it."""
    library = tmp_path_factory.mktemp("library") / "modelmedic"
    shutil.copytree(root / "interfaces", library / "interfaces",
                    ignore=shutil.ignore_patterns("__pycache__"))  # fmt: skip
    for name in ("authoring", "engine", "facts", "knowledge", "probes", "reading"):
        (library / name).symlink_to(root / name)
    (library / "interfaces" / "reports" / "formats" / "toy.py").write_text(TOY)
    kept = {n: v for n, v in os.environ.items() if not n.startswith(("MODELMEDIC", "PYTHON"))}
    environment = kept | {"PYTHONPATH": str(library.parent), "PYTHONDONTWRITEBYTECODE": "1",
                          "MODELMEDIC_CACHE": str(tmp_path_factory.mktemp("cache"))}  # fmt: skip

    def run(*command, program=("-m", "modelmedic.interfaces.cli.main"), stdin=""):
        return subprocess.run(
            [sys.executable, *program, *map(str, command)], env=environment, input=stdin,
            capture_output=True, text=True, timeout=100, check=False,
        )  # fmt: skip

    return run


def test_a_report_in_a_new_format(toy, root):
    done = toy("--facts", root / "facts/examples/slow_steps.json", "--format", "toy")
    assert done.returncode == 1, done.stderr
    assert "tinker.env.pydantic-prerelease-serialization" in done.stdout.splitlines()


def test_a_command_that_click_reads_takes_a_new_format(toy, tmp_path):
    message = "Error code: 401 - {'detail': 'Invalid API key'}"
    done = toy("decode", message, "-f", "toy", "-o", tmp_path / "out.toy")
    assert done.returncode in (0, 1), done.stderr
    assert (tmp_path / "out.toy").read_text().startswith("tinker.")
    assert "|toy" in toy("decode", "--help").stdout


def test_errors_are_rendered_in_a_new_format_for_programs(toy, tmp_path):
    done = toy("--facts", tmp_path / "missing.json", "-f", "toy")
    assert (done.returncode, done.stdout, done.stderr) == (2, "failed: MM101\n", "")


def test_a_file_name_chooses_a_new_format(toy):
    program = (
        "from modelmedic.interfaces.reports.formats import format_of; print(format_of('.toy'))"
    )
    assert toy(program=("-c", program)).stdout == "toy\n"


def test_every_file_is_a_format():
    files = {path.stem for path in Path(formats.__file__).parent.glob("*.py")} - {"__init__"}
    assert set(FORMATS) == files
    assert FORMATS[0] == "text"


def test_what_programs_read_and_what_files_are_called():
    assert {name for name in FORMATS if for_programs(name)} >= {
        "github", "json", "junit", "lines", "sarif"}  # fmt: skip
    assert not any(map(for_programs, ("html", "markdown", "text")))
    known = {".txt": "text", ".json": "json", ".md": "markdown", ".html": "html",
             ".sarif": "sarif", ".xml": "junit", "": None, ".doc": None}  # fmt: skip
    assert {suffix: format_of(suffix) for suffix in known} == known


def test_names_are_known_without_importing_a_format():
    program = (
        "import sys; from modelmedic.interfaces.reports.formats import FORMATS\n"
        "print([n for n in FORMATS if f'modelmedic.interfaces.reports.formats.{n}' in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"
