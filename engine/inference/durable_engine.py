"""The C extension of durable-rules: its calls that are safe and used, and how it is loaded."""

from __future__ import annotations

from importlib import import_module
from typing import Protocol, cast

from .mark_network import NetworkUnavailable


class EngineModule(Protocol):
    """The extension module. Handles and offsets are opaque."""

    def create_ruleset(self, name: str, rules: str, /) -> int: ...
    def delete_ruleset(self, handle: int, /) -> None: ...
    def assert_fact(self, handle: int, fact: str, /) -> tuple[int, int]: ...
    def assert_facts(self, handle: int, facts: str, /) -> tuple[int, int]: ...
    def start_action_for_state(self, handle: int, state: int, /) -> tuple[str, str] | None: ...
    def complete_and_start_action(self, handle: int, state: int, /) -> str | None: ...
    def abandon_action(self, handle: int, state: int, /) -> None: ...
    def delete_state(self, handle: int, sid: str, /) -> None: ...
    def get_facts(self, handle: int, sid: str, /) -> str: ...


def load_engine() -> EngineModule:
    """Import the extension module. Raises `NetworkUnavailable` where it is missing or broken."""
    try:
        return cast(EngineModule, import_module("durable_rules_engine"))
    except ImportError as error:
        raise NetworkUnavailable(
            f"the durable-rules engine cannot be imported ({error}). It ships as source only, so"
            " installing it needs a C compiler (pip install durable_rules==2.0.28), and it does"
            " not import on Python 3.13 and later. The reference evaluator gives the same results."
        ) from error
