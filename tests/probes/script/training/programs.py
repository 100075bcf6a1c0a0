"""Programs with one fault each, and their sound twins.

A file of ``programs`` holds the files of a program, each under ``== NAME``. Lines that begin with
``-|`` are in the faulty program only, those with ``+|`` in its twin only. ``#! PATTERN`` marks the
line where the fault is to be found, ``#~ PATTERN`` its other end; no mark reaches the program.
"""

import hashlib
import re
from pathlib import Path

FOLDER = Path(__file__).parent / "programs"
NAMES = sorted(path.stem for path in FOLDER.glob("*.txt"))
_MARK = re.compile(r"  #([!~]) ([a-z-]+)$")


def is_apart(name):
    """Whether a program was set apart before the checks were written: a third of the third
    spreads."""
    fault, spread = name[:-2], name[-1]
    return spread == "c" and hashlib.sha256(fault.encode()).digest()[0] % 3 == 0


def marked(name, sound=False):
    """The files of a program with its marks, by name."""
    files: dict[str, list[str]] = {}
    other = "-|" if sound else "+|"
    for line in (FOLDER / f"{name}.txt").read_text("utf-8").splitlines():
        if line.startswith("== "):
            lines = files[line[3:]] = []
        elif not line.startswith(other):
            lines.append(line[2:] if line[:2] in ("-|", "+|") else line)
    return {file: "\n".join(lines) + "\n" for file, lines in files.items()}


def without_marks(files):
    """The files as the product reads them, and the marked places: pattern and end -> FILE:LINE."""
    places, plain = {}, {}
    for file, text in files.items():
        lines = text.splitlines()
        for number, line in enumerate(lines, 1):
            mark = _MARK.search(line)
            if mark is not None:
                places[(mark[2], mark[1])] = f"{file}:{number}"
        plain[file] = "\n".join(_MARK.sub("", line) for line in lines) + "\n"
    return plain, places
