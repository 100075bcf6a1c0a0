"""Checks the requirements of the installed packages on each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..outcome import Collector


def add_requirements(
    collector: Collector,
    place: str,
    stated: Iterable[Sequence[str]],
    versions: Mapping[str, str],
) -> None:
    """A ``requirement`` fact for each [package, required package, specifier] that can be read."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet
    from packaging.version import InvalidVersion, Version

    for package, requires, specifier in stated:
        installed = versions.get(requires, "")
        try:
            allowed = SpecifierSet(specifier)
            met = allowed.contains(Version(installed), prereleases=True) if installed else None
        except (InvalidSpecifier, InvalidVersion):
            continue
        collector.add("requirement", place, package=package, requires=requires,
                      specifier=str(allowed), installed=installed or None, met=met)  # fmt: skip
