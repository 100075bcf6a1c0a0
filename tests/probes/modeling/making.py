"""Makes the pairs of a reference and a port of it from what is kept of them.

``pairs`` has a folder for each model: its configuration, its reference, and a sound port. A patch
makes another port of that one. Above its changes, in YAML, stand what is wrong with that port and
what is to be found; ``s.patch`` changes nothing. ``reference.patch`` makes a reference of Llama's.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import yaml

_PAIRS = Path(__file__).parent / "pairs"
NAMES = [f"{p.parent.name}_{p.stem}" for p in sorted(_PAIRS.glob("*/?.patch"))]


def write_pair(name: str, folder: Path) -> None:
    """Write the configuration, the reference and the port of a pair into a folder."""
    model, _ = name.split("_")
    shutil.copyfile(_PAIRS / model / "config.json", folder / "config.json")
    (folder / "modeling_hf.py").write_text(_reference(model), "utf-8")
    sound = (_PAIRS / model / "modeling_port.py").read_text("utf-8")
    (folder / "modeling_port.py").write_text(_patched(sound, _patch_of(name)), "utf-8")


def expected(name: str) -> dict[str, Any]:
    """``fault`` and ``diagnosis``, and where the fault is seen; or ``sound``, and why."""
    said: dict[str, Any] = yaml.safe_load(_patch_of(name).partition("\n@@")[0])
    return said


def _patch_of(name: str) -> str:
    model, port = name.split("_")
    return (_PAIRS / model / f"{port}.patch").read_text("utf-8")


def _reference(model: str) -> str:
    whole, patch = (_PAIRS / model / name for name in ("modeling_hf.py", "reference.patch"))
    if whole.exists():
        return whole.read_text("utf-8")
    llama = _reference("llama").replace("Llama", model.capitalize()).replace("llama", model)
    return _patched(llama, patch.read_text("utf-8")) if patch.exists() else llama


def _patched(text: str, patch: str) -> str:
    """The text with the changes of a unified diff."""
    given, at, made = text.splitlines(keepends=True), 0, []
    _, *hunks = re.split(r"^@@ -(\d+).*\n", patch, flags=re.MULTILINE)
    for start, hunk in zip(map(int, hunks[::2]), hunks[1::2], strict=True):
        made += given[at : start - 1]
        at = start - 1
        for line in hunk.splitlines(keepends=True):
            if line[0] != "+":
                assert given[at] == line[1:], f"line {at + 1} is not what the patch says"
                at += 1
            if line[0] != "-":
                made.append(line[1:])
    return "".join([*made, *given[at:]])
