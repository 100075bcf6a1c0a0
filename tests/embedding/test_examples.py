"""The embedding page and its example programs, run."""

from __future__ import annotations

import asyncio
import doctest
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from modelmedic.engine import Diagnoser
from modelmedic.interfaces.cli.aio import AsyncDiagnoser

DOCS = Path(__file__).resolve().parents[2] / "docs"
PYDANTIC = "tinker.env.pydantic-prerelease-serialization"
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
HEALTHY: list[dict[str, Any]] = [{"kind": "python", "version": "3.11.7"}]
FACTS: list[dict[str, Any]] = [
    {"kind": "package", "name": "pydantic", "version": "2.13.0b2"},
    {"kind": "package", "name": "tinker", "version": "0.16.1"},
    {"kind": "timing_summary", "operation": "forward_backward", "submit_s": 40.0, "wait_s": 3.0,
     "count": 12},
]  # fmt: skip


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, DOCS / "examples" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where its models look for the types that they name
    spec.loader.exec_module(module)
    return module


def test_the_embedding_page():
    result = doctest.testfile(str(DOCS / "embedding.md"), module_relative=False)
    assert result.attempted > 20
    assert result.failed == 0


def test_a_web_service():
    pytest.importorskip("fastapi")
    testclient = pytest.importorskip("fastapi.testclient")
    with testclient.TestClient(example("web_service").app) as client:
        answer = client.post("/diagnose", json=FACTS)
        assert answer.status_code == 200
        assert answer.json()["diagnoses"][0]["id"] == PYDANTIC
        refused = client.post("/diagnose", json=[{"kind": "pakcage"}])
        assert refused.status_code == 422
        assert "did you mean 'package'" in refused.text
        assert client.post("/diagnose", content=b" " * 1_000_001).status_code == 413


def test_the_web_service_refuses_what_it_cannot_take_and_says_how_it_is():
    pytest.importorskip("fastapi")
    testclient = pytest.importorskip("fastapi.testclient")
    module = example("web_service")
    with testclient.TestClient(module.app) as client:
        module.load.waiting = module.MAX_WAITING
        refused = client.post("/diagnose", json=FACTS)
        assert refused.status_code == 429
        assert int(refused.headers["retry-after"]) >= 1
        health = client.get("/health").json()
        assert health["ready"] and health["refused"] == 1
        assert health["waiting"] == health["most"] == module.MAX_WAITING
        module.load.waiting = 0
        assert client.post("/diagnose", json=FACTS).status_code == 200
        assert client.get("/health").json()["waiting"] == 0
        described = client.get("/openapi.json").json()["paths"]["/diagnose"]["post"]
        assert {"200", "413", "422", "429"} <= described["responses"].keys()
        body = described["requestBody"]["content"]["application/json"]["schema"]
        assert body["items"]["required"] == ["kind"]


@pytest.mark.deep
@pytest.mark.slow
def test_two_hundred_requests_at_once():
    pytest.importorskip("fastapi")
    pytest.importorskip("uvicorn")
    command = [sys.executable, str(DOCS / "examples" / "web_service_load.py"), "200"]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("200 requests at once")
    assert "accepted, 99% within" in done.stdout


def test_answers_as_typed_values():
    doctor = Diagnoser.load()
    facts = [doctor.base.vocabulary.fact(**fact) for fact in FACTS]
    change = [doctor.base.vocabulary.fact("package", name="pydantic", version="2.12.5")]
    found = doctor.compare(facts, change)
    assert PYDANTIC in found.lost
    assert found.plain() == doctor.what_if(facts, change)
    consultation = doctor.consult(facts)
    for name in ("tinker.perf.slow-steps", "tinker.hyperparams.lr-too-high", PYDANTIC):
        absence = consultation.absence(name)
        assert absence.plain() == consultation.explain_absence(name)
        assert absence.concluded == (not absence.ways)


def test_a_chat_handler():
    said: list[str] = []
    handler = example("chat_handler")
    handler.answer("tinker.RateLimitError: Error code: 429 - {'detail': 'slow down'}", said.append)
    handler.answer("Good morning, how are you?", said.append)
    assert said[0].startswith("*") and "1. " in said[0]
    assert said[1] == "I do not know that message."


@pytest.mark.parametrize(("facts", "code"), [(FACTS, 1), (HEALTHY, 0), (None, 0)])
def test_a_gate_in_ci(tmp_path, facts, code):
    (tmp_path / "test_nothing.py").write_text("def test_nothing():\n    pass\n")
    options = []
    if facts is not None:
        (tmp_path / "run").mkdir()
        document = {"schema": "modelmedic/facts/1", "facts": facts}
        (tmp_path / "run" / "facts.json").write_text(json.dumps(document))
        options = ["--run-folder", str(tmp_path / "run" / "facts.json")]
    (tmp_path / "training_gate.py").write_text(
        (DOCS / "examples" / "training_gate.py").read_text(encoding="utf-8")
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "training_gate",
        *options,
        "test_nothing.py",
    ]
    done = subprocess.run(
        command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert (PYDANTIC in done.stdout) == bool(code)


def test_coroutines_share_a_diagnoser():
    async def main() -> list[str]:
        async with AsyncDiagnoser(Diagnoser.load(), threads=3) as doctor:
            vocabulary = doctor.doctor.base.vocabulary
            ill, well = ([vocabulary.fact(**f) for f in facts] for facts in (FACTS, HEALTHY))
            answers = await asyncio.gather(
                *(doctor.diagnose(ill if n % 2 else well) for n in range(20))
            )
            assert (await doctor.screen(FACTS))[0].id == PYDANTIC
            return [answer.status for answer in answers]

    assert asyncio.run(main()) == ["clear", "findings"] * 10
