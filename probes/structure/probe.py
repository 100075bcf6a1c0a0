"""Two model trees -> facts: differences, layer counts, modules that the mapping leaves out.

Problems: MM500 to MM503 from the reading of tree and mapping files, MM523 trees that cannot be put
into source and target, MM524 to MM526 about a tree that is built from a configuration.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ...facts.kinds import Vocabulary
from ...facts.problems import Location
from ..experiment.mapping import read_mapping
from ..experiment.reading import Folder
from ..experiment.structure import add_differences
from ..experiment.trees import Tree, add_layers, aligned, tree_in, tree_of
from ..outcome import Collector, Outcome
from .config_tree import TIMEOUT_S, build_tree, config_of, read_config, stated_layers

SOURCE = "probe:structure"
# Classes that only a port has: they distinguish the target tree from the source tree.
_OF_PORTS = re.compile(r"^(Neuron|NxD)|Parallel|^GroupQueryAttention_|^KVCacheManager$|^SPMDRank$")
_NAMES = (("source", re.compile(r"source|(^|[_-])(hf|ref|reference)([_.-]|$)")),
          ("target", re.compile(r"target|(^|[_-])(neuron|port|device)([_.-]|$)")))  # fmt: skip


def gather_structure(
    vocabulary: Vocabulary, *, source: Path | str | None = None, target: Path | str | None = None,
    mapping: Path | str | None = None, target_config: Path | str | None = None,
    python: Path | None = None, timeout_s: float = TIMEOUT_S,
) -> Outcome:  # fmt: skip
    """The ``structure_difference``, ``layer_count`` and ``mapping_check`` facts of two trees.

    ``source`` and ``target`` are tree files of Stage 0 (full, compressed or flat), or the folder
    or config.json of a model that transformers knows: its tree is built on the meta device by
    ``python`` (default: this interpreter), without weights and without code of the model's own.
    ``target_config`` is the configuration of the port, for its number of layers. Never raises.
    """
    collector = Collector(vocabulary, SOURCE)
    folder = Folder(Path(), collector)
    trees = {}
    for side, path in (("source", source), ("target", target)):
        if path is not None:
            trees[side] = _load(folder, side, Path(path), python, timeout_s)
    if target_config is not None:
        _add_stated(folder, "target-config", Path(target_config))
    name = str(mapping) if mapping is not None else ""
    _compare(folder, trees.get("source"), trees.get("target"), name)
    return collector.outcome()


def gather_found(paths: Sequence[Path], vocabulary: Vocabulary) -> Outcome:
    """The facts of tree files whose sides follow from their names or classes."""
    collector = Collector(vocabulary, SOURCE)
    folder = Folder(Path(), collector)
    sides: dict[str, Tree] = {}
    for path in sorted(paths, key=lambda each: (not each.stem.endswith("_full"), str(each))):
        tree = tree_in(folder, str(path))
        if tree is not None:
            side = _side(path, tree)
            if side in sides and not _same_model(path, sides[side]):
                message = f"several {side} module trees were found; only the first was used"
                hint = "diagnose probe structure --source FILE --target FILE"
                collector.problem("MM523", message, Location(str(path)), hint)
            sides.setdefault(side, tree)
    _compare(folder, sides.get("source"), sides.get("target"), "")
    return collector.outcome()


def _side(path: Path, tree: Tree) -> str:
    for side, name in _NAMES:
        if name.search(path.stem.lower()):
            return side
    return "target" if any(_OF_PORTS.search(kind) for kind in tree.types.values()) else "source"


def _same_model(path: Path, tree: Tree) -> bool:
    """Whether two trees are the full and the compressed form of one, in one folder."""
    forms = (Path(tree.name).stem.removesuffix("_full"), path.stem.removesuffix("_full"))
    return forms[0] == forms[1] and Path(tree.name).parent == path.parent


def _load(
    folder: Folder, side: str, path: Path, python: Path | None, timeout_s: float
) -> Tree | None:
    if path.is_dir() or path.name == "config.json":
        built = folder.collector.attempt(build_tree, path, python=python, timeout_s=timeout_s)
        if built is None:
            return None
        if built.layers is not None:
            folder.collector.add("layer_count", str(config_of(path)), side=f"{side}-config",
                                 count=built.layers)  # fmt: skip
        return tree_of(folder, str(config_of(path)), built.root)
    if not path.exists():
        hint = "give a tree file of Stage 0, or the folder of a model"
        folder.collector.problem("MM500", "there is no such file", Location(str(path)), hint)
        return None
    return tree_in(folder, str(path))


def _add_stated(folder: Folder, side: str, path: Path) -> None:
    config = folder.collector.attempt(read_config, path)
    layers = stated_layers(config) if config is not None else None
    if layers is not None:
        folder.collector.add("layer_count", str(config_of(path)), side=side, count=layers)


def _compare(folder: Folder, source: Tree | None, target: Tree | None, mapping: str) -> None:
    add_layers(folder, source, target)
    known = read_mapping(folder, source, target, mapping) if mapping else None
    if source is None or target is None:
        return
    if known is None:
        # A mapping names paths as they were written; without one the trees may be shifted.
        source, target = aligned(source, target)
    add_differences(folder, source, target, known)
