"""Knowledge of another time or place: a folder, or a revision that git knows."""

from __future__ import annotations

import io
import re
import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from ..engine.compiler.knowledge_base import shipped_layer
from ..engine.compiler.store.files import (
    Layer,
    Texts,
    files_in,
    overlay_layer,
    texts_of,
    vocabulary_in,
)
from ..facts import ModelMedicError, Problem
from ..facts.problems import excerpt

if TYPE_CHECKING:
    from ..engine.compiler.build import Built
    from ..facts.strict_yaml import Read

_SECONDS = 60
_ID = re.compile(r"^ *- (?:\{)?id: +([a-z0-9.-]+)", re.MULTILINE)
_VOCABULARY = "facts/vocabulary"
_PROBES = "probes"


def built_at(place: str, folder: str, read: Read) -> Built:
    """The knowledge at a place, compiled: a checkout; a folder of knowledge upon the shipped one;
    or a revision of ``folder`` in the repository of the working folder. Raises
    :class:`ModelMedicError` if there is none, or it does not load."""
    from ..engine.compiler.build import build, ordered

    path = Path(place)
    found, whole = _of_folder(path) if path.is_dir() else _of_revision(place, folder)
    base, *others = [found] if whole else [shipped_layer(tests=True).texts(), found]
    built = build(*base, others, tests=True, read=read)
    if built.problems:
        raise ModelMedicError(ordered(built.problems))
    return built


def shipped_built(read: Read) -> Built:
    """The knowledge of this installation."""
    from ..engine.compiler.build import build

    return build(*shipped_layer(tests=True).texts(), tests=True, read=read)


Knowledge = tuple[Texts, Texts]
"""The texts of the vocabulary, and the others."""


def _of_folder(path: Path) -> tuple[Knowledge, bool]:
    """The files of a folder, and whether they are complete knowledge."""
    if (path / "knowledge").is_dir() and (path / _VOCABULARY).is_dir():
        return Layer(vocabulary_in(str(path)), files_in(path / "knowledge")).texts(), True
    own_vocabulary, own = overlay_layer(path, tests=True).texts()
    vocabulary, shipped = shipped_layer(tests=True).texts()
    ours = _ids(own)
    if 2 * len(ours & _ids(shipped)) <= len(ours):
        return (own_vocabulary, own), False
    # Entries of the shipped knowledge under their own ids: another state of it.
    checkout = path.resolve().parent
    if (checkout / _VOCABULARY).is_dir():
        vocabulary = Layer(vocabulary_in(str(checkout)), []).texts()[0]
    return ([*vocabulary, *own_vocabulary], own), True


def _ids(texts: Texts) -> set[str]:
    """The ids of entries, those that replace others aside."""
    return {
        name
        for path, text in texts
        if not path.endswith(".test.yaml") and "replaces:" not in text
        for name in _ID.findall(text)
    }


def _of_revision(revision: str, folder: str) -> tuple[Knowledge, bool]:
    top = Path(_git("rev-parse", "--show-toplevel").decode().strip())
    commit = _commit(revision)
    known = _git("ls-tree", "-d", "--name-only", commit, "--", folder, _VOCABULARY, _PROBES, at=top)
    names = known.decode().split()
    if folder not in names:
        _refuse(f"{excerpt(revision)} has no folder {excerpt(folder)}", "name it with --folder")
    whole = _VOCABULARY in names
    archive = _git("archive", "--format=tar", commit, "--", *(names if whole else [folder]), at=top)
    files = texts_of(sorted(_unpacked(archive)))
    words = [file for file in files if _is_vocabulary(file[0], whole)]
    others = [file for file in files if file not in words]
    return ([(name.removeprefix("facts/"), text) for name, text in words], others), whole


def _is_vocabulary(name: str, whole: bool) -> bool:
    return name.startswith((f"{_VOCABULARY}/", f"{_PROBES}/")) if whole else "/vocabulary/" in name


def _unpacked(archive: bytes) -> list[tuple[str, bytes]]:
    """The YAML files of an archive, read in memory: nothing is written, no link is followed."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        found = []
        for member in tar:
            content = tar.extractfile(member) if member.isfile() else None
            if content is not None and member.name.endswith(".yaml"):
                found.append((member.name, content.read()))
        return found


def _commit(revision: str) -> str:
    if revision.startswith("-"):
        _refuse(f"{excerpt(revision)} is not a revision", "name a tag, branch or commit")
    try:
        return _git("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}").decode().strip()
    except ModelMedicError:
        _refuse(
            f"{excerpt(revision)} is neither a folder nor a revision that git knows",
            "name a folder of knowledge, or a tag, branch or commit",
        )


def _git(*arguments: str, at: Path | None = None) -> bytes:
    command: Sequence[str] = ("git", *arguments)
    try:
        done = subprocess.run(command, cwd=at, capture_output=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        _refuse(f"git does not run: {type(error).__name__}", "install git, or name folders")
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        _refuse(f"git says: {excerpt(said[0] if said else 'nothing', 120)}", "name folders instead")
    return done.stdout


def _refuse(message: str, hint: str) -> NoReturn:
    raise ModelMedicError(Problem("MM343", message, None, hint))
