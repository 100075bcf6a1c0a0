"""``capture.json``: what a folder of captures says of itself.

Problems: MM517 it cannot be used, MM518 files are not those that were captured.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ...facts.problems import Location, Problem
from ...facts.progress import UNWATCHED, Progress
from ...facts.regular_files import open_regular, read_regular

NAME = "capture.json"
SCHEMA = "modelmedic/capture/1"
MAX_BYTES = 32 << 20
MAX_HASHED = 8 << 30
"""Bytes that are hashed: some seconds."""
_WITHIN = re.compile(r"[A-Za-z0-9_]{1,64}/[A-Za-z0-9_.-]{1,128}\Z", re.ASCII)


class Manifest(NamedTuple):
    """The configuration of the reference, where its weights lie, and at which position decoding
    begins (None: there is a prefill only); SHA-256 of files by their names in the folder."""

    config: Mapping[str, Any]
    weights: Path
    decode_from: int | None = None
    hashes: Mapping[str, str] = {}


def read_manifest(folder: Path, problems: list[Problem]) -> Manifest | None:
    """The manifest of a folder; None where there is none, or none of use. Never raises."""
    place = folder / NAME
    found: Any = None
    try:
        raw = read_regular(place, MAX_BYTES + 1)
        found = json.loads(raw) if len(raw) <= MAX_BYTES else None
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError):
        pass
    reason = _unusable(found)
    if reason:
        text = f"{NAME} {reason}; modules were not recomputed"
        hint = "capture again, or fetch the file again"
        problems.append(Problem("MM517", text, Location(str(place)), hint))
        return None
    start = found.get("decode_from")
    return Manifest(found["config"], folder / found["weights"],
                    start if type(start) is int and start > 0 else None,
                    _hashes(found.get("sha256")))  # fmt: skip


def _unusable(found: Any) -> str:
    if not isinstance(found, dict):
        return "is damaged, or no JSON object"
    if found.get("schema") != SCHEMA:
        return f"has no schema {SCHEMA}"
    if not isinstance(found.get("config"), dict):
        return "lacks the configuration of the reference"
    return "" if isinstance(found.get("weights"), str) else "does not say where the weights lie"


def _hashes(found: Any) -> Mapping[str, str]:
    """The hashes of files within the folder."""
    if not isinstance(found, dict):
        return {}
    return {name: value for name, value in sorted(found.items())
            if isinstance(value, str) and _WITHIN.match(name)}  # fmt: skip


def changed_files(
    folder: Path, manifest: Manifest, problems: list[Problem], progress: Progress = UNWATCHED
) -> None:
    """Report files that were exchanged or changed since the capture. Missing and damaged ones are
    told where they are read, and what cannot be hashed within the bound is left alone."""
    places = [(name, folder / name) for name in manifest.hashes]
    sizes = {name: place.stat().st_size for name, place in places if place.is_file()}
    if sum(sizes.values()) > MAX_HASHED:
        return
    odd: list[str] = []
    with progress.part("hashes", sum(sizes.values())) as step:
        for name, place in places:
            if name in sizes and _hash(place) not in (None, manifest.hashes[name]):
                odd.append(name)
            step(sizes.get(name, 0))
    if odd:
        more = f" and {len(odd) - 1} more" if len(odd) > 1 else ""
        text = f"{odd[0]}{more}: not the file that {NAME} has a hash of"
        hint = "capture all three runs again, into an empty folder, if runs were mixed"
        problems.append(Problem("MM518", text, Location(str(folder / odd[0])), hint))


def _hash(place: Path) -> str | None:
    try:
        found = hashlib.sha256()
        with open_regular(place) as opened:
            while part := opened.read(1 << 20):
                found.update(part)
        return found.hexdigest()
    except OSError:
        return None
