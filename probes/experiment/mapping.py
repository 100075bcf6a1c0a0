"""``component_mapping.json``: pairs of module paths, its faults, and which modules it covers."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .reading import MAX_ENTRIES, Folder, part
from .trees import MAX_MODULES, Tree, strip

NAME = "component_mapping.json"
_VARIABLE = re.compile(r"\{([^{}]*)\}")
_PROBLEMS = ("entry-shape", "undefined-variable", "size-mismatch", "duplicate", "unknown-path",
             "unmapped-source", "unmapped-target")  # fmt: skip
_EXAMPLES = 5


class Pair(NamedTuple):
    """One expanded entry: stripped source and target paths."""

    source: tuple[str, ...]
    target: tuple[str, ...]


class PathMapping(NamedTuple):
    """The mapping: expanded ``pairs``, written (unexpanded) ``entries`` and paths with reasons.
    ``complete`` is true if it accounts for every module; None if a tree is missing."""

    pairs: tuple[Pair, ...] = ()
    entries: tuple[Pair, ...] = ()
    reasoned: frozenset[str] = frozenset()
    complete: bool | None = None


def read_mapping(
    folder: Folder, source: Tree | None, target: Tree | None, name: str = NAME
) -> PathMapping | None:
    """Read the mapping and add its ``mapping_check`` facts. None if it cannot be used."""
    found = folder.json(name)
    if found is None:
        if name in folder.unreadable:
            folder.collector.add("mapping_check", folder.place(name), problem="unreadable",
                                 present=True)  # fmt: skip
        return None
    wrong: dict[str, list[str]] = {name: [] for name in _PROBLEMS}
    written = found.get("component_mapping")
    rows = written if isinstance(written, list) else []
    if not isinstance(written, list):
        wrong["entry-shape"].append("component_mapping is not a list")
    declared = found.get("mapping_size")
    if declared is not None and declared != len(rows):
        wrong["size-mismatch"].append(f"mapping_size {declared!r}, {len(rows)} entries")
    mapping = _mapping(rows[:MAX_ENTRIES], found, wrong)
    if source is not None and target is not None:
        _cover(mapping, source, target, wrong)
        unmapped = wrong["unmapped-source"] or wrong["unmapped-target"]
        mapping = mapping._replace(complete=not unmapped)
    unknown = source is None or target is None
    _report(folder, name, wrong, ("unknown-path", "unmapped-source", "unmapped-target") * unknown)
    return mapping


def _mapping(
    rows: Sequence[Any], found: dict[str, Any], wrong: dict[str, list[str]]
) -> PathMapping:
    variables = {
        name: [str(value) for value in values if isinstance(value, (str, int))]
        for name, values in part(found, "variables").items()
        if isinstance(values, list)
    }
    pairs: list[Pair] = []
    written: list[Pair] = []
    for row in rows:
        if not _is_pair(row):
            wrong["entry-shape"].append(str(row)[:120])
            continue
        sides = (tuple(row[0]), tuple(row[1]))
        used = sorted({name for side in sides for p in side for name in _VARIABLE.findall(p)})
        missing = [name for name in used if name not in variables]
        wrong["undefined-variable"].extend(f"{{{name}}} in {sides[0][:1]}" for name in missing)
        written.append(Pair(*(tuple(strip(p) for p in side) for side in sides)))
        if not missing:
            room = max(0, MAX_MODULES - len(pairs))
            pairs.extend(itertools.islice(_expand(sides, used, variables), room))
    wrong["duplicate"].extend(_twice(pairs))
    reasons = found.get("reasoning")
    texts = [side for side in reasons.values() if isinstance(side, dict)] \
        if isinstance(reasons, dict) else []  # fmt: skip
    reasoned: set[str] = set()
    for path in (path for side in texts for path, reason in side.items() if reason):
        used = [name for name in sorted(set(_VARIABLE.findall(path))) if name in variables]
        for pair in itertools.islice(_expand(((path,), ()), used, variables), MAX_ENTRIES):
            reasoned.update(pair.source)
    return PathMapping(tuple(pairs), tuple(written), frozenset(reasoned))


def _twice(pairs: Sequence[Pair]) -> Iterator[str]:
    """Paths that more than one entry has on the same side."""
    for number, side in enumerate(("source", "target")):
        seen: set[str] = set()
        told: set[str] = set()
        for pair in pairs:
            for path in dict.fromkeys(pair[number]):
                if path in seen and path not in told:
                    told.add(path)
                    yield f"{side}: {path or 'model'}"
                seen.add(path)


def _is_pair(row: Any) -> bool:
    return isinstance(row, list) and len(row) == 2 and any(row) and all(
        isinstance(side, list) and all(isinstance(path, str) for path in side) for side in row
    )  # fmt: skip


def _expand(
    sides: tuple[tuple[str, ...], tuple[str, ...]],
    names: Sequence[str],
    variables: Mapping[str, Sequence[str]],
) -> Iterator[Pair]:
    """The pairs for every combination of the values of the variables."""
    for values in itertools.product(*(variables[name] for name in names)):
        filled = []
        for side in sides:
            paths = list(side)
            for name, value in zip(names, values, strict=True):
                paths = [path.replace(f"{{{name}}}", value) for path in paths]
            filled.append(tuple(strip(path) for path in paths))
        yield Pair(*filled)


def _cover(mapping: PathMapping, source: Tree, target: Tree, wrong: dict[str, list[str]]) -> None:
    """Find paths of the mapping that no tree has, and modules that the mapping does not account
    for."""
    for number, (side, tree) in enumerate((("source", source), ("target", target))):
        paths = {path for pair in mapping.pairs for path in pair[number]}
        unknown = sorted(path for path in paths if path and path not in tree.types)
        wrong["unknown-path"].extend(f"{side}: {path}" for path in unknown)
        wrong[f"unmapped-{side}"].extend(_uncovered(tree, paths, mapping.reasoned))


def _uncovered(tree: Tree, paths: set[str], reasoned: frozenset[str]) -> list[str]:
    """Modules with neither entry nor reason. Modules below a reasoned or mapped module count as
    covered, and so does a container whose contents are all covered (prefer a miss)."""
    done = {path for path in paths | reasoned if path}
    uncovered: list[str] = []
    parents = {path.rpartition(".")[0] for path in tree.types}
    for path in tree.types:
        parts = path.split(".")
        above = (".".join(parts[:end]) for end in range(1, len(parts) + 1))
        if path not in parents and not any(each in done for each in above):
            uncovered.append(path)
    return uncovered


def _report(folder: Folder, name: str, wrong: dict[str, list[str]], unknown: Sequence[str]) -> None:
    for problem in _PROBLEMS:
        if problem in unknown:
            continue
        found = wrong[problem]
        folder.collector.add(
            "mapping_check", folder.place(name), problem=problem, present=bool(found),
            count=len(found), detail=", ".join(found[:_EXAMPLES]) or None,
        )  # fmt: skip
