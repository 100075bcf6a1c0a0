"""Requirements, commands and files that changed."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping

from ...reading.packages.folder import module_of
from ...reading.packages.release import Release
from .changes import Change


def requirement_changes(old: Release, new: Release) -> Iterator[Change]:
    """Requirements that were added, removed, or allow other versions; the same under several
    markers (an extra, and the extra of all) is one change."""
    found: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for key in sorted({*old.requires, *new.requires}):
        was, now = old.requires.get(key, ""), new.requires.get(key, "")
        if was != now:
            name, _, marker = key.partition("; ")
            found[name, was, now].append(marker)
    for (name, was, now), markers in found.items():
        kind = "changed" if was and now else "added" if now else "removed"
        told = f"; {' | '.join(markers)}" if any(markers) else ""
        yield Change(f"requirement-{kind}", name + told, was, now)


def file_changes(old: Release, new: Release) -> Iterator[Change]:
    """Files that were added, removed, or moved with the same content."""
    gone, come = sorted(old.names - new.names), sorted(new.names - old.names)
    contents = _by_content(new, come)
    taken: set[str] = set()
    for name in gone:
        digest = _digest(old, name)
        target = contents.get(digest, "") if digest else ""
        if target and target not in taken:
            taken.add(target)
            yield Change("file-moved", name, name, target, words=_words(name))
        else:
            yield Change("file-removed", name, words=_words(name))
    for name in come:
        if name not in taken:
            yield Change("file-added", name, public=name.endswith(".py"))


def _words(name: str) -> tuple[tuple[str, ...], ...]:
    module = name.removesuffix(".py").replace("/", ".")
    return ((module,), (name,)) if name.endswith(".py") else ((name,),)


def _by_content(release: Release, names: list[str]) -> Mapping[str, str]:
    return {digest: name for name in reversed(names) if (digest := _digest(release, name))}


def _digest(release: Release, name: str) -> str:
    """A digest of a source of at least 200 bytes; "" for other files."""
    raw = release.read(module_of(name)) if name in release.python else b""
    return hashlib.blake2b(raw, digest_size=16).hexdigest() if len(raw) >= 200 else ""
