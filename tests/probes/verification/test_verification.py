"""The checks of installed packages, with stand-ins of them and with the real ones."""

import sys
import venv
from pathlib import Path

import pytest

from modelmedic.engine import Diagnoser
from modelmedic.probes.verification.probe import gather_verification

MODEL = "Qwen/Qwen3-8B"
SAMPLE = (
    "class ModelInput:\n    from_ints = staticmethod(list)\n"
    "class SamplingParams:\n    def __init__(self, **given): pass\n"
    "class SampleRequest(SamplingParams):\n    model_dump = lambda self, **options: {}\n"
    "class Datum(SamplingParams): pass\nclass ForwardBackwardInput(SamplingParams): pass\n"
    "class ForwardBackwardRequest(SamplingParams): pass\n"
)


@pytest.fixture
def environment(tmp_path):
    """Makes an environment of packages, given by the texts of their modules."""
    venv.create(tmp_path, with_pip=False, symlinks=True)
    (folder,) = tmp_path.glob("lib/python*/site-packages")

    def make(**packages):
        for name, modules in {"tinker": {"types": SAMPLE}, **packages}.items():
            (folder / name).mkdir()
            for module, text in {"__init__": "", **modules}.items():
                (folder / name / f"{module}.py").write_text(text)
            info = folder / f"{name}-1.0.dist-info"
            info.mkdir()
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        return tmp_path

    return make


@pytest.fixture(scope="module")
def doctor():
    return Diagnoser.load()


def checks(outcome):
    return {
        (f.get("check"), f.get("subject")): f.get("ok")
        for f in outcome.facts
        if f.kind == "environment_check"
    }


def found(doctor, outcome):
    return {d.id for d in doctor.diagnose(outcome.facts).diagnoses}


def test_what_is_installed_is_imported_by_its_own_interpreter(environment, vocabulary, doctor):
    outcome = gather_verification(vocabulary, python=environment(pydantic={}))
    assert checks(outcome) == {("import", "tinker"): True, ("import", "pydantic"): True}
    named = {f.get("name"): f.get("version") for f in outcome.facts if f.kind == "package"}
    assert (named["tinker"], named["pydantic"]) == ("1.0", "1.0")
    assert not outcome.problems
    assert "tinker.env.verified-here" in found(doctor, outcome)


@pytest.mark.parametrize("text", ["raise RuntimeError('no')", "import no_such_module", "x ="])
def test_a_package_that_cannot_be_imported_is_found(text, environment, vocabulary, doctor):
    outcome = gather_verification(vocabulary, python=environment(pydantic={"__init__": text}))
    assert checks(outcome) == {("import", "tinker"): True, ("import", "pydantic"): False}
    names = found(doctor, outcome)
    assert "tinker.env.check-failed" in names
    assert not names & {"tinker.env.verified-here", "tinker.env.dependencies-clean"}


def test_a_module_below_the_package_counts(environment, vocabulary):
    python = environment(transformers={"models": "raise ImportError('gone')"})
    assert checks(gather_verification(vocabulary, python=python))["import", "transformers"] is False


@pytest.mark.parametrize(
    ("text", "code"),
    [("import time; time.sleep(60)", "MM478"), ("import os; os._exit(3)", "MM479")],
)
def test_checks_that_do_not_end_well_are_a_problem(text, code, environment, vocabulary, doctor):
    python = environment(pydantic={"__init__": text})
    outcome = gather_verification(vocabulary, python=python, limit_s=2 if code == "MM478" else 60)
    assert [problem.code for problem in outcome.problems] == [code]
    assert checks(outcome) == {}
    assert "tinker.env.verified-here" not in found(doctor, outcome)


def test_a_tokenizer_that_is_not_here_says_nothing_of_the_packages(environment, vocabulary):
    auto = "class AutoTokenizer:\n    def from_pretrained(*a, **k): raise OSError('not here')\n"
    python = environment(transformers={"__init__": auto})
    (folder,) = python.glob("lib/python*/site-packages/transformers")
    (folder / "models" / "auto").mkdir(parents=True)
    outcome = gather_verification(vocabulary, python=python, tokenizer="acme/pot")
    assert [problem.code for problem in outcome.problems] == ["MM442"]
    assert all(checks(outcome).values())


def test_no_interpreter_is_a_problem(vocabulary, tmp_path):
    outcome = gather_verification(vocabulary, python=tmp_path / "none")
    assert [problem.code for problem in outcome.problems] == ["MM420"]
    assert outcome.facts == ()


@pytest.mark.heavy
@pytest.mark.timeout(300)
def test_the_real_packages_with_a_tokenizer_made_by_hand(vocabulary, data, doctor):
    pytest.importorskip("tinker_cookbook")
    pytest.importorskip("transformers")
    tokenizer = data / "renderer" / "qwen_like_tiny"
    outcome = gather_verification(
        vocabulary, python=Path(sys.executable), tokenizer=str(tokenizer), model=MODEL
    )
    assert not outcome.problems
    tried = checks(outcome)
    assert all(tried.values())
    assert {check for check, _ in tried} == {"import", "tokenizer", "renderer"}
    compared = [f for f in outcome.facts if f.kind == "token_comparison"]
    assert {f.get("reason") for f in compared} == {None, "trailing-newline"}
    names = found(doctor, outcome)
    assert {"tinker.env.verified-here", "tinker.renderer.tokens-match"} <= names
    assert "tinker.env.check-failed" not in names
