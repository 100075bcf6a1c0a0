"""Rules that the contracts between layers (``lint-imports``, see pyproject.toml) cannot express:
relative imports, late imports of extras, and what the engine may not touch."""

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("facts", "reading", "knowledge", "probes", "engine", "authoring", "interfaces")

LAYERS = (
    "facts", "reading", "probes", "knowledge", "engine.inference", "engine.compiler",
    "engine.diagnosis", "authoring", "interfaces.reports", "interfaces.cli", "interfaces.consult",
    "interfaces.bulk", "interfaces.ci", "interfaces.mcp",
)  # fmt: skip

# Terminal, network, processes, clock and tensors reach the engine as arguments or not at all.
NOT_IN_ENGINE = {
    "aiohttp", "asyncio", "click", "http", "httpx", "numpy", "prompt_toolkit", "requests", "rich",
    "socket", "ssl", "subprocess", "time", "tinker", "torch", "transformers", "urllib",
}  # fmt: skip
NOT_CALLED_IN_ENGINE = {
    "breakpoint", "date.today", "datetime.now", "datetime.today", "datetime.utcnow", "exit",
    "input", "os._exit", "os.getenv", "os.popen", "os.system", "print", "quit", "sys.exit",
}  # fmt: skip
NOT_READ_IN_ENGINE = {"os.environ", "sys.stderr", "sys.stdin", "sys.stdout"}

# Extras may be missing: they are imported inside the function that needs them.
EXTRAS = {
    "neuronx_distributed_inference", "numpy", "pyarrow", "ray", "safetensors", "tinker",
    "tinker_cookbook", "torch", "transformers",
}  # fmt: skip


class Use(NamedTuple):
    """A name that a module imports, calls or reads."""

    name: str
    line: int
    level: int = 0
    at_start: bool = True


LINT_IMPORTS = [str(Path(sys.executable).with_name("lint-imports")), "--no-logo", "--no-cache"]


