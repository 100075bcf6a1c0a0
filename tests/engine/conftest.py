"""Shared by the engine tests: knowledge from snippets, all backends, and made-up worlds.

A *world* is a small vocabulary, knowledge in every form and sets of facts. It goes through the same
door as shipped knowledge (YAML text, entry models, compiler), so that nothing is tested which an
author could not write. The generators are in `world_strategies`, given to tests by fixtures.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import pytest

from modelmedic.engine import Diagnoser, KnowledgeBase
from modelmedic.engine.compiler.build import Built, build
from modelmedic.engine.compiler.store.compiled import decode, encode
from modelmedic.engine.compiler.store.files import digest_of
from modelmedic.engine.inference import durable_join
from modelmedic.engine.inference.derivation import Backend, Derivation
from modelmedic.engine.inference.engine import InferenceEngine
from modelmedic.engine.inference.reference import ReferenceBackend
from modelmedic.facts import Fact, Location, Problem, Provenance

HERE = Path(__file__).resolve().parent
Engine = Literal["durable", "native", "reference"]
DURABLE = importlib.util.find_spec("durable_rules_engine") is not None
ALL: tuple[Engine, ...] = ("durable", "native", "reference")
ENGINES = ALL if DURABLE else ALL[1:]

NAME = {"type": "string", "required": True}
FLAG = {"type": "boolean", "default": True}
CORE: dict[str, Any] = {
    "symptom": {"key": ["name"], "polarity": "present",
                "attributes": {"name": NAME, "present": FLAG}},
    "answer": {"key": ["question"], "attributes": {"question": NAME, "value": NAME}},
    "error_message": {"functional": False, "attributes": {
        "text": {"type": "text", "required": True}, "exception": {"type": "string"},
        "source": {"type": "string"}}},
    "http_response": {"functional": False, "attributes": {
        "status": {"type": "integer", "required": True}, "operation": {"type": "string"}}},
    "diagnosis": {"derived": True, "key": ["name"], "polarity": "holds",
                  "attributes": {"name": NAME, "holds": FLAG}},
    "classified": {"derived": True, "key": ["classification", "subject"],
                   "attributes": {"classification": NAME, "subject": NAME, "label": NAME}},
    "tree_node": {"derived": True, "key": ["tree", "node"],
                  "attributes": {"tree": NAME, "node": NAME}},
}  # fmt: skip


@dataclass(frozen=True)
class World:
    """Compiled knowledge with a diagnoser for each backend that can run here."""

    built: Built
    base: KnowledgeBase
    doctors: Mapping[Engine, Diagnoser]

    @property
    def problems(self) -> tuple[Problem, ...]:
        return self.built.problems

    def fact(self, flat: Mapping[str, Any]) -> Fact:
        """A checked fact from its flat form."""
        return self.base.vocabulary.read(dict(flat), Location("test"), Provenance("file"))

    def facts(self, flats: Iterable[Mapping[str, Any]]) -> list[Fact]:
        return [self.fact(flat) for flat in flats]


def as_yaml(data: Mapping[str, Any]) -> str:
    """JSON, which is YAML but for the numbers that JSON has not."""
    text = json.dumps(data, ensure_ascii=False)
    return text.replace(": Infinity", ": .inf").replace(": NaN", ": .nan")


def described(kinds: Mapping[str, Any]) -> dict[str, Any]:
    """Kinds with the descriptions that declarations must have, so that tests need not."""
    return {
        name: {"description": name, **kind, "attributes": {
            a: {"description": a, **rest} for a, rest in kind["attributes"].items()}}
        for name, kind in kinds.items()
    }  # fmt: skip


def make_world(
    kinds: Mapping[str, Any], files: Mapping[str, Mapping[str, Any]], engines: Sequence[Engine]
) -> World:
    """A world from declarations of kinds (beside the core ones) and knowledge files as data."""
    declared = {"schema": "modelmedic/vocabulary/1", "kinds": described({**CORE, **kinds})}
    vocabulary = [("vocabulary/made.yaml", as_yaml(declared))]
    knowledge = [(f"knowledge/{name}.yaml", as_yaml(data))
                 for name, data in files.items()]  # fmt: skip
    built = build(vocabulary, knowledge)
    compiled = decode(encode(built.compiled))  # as it comes from the cache
    content = [(name, text.encode()) for name, text in [*vocabulary, *knowledge]]
    base = KnowledgeBase.of(compiled, digest_of(content))
    return World(built, base, {engine: Diagnoser.of(base, engine) for engine in engines})


def exact(derivation: Derivation) -> Any:
    """A derivation in a form that tells 1, 1.0 and true apart."""
    firings = [
        (
            f.rule,
            [(type(v).__name__, repr(v)) for v in f.binding],
            [[fact.sort_key() for fact in facts] for facts in f.premises],
        )
        for f in derivation.firings
    ]
    return [fact.sort_key() for fact in derivation.facts], firings, derivation.capped


def limited(doctor: Diagnoser, **limits: int) -> Diagnoser:
    """The same with other limits of its backend (``max_firings``, ``max_join_work``)."""
    base, backend = doctor.base, doctor.backend
    other: Backend
    if isinstance(backend, InferenceEngine):
        other = InferenceEngine(base.program, base.vocabulary.defaults, backend.strategy, **limits)
    else:
        other = ReferenceBackend(base.program, base.vocabulary.defaults, **limits)
    return Diagnoser(base, other)


def knowledge_of(rules: Iterable[tuple[str, Any, Mapping[str, Any]]]) -> dict[str, Any]:
    """The files of a world with one diagnosis, ``t.d.one``, and rules as (name, condition,
    conclusion)."""
    common = {"title": "t"}
    diagnosis = {"id": "t.d.one", **common, "severity": "info", "kind": "symptom", "summary": "s"}
    entries = [{"id": f"t.rule.{name}", **common, "when": when, "conclude": [made]}
               for name, when, made in rules]  # fmt: skip
    return {name: {"schema": f"modelmedic/{name}/1", "domain": "t", name: listed}
            for name, listed in (("diagnoses", [diagnosis]), ("rules", entries))}  # fmt: skip


def as_json(report: Any) -> str:
    """The JSON of a report, byte for byte."""
    return json.dumps(report.plain(), ensure_ascii=False, allow_nan=False)


@pytest.fixture(autouse=True)
def small_joins_in_c(monkeypatch: pytest.MonkeyPatch) -> None:
    """durable-rules joins even what the native strategy would have joined sooner."""
    monkeypatch.setattr(durable_join, "MIN_COMBINATIONS", 0)


@pytest.fixture(scope="session")
def engines() -> tuple[Engine, ...]:
    """The backends that can run here, the reference last."""
    return ENGINES


@pytest.fixture(scope="session", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    """One backend at a time."""
    return str(request.param)


@pytest.fixture(scope="session")
def kit() -> ModuleType:
    """This module: helpers for tests (they cannot import it, see --import-mode=importlib)."""
    return sys.modules[__name__]


@pytest.fixture(scope="session")
def worlds() -> ModuleType:
    """The generators of worlds: `worlds.specs()` and `worlds.fact_sets(spec)`."""
    module = _load("modelmedic_test_worlds", "world_strategies.py")
    vars(module)["fact_sets"] = _load("modelmedic_test_facts", "fact_strategies.py").fact_sets
    return module


def _load(name: str, file: str) -> ModuleType:
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, HERE / file)
        assert spec is not None and spec.loader is not None
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name]
