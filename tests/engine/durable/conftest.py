"""Shared by the tests of durable-rules: a record of the requests to its extension, and a world
whose joins grow while they run."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from modelmedic.engine.inference import durable_join

if importlib.util.find_spec("durable_rules_engine") is None:
    collect_ignore_glob = ["test_*.py"]


class Extension:
    """The real extension module with calls replaced; keeps a record of them."""

    def __init__(self, **replaced: Callable[..., Any]) -> None:
        self.real = importlib.import_module("durable_rules_engine")
        self.replaced = replaced
        self.calls: list[tuple[str, Any, Any]] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(handle: Any, *arguments: Any) -> Any:
            self.calls.append((name, handle, arguments[0] if arguments else None))
            return self.replaced.get(name, getattr(self.real, name))(handle, *arguments)

        return call

    def count(self, name: str) -> int:
        return len(self.given(name))

    def given(self, name: str) -> list[tuple[Any, Any]]:
        """The handle and the argument of each call."""
        return [(handle, argument) for called, handle, argument in self.calls if called == name]


@pytest.fixture(autouse=True)
def extension(monkeypatch: pytest.MonkeyPatch) -> Iterator[Extension]:
    """The extension that the test talks to, with networks of its own."""
    found = Extension()
    monkeypatch.setattr(durable_join, "load_extension", lambda: found)
    durable_join._network.cache_clear()
    yield found
    durable_join._network.cache_clear()


ENDS = {name: {"type": "string", "required": True} for name in ("a", "b")}
WORD = {"functional": False, "attributes": ENDS}
STEP = {"derived": True, "key": ["a", "b"], "attributes": ENDS}


def pattern(kind: str, a: str, b: str) -> dict[str, Any]:
    return {"fact": kind, "where": {"a": f"${a}", "b": f"${b}"}}


@pytest.fixture(scope="session")
def world(kit: Any) -> Any:
    """Paths along words, whose joins grow while they run; and a join of three slots."""
    step = {"fact": "step", "set": {"a": "$x", "b": "$z"}}
    rules = [
        ("first", {"all": [pattern("word", "x", "y"), pattern("word", "y", "z")]}, step),
        ("on", {"all": [pattern("step", "x", "y"), pattern("word", "y", "z")]}, step),
        ("round", {"all": [pattern("step", "x", "y"), pattern("word", "y", "z"),
                           pattern("step", "z", "x")]}, {"diagnosis": "t.d.one"}),
    ]  # fmt: skip
    return kit.make_world({"word": WORD, "step": STEP}, kit.knowledge_of(rules), kit.ENGINES)


@pytest.fixture(scope="session")
def words(world: Any) -> Callable[[int], Any]:
    """A function that gives so many words in a circle."""

    def words(count: int) -> Any:
        return world.facts({"kind": "word", "a": str(n), "b": str((n + 1) % count)}
                           for n in range(count))  # fmt: skip

    return words


@pytest.fixture(scope="session")
def agrees(world: Any, words: Any, kit: Any) -> Callable[..., bool]:
    """Whether words are joined as the native strategy does."""

    def agrees(count: int = 5) -> bool:
        derived = [world.doctors[n].backend.derive(words(count)) for n in ("durable", "native")]
        assert len(derived[1].firings) > count and not derived[1].capped
        return bool(kit.exact(derived[0]) == kit.exact(derived[1]))

    return agrees


@pytest.fixture
def in_c(extension: Extension, agrees: Any) -> Callable[[], int]:
    """How often the extension is asked for a match while words are joined as they should be."""

    def in_c() -> int:
        before = extension.count("complete_and_start_action")
        assert agrees()
        return extension.count("complete_and_start_action") - before

    return in_c
