"""Knowledge packs: folders of knowledge in installed packages.

A package offers its folder by an entry point, and is used only when it is asked for by name. Its
code is never imported: a pack is data.

.. code-block:: toml

    [project.entry-points."modelmedic.knowledge"]
    acme = "acme_knowledge.rules"   # the folder `rules` of the package `acme_knowledge`
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from ....facts import ModelMedicError, Problem
from ....facts.problems import did_you_mean, excerpt

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "modelmedic.knowledge"
PREFIX = "pack:"


class Pack(NamedTuple):
    """An installed pack: its name, the package and version that bring it, and its folder (None
    if it cannot be found)."""

    name: str
    package: str
    version: str
    folder: Path | None


def installed_packs() -> list[Pack]:
    """The packs that installed packages offer, by name."""
    return sorted(_packs())


def pack_folder(name: str) -> Path:
    """The folder of an installed pack. Raises :class:`ModelMedicError` (MM340) if there is none, or
    more than one of the name."""
    packs = installed_packs()
    found = [pack for pack in packs if pack.name == name]
    if not found:
        hint = did_you_mean(name, [pack.name for pack in packs])
        _refuse(
            f"no installed package offers the knowledge pack {excerpt(name)}",
            hint or "install the package; `diagnose kb packs` lists those that there are",
        )
    if len(found) > 1:
        packages = " and ".join(pack.package for pack in found)
        _refuse(f"{packages} offer a pack {excerpt(name)}", "uninstall one, or name its folder")
    if found[0].folder is None:
        _refuse(
            f"the pack {excerpt(name)} of {found[0].package} has no folder of its own",
            "its entry point must name a folder of the package, such as acme_knowledge.rules",
        )
    return found[0].folder


def _refuse(message: str, hint: str) -> NoReturn:
    raise ModelMedicError(Problem("MM340", message, None, hint))


def _packs() -> Iterator[Pack]:
    from importlib.metadata import entry_points

    for point in entry_points(group=GROUP):
        package = point.dist
        name, version = (package.name, package.version) if package else ("", "")
        yield Pack(point.name, name, version, _folder(point))


def _folder(point: EntryPoint) -> Path | None:
    """The folder that an entry point names by a dotted path, found without importing anything."""
    parts = point.value.partition(":")[0].strip().split(".")
    if not all(part.isidentifier() for part in parts):
        return None
    for root in _roots(point, parts[0]):
        folder = root.joinpath(*parts[1:])
        if folder.is_dir():
            return folder
    return None


def _roots(point: EntryPoint, package: str) -> Iterator[Path]:
    """The possible folders of the package: among the installed files or, for editable installs,
    where an import would find it."""
    from importlib.util import find_spec

    if point.dist is not None:
        yield Path(str(point.dist.locate_file(package)))
    try:
        spec = find_spec(package)  # of a name without dots: this imports nothing
    except (ImportError, ValueError):
        return
    yield from map(Path, (spec.submodule_search_locations or ()) if spec else ())
