"""Known hazards of durable-rules that a session guards against while it runs.

The hazards of the network as such have a file of their own.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from itertools import pairwise

import pytest

pytest.importorskip("durable_rules_engine")

from modelmedic.engine.inference import durable_engine, durable_network, durable_session
from modelmedic.engine.inference.durable_network import DurableNetwork
from modelmedic.engine.inference.mark_network import (
    EngineFault,
    FiringBudgetExceeded,
    Mark,
    MarkError,
    MarkLimitExceeded,
    Shape,
)

PAIR = Shape(2, 0, ((1, 0, 0, 0),))
SINGLE = Shape(1)


class FaultyEngine:
    """The real module, with chosen calls replaced."""

    def __init__(self, **replaced: Callable[..., object]) -> None:
        self.real = importlib.import_module("durable_rules_engine")
        self.calls: list[str] = []
        self.replaced = replaced

    def __getattr__(self, name: str) -> Callable[..., object]:
        call = self.replaced.get(name) or getattr(self.real, name)

        def recorded(*args: object) -> object:
            self.calls.append(name)
            return call(*args)

        return recorded


def with_engine(
    monkeypatch: pytest.MonkeyPatch, engine: FaultyEngine, shapes: list[Shape]
) -> DurableNetwork:
    monkeypatch.setattr(durable_network, "load_engine", lambda: engine)
    return DurableNetwork(shapes)


def raising(error: BaseException) -> Callable[..., object]:
    def call(*args: object) -> object:
        raise error

    return call


# delete_state before any firing crashes


def test_delete_state_before_any_firing_cannot_be_thanks_to_the_boot_mark(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = FaultyEngine()
    network = with_engine(monkeypatch, engine, [SINGLE])
    with network.session() as session:
        session.feed([Mark(0, 0, (1,))])
    assert engine.calls[:5] == [
        "create_ruleset",
        "assert_fact",
        "start_action_for_state",
        "complete_and_start_action",
        "assert_facts",
    ]
    assert engine.calls[-1] == "delete_state"


@pytest.mark.parametrize(
    ("call", "behaviour"),
    [
        ("assert_fact", raising(MemoryError())),
        ("assert_fact", lambda *args: (1, 5)),
        ("start_action_for_state", lambda *args: None),
        ("start_action_for_state", raising(KeyboardInterrupt())),
    ],
)
def test_delete_state_before_any_firing_is_not_called_when_the_boot_failed(
    monkeypatch: pytest.MonkeyPatch, call: str, behaviour: Callable[..., object]
) -> None:
    engine = FaultyEngine(**{call: behaviour})
    network = with_engine(monkeypatch, engine, [SINGLE])
    with pytest.raises((EngineFault, KeyboardInterrupt)):
        network.session()
    assert "delete_state" not in engine.calls
    engine.replaced.clear()
    for _ in range(300):  # its id does not come round again, the others do
        with network.session() as session:
            assert session.sid != 1000
    network.close()


def test_delete_state_is_called_when_the_boot_fired_but_did_not_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = FaultyEngine(complete_and_start_action=lambda *args: '{"r0":{}}')
    network = with_engine(monkeypatch, engine, [SINGLE])
    with pytest.raises(EngineFault, match="does not start clean"):
        network.session()
    assert engine.calls[-1] == "delete_state"
    network.close()


# User data in the engine


@pytest.mark.parametrize("key", [1.5, "1", None, True, -1, 2**31, (1,), 1e22])
def test_user_data_in_the_engine_is_refused(key: int) -> None:
    with DurableNetwork([SINGLE, PAIR]).session() as session, pytest.raises(MarkError):
        session.feed([Mark(1, 0, (key,))])


def test_user_data_in_the_engine_stops_at_the_ports_that_join(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    batches: list[str] = []
    engine = FaultyEngine()
    real = engine.real.assert_facts

    def assert_facts(handle: int, batch: str) -> object:
        batches.append(batch)
        return real(handle, batch)

    engine.replaced["assert_facts"] = assert_facts
    with with_engine(monkeypatch, engine, [PAIR]).session() as session:
        session.feed([Mark(0, 0, (7, "user text"))])  # type: ignore[arg-type]
    assert json.loads(batches[0]) == [{"sid": 1000, "id": 1, "ai": 1, "b": 1, "p0": 7}]


# Batch errors are silent


def test_batch_errors_are_silent_so_no_empty_batch_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = FaultyEngine()
    with with_engine(monkeypatch, engine, [SINGLE]).session() as session:
        assert session.feed([]) == []
    assert "assert_facts" not in engine.calls


@pytest.mark.parametrize("code", [1, 2, 3])
def test_batch_errors_are_silent_so_any_other_result_ends_the_session(
    monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    engine = FaultyEngine(assert_facts=lambda *args: (code, 1))
    session = with_engine(monkeypatch, engine, [SINGLE]).session()
    with pytest.raises(EngineFault, match=f"result {code}"):
        session.feed([Mark(0, 0, (1,))])
    assert engine.calls[-1] == "delete_state"


def test_batch_errors_that_raise_end_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = FaultyEngine(assert_facts=raising(RuntimeError("error code: 302")))
    session = with_engine(monkeypatch, engine, [SINGLE]).session()
    with pytest.raises(EngineFault, match="302"):
        session.feed([Mark(0, 0, (1,))])
    assert engine.calls[-1] == "delete_state"


def test_batch_errors_are_silent_so_debug_mode_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = FaultyEngine()
    real = engine.real.assert_facts
    engine.replaced["assert_facts"] = lambda h, batch: real(h, batch.rpartition(",{")[0] + "]")
    network = with_engine(monkeypatch, engine, [SINGLE])
    network.debug = True
    session = network.session()
    with pytest.raises(EngineFault, match="holds 2 marks of 3"):
        session.feed([Mark(0, 0, (1,))] * 3)


# Exceptions in actions, lease


@pytest.mark.parametrize("error", [ValueError("mine"), KeyboardInterrupt(), SystemExit(3)])
def test_action_exceptions_propagate_after_abandon_and_delete(
    monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    engine = FaultyEngine()
    network = with_engine(monkeypatch, engine, [SINGLE])
    with pytest.raises(type(error)) as caught, network.session() as session:
        session.feed([Mark(0, 0, (1,)), Mark(0, 0, (2,))])
        for _ in session.activations():
            raise error
    assert caught.value is error
    assert engine.calls[-2:] == ["abandon_action", "delete_state"]
    network.close()


def test_action_loop_left_early_is_abandoned_and_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = FaultyEngine()
    network = with_engine(monkeypatch, engine, [SINGLE])
    with network.session() as session:
        session.feed([Mark(0, 0, (1,)), Mark(0, 0, (2,))])
        activations = session.activations()
        next(activations)
        del activations
    assert engine.calls[-2:] == ["abandon_action", "delete_state"]
    network.close()


def test_action_session_forgotten_is_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = FaultyEngine()
    network = with_engine(monkeypatch, engine, [SINGLE])
    session = network.session()
    session.feed([Mark(0, 0, (1,))])
    del session
    assert engine.calls[-1] == "delete_state"
    network.close()


def test_action_fault_of_the_engine_ends_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = FaultyEngine()
    session = with_engine(monkeypatch, engine, [SINGLE]).session()
    session.feed([Mark(0, 0, (1,))])
    engine.replaced["start_action_for_state"] = raising(RuntimeError("error code: 307"))
    with pytest.raises(EngineFault, match="307"):
        list(session.activations())
    assert engine.calls[-1] == "delete_state"


def test_action_lease_is_not_used() -> None:
    """Nothing here reads a clock: the loop completes the action whenever the caller comes back."""
    for module in (durable_network, durable_session):
        assert not {"time", "datetime", "threading"} & set(vars(module))
    assert "renew_action_lease" not in vars(durable_engine.EngineModule)


# Endless chains, huge sessions


def test_endless_chains_meet_the_firing_budget() -> None:
    network = DurableNetwork([SINGLE], firing_budget=50)
    with pytest.raises(FiringBudgetExceeded) as caught, network.session() as session:
        session.feed([Mark(0, 0, (0,))])
        for count, _ in enumerate(session.activations()):
            session.feed([Mark(0, 0, (count,))])
    assert len(caught.value.last) == 8
    assert "shape 0 marks (51,)" in str(caught.value)
    assert all(a.marks[0] + 1 == b.marks[0] for a, b in pairwise(caught.value.last))
    network.close()


def test_memory_after_a_huge_session_is_bounded_by_the_mark_limit() -> None:
    with DurableNetwork([SINGLE]).session() as session, pytest.raises(MarkLimitExceeded):
        session.feed([Mark(0, 0, (1,))] * 100_001)
