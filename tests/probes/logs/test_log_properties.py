"""Properties of every log: how it is cut into files changes nothing, and nothing breaks."""

import gzip
import tempfile
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modelmedic.facts import Location
from modelmedic.probes.logs import files as log_files
from modelmedic.probes.logs import tally as log_tally
from modelmedic.probes.logs.probe import gather_logs
from modelmedic.probes.logs.recognition import looks_like_logs

LINES = [
    "2026-01-02 03:04:05,000 - a.b - INFO - fine",
    "2026-01-02 03:09:05,000 - a.b - WARNING - slow",
    "2026-01-02 09:04:05,000 - a.b - ERROR - failed with 3",
    "[t=1.0s] tinker.lib.x:1 [WARNING] Session heartbeat failed for 120.5 seconds for session s1",
    "Your connection may be unreliable or Tinker is down.",
    "Traceback (most recent call last):",
    '  File "a.py", line 3, in f',
    "    raise ValueError('error')",
    "ValueError: bad",
    "KeyError",
    "KeyboardInterrupt",
    "",
    "  error in a table",
    "The above exception was the direct cause of the following exception:",
    "  + Exception Group Traceback (most recent call last):",
    "  | ExceptionGroup: two (2)",
    "  +-+---------------- 1 ----------------",
    "    | TypeError: y",
    "    +------------------------------------",
    "[rank0]: Traceback (most recent call last):",
    "[rank0]: ValueError: z",
    "KeyError      Traceback (most recent call last)",
    "╭── Traceback (most recent call last) ──╮",
    "╰──╯",
    '{"level": "error", "message": "m", "status": 503}',
    "{",
    "}",
    "step 3 loss 0.5",
    'INFO:httpx:HTTP Request: POST https://x/api/v1/optim_step "HTTP/1.1 429 Too Many Requests"',
    "Error: Billing issue",
    "a.py:1: FutureWarning: w",
    "\x1b[31mERROR:a:b\x1b[0m",
    "50%|#\r60%|##\rfailed",
    "\r",
    "\ufeffx",
]
# A NUL makes the file that holds it no text, so where the log is cut would matter.
texts = st.text(st.characters(exclude_characters="\0"), max_size=12)
logs = st.lists(st.one_of(st.sampled_from(LINES), texts), max_size=40).map(
    lambda lines: [line.replace("\n", " ") + "\n" for line in lines]
)


def write(folder, parts):
    """The parts of a log as rotated files, every other one packed."""
    last = len(parts) - 1
    for at, part in enumerate(parts):
        raw = "".join(part).encode("utf-8", "replace")
        if at == last:
            (folder / "a.log").write_bytes(raw)
        elif at % 2:
            (folder / f"a.log.{last - at}.gz").write_bytes(gzip.compress(raw, 1))
        else:
            (folder / f"a.log.{last - at}").write_bytes(raw)


def facts(parts, vocabulary):
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), parts)
        outcome = gather_logs(Path(folder, "a.log"), vocabulary)
    return outcome.facts, [problem.code for problem in outcome.problems]


@given(lines=logs, cuts=st.lists(st.integers(0, 40), max_size=4))
def test_rotating_a_log_changes_nothing(lines, cuts, vocabulary):
    borders = [0, *sorted(min(cut, len(lines)) for cut in cuts), len(lines)]
    parts = [lines[a:b] for a, b in pairwise(borders)]
    assert facts(parts, vocabulary) == facts([lines], vocabulary)


@pytest.mark.slow
@settings(max_examples=60)
@given(data=st.data())
def test_rotating_a_long_log_changes_nothing(data, vocabulary):
    """The same where the log does not fit into the window that slides over it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_files, "CHUNK", 700)
        patch.setattr(log_tally, "BACK", 500)
        patch.setattr(log_tally, "AHEAD", 900)
        patch.setattr(log_tally, "TAIL", 400)
        patch.setattr(log_tally, "BUDGETS", (6, 6, 6))
        lines = data.draw(st.lists(st.sampled_from(LINES), min_size=60, max_size=200))
        lines = [line + "\n" for line in lines]
        cut = data.draw(st.integers(0, len(lines)))
        assert facts([lines[:cut], lines[cut:]], vocabulary) == facts([lines], vocabulary)


@given(
    raw=st.one_of(st.binary(), logs.map(lambda lines: "".join(lines).encode("utf-8", "replace")))
)
def test_any_bytes_give_facts_that_fit_the_vocabulary(raw, vocabulary):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.log")
        path.write_bytes(raw)
        looks_like_logs(path, raw)
        outcome = gather_logs(path, vocabulary, silence_s=1.0)
    for fact in outcome.facts:
        assert not vocabulary.problems(fact.plain(), Location("x"))
    assert all(problem.code[:4] in ("MM49", "MM41") for problem in outcome.problems)


@given(
    raw=st.binary(max_size=300), magic=st.sampled_from([b"\x1f\x8b\x08", b"BZh9", b"\xfd7zXZ\x00"])
)
def test_any_packed_bytes_are_survived(raw, magic, vocabulary):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.log")
        path.write_bytes(magic + raw)
        looks_like_logs(path, magic + raw)
        gather_logs(path, vocabulary)
