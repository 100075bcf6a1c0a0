"""Every artefact of the tests that a probe may be given: files, folders, texts, made folders."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import subprocess
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
HAS_TORCH = bool(find_spec("torch") and find_spec("transformers"))
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MOST_FILES = 60
_TEXT_KEYS = ("message", "text", "error")
_VARIANTS = 4
_CAPTURES = 1
"""How many captures are made of each set of faults."""
_SOUND = ("llama", "gemma2", "qwen3-moe", "gpt-oss")


def _tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "tests"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [ROOT / name for name in sorted(listed.stdout.split("\0")) if name]


def files() -> Iterator[Path]:
    """The files of the tests, without the tests themselves and what is recorded of them."""
    for path in _tracked():
        own = path.name.startswith(("test_", "conftest")) and path.suffix == ".py"
        if not (own or "golden" in path.parts or path.is_symlink() or not path.is_file()):
            yield path


def folders() -> Iterator[Path]:
    """The folders that hold data, each with all below it."""
    inside: dict[Path, list[Path]] = {}
    for path in files():
        for folder in path.parents:
            if folder == TESTS:
                break
            inside.setdefault(folder, []).append(path)
    for folder, paths in sorted(inside.items()):
        if 1 < len(paths) <= _MOST_FILES and not [*folder.glob("test_*.py")]:
            yield folder


def digest(folder: Path) -> str:
    """The digest of the names and contents in a folder."""
    whole = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            whole.update(path.relative_to(folder).as_posix().encode() + b"\0")
            whole.update(hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()[:16]


def texts() -> Iterator[str]:
    """The samples and near misses of error tables, the texts of test cases and of corpora."""
    seen: set[str] = set()
    for text in _texts():
        if text.strip() and text not in seen:
            seen.add(text)
            yield text


def _texts() -> Iterator[str]:
    for path in sorted((ROOT / "knowledge").rglob("*.yaml")):
        if "errors" in path.parts:
            data = yaml.load(path.read_text(encoding="utf-8"), _LOADER)
            yield from _strings(data, {"samples", "near_misses"})
    for path in _tracked():
        if path.suffix == ".jsonl" and "knowledge" in path.parts:
            for line in path.read_text(encoding="utf-8").splitlines():
                item = json.loads(line)
                if isinstance(item, dict):
                    yield from (item[key] for key in _TEXT_KEYS if isinstance(item.get(key), str))


def _strings(data: Any, names: set[str], *, wanted: bool = False) -> Iterator[str]:
    if isinstance(data, dict):
        for name, value in data.items():
            yield from _strings(value, names, wanted=wanted or name in names)
    elif isinstance(data, list):
        for value in data:
            yield from _strings(value, names, wanted=wanted)
    elif wanted and isinstance(data, str):
        yield data


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    """An empty folder, of the same name each time."""
    with tempfile.TemporaryDirectory() as work:
        made = Path(work, "made")
        made.mkdir()
        yield made


def _stories() -> Iterator[tuple[str, Path]]:
    from tests.stories.folders import UNREACHED, build, stories

    for story in stories(ROOT):
        if story.name not in UNREACHED:
            with _folder() as made:
                build(story, made)
                yield story.name, made


def _programs() -> Iterator[tuple[str, Path]]:
    from tests.probes.script.training.programs import NAMES, marked, without_marks
    from tests.probes.script.training.variants import variant

    for name, sound in itertools.product(NAMES, (False, True)):
        for seed in range(-1, _VARIANTS):  # -1: the program unchanged
            files = marked(name, sound)
            plain, _ = without_marks(variant(files, seed) if seed >= 0 else files)
            with _folder() as made:
                for file, text in plain.items():
                    path = made / file
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(text, encoding="utf-8")
                yield f"{name} {seed} {'sound' if sound else 'faulty'}", made


def _pairs() -> Iterator[tuple[str, Path]]:
    from tests.probes.modeling.making import NAMES, write_pair

    for name in NAMES:
        with _folder() as made:
            write_pair(name, made)
            yield name, made


def _captures() -> Iterator[tuple[str, Path]]:
    """Some faults of each set, on one architecture each, and sound ports."""
    from unittest import mock

    from tests.ports.faulty.architectures import ARCHITECTURES
    from tests.ports.faulty.making import write_references, write_target
    from tests.ports.faulty.port import FAULTS
    from tests.ports.faulty.sets import SETS, faults_of
    from tests.ports.faulty.sound import variants, write_sound

    with mock.patch.dict(FAULTS), tempfile.TemporaryDirectory() as work:
        names = list(ARCHITECTURES)
        models: dict[str, tuple[Any, Any]] = {}
        for at, (set_name, fault) in enumerate(
            (name, fault) for name in SETS for fault in _some([*faults_of(name).values()], name)
        ):
            name = names[at % len(names)]
            if name not in models:
                models[name] = write_references(Path(work, name), name, at % 4)
            model, plan = models[name]
            made = Path(work, f"{set_name}-{fault.name}")
            if write_target(made, Path(work, name), model, plan, fault, at % 2):
                yield f"{set_name} {fault.name} {name}", made
        for name, (ranks, attention, dtype) in itertools.product(_SOUND, [*variants()][2:3]):
            if name not in models:
                models[name] = write_references(Path(work, name), name, 0)
            model, plan = models[name]
            made = Path(work, f"sound-{name}-{ranks}-{attention}")
            write_sound(made, Path(work, name), model, plan, ranks, attention, dtype)
            yield f"sound {name} {ranks} {attention}", made


def _some(faults: list[Any], name: str) -> list[Any]:
    """A few of them, drawn by a hash."""
    by_hash = {hashlib.sha256(f"{name} {fault.name}".encode()).digest(): fault for fault in faults}
    return [by_hash[key] for key in sorted(by_hash)[:_CAPTURES]]


MAKERS = {"story": _stories, "program": _programs, "pair": _pairs, "capture": _captures}
"""Functions that make folders, with their names; each folder is gone after its use."""
