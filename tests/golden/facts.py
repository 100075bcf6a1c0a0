"""The golden digest of facts: what probes gather from every artefact of the tests.

    python tests/golden/facts.py               compare with facts.txt; differences end with 1
    python tests/golden/facts.py --write       record today's digests
    python tests/golden/facts.py --show TEXT   print the facts of artefacts with TEXT in their name

One line of ``facts.txt`` holds how an artefact is read, the SHA-256 of the artefact and that of the
facts and problems that come of it, shortened to 16 digits. An artefact is known by its content, so
files may be moved; one that is edited counts as new. Floats are compared to five digits, since
processors differ in the last ones. Artefacts that need a package are left out of the comparison
where it is not installed: captures of ports, which are made with torch, and tables, which pyarrow
reads.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # the makers of artefacts

from tests.golden import artefacts

from modelmedic.engine import Diagnoser
from modelmedic.facts import Vocabulary
from modelmedic.probes import Outcome
from modelmedic.probes.messages.probe import read_messages
from modelmedic.probes.recognition import FACTS_FILE, HEAD, Table, Unit, find_units, gather_unit

_DIGESTS = Path(__file__).with_name("facts.txt")
_SHOWN = 20
_ROUNDED = 5
_NOT_INSTALLED = "MM403"
_TEXT = 400_000
"""Bytes of a file that is still read as a text if nothing recognises it."""


class Reading(NamedTuple):
    """One artefact as it was read: the way, its digest, a name for people, and the outcome."""

    way: str
    identity: str
    name: str
    outcome: Outcome


WAYS = ("file", "folder", "text", *artefacts.MAKERS)


def readings(vocabulary: Vocabulary, ways: Collection[str] = WAYS) -> Iterator[Reading]:
    """All artefacts that are read in these ways, read."""
    for path in artefacts.files() if "file" in ways else ():
        yield from _file(path, vocabulary)
    for folder in artefacts.folders() if "folder" in ways else ():
        yield from _folder("folder", folder, str(folder), vocabulary)
    for text in artefacts.texts() if "text" in ways else ():
        yield Reading("text", _short(text), text[:60], read_messages(text, vocabulary))
    for way, make in artefacts.MAKERS.items():
        for name, made in make() if way in ways else ():
            yield from _folder(way, made, name, vocabulary)


def _file(path: Path, vocabulary: Vocabulary) -> Iterator[Reading]:
    raw = path.read_bytes()
    name = str(path.relative_to(artefacts.ROOT))
    with contextlib.chdir(path.parent):
        here = Path(path.name)
        table = Table(vocabulary)
        artefact = table.of_file(here, raw[:HEAD]) or table.of_named(here, raw[:HEAD])
        if artefact is FACTS_FILE:
            return
        identity = _short(path.name.encode() + b"\0" + raw)
        if artefact:
            outcome = gather_unit(Unit(artefact, (here,)), vocabulary)
            yield Reading(f"file-{artefact.name}", identity, name, outcome)
        elif len(raw) <= _TEXT:
            text = raw.decode("utf-8", "replace")
            yield Reading("file", identity, name, read_messages(text, vocabulary, name=path.name))


def _folder(way: str, folder: Path, name: str, vocabulary: Vocabulary) -> Iterator[Reading]:
    """The facts of all that is recognised in a folder."""
    # A capture differs in its last bits from one processor to the next.
    content = name if way == "capture" else artefacts.digest(folder)
    identity = _short(f"{folder.name} {content}")
    with contextlib.chdir(folder.parent):
        units, problems = find_units([Path(folder.name)], vocabulary)
        outcomes = [gather_unit(unit, vocabulary) for unit in units]
    yield Reading(way, identity, name, Outcome.joined(Outcome((), tuple(problems)), *outcomes))


def plain(outcome: Outcome) -> str:
    """An outcome as JSON lines: facts with their places, then problems."""
    facts = [fact.plain() for fact in outcome.facts]
    problems = [[p.code, p.message, str(p.where), p.hint] for p in outcome.problems]
    return "\n".join(json.dumps(_rounded(each), sort_keys=True) for each in [*facts, *problems])


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value:.{_ROUNDED}g}"
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, list | tuple) else value


def _short(content: str | bytes) -> str:
    raw = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return hashlib.sha256(raw).hexdigest()[:16]


def _known() -> dict[str, str]:
    lines = (line.split() for line in _DIGESTS.read_text(encoding="utf-8").splitlines())
    return {f"{way} {identity}": digest for way, identity, digest in lines}


def _gathered(
    vocabulary: Vocabulary, ways: Collection[str], show: str | None
) -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    for reading in readings(vocabulary, ways):
        if any(problem.code == _NOT_INSTALLED for problem in reading.outcome.problems):
            continue
        text = plain(reading.outcome)
        if show is not None and show in reading.name:
            print(f"{reading.way} {reading.name}", text, sep="\n")
        found.setdefault(f"{reading.way} {reading.identity}", (_short(text), reading.name))
    return found


def _way(key: str) -> str:
    """``file`` of ``file-log 0123...``."""
    return key.split(maxsplit=1)[0].split("-", maxsplit=1)[0]


def _compared(found: dict[str, tuple[str, str]], ways: Collection[str]) -> int:
    known = {key: digest for key, digest in _known().items() if _way(key) in ways}
    differing = [f"{key.split()[0]} {name}" for key, (digest, name) in found.items()
                 if known.get(key, digest) != digest]  # fmt: skip
    new = [f"{key.split()[0]} {name}" for key, (_, name) in found.items() if key not in known]
    for title, names in (("differ", differing), ("are new", new)):
        for name in names[:_SHOWN]:
            print(f"{title}: {name!r}")
    whole = _short("".join(digest for _, (digest, _) in sorted(found.items())))
    print(
        f"{len(found):,} artefacts, digest of their facts {whole}: {len(differing):,} differ, "
        f"{len(new):,} are new, {len(known.keys() - found.keys()):,} recorded ones are gone"
    )
    return 1 if differing else 0


def main() -> int:
    """Compare or record; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--show", metavar="TEXT")
    parser.add_argument("--ways", default=",".join(WAYS), help="only these: %(default)s")
    options = parser.parse_args()
    ways = set(options.ways.split(","))
    if not artefacts.HAS_TORCH:
        ways -= {"capture"}
    with tempfile.TemporaryDirectory() as home:  # nothing of whoever runs it is read
        os.environ["HOME"] = home
        found = _gathered(Diagnoser.load().base.vocabulary, ways, options.show)
    if options.show is not None:
        return 0
    if options.write:
        if ways != set(WAYS):
            parser.error("all ways are recorded together, which needs torch and transformers")
        lines = sorted(f"{key} {digest}" for key, (digest, _) in found.items())
        _DIGESTS.write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"{len(found):,} artefacts recorded")
        return 0
    return _compared(found, ways)


if __name__ == "__main__":
    sys.exit(main())
