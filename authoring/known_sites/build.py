"""Writes the index of known messages.

    python -m modelmedic.authoring.known_sites.build FILE CHECKOUTS

``CHECKOUTS`` holds the repositories that ``packages.yaml`` names, as OWNER/NAME. Messages that the
packages of this interpreter have, or the others of ``packages.yaml``, are left out.
"""

from __future__ import annotations

import json
import sys
import sysconfig
from array import array
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ...facts.strict_yaml import load
from ...probes.messages.known_sites import PLACES
from .commonness import Commonness
from .reading import Template, numbers_in, templates_of, words_in

SOURCES = Path(__file__).with_name("packages.yaml")
MAX_RUNS = 8
"""Runs kept of a template, spread over it."""
MAX_PLACES = 12
RAISED = ("raise", "assert")
SIGNS = 2
"""The number of these that lead to it: the rarest within the stack."""
_USED_BY_MANY = 40
_Key = tuple[tuple[int, ...], bool]
_Value = TypeVar("_Value")


def templates_in(checkouts: Path, source: Mapping[str, str]) -> Iterator[Template]:
    """The templates of a source of ``packages.yaml``."""
    folder = checkouts / source["repository"] / source["folder"]
    yield from templates_of(
        folder, source.get("package", "."), source.get("language", "python"),
        source.get("only", ""), source.get("not", ""), around="package" in source,
    )  # fmt: skip


def installed() -> Iterator[Template]:
    """The templates of all packages of this interpreter."""
    yield from templates_of(
        Path(sysconfig.get_paths()["purelib"]), ".", "python", "", "", around=False
    )


class Gathered:
    """Templates of the stack by their words, with all their places."""

    def __init__(self, common: Commonness) -> None:
        self._common = common
        self._places: dict[_Key, list[tuple[str, Template]]] = {}

    def add(self, package: str, templates: Iterable[Template]) -> None:
        """Add the templates of a package. Templates that are not distinct are recognised by their
        place alone."""
        for template in templates:
            distinct = self._common.is_distinct(template)
            if distinct or (template.kind in RAISED and template.guard and template.function):
                key = (tuple(numbers_in(template)), distinct)
                self._places.setdefault(key, []).append((package, template))

    def records(self, packages: Sequence[str], modules: Sequence[str]) -> Iterator[list[Any]]:
        """One record for each template: runs, words, packages, kind, class, module, function,
        guard, setters, variables; what differs between its places is left out, and follows as a
        list of them. A template that is not distinct has no words."""
        for (numbers, distinct), places in self._places.items():
            first = places[0][1]
            named = list(dict.fromkeys(package for package, _ in places))
            own = [template for package, template in places if package == named[0]]
            module, function = _one({(each.module, each.function) for each in own}, ("", ""))
            module = module or _one({each.module for each in own}, "")
            several = {
                (each.module, each.function, each.guard, each.set_by, each.made) for each in own
            }
            yield [
                _spread(numbers), len(words_in(first)) if distinct else 0,
                [packages.index(each) for each in named],
                _one({each.kind for each in own}, ""), _one({each.exception for each in own}, ""),
                modules.index(module) if module else -1, function,
                _one({each.guard for each in own}, ""), _one({each.set_by for each in own}, ""),
                _one({each.made for each in own}, ""),
                *([[[modules.index(at), *rest] for at, *rest in sorted(several)[:MAX_PLACES]]]
                  if len(several) > 1 else []),
            ]  # fmt: skip

    def modules(self) -> list[str]:
        """The modules of all places."""
        return sorted({each.module for places in self._places.values() for _, each in places})


def written(stack: Sequence[Mapping[str, str]], gathered: Gathered, common: Commonness) -> str:
    """The file: a head, the index, one line for each template."""
    packages = [each["package"] for each in stack]
    modules = gathered.modules()
    records = list(gathered.records(packages, modules))
    used = Counter(run for record in records for run in record[0])
    index = array("Q")
    for number, record in enumerate(records):
        signs = SIGNS if record[1] else 0
        own = [run for run in record[0] if run not in common.runs] or record[0]
        for run in sorted(own, key=lambda run: used[run])[:signs]:
            if used[run] <= _USED_BY_MANY:
                index.append((run << PLACES) | number)
        record[0] = b64encode(b"".join(run.to_bytes(5, "big") for run in record[0])).decode()
    ordered = array("Q", sorted(index))
    owners = {each["package"]: each["owner"] for each in stack}
    head = {"packages": packages, "owners": owners, "modules": modules}
    lines = [head, b64encode(ordered.tobytes()).decode(), *records]
    return "".join(
        (line if isinstance(line, str) else json.dumps(line, separators=(",", ":"))) + "\n"
        for line in lines
    )


def _spread(numbers: Sequence[int]) -> list[int]:
    """At most MAX_RUNS of the runs, over the whole of a template."""
    if len(numbers) <= MAX_RUNS:
        return list(numbers)
    return [numbers[at * (len(numbers) - 1) // (MAX_RUNS - 1)] for at in range(MAX_RUNS)]


def _one(values: set[_Value], otherwise: _Value) -> _Value:
    return next(iter(values)) if len(values) == 1 else otherwise


def main() -> None:
    """Write the file."""
    file, checkouts = map(Path, sys.argv[1:])
    sources = load(SOURCES.read_text("utf-8"), SOURCES.name).data
    others = (each for source in sources["others"] for each in templates_in(checkouts, source))
    common = Commonness(template for some in (others, installed()) for template in some)
    gathered = Gathered(common)
    for source in sources["stack"]:
        gathered.add(source["package"], templates_in(checkouts, source))
    file.write_text(written(sources["stack"], gathered, common), "utf-8")


if __name__ == "__main__":
    main()
