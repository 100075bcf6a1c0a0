"""The interpreter of an environment and the folder that its packages are installed in; neither is
run."""

from __future__ import annotations

import os
import re
import shutil
import sys
import sysconfig
from pathlib import Path

from ...facts.problems import Location, ModelMedicError, Problem
from ...facts.regular_files import read_regular
from .folder import SiteFolder

_VERSION = re.compile(r"python(\d{1,3}\.\d{1,3})")
_FOLDERS = ("site-packages", "dist-packages")
_CONFIG = "pyvenv.cfg"
MAX_CONFIG = 65_536
INTERPRETER_HINT = "name the python of the environment, or its folder, such as --python .venv"
_IN_FOLDER = ("bin/python", "bin/python3", "Scripts/python.exe", "python.exe", "python")


def find_interpreter(path: Path) -> Path:
    """The executable that ``path`` means. Raises :class:`ModelMedicError` (MM420, MM421)."""
    where = Location(str(path))
    given = path.expanduser()
    try:
        if given.is_dir():
            for name in _IN_FOLDER:
                # Not resolved: a virtual environment is known by the path of its link.
                if (given / name).is_file():
                    return (given / name).absolute()
            raise failure(
                "MM420", "there is no interpreter in this folder", where, INTERPRETER_HINT
            )
        if given.is_file():
            if os.access(given, os.X_OK):
                return given.absolute()
            raise failure("MM421", "this file is not executable", where, INTERPRETER_HINT)
    except (OSError, ValueError) as error:
        raise failure(
            "MM420", f"cannot look at this path: {error}", where, INTERPRETER_HINT
        ) from None
    command = shutil.which(str(path)) if path.name == str(path) else None
    if command is None:
        raise failure("MM420", "there is no such file or folder", where, INTERPRETER_HINT)
    return Path(command)


def site_folder(python: Path | None = None, site: Path | None = None) -> Path:
    """The folder of packages: ``site``, else that of the interpreter or environment ``python``,
    else that of this process. Raises :class:`ModelMedicError` (MM420, MM421, MM486)."""
    if site is not None:
        return _within(site.expanduser()) or site.expanduser()
    if python is None:
        return own_site_folder()
    path = python.expanduser()
    if not _is_environment(path):
        # The links of an interpreter lead out of its environment; those of the folder do not
        # matter. It is not run, so whether it could be does not matter either.
        path = path if path.is_file() else find_interpreter(python)
        path = path.parent.parent
    found = _within(path)
    if found is None:
        raise ModelMedicError(Problem(
            "MM486", "no folder of packages is beside this interpreter", Location(str(python)),
            INTERPRETER_HINT,
        ))  # fmt: skip
    return found


def site_folders(python: Path | None = None) -> list[SiteFolder]:
    """The folder of packages of an interpreter or environment, else all those that this process
    imports from, in its order. Raises :class:`ModelMedicError` as :func:`site_folder` does."""
    own = [own_site_folder(), *(Path(entry) for entry in sys.path)]
    here = [path for path in own if path.name in _FOLDERS and _is_environment(path)]
    paths = [site_folder(python)] if python else [path.resolve() for path in here]
    return [SiteFolder(path) for path in dict.fromkeys(paths)]


def own_site_folder() -> Path:
    """The folder of packages of this process."""
    return Path(sysconfig.get_paths()["purelib"])


def _is_environment(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def _within(prefix: Path) -> Path | None:
    """Find the folder of packages of an environment: that of the version in ``pyvenv.cfg``, else
    the newest. None if the folder is not an environment."""
    found = [
        lib / name / folder
        for lib in (prefix / "lib", prefix / "lib64", prefix / "Lib")
        for name in ("", *_pythons(lib))
        for folder in _FOLDERS
    ]
    existing = [path for path in found if _is_environment(path)]
    wanted = _configured(prefix) or (_here() if prefix == Path(sys.prefix) else "")
    exact = [path for path in existing if path.parent.name == f"python{wanted}"]
    return next(iter(exact or existing), None)


def _pythons(lib: Path) -> list[str]:
    try:
        names = [name for name in os.listdir(lib) if _VERSION.fullmatch(name)]
    except (OSError, ValueError):
        return []
    return sorted(names, key=lambda name: [-int(n) for n in name[len("python") :].split(".")])


def _configured(prefix: Path) -> str:
    """The version that ``pyvenv.cfg`` names, as ``3.12``."""
    try:
        text = read_regular(prefix / _CONFIG, MAX_CONFIG).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""
    for line in text.splitlines():
        key, _, value = line.partition("=")
        if key.strip().lower() in ("version", "version_info"):
            return ".".join(value.strip().split(".")[:2])
    return ""


def _here() -> str:
    return ".".join(map(str, sys.version_info[:2]))


def failure(code: str, message: str, where: Location, hint: str) -> ModelMedicError:
    """An error with one problem."""
    return ModelMedicError(Problem(code, message, where, hint))
