"""One test for each known hazard of durable-rules: the guard is there and holds."""

from __future__ import annotations

import importlib
import inspect
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from itertools import pairwise

import pytest

pytest.importorskip("durable_rules_engine")

from modelmedic.engine.inference import (
    durable_network,
    durable_session,
    identities,
    verification,
)
from modelmedic.engine.inference.durable_network import DurableNetwork
from modelmedic.engine.inference.mark_network import (
    MAX_SLOTS,
    EngineFault,
    FiringBudgetExceeded,
    Mark,
    MarkError,
    MarkLimitExceeded,
    NetworkUnavailable,
    Shape,
    ShapeError,
)
from modelmedic.engine.inference.network_definition import check_limits, compile_shapes
from modelmedic.engine.inference.verification import verify_shapes

PAIR = Shape(2, 0, ((1, 0, 0, 0),))
GUARDED = Shape(1, 1, ((1, 0, 0, 0),))
SINGLE = Shape(1)
STAR = Shape(4, 3, tuple((slot, 0, 0, 0) for slot in range(1, 7)))


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


# Walls: 511 siblings, 255 users, 64 join users, 4096 rules, 1024 sessions


def test_wall_of_sibling_tests_is_refused_above_400() -> None:
    assert compile_shapes([SINGLE] * 399)
    with pytest.raises(ShapeError, match="401 tests under one node"):
        compile_shapes([SINGLE] * 400)  # and the boot mark


def test_wall_of_pattern_users_is_refused_above_200() -> None:
    check_limits([[["x"]]] * 200)
    with pytest.raises(ShapeError, match="201 users of one pattern"):
        check_limits([[["x"]]] * 201)


def test_wall_of_join_pattern_users_is_refused_above_50() -> None:
    joined = ["x", '{"p0":{"f":"p0"}}']
    check_limits([[joined]] * 50)
    with pytest.raises(ShapeError, match="51 users of one join pattern"):
        check_limits([[joined]] * 51)


def test_wall_of_rules_is_refused_above_4000() -> None:
    rules = [[[f"{n // 100}", f"{n}"]] for n in range(4001)]
    check_limits(rules[:4000])
    with pytest.raises(ShapeError, match="4001 rules"):
        check_limits(rules)


def test_wall_of_live_sessions_is_kept_far_away() -> None:
    assert len(identities.SESSION_IDS) == 256


def test_largest_networks_within_the_limits_compile_and_run() -> None:
    verify_shapes([SINGLE] * 399, timeout=60)
    verify_shapes([STAR] * 57, timeout=60)


# create_ruleset can hang holding the interpreter lock


def test_create_ruleset_can_hang_only_in_the_subprocess(monkeypatch: pytest.MonkeyPatch) -> None:
    hanging = "import time; time.sleep(60)"
    monkeypatch.setattr(verification, "_CHILD", hanging)
    start = time.monotonic()
    with pytest.raises(ShapeError, match=r"hangs durable-rules: no end in 0\.3 s"):
        verify_shapes([SINGLE], timeout=0.3)
    assert time.monotonic() - start < 10


def test_create_ruleset_can_crash_only_in_the_subprocess(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification, "_CHILD", "import os; os.abort()")
    with pytest.raises(ShapeError, match="exit -6"):
        verify_shapes([SINGLE], timeout=30)


def test_create_ruleset_misfires_are_found_by_the_smoke_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    verification.smoke_run([PAIR, GUARDED, SINGLE, STAR])
    monkeypatch.setattr(DurableNetwork, "shapes", property(lambda self: (SINGLE,) * 3))
    with pytest.raises(EngineFault):
        verification.smoke_run([PAIR, GUARDED, SINGLE])


def test_create_ruleset_of_good_shapes_verifies_quietly() -> None:
    verify_shapes([PAIR, GUARDED, SINGLE, STAR], timeout=30)
    verify_shapes([], timeout=30)


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


# Timer threads


def test_timer_threads_and_stock_host_are_absent() -> None:
    code = (
        "import sys, threading\n"
        "from modelmedic.engine.inference.durable_network import DurableNetwork\n"
        "from modelmedic.engine.inference.mark_network import Mark, Shape\n"
        "with DurableNetwork([Shape(1)]).session() as session:\n"
        "    session.feed([Mark(0, 0, (1,))])\n"
        "    assert len(list(session.activations())) == 1\n"
        "print(threading.active_count(), 'durable' in sys.modules)\n"
    )
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=env,
        timeout=60,
        check=False,
    )
    assert done.stdout.split() == ["1", "False"], done.stderr


def test_timer_threads_are_not_started_by_a_session() -> None:
    before = threading.active_count()
    with DurableNetwork([SINGLE]).session() as session:
        session.feed([Mark(0, 0, (1,))])
        assert len(list(session.activations())) == 1
        assert threading.active_count() == before


# retract, update, events, state: never used


