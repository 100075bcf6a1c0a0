"""Report of an interpreter about itself: versions, platform, installed packages.

This file is imported here and also run as a script by *other* interpreters, hence: standard library
only, Python 3.8 and later, no relative imports. It reads package metadata and imports no package.
"""

from __future__ import annotations

import os
import re
import sys
from typing import Any

# Stands before the report on standard output: start-up hooks of an environment may print, too.
MARK = "modelmedic-interpreter-report:"
_PLACEHOLDER = "WRONG PACKAGE"
# name [extras] (specifier), and no marker
_REQUIREMENT = re.compile(
    r"([A-Za-z0-9][A-Za-z0-9._-]{0,99})\s{0,9}(?:\[[^\]]{0,200}\]\s{0,9})?"
    r"\(?([<>=!~][^;()]{0,200}?)\)?\s{0,9}$"
)


def report(names: list[str], everything: bool) -> dict[str, Any]:
    """Python, platform and the packages in ``names`` (or all) as plain data.

    A package is [name, version, folder, is a placeholder]; those of ``names`` that are not
    installed are under "missing". "requirements" holds [name, name of a required package,
    specifier] for the packages found.
    """
    answer: dict[str, Any] = {"python": _python(), "platform": _platform(), "packages": []}
    try:
        from importlib import metadata
    except ImportError:  # before Python 3.8
        return answer
    answer["missing"] = []
    if everything:
        found = {}
        for distribution in metadata.distributions():
            name = _name(distribution)
            if name and name not in found:  # the first on the path is the one that is imported
                found[name] = _package(name, distribution)
        answer["packages"] = [found[name] for name in sorted(found)]
        answer["missing"] = [name for name in names if name not in found]
        answer["requirements"] = _requirements(metadata, set(found))
        return answer
    for name in names:
        try:
            answer["packages"].append(_package(name, metadata.distribution(name)))
        except metadata.PackageNotFoundError:
            answer["missing"].append(name)
    answer["requirements"] = _requirements(metadata, {each[0] for each in answer["packages"]})
    return answer


def _requirements(metadata: Any, names: set[str]) -> list[list[str]]:
    """The requirements of installed packages on each other; those with a marker are left out."""
    found = []
    for name in sorted(names):
        try:
            stated = metadata.distribution(name).requires or ()
        except (metadata.PackageNotFoundError, OSError, ValueError, TypeError, AttributeError):
            continue
        for text in stated:
            match = _REQUIREMENT.match(text)
            if match and _normal(match.group(1)) in names:
                found.append([name, _normal(match.group(1)), match.group(2).replace(" ", "")])
    return found


def _name(distribution: Any) -> str:
    try:
        return _normal(distribution.metadata.get("Name") or "")
    except (OSError, ValueError, TypeError, AttributeError):  # a half-removed installation
        return ""


def _package(name: str, distribution: Any) -> list[Any]:
    try:
        text = str(distribution.read_text("METADATA") or distribution.read_text("PKG-INFO") or "")
        version = str(distribution.metadata.get("Version") or "")
        folder = str(distribution.locate_file(""))
    except (OSError, ValueError, TypeError, AttributeError):
        return [name, "", "", False]
    return [name, version, folder, _PLACEHOLDER in text]


def _normal(name: str) -> str:
    for sign in "_.":
        name = name.replace(sign, "-")
    while "--" in name:
        name = name.replace("--", "-")
    return name.lower()


def _python() -> dict[str, Any]:
    import platform

    return {
        "version": platform.python_version(),
        "implementation": sys.implementation.name,
        "virtual_env": sys.prefix != sys.base_prefix,
    }


def _platform() -> dict[str, Any]:
    import platform

    machine = platform.machine().lower()
    facts: dict[str, Any] = {
        "os": platform.system().lower(), "arch": {"amd64": "x86_64"}.get(machine, machine),
        "cpu_count": os.cpu_count(), "memory_gb": _memory_gb(),
        "libc": " ".join(part for part in _libc() if part), "gpu_count": _accelerators(),
    }  # fmt: skip
    return {name: value for name, value in facts.items() if value not in (None, "")}


def _libc() -> tuple[str, ...]:
    import platform

    try:
        return platform.libc_ver()
    except OSError:
        return ()


def _memory_gb() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)
    except (AttributeError, OSError, ValueError):
        return None


def _accelerators() -> int | None:
    """Device files of NVIDIA and Neuron accelerators; None if devices are not files."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        devices = os.listdir("/dev")
    except OSError:
        return None
    return sum(name[: len(kind)] == kind and name[len(kind) :].isdigit() for name in devices
               for kind in ("nvidia", "neuron"))  # fmt: skip


def _main() -> None:
    import json

    asked = json.loads(sys.argv[1])
    answer = json.dumps(report(asked["names"], asked["everything"]))
    sys.stdout.write("\n" + MARK + answer + "\n")


if __name__ == "__main__":
    _main()
