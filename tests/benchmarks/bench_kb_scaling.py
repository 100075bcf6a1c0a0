"""Maintainers' commands on generated knowledge: the cost of an entry as the knowledge grows.

``make bench``, or ``python tests/benchmarks/bench_kb_scaling.py``; builds, lints and tests 500,
2,000 and 8,000 entries in one run and prints milliseconds an entry and their growth.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from modelmedic.authoring.lint import lint
from modelmedic.authoring.testing.case_runner import CaseRunner
from modelmedic.engine import Diagnoser
from modelmedic.engine.compiler.build import build
from modelmedic.engine.compiler.knowledge_base import KnowledgeBase, shipped_layer
from modelmedic.facts import Fact
from modelmedic.probes.messages.probe import read_messages

_ROOT = Path(__file__).resolve().parents[2]
SIZES = (500, 2_000, 8_000)
_STEPS = ("build", "lint", "test")
_GROUP = 10  # entries of one file of diagnoses, rules, rows, a tree and a classification

Texts = list[tuple[str, str]]

_VOCABULARY = """
schema: modelmedic/vocabulary/1
kinds:
  gen_reading:
    description: A generated reading.
    key: [name]
    probes: [gen_probe]
    attributes:
      name: {type: string, required: true, description: Which.}
      value: {type: number, unit: s, description: How much.}
      count: {type: integer, description: How often.}
      good: {type: boolean, description: Whether it is fine.}
probes: {gen_probe: {title: Reads, command: gen, seconds: 1, gathers: [gen_reading]}}
"""
_HEAD = "schema: modelmedic/{}/1\ndomain: gen\nsources: [{{ref: generated}}]\n"


def generated(entries: int) -> Texts:
    """Files with so many entries, in the mixture of the shipped knowledge."""
    files: Texts = []
    for group in range(entries // _GROUP):
        files += _group(group)
    return files


def _group(g: int) -> Texts:
    """Three diagnoses, four rules, two rows and a classification, with their cases."""
    diagnoses = "".join(
        f"  - id: gen.d{g}-{n}\n    title: Thing {g} {n}\n    severity: error\n"
        f"    kind: root-cause\n    summary: Thing {g} {n} is wrong.\n"
        f"    actions: [{{do: Mend thing {g} {n}.}}]\n"
        for n in range(3)
    )
    rules, cases = "", ""
    for n in range(4):
        when = (
            f"all: [{{fact: gen_reading, where: {{name: a{g}-{n}, value: {{gt: '@limit'}}}}}},"
            f" {{fact: gen_reading, where: {{name: b{g}-{n}, good: false}}}}]"
        )
        rules += (
            f"  - id: gen.rule.r{g}-{n}\n    title: Rule {g} {n}\n    when: {{{when}}}\n"
            f"    conclude: [{{diagnosis: gen.d{g}-{n % 3}, strength: weak}}]\n"
        )
        reading = "{{kind: gen_reading, name: {}{}-{}, {}}}".format
        bad = reading("b", g, n, "good: false")
        for kind, first in (("fires", "value: 7"), ("silent", "value: 1"), ("unknown", "count: 1")):
            facts = f"{reading('a', g, n, first)}, {bad}"
            cases += (
                f"  - {{name: {kind}, kind: {kind}, entry: gen.rule.r{g}-{n}, facts: [{facts}]}}\n"
            )
    rows = "".join(
        f"  - id: gen.err.e{g}-{n}\n    title: Row {g} {n}\n"
        f"    match: {{template: 'unit-{g}-{n} failed with {{code}}'}}\n"
        f"    samples: ['unit-{g}-{n} failed with 9']\n"
        f"    near_misses: ['unit-{g}-{n} works']\n"
        f"    causes: [{{diagnosis: gen.d{g}-{n}}}]\n    retry: never\n"
        for n in range(2)
    )
    bands = (
        f"  - id: gen.class.c{g}\n    title: Class {g}\n    attribute: value\n    subject: name\n"
        f"    observe: {{fact: gen_reading, where: {{name: c{g}}}}}\n"
        "    bands: [{label: low, to: '@limit'}, {label: high, from: '@limit'}]\n"
    )
    for kind, name, value in (("fires", "c", "value: 1"), ("silent", "x", "value: 1"),
                              ("unknown", "c", "count: 1")):  # fmt: skip
        fact = f"{{kind: gen_reading, name: {name}{g}, {value}}}"
        cases += f"  - {{name: {kind} {g}, kind: {kind}, entry: gen.class.c{g}, facts: [{fact}]}}\n"
    limit = "parameters: {limit: {value: 5, unit: s, origin: generated}}\n"
    return [
        (f"gen/{g}/d.yaml", f"{_HEAD.format('diagnoses')}diagnoses:\n{diagnoses}"),
        (f"gen/{g}/r.yaml", f"{_HEAD.format('rules')}{limit}rules:\n{rules}"),
        (f"gen/{g}/e.yaml", f"{_HEAD.format('errors')}emitter: gen\nerrors:\n{rows}"),
        (f"gen/{g}/c.yaml", f"{_HEAD.format('classifications')}{limit}classifications:\n{bands}"),
        (f"gen/{g}/r.test.yaml", f"schema: modelmedic/tests/1\ncases:\n{cases}"),
    ]


def measure(entries: int) -> dict[str, float]:
    """Seconds of each step."""
    vocabulary = [*shipped_layer(tests=False).texts()[0], ("gen.yaml", _VOCABULARY)]
    texts = generated(entries)
    seconds: dict[str, float] = {}
    gc.collect()
    gc.disable()  # as the commands do
    begin = time.perf_counter()
    built = build(vocabulary, texts, tests=True)
    seconds["build"] = time.perf_counter() - begin

    def decode(text: str) -> Sequence[Fact]:
        return read_messages(text, built.vocabulary).facts

    begin = time.perf_counter()
    problems = lint(built, decode)
    seconds["lint"] = time.perf_counter() - begin
    assert not problems, problems[:3]
    assert len(built.source.items) == entries
    begin = time.perf_counter()
    doctor = Diagnoser.of(KnowledgeBase.of(built.compiled, "generated"))
    results = list(CaseRunner(doctor, built.source, decode).run())
    seconds["test"] = time.perf_counter() - begin
    assert not [r for r in results if r.failures], [r for r in results if r.failures][:2]
    gc.enable()
    return seconds


def report(measured: dict[int, dict[str, float]]) -> str:
    """A table of milliseconds an entry, with the growth over the smallest size."""
    smallest = min(measured)
    rows = [f"{'entries':>8} " + " ".join(f"{step:>8}" for step in (*_STEPS, "all", "growth"))]
    costs = {n: [1000 * each[step] / n for step in _STEPS] for n, each in measured.items()}
    for n, cost in costs.items():
        growth = sum(cost) / sum(costs[smallest])
        rows.append(f"{n:8,} " + " ".join(f"{ms:8.3f}" for ms in (*cost, sum(cost), growth)))
    return "\n".join([*rows, "milliseconds an entry; growth of all over the smallest size"])


@pytest.mark.bench
@pytest.mark.timeout(600)
def test_the_cost_of_an_entry_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    """Prints the table; the times are for people, only completeness is checked."""
    measured = {size: measure(size) for size in SIZES}
    with capsys.disabled():
        print("\n" + report(measured))


if __name__ == "__main__":
    measure(100)  # imports and caches
    print(report({size: measure(size) for size in SIZES}))
