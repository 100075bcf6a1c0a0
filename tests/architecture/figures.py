"""Figures of the house: ``make figures``.

How much code a fact, an error text and a script pass, import cycles, modules a folder, lines of
code. The limits are in ``tests/architecture/test_figures.py``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.architecture.arrows import (
    CODE,
    LATE,
    ROOT,
    START,
    TYPES,
    cycles,
    folders_in_circles,
    modules,
    parents_in_circles,
)

LINES_BEFORE = 107_901  # of library code at commit 81392245
SHORT = 60  # lines: such a module may be part of another
# Paths are from the root: how long they are must not matter.
WAYS = {
    "a fact": ("--facts", "facts/examples/slow_steps.json"),
    "an error text": ("decode", "tinker.RateLimitError: Error code: 429 - too many"),
    "a script": ("inspect", "tests/architecture/short_script.py"),
}
CYCLES = {
    "while loading": (START,),
    "with late imports": (START, LATE),
    "with types": (START, LATE, TYPES),
}

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


def modules_by_folder(root: Path = ROOT) -> Counter[str]:
    """How many modules lie in each folder, without ``__init__``."""
    paths = (path for path in modules(root).values() if path.name != "__init__.py")
    return Counter(path.parent.relative_to(root).as_posix() for path in paths)


def lines_by_folder(root: Path = ROOT) -> Counter[str]:
    """Lines of Python in each folder of a package, and in the package outside of them."""
    lines: Counter[str] = Counter()
    for path in modules(root).values():
        folder = "/".join(path.relative_to(root).parts[:-1][:2])
        lines[folder] += path.read_bytes().count(b"\n")
    return lines


def lengths(root: Path = ROOT) -> list[int]:
    """The lines of each module that has some, the shortest first."""
    counts = (path.read_bytes().count(b"\n") for path in modules(root).values())
    return sorted(count for count in counts if count)


def passed() -> dict[str, list[str]]:
    """The functions of the library that each way passes with warm caches: ``FILE:LINE:NAME``."""
    with tempfile.TemporaryDirectory() as folder:
        return {name: _passed(command, Path(folder)) for name, command in WAYS.items()}


def _passed(command: Sequence[str], folder: Path) -> list[str]:
    out = folder / "passed"
    own = {"MODELMEDIC_CACHE": str(folder), "PYTHONPATH": str(ROOT / ".typing")}
    ours = os.pathsep.join(f"{ROOT / package}/" for package in CODE)
    plain = [sys.executable, "-m", "modelmedic.interfaces.cli.main", *command]
    watched = [sys.executable, "-c", PASSED, str(out), ours, *command]
    for program in (plain, plain, watched):  # the second finds the cache too young for its look
        done = subprocess.run(
            program, env=own, cwd=ROOT, capture_output=True, text=True, check=False
        )
        if done.returncode not in (0, 1) or not done.stdout:
            raise SystemExit(f"{command} ended with {done.returncode}:\n{done.stderr}")
    return out.read_text().splitlines()


def files_of(way: Sequence[str]) -> set[str]:
    """The files in which passed functions stand."""
    return {line.rsplit(":", 2)[0] for line in way}


def main() -> None:
    """Print the figures."""
    for name, way in passed().items():
        print(f"passed by {name}: {len(way)} functions in {len(files_of(way))} files")
    for title, when in CYCLES.items():
        print(f"import cycles {title}: {len(cycles(when=when))}")
    for group in cycles():
        print("  " + " ".join(group))
    print(f"folders that point at each other: {len(folders_in_circles())}")
    for group in folders_in_circles():
        print("  " + " ".join(group))
    beside = parents_in_circles()
    print(f"folders above and below a folder in them: {len(beside)}")
    print("  " + " ".join(inner for _, inner in beside))
    fullest = modules_by_folder().most_common(8)
    print("modules a folder: " + ", ".join(f"{folder} {count}" for folder, count in fullest))
    _print_lines()
    edges = sum(1 for _ in (ROOT / "knowledge").rglob("*-edges*.test.yaml"))
    print(f"*-edges.test.yaml: {edges}")


def _print_lines() -> None:
    long, lines = lengths(), lines_by_folder()
    short = [count for count in long if count < SHORT]
    print(
        f"modules: {len(long)}, of {long[len(long) // 2]} lines (median), "
        f"{long[len(long) * 9 // 10]} (nine of ten at most), {long[-1]} (longest)"
    )
    print(f"  under {SHORT} lines: {len(short)}, with {sum(short):,} lines")
    total = sum(lines.values())
    print(f"lines: {total:,}, {total - LINES_BEFORE:+,} against {LINES_BEFORE:,}")
    for package in CODE:
        parts = {name: n for name, n in lines.items() if name.split("/")[0] == package}
        print(f"  {package:34}{sum(parts.values()):8,}")
        for name, count in sorted(parts.items(), key=lambda part: -part[1]):
            print(f"    {name:32}{count:8,}")


if __name__ == "__main__":
    main()
