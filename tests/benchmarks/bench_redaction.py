"""The cost of redaction in this tree against another one, such as an earlier commit, in one run.

    git worktree add /tmp/earlier 5da3ddd
    python tests/benchmarks/bench_redaction.py /tmp/earlier [--rounds 9] [--json FILE]

Texts are those of ``tests/security/redaction``, but for secrets that one of the trees does not
find: alone, in blocks of lines, in reports. Each tree works in a process of its own; rounds take
turns. Ratios are of processor time: this tree to the other one. ``first`` is a fresh process with
the first document that it redacts, without imports of the engine.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

_ROOT = Path(__file__).resolve().parents[2]
_LINES = 40
_FIRST_TIMES = 3  # a process a round is dear, and one alone says little

_WORKER = r"""
import gc, json, sys, time
from modelmedic.facts.redaction import Redactor
redactor = Redactor(lambda: b"measured", homes=("/home/annabel",), hosts=("gpu-17",))
documents = {}
print("ready", flush=True)
for line in sys.stdin:
    if line.startswith("{"):
        documents = json.loads(line)
        clean = [redactor.redact(text).value for text in documents.get("?", ())]
        print(json.dumps(clean), flush=True)
        continue
    given = documents[line.strip()]
    gc.collect()
    begin = time.process_time()
    for one in given:
        redactor.redact(one)
    print(time.process_time() - begin, flush=True)
"""


def documents(trees: Sequence[Tree]) -> dict[str, list[Any]]:
    """The documents to redact, by group."""
    sys.path.insert(0, str(_ROOT / "tests" / "security" / "redaction"))
    from corpus import contexts, formats, innocent  # type: ignore[import-not-found]
    from measure import encoded, shows  # type: ignore[import-not-found]

    seed = "timed"
    plain = [text for _, text in innocent(seed, 2_000)]
    of_formats, of_contexts, in_code = (
        _found_by_all(list(of(seed)), trees, shows) for of in (formats, contexts, encoded)
    )
    secret = [*of_formats, *of_contexts]
    reports = list(_reports())
    return {
        "innocent texts, each alone": plain,
        "innocent lines in blocks": list(_blocks(plain, [])),
        "innocent lines, 4,000 in one text": ["\n".join((plain * 2)[:4_000])],
        "secrets by form, each alone": of_formats,
        "secrets by context, each alone": of_contexts,
        "encoded secrets, each alone": in_code,
        "blocks with a secret by form": list(_blocks(plain, of_formats)),
        "blocks with a secret by context": list(_blocks(plain, of_contexts)),
        "blocks with an encoded secret": list(_blocks(plain, in_code)),
        "blocks of secrets by form": list(_blocks(of_formats * 5, [])),
        "blocks of secrets by context": list(_blocks(of_contexts * 5, [])),
        "a secret every 40 lines, 4,000 lines": ["\n".join(_blocks(plain * 2, secret))],
        "reports": reports,
        "reports with a secret": [
            [report, text] for report, text in zip(reports, secret, strict=False)
        ],
    }


def _found_by_all(plants: Sequence[Any], trees: Sequence[Tree], shows: Any) -> list[str]:
    """The texts with secrets that every tree hides."""
    answers = [tree.redacted([plant.text for plant in plants]) for tree in trees]
    rows = zip(plants, *answers, strict=True)
    return [plant.text for plant, *clean in rows if not any(shows(plant, each) for each in clean)]


def _blocks(lines: Sequence[str], secrets: Sequence[str]) -> Iterable[str]:
    """Texts of so many lines, in the middle of each one of the secrets."""
    chance = random.Random("blocks")
    for number, at in enumerate(range(0, len(lines) - _LINES + 1, _LINES)):
        block = list(lines[at : at + _LINES])
        if secrets:
            block[chance.randrange(_LINES)] = secrets[number * 7 % len(secrets)]
        yield "\n".join(block)


def _reports() -> Iterable[Any]:
    """Those of the examples, in plain data."""
    from modelmedic.engine import Diagnoser
    from modelmedic.facts.fact_file import read_facts

    doctor = Diagnoser.load()
    for path in sorted((_ROOT / "facts" / "examples").glob("*.json")):
        report = doctor.diagnose(read_facts(path, doctor.base.vocabulary))
        yield json.loads(json.dumps(report.plain()))


class Tree:
    """A process that redacts for one checkout."""

    def __init__(self, path: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(path / ".typing")}
        self._process = subprocess.Popen(
            [sys.executable, "-c", _WORKER], env=environment, text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )  # fmt: skip
        self._read()

    def give(self, documents: Mapping[str, Any]) -> None:
        """Send the documents to redact."""
        self._write(json.dumps(documents))
        self._read()

    def redacted(self, texts: Sequence[str]) -> list[str]:
        """Return the texts after redaction."""
        self._write(json.dumps({"?": texts}))
        answer: list[str] = json.loads(self._read())
        return answer

    def seconds(self, group: str) -> float:
        """The processor time of one round."""
        self._write(group)
        return float(self._read())

    def _write(self, line: str) -> None:
        pipe = cast(IO[str], self._process.stdin)
        pipe.write(line + "\n")
        pipe.flush()

    def _read(self) -> str:
        return cast(IO[str], self._process.stdout).readline().strip()

    def close(self) -> None:
        """End the process."""
        cast(IO[str], self._process.stdin).close()
        self._process.wait(timeout=30)


def compare(
    name: str, mine: Callable[[], float], theirs: Callable[[], float], rounds: int
) -> dict[str, Any]:
    """A row of the table."""
    pairs = []
    for number in range(rounds):
        if number % 2:
            first, second = mine(), theirs()
            pairs.append((first, second))
        else:
            second, first = theirs(), mine()
            pairs.append((first, second))
    ratios = [a / b for a, b in pairs]
    return {
        "group": name,
        "ms": 1e3 * statistics.median(a for a, _ in pairs),
        "other_ms": 1e3 * statistics.median(b for _, b in pairs),
        "ratio": statistics.median(ratios),
        "least": min(ratios),
        "most": max(ratios),
    }


def rows_of(other: Path, rounds: int, only: str) -> Iterable[dict[str, Any]]:
    """All rows."""
    trees = Tree(_ROOT), Tree(other)
    given = {name: each for name, each in documents(trees).items() if only in name}
    for tree in trees:
        tree.give(given)
    for name in given:
        mine, theirs = (partial(tree.seconds, name) for tree in trees)
        mine(), theirs()
        yield compare(name, mine, theirs, rounds)
    for tree in trees:
        tree.close()
    for name in [name for name in given if name.startswith("reports")]:
        first = partial(_first, {name: given[name][:1]})
        yield compare(f"first of {name}", partial(first, _ROOT), partial(first, other), rounds)


def _first(alone: Mapping[str, Any], path: Path) -> float:
    """In fresh processes."""
    spent = []
    for _ in range(_FIRST_TIMES):
        tree = Tree(path)
        tree.give(alone)
        spent.append(tree.seconds(next(iter(alone))))
        tree.close()
    return statistics.median(spent)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("other", type=Path)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default="", help="groups with this in their names")
    parser.add_argument("--json", type=Path, metavar="FILE")
    chosen = parser.parse_args()
    rows = []
    for row in rows_of(chosen.other.resolve(), chosen.rounds, chosen.only):
        rows.append(row)
        print(
            f"{row['group']:40} {row['ms']:9.2f} ms against {row['other_ms']:9.2f} ms: "
            f"{row['ratio']:.2f} times ({row['least']:.2f} to {row['most']:.2f})",
            flush=True,
        )
    if chosen.json:
        chosen.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
