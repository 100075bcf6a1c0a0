"""The shape of the tree: sizes, names, and what has to lie where."""

import ast
import os
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("authoring", "engine", "facts", "interfaces", "knowledge", "probes", "reading")
MAX_LINES = 400
SAYS_NOTHING = {"common", "helper", "helpers", "misc", "util", "utils"}


def modules(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def relative(paths: list[Path]) -> list[str]:
    return [path.relative_to(ROOT).as_posix() for path in paths]


def test_no_module_is_too_long():
    lengths = {p: p.read_text(encoding="utf-8").count("\n") for p in modules(*PACKAGES, "tests")}
    long = [f"{path.relative_to(ROOT)}: {n} lines" for path, n in lengths.items() if n > MAX_LINES]
    assert not long, f"split at {MAX_LINES} lines:\n" + "\n".join(long)


def test_every_module_has_a_name_that_says_something():
    named = [p for p in modules(*PACKAGES, "tests") if {p.stem, p.parent.name} & SAYS_NOTHING]
    assert not named, relative(named)


def test_every_folder_with_modules_is_a_package():
    # Without an __init__.py it would be a namespace package, for every import a search of sys.path.
    folders = {path.parent for path in modules(*PACKAGES)}
    assert not relative([folder for folder in folders if not (folder / "__init__.py").exists()])


def test_knowledge_holds_no_logic():
    for path in modules("knowledge"):
        assert path.name == "__init__.py", f"{path.relative_to(ROOT)}: knowledge is data"
        tree = ast.parse(path.read_text(encoding="utf-8"))
        logic = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)
                 and not isinstance(node, ast.Assign | ast.AnnAssign | ast.Expr)]  # fmt: skip
        assert not logic, f"{path.relative_to(ROOT)}:{logic[0].lineno}: knowledge is data"


def test_data_files_have_one_spelling_of_yaml():
    assert not relative([path for name in PACKAGES for path in (ROOT / name).rglob("*.yml")])


def test_every_knowledge_test_lies_beside_what_it_tests():
    tests = sorted((ROOT / "knowledge").rglob("*.test.yaml"))
    of_many = ("stories", "mutation")  # these span many files
    entries = [path for path in tests if path.parent.name not in of_many]
    plain = re.compile(r"\.test\.yaml$")
    alone = [path for path in entries if not path.with_name(plain.sub(".yaml", path.name)).exists()]
    assert not alone, relative(alone)


@pytest.mark.parametrize("name", PACKAGES)
def test_type_checkers_and_the_editable_install_see_the_package(name):
    link = ROOT / ".typing" / "modelmedic" / name
    assert link.is_symlink()
    assert os.readlink(link) == f"../../{name}"
    assert (ROOT / name / "py.typed").is_file()


def test_the_links_and_the_wheel_name_the_same_packages():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert tuple(sorted(wheel["only-include"])) == PACKAGES
    assert wheel["sources"] == {name: f"modelmedic/{name}" for name in PACKAGES}
    assert tuple(sorted(os.listdir(ROOT / ".typing" / "modelmedic"))) == PACKAGES


def test_durable_rules_is_the_same_version_everywhere():
    texts = [(ROOT / name).read_text(encoding="utf-8")
             for name in ("pyproject.toml", "constraints-dev.txt")]  # fmt: skip
    versions = [set(re.findall(r"durable-rules==([\d.]+)", text)) for text in texts]
    assert versions == [{"2.0.28"}] * 2


@pytest.mark.xdist_group("together")
def test_tests_that_share_a_costly_fixture_stay_in_one_worker(request):
    # A group shows in the name. Some releases of pytest and xdist together lose it, unnoticed.
    if not request.config.getoption("loadgroup", default=False):
        pytest.skip("no workers")
    assert request.node.nodeid.endswith("@together")
