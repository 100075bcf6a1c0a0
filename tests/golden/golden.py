"""The golden digest: every JSON report over stories, healthy sets, examples and knowledge cases.

    python tests/golden/golden.py                  compare with digests.txt; differences end with 1
    python tests/golden/golden.py --cases FOLDER   the same on the cases of another tree's knowledge
    python tests/golden/golden.py --write          record today's digests

One line of ``digests.txt`` holds the SHA-256 of a fact set (its facts in the order given) and that
of its JSON report, both shortened to 16 digits. The digest of the knowledge's own files stays out
of the reports, so that files may be renamed; everything else counts, byte for byte. ``--show TEXT``
prints the reports of the sets whose name contains TEXT, for a comparison by hand.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from modelmedic.engine import Diagnoser
from modelmedic.facts import Fact, Location, ModelMedicError, Provenance, Vocabulary

_ROOT = Path(__file__).resolve().parents[2]
_DIGESTS = Path(__file__).with_name("digests.txt")
_SHOWN = 20


def fact_sets(vocabulary: Vocabulary, knowledge: Path) -> Iterator[tuple[str, list[Fact]]]:
    """Every set with a name for people. Cases whose facts break the vocabulary are left out."""
    yield from _files(vocabulary)
    yield from _cases(vocabulary, knowledge)


def _files(vocabulary: Vocabulary) -> Iterator[tuple[str, list[Fact]]]:
    for folder in ("facts/examples", "knowledge/healthy"):
        for path in sorted((_ROOT / folder).glob("*.json")):
            data = json.loads(path.read_text(encoding="utf-8"))
            items = data["facts"] if isinstance(data, dict) else data
            yield f"{folder}/{path.name}", _read(items, vocabulary)


def _cases(vocabulary: Vocabulary, knowledge: Path) -> Iterator[tuple[str, list[Fact]]]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for path in sorted(knowledge.rglob("*.test.yaml")):
        cases = yaml.load(path.read_text(encoding="utf-8"), loader)["cases"]
        for case in cases:
            try:
                facts = _read(case["facts"], vocabulary)
            except ModelMedicError:
                continue
            yield f"{path.relative_to(knowledge)}: {case['name']}", facts


def _read(items: list[dict[str, Any]], vocabulary: Vocabulary) -> list[Fact]:
    return [
        vocabulary.read(item, Location(f"facts[{n}]"), Provenance("test"))
        for n, item in enumerate(items)
    ]


def identity(facts: list[Fact]) -> str:
    """The identity of a set of facts, whatever file it is in."""
    return _short(json.dumps([fact.sort_key() for fact in facts]))


def report(doctor: Diagnoser, facts: list[Fact]) -> str:
    """The report as JSON, without what identifies the knowledge's files."""
    plain = doctor.diagnose(facts).plain()
    plain["knowledge"] = {**plain["knowledge"], "digest": ""}
    return json.dumps(plain, ensure_ascii=False, allow_nan=False)


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _known() -> dict[str, str]:
    lines = _DIGESTS.read_text(encoding="utf-8").splitlines()
    return dict(line.split() for line in lines if not line.startswith("#"))


def main() -> int:
    """Compare or record; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--show", metavar="TEXT")
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--cases", type=Path, metavar="FOLDER", default=_ROOT / "knowledge")
    options = parser.parse_args()
    doctor = Diagnoser.load(engine=options.engine)
    found: dict[str, tuple[str, str]] = {}
    for name, facts in fact_sets(doctor.base.vocabulary, options.cases):
        if options.show is not None:
            if options.show in name:
                print(name, json.dumps(json.loads(report(doctor, facts)), indent=1), sep="\n")
            continue
        found.setdefault(identity(facts), (_short(report(doctor, facts)), name))
    if options.show is not None:
        return 0
    if options.write:
        lines = [f"{key} {digest}" for key, (digest, _) in sorted(found.items())]
        _DIGESTS.write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"{len(found):,} reports recorded")
        return 0
    known = _known()
    differing = [n for key, (digest, n) in found.items() if known.get(key, digest) != digest]
    new = [name for key, (_, name) in found.items() if key not in known]
    for title, names in (("differ", differing), ("are new", new)):
        for name in names[:_SHOWN]:
            print(f"{title}: {name}")
    whole = _short("".join(digest for _, (digest, _) in sorted(found.items())))
    print(
        f"{len(found):,} reports, digest {whole}: {len(differing):,} differ, {len(new):,} are new, "
        f"{len(known.keys() - found.keys()):,} recorded sets are gone"
    )
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
