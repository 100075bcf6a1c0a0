"""durable-rules within its limits: one test for each hazard that is known of its C network. After
any fault the native strategy takes over with the same derivations."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from modelmedic.engine.inference import durable_join
from modelmedic.engine.inference.durable_join import (
    ALIASES,
    BOOT_ID,
    CODE,
    MARK_IDS,
    MAX_SLOTS,
    MAX_VARIABLES,
    ONE,
    SESSION_IDS,
    VARIABLES,
    Shape,
    fnv1a,
    rule_set,
)

PAIR: Shape = (1, ((((0, 0),), (0,)),))
CROSS: Shape = (1, (((), ()), ((), ())))
STAR: Shape = (MAX_VARIABLES, tuple(
    (tuple((0, n) for n in range(MAX_VARIABLES)), tuple(range(MAX_VARIABLES)))
    for _ in range(MAX_SLOTS - 1)))  # fmt: skip

# Identity by 32-bit hashes


def test_names_hash_apart() -> None:
    assert (fnv1a("sid"), fnv1a("id")) == (3593476751, 926444256)  # as the extension does
    states = [f"sid-{sid}" for sid in SESSION_IDS]  # its own fact in each session
    for names in (
        ["sid", "id", "$s", CODE, ONE, *VARIABLES],
        [*map(str, SESSION_IDS)],
        [*map(str, (BOOT_ID, *MARK_IDS)), *states],
        ALIASES,
    ):
        assert len({fnv1a(name) for name in names}) == len(names)
    assert [fnv1a(alias) % 16 for alias in ALIASES] == list(range(8, 16))
    in_last_bucket = [n for n in ("sid", "id", "$s", CODE, ONE, *VARIABLES) if fnv1a(n) % 32 == 31]
    assert in_last_bucket == [CODE]


# The compiled rule sets


@pytest.mark.parametrize("shape", [PAIR, CROSS, STAR])
def test_rule_sets_hold_equality_joins_that_end_with_a_true_test(shape: Shape) -> None:
    text = rule_set(shape)
    rules = json.loads(text)
    assert list(rules) == ["boot", "join"] and set(re.findall(r"\$\w+", text)) == {"$and"}
    assert len(rules["join"]["all"]) == len(shape[1]) + 1 <= 8
    for place, each in enumerate(rules["join"]["all"][1:], 1):
        ((alias, body),) = each.items()
        code, *joins = body["$and"]
        assert alias == ALIASES[place] and code == {CODE: place + 1}
        assert joins[-1] == {ONE: {ALIASES[0]: ONE}} and len(joins) <= 20
        assert all(set(operand) < set(ALIASES) for join in joins for operand in join.values())
    codes = re.findall(rf'{{"{CODE}":(\d+)}}', text)
    assert codes == [str(n) for n in range(len(shape[1]) + 2)]  # marks are private to their slot


def test_only_safe_calls_are_declared_and_made(extension: Any, agrees: Any) -> None:
    """No retraction, update, event, timer or state."""
    safe = {"create_ruleset", "delete_ruleset", "assert_fact", "assert_facts", "delete_state",
            "start_action_for_state", "complete_and_start_action"}  # fmt: skip
    assert {name for name in vars(durable_join.Extension) if name[0] != "_"} == safe
    assert agrees() and {name for name, *_ in extension.calls} <= safe
    tree = ast.parse(Path(str(durable_join.__file__)).with_name("durable_join.py").read_text())
    imported = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    assert imported <= {"re", "weakref"}  # no clock, no threads


def test_values_never_reach_the_extension(extension: Any, world: Any) -> None:
    facts = world.facts(
        {"kind": "word", "a": a, "b": b}
        for a, b in [("1e-300", '"'), ('"', "\u2028$not"), ("\u2028$not", "x" * 4_000)]
    )
    assert world.doctors["durable"].backend.derive(facts).firings
    sent = "".join(str(argument) for name, _, argument in extension.calls if name[:6] == "assert")
    assert re.fullmatch(rf'(?:[\[\],{{}}:\d]|"(?:sid|id|{CODE}|{ONE}|p\d+)")+', sent)


# The life of a session


def test_the_boot_mark_is_asserted_and_fired_alone(extension: Any, agrees: Any) -> None:
    assert agrees()
    lives: dict[Any, list[str]] = {}
    for name, handle, argument in extension.calls:
        sid = re.search(r'"sid":(\d+)', str(argument))
        if sid:
            lives.setdefault((handle, sid[1]), []).append(name)
        elif name == "delete_state":
            assert lives.pop((handle, argument))[0] == "assert_fact"
    assert not lives  # each was deleted
    begun = [n for n, (name, *_) in enumerate(extension.calls) if name == "assert_fact"]
    for at in begun:
        following = [name for name, *_ in extension.calls[at + 1 : at + 3]]
        assert following == ["start_action_for_state", "complete_and_start_action"]


def raising(error: BaseException) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        raise error

    return call


@pytest.mark.parametrize(
    ("call", "behaviour"),
    [
        ("assert_fact", raising(MemoryError())),
        ("assert_fact", lambda *_: (1, 5)),
        ("start_action_for_state", lambda *_: None),
        ("start_action_for_state", raising(RuntimeError("error code: 307"))),
        ("complete_and_start_action", lambda *_: '{"join":{}}'),
    ],
)
def test_a_session_that_does_not_boot_is_left_alone(
    extension: Any, agrees: Any, call: str, behaviour: Any, in_c: Any
) -> None:
    """To delete it would free memory that was never its own."""
    extension.replaced[call] = behaviour
    assert agrees()
    assert extension.count("assert_fact") and not extension.count("delete_state")
    lost = {*extension.given("assert_fact")}
    extension.replaced.clear()
    extension.calls.clear()
    assert in_c()
    assert not lost.intersection(extension.given("assert_fact"))


def after_boot(behaviour: Callable[..., Any]) -> Callable[..., Any]:
    """The first call of a session as it is, and others as they should not be."""
    seen: Counter[Any] = Counter()

    def call(real: Callable[..., Any], handle: Any, state: Any) -> Any:
        seen[handle, state] += 1
        return real(handle, state) if seen[handle, state] == 1 else behaviour(handle, state)

    return call


STRANGE = {
    "none": "{}",
    "one too few": '{"join":{"ad":{"id":1}}}',
    "of another slot": '{"join":{"ad":{"id":1},"f":{"id":1}}}',
    "unknown": '{"join":{"ad":{"id":399},"f":{"id":398}}}',
    "of the boot mark": '{"join":{"ad":{"id":0},"f":{"id":0}}}',
}


@pytest.mark.parametrize(
    ("call", "behaviour"),
    [
        ("create_ruleset", raising(RuntimeError("error code: 106"))),
        ("assert_facts", raising(RuntimeError("error code: 302"))),
        ("start_action_for_state", raising(RuntimeError("error code: 307"))),
        ("complete_and_start_action", raising(MemoryError())),
        ("delete_state", raising(RuntimeError("error code: 307"))),
        *(("complete_and_start_action", lambda *_, text=text: text) for text in STRANGE.values()),
        *(("start_action_for_state", lambda *_, text=text: ("{}", text))
          for text in STRANGE.values()),
    ],
)  # fmt: skip
def test_a_fault_of_the_extension_changes_no_derivation(
    extension: Any, agrees: Any, call: str, behaviour: Any, in_c: Any
) -> None:
    real = getattr(extension.real, call)
    late = after_boot(behaviour)
    boots = call in ("start_action_for_state", "complete_and_start_action")
    extension.replaced[call] = (lambda *a: late(real, *a)) if boots else behaviour
    assert agrees() and extension.count(call)
    extension.replaced.clear()
    assert in_c()


def test_answers_without_end_are_ended(
    extension: Any, agrees: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(durable_join, "MAX_PARTIAL_MATCHES", 100)
    repeated: dict[Any, Any] = {}

    def again(handle: Any, state: Any) -> Any:
        if (handle, state) not in repeated:
            found = extension.real.complete_and_start_action(handle, state)
            if not found:
                return None
            repeated[handle, state] = found
        return repeated[handle, state]

    extension.replaced["complete_and_start_action"] = again
    assert agrees()
    assert extension.count("complete_and_start_action") > 100


@pytest.mark.parametrize("answer", [(1, 0), (2, 0), (0, 1)])
def test_a_batch_that_is_not_wholly_accepted_ends_the_session(
    extension: Any, agrees: Any, answer: tuple[int, int]
) -> None:
    """It has lost marks. The facts that were fed are joined again; the session is never asked
    again."""

    def short(handle: Any, batch: str) -> Any:
        code, state = extension.real.assert_facts(handle, batch)
        return code + answer[0], state + answer[1]

    extension.replaced["assert_facts"] = short
    assert agrees()
    assert extension.count("assert_facts") == 1
    assert extension.count("complete_and_start_action") == extension.count("assert_fact")  # boots


def test_no_batch_is_empty(extension: Any, agrees: Any) -> None:
    session = durable_join._network(PAIR).session()
    session.feed([])
    assert session.matches() == []
    session.close()
    session.close()
    assert agrees()
    assert all(len(batch) > 2 for _, batch in extension.given("assert_facts"))
    assert extension.count("delete_state") == extension.count("assert_fact")


# Compiled frames let go of a session while the call still raises: its end is interrupted, too.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_passes_and_leaves_sessions_that_work(
    extension: Any, world: Any, in_c: Any, words: Any
) -> None:
    for call in ("assert_fact", "assert_facts", "complete_and_start_action", "delete_state"):
        extension.replaced[call] = raising(KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            world.doctors["durable"].backend.derive(words(4))
        extension.replaced.clear()
        assert in_c()