def modules(*packages: str) -> list[Path]:
    return sorted(path for package in packages for path in (ROOT / package).rglob("*.py"))


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def is_typing_only(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def imports(node: ast.AST, at_start: bool = True) -> Iterator[Use]:
    """The imports below a node, with those by a constant name through importlib."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            for alias in child.names:
                yield Use(alias.name, child.lineno, 0, at_start)
        elif isinstance(child, ast.ImportFrom):
            for alias in child.names:
                base = f"{child.module}." if child.module else ""
                yield Use(base + alias.name, child.lineno, child.level, at_start)
        elif isinstance(child, ast.Call) and child.args:
            called, name = ast.unparse(child.func), child.args[0]
            if called.split(".")[-1] in {"import_module", "__import__"}:
                value = name.value if isinstance(name, ast.Constant) else "<computed>"
                yield Use(str(value).lstrip("."), child.lineno, 0, at_start)
        later = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from imports(child, at_start and not later and not is_typing_only(child))


def is_ours(use: Use) -> bool:
    """Whether an import that is not relative reaches the library."""
    first, _, rest = use.name.partition(".")
    return use.level == 0 and (bool(rest) if first == "modelmedic" else first in PACKAGES)


def not_relative(path: Path, tree: ast.Module) -> Iterator[str]:
    for use in imports(tree):
        if is_ours(use):
            yield f"{path.relative_to(ROOT)}:{use.line}: import {use.name} relatively"


def early_extras(path: Path, tree: ast.Module) -> Iterator[str]:
    for use in imports(tree):
        if use.level == 0 and use.at_start and use.name.split(".")[0] in EXTRAS:
            yield f"{path.relative_to(ROOT)}:{use.line}: import {use.name} where it is used"


def forbidden_in_engine(path: Path, tree: ast.Module) -> Iterator[Use]:
    """Yield what a module of the engine must not use."""
    for use in imports(tree):
        if use.level == 0 and use.name.split(".")[0] in NOT_IN_ENGINE:
            yield use
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = ".".join(ast.unparse(node.func).split(".")[-2:])
            if called in NOT_CALLED_IN_ENGINE:
                yield Use(called, node.lineno)
        elif isinstance(node, ast.Attribute) and ast.unparse(node) in NOT_READ_IN_ENGINE:
            yield Use(ast.unparse(node), node.lineno)


def test_the_layers_import_downwards_only():
    done = subprocess.run(LINT_IMPORTS, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


UPWARDS = {
    "Facts below": [
        ("facts.x", "engine"),
        ("facts.y", "reading"),
        ("reading.x", "probes"),
        ("reading.y", "engine.inference"),
        ("probes.x", "engine.compiler"),
        ("engine.diagnosis.x", "probes"),
        ("authoring.x", "interfaces.cli"),
        ("interfaces.reports.x", "authoring"),
    ],
    "Inference below": [
        ("engine.inference.x", "engine.compiler"),
        ("engine.compiler.x", "engine.diagnosis"),
    ],
    "The engine does not": [("engine.diagnosis.y", "reading")],
}


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """The output of lint-imports for a tree of empty packages with upward imports in functions."""
    top = tmp_path_factory.mktemp("house")
    for name in LAYERS:
        room = top.joinpath("modelmedic", *name.split("."))
        room.mkdir(parents=True)
    for folder in [*top.joinpath("modelmedic").rglob("*")]:
        (folder / "__init__.py").touch()
    shutil.copy(ROOT / "pyproject.toml", top)
    for module, target in chain(*UPWARDS.values()):
        path = top.joinpath("modelmedic", *module.split(".")).with_suffix(".py")
        path.write_text(f"def f():\n    import modelmedic.{target}\n")
    done = subprocess.run(
        LINT_IMPORTS, cwd=top, env={"PYTHONPATH": str(top)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("contract", UPWARDS)
def test_an_import_upwards_breaks_a_contract(broken, contract):
    """Also from within a function."""
    assert re.search(f"^{contract}.* BROKEN$", broken, re.M)
    (details,) = re.findall(rf"^{contract}.*\n-+\n((?:(?!.*\n---).*\n)*)", broken, re.M)
    for module, target in UPWARDS[contract]:
        assert f"modelmedic.{module} -> modelmedic.{target} (l.2)" in details


def test_the_library_imports_itself_relatively():
    found = [text for path in modules(*PACKAGES) for text in not_relative(path, parse(path))]
    assert not found, "\n".join(found)


def test_extras_are_imported_where_they_are_used():
    found = [text for path in modules(*PACKAGES) for text in early_extras(path, parse(path))]
    assert not found, "\n".join(found)


def test_the_engine_touches_no_terminal_network_process_clock_or_tensor():
    found = [
        f"{path.relative_to(ROOT)}:{use.line}: the engine uses {use.name}"
        for path in modules("engine")
        for use in forbidden_in_engine(path, parse(path))
    ]
    assert not found, "\n".join(found)


def test_tests_import_the_installed_library():
    found = [
        f"{path.relative_to(ROOT)}:{use.line}: import modelmedic.{use.name}"
        for path in modules("tests")
        for use in imports(parse(path))
        if use.level == 0 and use.name.split(".")[0] in PACKAGES
    ]
    assert not found, "\n".join(found)


def test_the_engine_loads_neither_terminal_nor_tensors_nor_requests():
    # Imports through third parties do not show in the syntax trees.
    program = (
        "import sys, modelmedic.engine, modelmedic.facts\n"
        "heavy = {'click', 'prompt_toolkit', 'requests', 'rich', 'tinker', 'torch'}\n"
        "print(*sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == []


# The checks above are silent on a clean tree; these show that each of them can speak.
@pytest.mark.parametrize(
    ("file", "source", "check"),
    [
        ("engine/x.py", "from modelmedic.facts import Fact", not_relative),
        ("engine/x.py", "from facts import Fact", not_relative),
        ("probes/x.py", "import torch", early_extras),
        ("probes/x.py", "try:\n    from tinker import types\nexcept ImportError: pass",
         early_extras),
        ("engine/x.py", "def f():\n    import urllib.request", forbidden_in_engine),
        ("engine/x.py", "from time import monotonic", forbidden_in_engine),
        ("engine/x.py", "def f():\n    print('hello')", forbidden_in_engine),
        ("engine/x.py", "import datetime\ndatetime.datetime.now()", forbidden_in_engine),
        ("engine/x.py", "import os\nflag = os.environ['X']", forbidden_in_engine),
    ],
)  # fmt: skip
def test_a_breach_is_found(file, source, check):
    assert list(check(ROOT / file, ast.parse(source)))


@pytest.mark.parametrize(
    ("file", "source", "check"),
    [
        ("probes/x.py", "from ..facts import Fact\nfrom .y import z", not_relative),
        ("probes/x.py", "def f():\n    import torch", early_extras),
        ("probes/x.py", "if TYPE_CHECKING:\n    import torch", early_extras),
        ("engine/x.py", "import datetime\nwhen = datetime.datetime.fromisoformat('2026-01-01')",
         forbidden_in_engine),
        ("engine/x.py", "report.print()", forbidden_in_engine),
    ],
)  # fmt: skip
def test_what_is_allowed_stays_allowed(file, source, check):
    assert not list(check(ROOT / file, ast.parse(source)))
