"""The same facts and knowledge give the same bytes: whatever the hash seed, the order of facts and
files, the number of threads, the backend and the clock."""

import json
import random
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from modelmedic.engine import Diagnoser
from modelmedic.engine.compiler.build import build_or_raise
from modelmedic.engine.compiler.knowledge_base import (
    SHIPPED_KNOWLEDGE,
    KnowledgeBase,
    shipped_layer,
)
from modelmedic.engine.compiler.store.compiled import encode
from modelmedic.interfaces.output import report_document

SEEDS = 20
KNOWLEDGE = Path(SHIPPED_KNOWLEDGE)
ONE = """
import sys
from modelmedic.interfaces.cli.main import main
main(sys.argv[1:])
"""
# Puts every clock elsewhere, and lets it run backwards.
CLOCK = """
import itertools, sys, time
steps = itertools.count()
for name in ("time", "monotonic", "perf_counter", "time_ns", "monotonic_ns", "perf_counter_ns"):
    setattr(time, name, lambda: 4_102_444_800 - 1000 * next(steps))
from modelmedic.interfaces.cli.main import main
main(sys.argv[1:])
"""


@pytest.fixture(scope="module")
def parts(tmp_path_factory, root):
    """Facts of all kinds in several files: those of the example, and some of real artefacts."""
    folder = tmp_path_factory.mktemp("facts")
    plain = json.loads((root / "facts/examples/slow_steps.json").read_text())["facts"]
    more = json.loads((root / "facts/examples/cleared_of_pydantic.json").read_text())["facts"]
    extra = [
        {"kind": "http_response", "status": 429, "operation": "sample"},
        {"kind": "hyperparameter", "name": "learning_rate", "value": 0.5},
        {
            "kind": "error_message",
            "text": "Error code: 402 - billing",
            "exception": "APIStatusError",
        },
        {"kind": "step_timing", "step": 3, "total_s": 90.0},
        {"kind": "symptom", "name": "hang"},
    ]
    chosen = [plain, [fact for fact in more if fact["kind"] != "package"], extra]
    for number, facts in enumerate(chosen):
        (folder / f"{number}.json").write_text(json.dumps(facts))
    return sorted(folder.iterdir())


@pytest.fixture(scope="module")
def expected(diagnose, parts):
    answer = diagnose(*facts_of(parts), "-f", "json")
    assert answer.code == 1, answer.err
    assert len(answer.json["diagnoses"]) > 3
    return answer.out


def facts_of(parts):
    return [word for path in parts for word in ("--facts", path)]


@pytest.mark.deep
def test_hash_seeds(run, parts, expected):
    """Every fifth one also compiles the knowledge again."""
    command = (sys.executable, "-P", "-c", ONE, *facts_of(parts), "-f", "json")

    def with_seed(seed):
        fresh = {"MODELMEDIC_CACHE": ""} if seed % 5 == 0 else {}
        return run(*command, PYTHONHASHSEED=str(seed), **fresh).out

    with ThreadPoolExecutor(2) as pool:
        assert set(pool.map(with_seed, range(1, SEEDS + 1))) == {expected}


def test_the_seeds_do_differ():
    said = [
        subprocess.check_output(
            [sys.executable, "-c", "print(hash('a'))"], env={"PYTHONHASHSEED": s}
        )
        for s in ("1", "2")
    ]
    assert len(set(said)) == 2


@pytest.fixture(scope="module")
def facts(doctor, parts):
    from modelmedic.facts.fact_file import read_facts

    return [fact for path in parts for fact in read_facts(path, doctor.base.vocabulary)]


@pytest.fixture(scope="module")
def rendered(doctor, facts):
    return report_document(doctor.diagnose(facts), "json").value


def test_the_order_of_files_and_facts(diagnose, doctor, facts, parts, expected, rendered):
    assert diagnose(*facts_of(parts[::-1]), "-f", "json").out == expected
    for seed in range(20):
        shuffled = facts[:]
        random.Random(seed).shuffle(shuffled)
        assert report_document(doctor.diagnose(shuffled), "json").value == rendered


def test_the_order_inside_files(diagnose, parts, expected, tmp_path):
    """The places of facts stay: only the order in which they stand, and that of their keys."""
    for path in parts:
        backwards = [dict(reversed(fact.items())) for fact in json.loads(path.read_text())]
        (tmp_path / path.name).write_text(json.dumps(backwards[::-1]))
    moved = diagnose(*facts_of(sorted(tmp_path.iterdir())), "-f", "json").out
    assert moved.replace(str(tmp_path), str(parts[0].parent)) == expected


@pytest.mark.deep
def test_the_order_of_knowledge_files():
    vocabulary, knowledge = map(list, shipped_layer(tests=False).texts())
    right = encode(build_or_raise(vocabulary, knowledge))
    for seed in (1, 2):
        for each in (vocabulary, knowledge):
            random.Random(seed).shuffle(each)
        assert encode(build_or_raise(vocabulary, knowledge)) == right


@pytest.mark.parametrize("threads", [1, 8])
def test_threads(doctor, facts, rendered, threads):
    """Different runs at the same time do not touch each other."""
    half = facts[: len(facts) // 2]
    other = report_document(doctor.diagnose(half), "json").value
    assert other != rendered

    def one(number):
        given = half if number % 2 else facts[number:] + facts[:number]
        return report_document(doctor.diagnose(given), "json").value

    with ThreadPoolExecutor(threads) as pool:
        assert list(pool.map(one, range(24))) == [rendered, other] * 12


@pytest.mark.parametrize("engine", ["durable", "reference"])
def test_backends(doctor, facts, rendered, engine):
    if engine == "durable":
        pytest.importorskip("durable_rules_engine", reason="durable-rules is not installed")
    other = Diagnoser.of(doctor.base, engine)
    assert report_document(other.diagnose(facts), "json").value == rendered


def test_backends_on_the_command_line(diagnose, parts, expected):
    assert diagnose(*facts_of(parts), "-f", "json", "--engine", "reference").out == expected


@pytest.mark.parametrize("format_", ["text", "json", "html", "sarif", "junit", "markdown"])
def test_the_clock_says_nothing(run, diagnose, parts, format_):
    arguments = (*facts_of(parts), "-f", format_)
    jumped = run(sys.executable, "-P", "-c", CLOCK, *arguments)
    assert jumped.out == diagnose(*arguments).out
    assert jumped.code == 1


@pytest.mark.deep
def test_how_the_file_system_lists_a_folder(tmp_path):
    """The order in which a file system lists a folder is that in which its files were made."""
    files = sorted(KNOWLEDGE.rglob("*.yaml"))
    digests = set()
    for number, order in enumerate((files, files[::-1])):
        copy = tmp_path / str(number) / "knowledge"
        for file in order:
            target = copy / file.relative_to(KNOWLEDGE)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
        digests.add(KnowledgeBase.load([copy], shipped=False).digest)
    assert len(digests) == 1
