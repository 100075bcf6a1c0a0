"""Projects whose modules import each other in circles: bounded work, and the bound is reported."""

import time
from pathlib import Path

import pytest

from modelmedic.engine.compiler.store.files import vocabulary_in
from modelmedic.facts import Vocabulary
from modelmedic.facts.declarations import load_vocabulary
from modelmedic.probes.recognition import find_units, gather_unit
from modelmedic.probes.script import probe

MODULES = 5_000
MOST_SECONDS = 60  # of the processor


@pytest.fixture(scope="module")
def vocabulary():
    files = vocabulary_in(str(Path(__file__).resolve().parents[3]))
    texts = ((name, Path(path).read_text("utf-8")) for name, path in files)
    return Vocabulary.from_plain(load_vocabulary(texts))


def circle(folder, count, end=""):
    """Modules that each import the next one and call it; the last one, the first."""
    for number in range(count):
        (folder / f"m{number:04}.py").write_text(
            f"import tinker\nfrom m{(number + 1) % count:04} import f as g\n\n"
            f"def f(x):\n    return g(tinker.SamplingParams(max_new_tokens=x))\n{end}"
        )


def read(folder, vocabulary):
    units, problems = find_units([folder], vocabulary)
    outcomes = [gather_unit(unit, vocabulary) for unit in units]
    return [*problems, *(p for outcome in outcomes for p in outcome.problems)]


def test_a_circle_is_one_program(tmp_path, vocabulary):
    circle(tmp_path, MODULES)
    started = time.process_time()
    found = read(tmp_path, vocabulary)
    assert time.process_time() - started < MOST_SECONDS
    assert {problem.code for problem in found} == {"MM467"}
    assert len(found) == 2  # too many modules, and too entangled


def test_programs_of_a_circle_share_one_budget(tmp_path, vocabulary, monkeypatch):
    """Each module can be run, and each run would read all of them."""
    monkeypatch.setattr(probe, "MAX_WORK", 60_000)
    circle(tmp_path, 300, 'if __name__ == "__main__":\n    f(1)\n')
    found = read(tmp_path, vocabulary)
    assert {problem.code for problem in found} == {"MM467"}
    left = [p for p in found if "further programs" in p.message]
    assert len(left) == 1
    assert len(found) <= probe.MAX_ENTANGLED + 1
