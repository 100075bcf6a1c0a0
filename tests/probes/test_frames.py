"""Tracebacks keep their frames, whatever style they are printed in."""

import json

import pytest

from modelmedic.probes.messages.scan import scan
from modelmedic.reading.text.plain_text import plain_text
from modelmedic.reading.text.traceback_lines import MAX_INNER, MAX_OUTER

PLAIN = """Traceback (most recent call last):
  File "train.py", line 9, in <module>
    main()
  File "/x/site-packages/p/client.py", line 31, in send
    raise ValueError("no")
ValueError: no
"""
NOTEBOOK = """---------------------------------------------------------------------
ValueError                                Traceback (most recent call last)
Cell In[3], line 9
----> 9 main()

File /x/site-packages/p/client.py:31, in send(self, a)
---> 31 raise ValueError("no")

ValueError: no
"""
BOXED = """╭──────────── Traceback (most recent call last) ────────────╮
│ train.py:9 in <module>                                    │
│ ❱ 9 main()                                                │
│ /x/site-packages/p/client.py:31 in send                   │
│ ❱ 31     raise ValueError("no")                           │
╰───────────────────────────────────────────────────────────╯
ValueError: no
"""
LOGURU = """2026-01-02 03:04:05.678 | ERROR    | __main__:main:9 - failed
Traceback (most recent call last):

  File "train.py", line 9, in <module>
    main()
    └ <function main at 0x7f>

> File "/x/site-packages/p/client.py", line 31, in send
    raise ValueError("no")

ValueError: no
"""
LABELLED = "Reason: Error\nMessage: " + PLAIN.replace("\n", "\n    ").rstrip() + "\n"
MIXED = "".join(f"[rank0]: {line}\n[rank1]: {line}\n" for line in PLAIN.splitlines())
SENT = ("/x/site-packages/p/client.py", 31, "send")


def frames_of(text):
    found = [each for each in scan(plain_text(text, 100_000).lines) if each.frames]
    assert len(found) == 1
    return found[0].frames


@pytest.mark.parametrize(
    ("text", "outermost"),
    [
        (PLAIN, ("train.py", 9, "<module>")),
        ("".join(f"[rank3]: {line}\n" for line in PLAIN.splitlines()),
         ("train.py", 9, "<module>")),
        (NOTEBOOK, ("Cell In[3]", 9, "")),
        (BOXED, ("train.py", 9, "<module>")),
        (json.dumps({"level": "error", "message": "failed", "exc_info": PLAIN}),
         ("train.py", 9, "<module>")),
        (PLAIN.partition("\n")[2], ("train.py", 9, "<module>")),
        (LOGURU, ("train.py", 9, "<module>")),
        (LABELLED, ("train.py", 9, "<module>")),
        (PLAIN.replace("\n", "\\n"), ("train.py", 9, "<module>")),
        (json.dumps({"log": PLAIN, "stream": "stderr"}), ("train.py", 9, "<module>")),
        ("".join(json.dumps({"log": f"{line}\n"}) + "\n" for line in PLAIN.splitlines()),
         ("train.py", 9, "<module>")),
    ],
    ids=["plain", "with prefixes", "notebook", "box", "json", "no header", "loguru", "labelled",
         "escaped", "container", "a record for each line"],
)  # fmt: skip
def test_frames_are_kept_outermost_first(text, outermost):
    assert [tuple(frame) for frame in frames_of(text)] == [outermost, SENT]


def test_processes_that_write_at_the_same_time_are_told_apart():
    found = [each for each in scan(plain_text(MIXED, 100_000).lines) if each.frames]
    assert [tuple(each.frames[-1]) for each in found] == [SENT, SENT]
    assert {each.text for each in found} == {"no"}


def test_of_many_frames_the_first_and_the_last_are_kept():
    deep = "".join(f'  File "a.py", line {n}, in f\n' for n in range(1, 1001))
    frames = frames_of(f"Traceback (most recent call last):\n{deep}RecursionError: too deep\n")
    assert [frame.line for frame in frames] == [
        *range(1, MAX_OUTER + 1),
        *range(1001 - MAX_INNER, 1001),
    ]
