"""Figures of the house: ``make figures``.

How much code one fact passes, import cycles, modules a folder, lines of code. The limits stand in
``tests/architecture/test_figures.py``.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CODE = ("facts", "reading", "probes", "engine", "authoring", "interfaces")
LINES_BEFORE = 55_314  # of library code at commit 5da3ddd
EXAMPLE = "facts/examples/slow_steps.json"  # from the root: how long its path is must not matter

# Runs the command line in argv[3:], and writes to argv[1] which functions in argv[2] it passed;
# lambdas and comprehensions count where they are functions, bodies of classes and modules do not.
PASSED = """
import inspect, os, sys
out, packages, *arguments = sys.argv[1:]
ours = tuple(packages.split(os.pathsep))  # not the environment below the root, nor frozen modules
seen = set()
def note(frame, event, _):
    if event == "call":
        seen.add(frame.f_code)
from modelmedic.interfaces.cli.main import main
sys.setprofile(note)
try:
    main(arguments)
finally:
    sys.setprofile(None)
    functions = (code for code in seen if code.co_flags & inspect.CO_NEWLOCALS)
    lines = {f"{os.path.realpath(code.co_filename)}:{code.co_firstlineno}:{code.co_qualname}"
             for code in functions}
    with open(out, "w") as file:
        file.write("\\n".join(sorted(line for line in lines if line.startswith(ours))))
"""


def modules(root: Path = ROOT) -> dict[str, Path]:
    """The modules of the library by their dotted names within it; a package by its own name."""
    found = {}
    for package in CODE:
        for path in sorted((root / package).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported_at_start(name: str, path: Path, known: Mapping[str, Path]) -> set[str]:
    """The modules that a module imports relatively while it is loaded."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    found = set()
    for node in _at_start(ast.parse(path.read_text(encoding="utf-8"))):
        base = [*package[: len(package) - node.level + 1], *(node.module or "").split(".")]
        target = ".".join(part for part in base if part)
        for alias in node.names:
            inner = f"{target}.{alias.name}"
            found.add(inner if inner in known else target)
    return (found & known.keys()) - {name}


def _at_start(node: ast.AST) -> Iterator[ast.ImportFrom]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ImportFrom) and child.level:
            yield child
        later = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        typing = isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING")
        if not (later or typing):
            yield from _at_start(child)


def cycles(root: Path = ROOT) -> list[list[str]]:
    """Groups of modules each of which needs the others of its group to load."""
    known = modules(root)
    edges = {name: imported_at_start(name, path, known) for name, path in known.items()}
    reach = {name: _reached(name, edges) for name in edges}
    groups = {tuple(sorted(b for b in reach[a] if a in reach[b])) for a in edges if a in reach[a]}
    return sorted(map(list, groups))


def _reached(name: str, edges: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [*edges[name]]
    while waiting:
        if (here := waiting.pop()) not in found:
            found.add(here)
            waiting += edges[here]
    return found


def modules_by_folder(root: Path = ROOT) -> Counter[str]:
    """How many modules lie in each folder, without ``__init__``."""
    paths = (path for path in modules(root).values() if path.name != "__init__.py")
    return Counter(path.parent.relative_to(root).as_posix() for path in paths)


def lines_by_package(root: Path = ROOT) -> Counter[str]:
    """Lines of Python in each package."""
    lines: Counter[str] = Counter()
    for name, path in modules(root).items():
        lines[name.split(".")[0]] += path.read_bytes().count(b"\n")
    return lines


def passed() -> list[str]:
    """The functions of the library that ``diagnose --facts`` passes on the example, with warm
    caches: ``FILE:LINE:NAME``."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "passed")
        own = {"MODELMEDIC_CACHE": folder, "PYTHONPATH": str(ROOT / ".typing")}
        ours = os.pathsep.join(f"{ROOT / package}/" for package in CODE)
        command = [sys.executable, "-c", PASSED, str(out), ours, "--facts", EXAMPLE]
        for _ in range(3):  # the second run finds the cache too young to go by its look
            done = subprocess.run(
                command, env=own, cwd=ROOT, capture_output=True, text=True, check=False
            )
            if done.returncode != 1:
                raise SystemExit(f"the example ended with {done.returncode}:\n{done.stderr}")
        return out.read_text().splitlines()


def main() -> None:
    """Print the figures."""
    way = passed()
    files = {line.rsplit(":", 2)[0] for line in way}
    print(f"functions passed by the main job's example: {len(way)}, in {len(files)} files")
    print(f"import cycles: {len(cycles())}")
    for group in cycles():
        print("  " + " ".join(group))
    fullest = modules_by_folder().most_common(8)
    print("modules a folder: " + ", ".join(f"{folder} {count}" for folder, count in fullest))
    lines = lines_by_package()
    total = sum(lines.values())
    print("lines: " + ", ".join(f"{name} {count:,}" for name, count in lines.items()))
    print(f"  in all {total:,}, {total - LINES_BEFORE:+,} against {LINES_BEFORE:,}")
    edges = sum(1 for _ in (ROOT / "knowledge").rglob("*-edges*.test.yaml"))
    print(f"*-edges.test.yaml: {edges}")


if __name__ == "__main__":
    main()