def test_retract_update_and_events_are_never_used() -> None:
    calls = {
        name for name, _ in inspect.getmembers(durable_session.EngineModule, inspect.isfunction)
    }
    used = set()
    for module in (durable_network, durable_session):
        used |= set(re.findall(r"\bengine\.([a-z_]+)\(?", inspect.getsource(module)))
    safe = {
        "create_ruleset",
        "delete_ruleset",
        "assert_fact",
        "assert_facts",
        "start_action_for_state",
        "complete_and_start_action",
        "abandon_action",
        "delete_state",
        "get_facts",
    }
    assert {name for name in calls if not name.startswith("_")} == safe
    assert used <= safe


# $not


def test_not_comes_after_all_positive_patterns() -> None:
    rules = json.loads(compile_shapes([STAR, GUARDED]).text)
    for rule in rules.values():
        negated = [next(iter(pattern)).endswith("$not") for pattern in rule["all"]]
        assert negated == sorted(negated)
        assert not negated[0]
        assert len(negated) <= 8


def test_not_has_aliases_of_the_safe_hash_class() -> None:
    residues = [identities.fnv1a(alias) % 16 for alias in identities.ALIASES]
    assert residues == [8, 9, 10, 11, 12, 13, 14, 15]
    assert len(identities.ALIASES) == MAX_SLOTS


def test_not_that_comes_late_drops_no_decided_activation() -> None:
    """Beneath the feed order check: the engine itself leaves pending activations alone."""
    shapes = [Shape(2, 1, ((1, 0, 0, 0), (2, 0, 1, 1))), Shape(2, 1, ((1, 0, 0, 0), (2, 0, 0, 1)))]
    with DurableNetwork(shapes).session() as session:
        for shape in (0, 1):
            session.feed([Mark(shape, slot, (1, 5)) for slot in (0, 1)])
        session._met.clear()  # switch the check off
        session.feed([Mark(0, 2, (5,)), Mark(1, 2, (5,))])
        assert sorted(a.shape for a in session.activations()) == [0, 1]


def test_not_has_marks_private_to_its_slot() -> None:
    text = compile_shapes([STAR, STAR, PAIR]).text
    codes = re.findall(rf'{{"{identities.SLOT_PROPERTY}":(\d+)}}', text)
    assert codes == [str(code) for code in range(1 + 7 + 7 + 2)]


# Joins other than equality read past their end


def test_non_equality_join_overread_is_closed_by_a_constant_true_test() -> None:
    rules = json.loads(compile_shapes([STAR, PAIR, GUARDED]).text)
    one, first = identities.ONE_PROPERTY, identities.ALIASES[0]
    for rule in rules.values():
        for pattern in rule["all"][1:]:
            (body,) = pattern.values()
            assert list(body) == ["$and"]
            slot_test, *joins = body["$and"]
            assert list(slot_test) == [identities.SLOT_PROPERTY]
            assert joins[-1] == {one: {first: one}}
            for join in joins:
                (operand,) = join.values()
                assert next(iter(operand)) in identities.ALIASES  # an operator would begin with $


def test_non_equality_join_overread_does_not_come_with_many_joins() -> None:
    joins = tuple((1, n % 16, 0, n // 16) for n in range(20))
    verify_shapes([Shape(2, 0, joins)], timeout=30)


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


# 32-bit identity


def test_32_bit_identity_of_names_is_distinct() -> None:
    properties = (
        "sid",
        "id",
        "$s",
        identities.SLOT_PROPERTY,
        identities.ONE_PROPERTY,
        *identities.PORT_PROPERTIES,
    )
    assert identities.distinct(properties)
    assert identities.distinct(identities.ALIASES)
    assert identities.distinct(tuple(map(str, identities.SESSION_IDS)))
    assert identities.fnv1a(identities.SLOT_PROPERTY) % 32 == 31
    assert all(identities.fnv1a(name) % 32 != 31 for name in properties if name != "ai")


def test_32_bit_identity_of_marks_is_distinct() -> None:
    marks = tuple(map(str, range(identities.BOOT_ID, identities.LAST_MARK_ID + 1)))
    states = tuple(f"sid-{sid}" for sid in identities.SESSION_IDS)  # the engine's own fact
    assert identities.distinct(marks + states)


def test_32_bit_identity_is_computed_as_the_engine_does() -> None:
    assert identities.fnv1a("sid") == 3593476751
    assert identities.fnv1a("id") == 926444256


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
    assert "renew_action_lease" not in vars(durable_session.EngineModule)


# any, $or, $mt, pri, count


def test_any_or_mt_pri_and_count_are_not_compiled() -> None:
    text = compile_shapes([STAR, PAIR, GUARDED, SINGLE]).text
    assert set(re.findall(r"\$[a-z]+", text)) == {"$and", "$not"}
    for rule in json.loads(text).values():
        assert list(rule) == ["all"]


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


# Python upgrades


def test_python_upgrades_without_the_extension_say_the_way_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "durable_rules_engine", None)
    with pytest.raises(NetworkUnavailable) as caught:
        DurableNetwork([SINGLE])
    for word in ("source only", "C compiler", "3.13", "durable_rules==2.0.28", "reference"):
        assert word in str(caught.value)
    with pytest.raises(NetworkUnavailable):
        verify_shapes([SINGLE], timeout=5)


def test_python_upgrades_leave_values_and_errors_importable() -> None:
    from modelmedic.engine.inference import mark_network

    assert "durable_rules_engine" not in inspect.getsource(mark_network)
