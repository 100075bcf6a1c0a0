"""Folders with weights -> facts: what the base model, the adapter and the merge are like, and which
update each tensor of the merged model really received.

Problems: MM430 to MM434 from the reader of safetensors, MM435 and MM436 from :mod:`.adapters`,
MM437 modules of the adapter have no tensor in the base model or another shape, MM438 tensors
could not be compared, MM439 folders are missing for a comparison, or nothing was given, MM407
interrupted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from ...facts.kinds import Vocabulary
from ...facts.problems import Location, Problem
from ...facts.progress import UNWATCHED, Progress
from ..outcome import Collector, Outcome, not_available
from .recognition import role_of_weights

# Elements that are compared in all (some 10 million a second), and in one tensor: larger ones are
# compared in evenly spread blocks.
MAX_ELEMENTS = 2**30
MAX_ELEMENTS_PER_TENSOR = 2**23


# Merged models of one run that are compared with their base.
MAX_TRIOS = 8
_MERGED = re.compile(r"merge|export|output")


class WeightFolders(NamedTuple):
    """Folders (or single safetensors files); each may be left out."""

    base: Path | str | None = None
    adapter: Path | str | None = None
    merged: Path | str | None = None


def sort_weight_folders(paths: Iterable[Path]) -> WeightFolders:
    """Give each path its role by its content; of two models, the one whose name marks it as the
    base (or else the first) is the base, and a lone model is the base. Never raises."""
    adapters: list[Path] = []
    models: list[Path] = []
    for path in paths:
        role = role_of_weights(path)
        if role:
            (adapters if role == "adapter" else models).append(path)
    models.sort(key=lambda path: (bool(_MERGED.search(path.name.lower())),
                                  "base" not in path.name.lower()))  # fmt: skip
    base, merged, *_ = (*models, None, None)
    return WeightFolders(base, adapters[0] if adapters else None, merged)


def trios(paths: Iterable[Path]) -> list[WeightFolders]:
    """Every merged model with its base and its adapter. If each folder of a model family holds
    models and their adapter, it forms a group of its own."""
    groups: dict[Path, list[Path]] = {}
    for path in paths:
        groups.setdefault(path.parent, []).append(path)
    whole = {"adapter", "model"}
    if not all(whole <= {role_of_weights(path) for path in group} for group in groups.values()):
        groups = {Path(): [path for group in groups.values() for path in group]}
    return [trio for group in groups.values() for trio in _trios_of(group)]


def _trios_of(group: Iterable[Path]) -> list[WeightFolders]:
    paths = list(group)
    first = sort_weight_folders(paths)
    if not any(first):
        return []
    taken = {first.base, first.merged}
    more = [p for p in paths if p not in taken and role_of_weights(p) == "model"]
    return [first, *(first._replace(merged=path) for path in sorted(more))]


def gather_weights(
    folders: WeightFolders | Iterable[Path], vocabulary: Vocabulary, *,
    base: Path | str | None = None, adapter: Path | str | None = None,
    merged: Path | str | None = None, max_elements: int = MAX_ELEMENTS,
    max_elements_per_tensor: int = MAX_ELEMENTS_PER_TENSOR, progress: Progress = UNWATCHED,
) -> Outcome:  # fmt: skip
    """The ``merge`` fact of the folders given and, with all three of them, ``weight_comparison``
    facts: one for each signature and class of tensors, with an example and its numbers. Mere paths
    get their roles by their content; ``base``, ``adapter`` and ``merged`` have precedence.

    Reads safetensors only, in blocks of a million elements: memory does not grow with the model.
    Tensors with more than ``max_elements_per_tensor`` elements are compared in evenly spread
    blocks; ``max_elements`` bounds the whole. Never raises over its input.
    """
    collector = Collector(vocabulary, "probe:weights")
    told = folders if isinstance(folders, WeightFolders) else sort_weight_folders(folders)
    folders = WeightFolders(base or told.base, adapter or told.adapter, merged or told.merged)
    if not any(folders):
        hint = "give the folders of the base model, the adapter and the merged model"
        collector.problem("MM439", "there are no weights to look at", Location("weights"), hint)
        return collector.outcome()
    if find_spec("numpy") is None:
        return not_available("numpy", "tensors")
    from .comparing_models import compare_models

    compare_models(
        *(Path(folder) if folder else None for folder in folders), collector=collector,
        elements=max(2**12, max_elements), per_tensor=max(2**12, max_elements_per_tensor),
        progress=progress,
    )  # fmt: skip
    return collector.outcome()


def gather_found(
    paths: Sequence[Path], vocabulary: Vocabulary, *, progress: Progress = UNWATCHED
) -> Outcome:
    """Weights that were found; their content decides which folder is base, adapter and merged
    model."""
    found = trios(paths)
    if not found:
        hint = "download or save the weights again"
        text = "no tensor can be read here: the safetensors files are damaged or empty"
        problems = (Problem("MM439", text, Location(str(path)), hint) for path in paths)
        return Outcome(problems=tuple(problems))
    collector = Collector(vocabulary, "probe:weights")
    if len(found) > MAX_TRIOS:
        text = f"{len(found)} merged models; the first {MAX_TRIOS} are compared"
        where = Location(str(found[MAX_TRIOS].merged))
        collector.problem("MM442", text, where, "name base, adapter and one merged model")
    kept = found[:MAX_TRIOS]
    outcomes = [gather_weights(trio, vocabulary, progress=progress) for trio in kept]
    return Outcome.joined(*outcomes, collector.outcome())
