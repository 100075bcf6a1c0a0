"""Properties of every text whatsoever."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelmedic.facts import Location
from modelmedic.probes.messages.probe import MAX_MESSAGES, read_messages

FRAGMENTS = [
    "Traceback (most recent call last):",
    '  File "a.py", line 3, in f',
    "    x = 1",
    "ValueError: x",
    "tinker.APIStatusError: Error code: 410 - {'detail': 'Gone'}",
    "KeyError",
    "",
    " ",
    "\t",
    "The above exception was the direct cause of the following exception:",
    "During handling of the above exception, another exception occurred:",
    "  + Exception Group Traceback (most recent call last):",
    "  | ExceptionGroup: two (2)",
    "  +-+---------------- 1 ----------------",
    "    | Traceback (most recent call last):",
    '    |   File "b.py", line 1, in g',
    "    | TypeError: y",
    "    +---------------- 2 ----------------",
    "    +------------------------------------",
    "  | ",
    "KeyError      Traceback (most recent call last)",
    "Cell In[2], line 2",
    "File ~/a.py:12, in f(x)",
    "╭── Traceback (most recent call last) ──╮",
    "│ a.py:4 in f │",
    "╰──╯",
    "[rank0]: Traceback (most recent call last):",
    "[rank0]: ValueError: z",
    "WARNING:a.b:Session heartbeat failed for 120.5 seconds for session s",
    "[t=1.0s] a.b:1 [ERROR] x",
    '{"level": "error", "message": "m", "exc_info": "Traceback (most recent call last):\\nE: 1"}',
    "{",
    "}",
    '  "detail": "d"',
    "Error: Billing issue",
    "a.py:1: FutureWarning: w",
    "\x1b[31m",
    "\x1b]0;",
    'HTTP Request: POST https://x/api/v1/optim_step "HTTP/1.1 429 Too Many Requests"',
    "500",
    "\ud800",
    "[rank1]: KeyError: 'b'",
    "worker-1  | Traceback (most recent call last):",
    "worker-2  | ValueError: w",
    "> ValueError: quoted",
    "```",
    "make: *** [train] Error 1",
    "user@host:~$ ",
    "│ ValueError: x │",
    "it failed: `ValueError: x` and (TypeError('y'))",
    'level=error msg="a" err="ValueError: x"',
    '{"log": "Traceback (most recent call last):\\n", "stream": "stderr"}',
    '{"log": "ValueError: x\\n", "stream": "stderr"}',
    '{"level": 50, "err": {"type": "E", "message": "m", "stack": [1]}, "exception": [{}]}',
    "2026-01-02T03:04:05.1Z Traceback (most recent call last):",
    "ValueError: a message that is so long that a terminal of eighty columns has to wr",
    "ap it, in the middle of a word",
    "  label: Traceback (most recent call last):",
    '        File "a.py", line 3, in f',
    "0: Traceback (most recent call last):",
]
texts = st.one_of(
    st.text(),
    st.lists(st.sampled_from(FRAGMENTS), max_size=25).map("\n".join),
    st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=20)), max_size=25).map(
        "\n".join
    ),
    st.lists(st.sampled_from([*FRAGMENTS, "\n", "\r", "\r\n"]), max_size=40).map("".join),
)


@given(text=texts)
def test_any_text_gives_facts_that_fit_the_vocabulary(text, vocabulary):
    outcome = read_messages(text, vocabulary)
    for fact in outcome.facts:
        assert not vocabulary.problems(fact.plain(), Location("x"))
    assert len([f for f in outcome.facts if f.kind == "error_message"]) <= MAX_MESSAGES
    assert all(p.code in ("MM410", "MM411", "MM412", "MM413") for p in outcome.problems)


@given(text=texts)
def test_windows_line_ends_change_nothing(text, vocabulary):
    assert read_messages(text.replace("\n", "\r\n"), vocabulary) == read_messages(text, vocabulary)


@given(text=texts)
def test_reading_twice_gives_the_same(text, vocabulary):
    first, second = read_messages(text, vocabulary), read_messages(text, vocabulary)
    assert [f.plain() for f in first.facts] == [f.plain() for f in second.facts]
    assert first.problems == second.problems


@given(text=texts, limit=st.integers(1, 200))
def test_a_cut_text_is_read_too(text, limit, vocabulary):
    for fact in read_messages(text, vocabulary, limit=limit).facts:
        assert not vocabulary.problems(fact.plain(), Location("x"))


HOSTILE = {
    "one long line": "a",
    "dots": "a.",
    "numbers": "500 ",
    "empty lines": "\n",
    "braces": "{\n",
    "object heads": '{\n "a": 1,\n',
    "headers": "Traceback (most recent call last):\n",
    "notebook headers": "KeyError    Traceback (most recent call last)\nfoo\n",
    "escapes": "\x1b]",
    "boxes": "╭── Traceback (most recent call last) ──╮\n│ x\n",
    "stamps": "12:34:56 ",
    "groups": "  + Exception Group Traceback (most recent call last):\n  | E: x\n",
    "paths": "/api/v1/",
    "members": "  + Exception Group Traceback (most recent call last):\n  +-+--- 1 ---\n",
    "quoted": "> Traceback (most recent call last):\n> \n",
    "pids": "(pid=",
    "errors": "Error: x\n",
    "gaps": "WARNING:a:Training for Model creation for x is paused. ",
    "fields": "a=b level= ",
    "pairs": 'level=error a="',
    "reprs": "ValueError('",
    "quotations": "`ValueError: `(",
    "two processes": "[rank0]: Traceback (most recent call last):\n[rank1]: x\n",
    "many processes": "w-1 | a\nw-2 | b\nw-3 | c\n",
    "wrapped": "ValueError: " + "x" * 68 + "\n" + "y" * 80 + "\n",
    "records": '{"log": "Traceback (most recent call last):"}\n{"log": "x"}\n',
    "frames": '  File "a.py", line 3, in f\n',
    "bars": "│ x │\n",
    "prompts": "a@b:" + "c " * 50 + "\n",
    "entities": "&lt;&",
    "links": "[a.py:1](x:",
    "linked": "[a.py](/a) " * 40 + "\n",
    "tags": "<a </a><br <span x=",
    "lost colours": "[0m[1;31;",
    "escaped marks": "a\\_b \\[",
    "frames without form": 'File "a.py", line 3, in f\nf(\n{}\n',
    "broken frames": '  File "a\nb\nc\nd\n',
    "numbered lines": "".join(f"{n}\tx\n" for n in range(1, 400)),
    "notebook frames": "File a.py:3, in f(x)\n---> 3 f()\n",
    "headed notebooks": "> KeyError    Traceback (most recent call last)\n> x\n",
    "codes": "neuronx-cc [XTP002] a\n[XTP002] b\n",
    "types": "x failed\nerror type: ValueError\n",
    "marks of code": "`a`\n",
    "labels": "1: Traceback (most recent call last):\n2: x\n",
    "escaped ends": "Traceback (most recent call last):\\n  File \\n",
    "loguru": 'Traceback (most recent call last):\n\n> File "a", line 1, in f\n\n',
}


@pytest.mark.sweep
@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_reading_time_is_linear(name, vocabulary):
    def seconds(size):
        text = (HOSTILE[name] * (size // len(HOSTILE[name]) + 1))[:size]
        start = time.process_time()
        read_messages(text, vocabulary)
        return time.process_time() - start

    # Eight times the text may take eight times as long; quadratic reading would take 64 times.
    # Other work of the machine may slow a measurement down, not all of them.
    def is_linear():
        return seconds(200_000) < 24 * seconds(25_000) + 0.05

    assert any(is_linear() for _ in range(5))
