"""Behaviour of the extension module that the durable-rules strategy relies on, and behaviour that
it fears. A failure after an upgrade shows which assumption to look at."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from importlib.metadata import version

import pytest

PRELUDE = """
import sys
import durable_rules_engine as d
from modelmedic.engine.inference import durable_join as j

pair = d.create_ruleset("canary", j.rule_set((1, ((((0, 0),), (0,)),))))

def mark(number, code, value=1, sid=1000):
    return f'{{"sid":{sid},"id":{number},"ai":{code},"b":1,"p0":{value}}}'

def boot(sid=1000):
    result, state = d.assert_fact(pair, mark(0, 0, sid=sid))
    assert result == 0 and d.start_action_for_state(pair, state)
    assert d.complete_and_start_action(pair, state) is None
    return state
"""
CANARIES = {
    "a match lists its marks in the order of slots": ("""
state = boot()
print(d.assert_facts(pair, f"[{mark(7, 2)},{mark(9, 1)}]") == (0, state))
print(d.start_action_for_state(pair, state)[1])
""", 'True\n{"join":{"ad":{"sid":1000,"id":9,"ai":1,"b":1,"p0":1},'
     '"f":{"sid":1000,"id":7,"ai":2,"b":1,"p0":1}}}'),
    "marks that match nothing, or come twice, have codes": ("""
boot()
print(*(d.assert_facts(pair, f"[{mark(n, code)}]")[0] for n, code in [(1, 1), (1, 1), (2, 9)]))
""", "0 2 1"),
    "a session can be deleted while a match is under way": ("""
for number in range(2000):
    state = boot(1000 + number % 256)
    marks = ",".join(mark(n, n % 2 + 1, sid=1000 + number % 256) for n in range(1, 9))
    assert d.assert_facts(pair, f"[{marks}]") == (0, state)
    assert d.start_action_for_state(pair, state)
    d.delete_state(pair, str(1000 + number % 256))
print("fine")
""", "fine"),
    "joins of integers with a true last test never read too far": ("""
for number in range(500):
    state = boot()
    marks = [mark(n, n % 2 + 1, n * number % 7) for n in range(1, 40)]
    assert d.assert_facts(pair, "[" + ",".join(marks) + "]") == (0, state)
    keys = [[n * number % 7 for n in range(1, 40) if n % 2 == side] for side in (0, 1)]
    message, found = d.start_action_for_state(pair, state), 0
    message = message and message[1]
    while message:
        found, message = found + 1, d.complete_and_start_action(pair, state)
    assert found == sum(a == b for a in keys[0] for b in keys[1])
    d.delete_state(pair, "1000")
print("fine")
""", "fine"),
    "all sessions and marks are told apart": ("""
assert len({boot(sid) for sid in j.SESSION_IDS}) == 256
print(d.assert_facts(pair, "[" + ",".join(mark(n, 1) for n in j.MARK_IDS) + "]")[0])
""", "0"),
    "two session numbers with one hash share a session": ("""
boot, text = '{"sid":"%s","id":0,"ai":0}', ("user-658168", "user-36c635")
print(len({d.assert_fact(pair, boot % sid)[1] for sid in text}))
""", "1"),
    "an empty batch reports success": ("boot(); print(d.assert_facts(pair, '[]')[0])", "0"),
    "a session that never fired crashes when it is deleted": ("""
d.assert_fact(pair, mark(1, 1))
d.delete_state(pair, "1000")
print("fine")
""", "crash"),
    "no host, no thread": ("""
import threading
session = j._network((1, ((((0, 0),), (0,)),))).session()
session.feed([(0, [1]), (1, [1])])
assert session.matches() == [(1, 2)]
print(threading.active_count(), "durable" in sys.modules)
""", "1 False"),
}  # fmt: skip


@pytest.mark.parametrize("what", CANARIES)
def test_canary(what: str) -> None:
    """Code that may crash has a process of its own, whose fresh memory holds no zeros."""
    script, expected = CANARIES[what]
    if expected == "crash" and platform.libc_ver()[0] != "glibc":
        pytest.skip("needs glibc to fill fresh memory")
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + script],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "MALLOC_PERTURB_": "165"},
    )
    said = "crash" if done.returncode < 0 else done.stdout.strip()
    assert said == expected, done.stderr


def test_the_version_is_the_one_measured() -> None:
    assert version("durable_rules") == "2.0.28"
