"""Finds knowledge files that changed since the last commit, or since the cases last passed."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ....engine.compiler.knowledge_base import SHIPPED_FOLDERS
from ....engine.compiler.store.files import files_in
from ....facts.regular_files import open_own, replace_file
from ...context import cache_folder

_NAME = "tested-1.json"
_SECONDS = 20


class Changed(NamedTuple):
    """The names of changed files, or why all cases must run (``notice``)."""

    files: frozenset[str]
    notice: str = ""


def changed_files(overlays: Sequence[str]) -> Changed:
    """The changed files of the knowledge and its overlays."""
    folders = _folders(overlays)
    names: set[str] = set()
    for folder in folders:
        found = _by_git(folder)
        if found is None:
            return _by_digest(folders)
        names |= found
    return _judged(names, {name for folder in folders for name, _ in files_in(folder)})


def remember(overlays: Sequence[str]) -> None:
    """Record that all cases passed on the current files."""
    cache = cache_folder()
    if cache is not None:
        with suppress(OSError):
            digests = json.dumps(dict(_digests(_folders(overlays)))).encode()
            replace_file(Path(cache) / _NAME, digests)


def _folders(overlays: Sequence[str]) -> list[Path]:
    return [Path(folder) for folder in (*SHIPPED_FOLDERS, *overlays)]


def _by_git(folder: Path) -> set[str] | None:
    """The files of a folder that differ from the last commit; None if it is not in git."""
    differing = _git(folder, "diff", "--name-only", "--relative", "-z", "HEAD")
    new = _git(folder, "ls-files", "--others", "--exclude-standard", "-z")
    tracked = _git(folder, "ls-files", "-z")
    if differing is None or new is None or not tracked:
        return None
    return {f"{folder.name}/{name}" for name in differing + new if name.endswith(".yaml")}


def _git(folder: Path, *arguments: str) -> list[str] | None:
    command = ["git", "-c", "core.fsmonitor=false", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode:
        return None
    return [name for name in done.stdout.decode("utf-8", "replace").split("\0") if name]


def _by_digest(folders: Sequence[Path]) -> Changed:
    known = _remembered()
    if known is None:
        notice = "nothing is known of an earlier run, and git does not know the files"
        return Changed(frozenset(), notice)
    now = dict(_digests(folders))
    names = {name for name in known.keys() | now.keys() if known.get(name) != now.get(name)}
    return _judged(names, set(now))


def _judged(names: set[str], there: set[str]) -> Changed:
    """The changed files, unless the change can affect any case."""
    gone = sorted(names - there)
    words = sorted(name for name in names if "vocabulary/" in name)
    if words:
        return Changed(frozenset(), f"the vocabulary changed ({words[0]})")
    if gone:
        return Changed(frozenset(), f"a file is gone ({gone[0]})")
    return Changed(frozenset(names))


def _digests(folders: Sequence[Path]) -> Iterator[tuple[str, str]]:
    for folder in folders:
        for name, path in files_in(folder):
            with suppress(OSError):
                yield name, hashlib.sha256(Path(path).read_bytes()).hexdigest()


def _remembered() -> dict[str, str] | None:
    cache = cache_folder()
    if cache is None:
        return None
    try:
        with open_own(Path(cache) / _NAME) as file:
            found = json.loads(file.read())
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
