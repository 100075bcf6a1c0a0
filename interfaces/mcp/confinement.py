"""Keeps the reading of paths inside the folders that the server was given.

A path is checked before it is read. Files that a probe opens on the way, such as a file that an
index names or a link, are checked by an audit hook when they are opened.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

from ...facts import ModelMedicError, Problem

_ROOTS: ContextVar[tuple[str, ...]] = ContextVar("roots", default=())
_EVENTS = frozenset({"open", "os.listdir", "os.scandir"})
_SYSTEM = ("/proc/cpuinfo", "/proc/meminfo", "/proc/self/maps", "/proc/self/status", "/proc/sys",
           "/sys", "/dev/null")  # fmt: skip
"""Paths that libraries look up while they are loaded; a link to them is refused."""


def within(given: str, roots: Sequence[Path]) -> Path:
    """The path that is meant. Raises :class:`ModelMedicError` (MM348), whether it exists or not,
    where it lies outside of the roots or leads there by links."""
    hint = f"this server reads {', '.join(map(str, roots))}"
    for root in roots:
        path = os.path.abspath(os.path.join(root, given)) if "\0" not in given else ""
        if path and _is_in(path, (str(root),)) and _is_in(os.path.realpath(path), map(str, roots)):
            return Path(path)
    problem = Problem("MM348", "this path is not in a folder that may be read", None, hint)
    raise ModelMedicError(problem)


@contextmanager
def confined(roots: Sequence[Path]) -> Iterator[None]:
    """Refuse files outside the roots in this thread, as if their permissions forbade it. Needs
    :func:`guard_files`."""
    before = _ROOTS.set(tuple(map(str, roots)))
    try:
        yield
    finally:
        _ROOTS.reset(before)


@cache
def guard_files() -> None:
    """Watch what is opened, from now on; a hook stays as long as the process."""
    sys.addaudithook(_judge)


def _judge(event: str, arguments: tuple[Any, ...]) -> None:
    if event not in _EVENTS or not (roots := _ROOTS.get()):
        return
    path = arguments[0]
    if isinstance(path, int) or path is None:  # opened already, and so checked
        return
    named = os.path.abspath(os.fsdecode(path))
    if _is_in(named, roots):
        allowed = _is_in(os.path.realpath(named), roots)
    else:
        allowed = _is_in(named, _SYSTEM) or _is_in(named, _libraries())
    if not allowed:
        raise PermissionError(13, "outside of the folders that may be read", named)


@cache
def _libraries() -> tuple[str, ...]:
    """The folders from which code is loaded."""
    found = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    ours = Path(__file__).parents[2]
    return (*sorted(found), str(ours), str(ours.resolve()))


def _is_in(path: str, folders: Any) -> bool:
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)
