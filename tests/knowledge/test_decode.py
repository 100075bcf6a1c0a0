"""Decoding: real error texts get a right diagnosis first, texts of other domains get none.

``decode/cases.jsonl`` holds texts with ``acceptable`` diagnoses, which were judged from what the
messages mean and not from the tool's answers; ``unknown`` accepts that nothing is concluded.
``origin`` is ``collected`` (texts gathered from the packages), ``provoked`` (raised by the
installed packages as a user would raise them) or ``wording`` (pasted as users paste: within logs,
JSON, wrapped lines).
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from modelmedic.engine import Diagnoser
from modelmedic.engine.compiler.build import Built
from modelmedic.engine.diagnosis.report import Report

Decode = Callable[[str], Report]
DECODE = Path(__file__).parent / "decode"
UNRELATED = [json.loads(line) for line in (DECODE / "unrelated.jsonl").read_text().splitlines()]
WANTED_SHARE = 0.9


def _first(report: Report) -> str:
    return report.diagnoses[0].id if report.diagnoses else "unknown"


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


@pytest.fixture(scope="module")
def judged(decode: Decode, decode_cases: list[dict[str, Any]]) -> list[tuple[Any, str, bool]]:
    found = []
    for case in decode_cases:
        first = _first(decode(case["message"]))
        found.append((case, first, first in case["acceptable"]))
    return found


def test_the_corpus_is_large_and_well_formed(
    doctor: Diagnoser, decode_cases: list[dict[str, Any]]
) -> None:
    origins = Counter(case["origin"] for case in decode_cases)
    assert origins["collected"] >= 80
    assert origins["provoked"] + origins["wording"] >= 25
    assert len({case["id"] for case in decode_cases}) == len(decode_cases)
    known = {*doctor.base.catalogue["diagnoses"], "unknown"}
    for case in decode_cases:
        assert case["acceptable"] and known.issuperset(case["acceptable"]), case["id"]
    assert len({each["id"] for each in UNRELATED}) == len(UNRELATED) >= 60


@pytest.mark.parametrize("origin", ["collected", "provoked", "wording"])
def test_an_acceptable_diagnosis_comes_first(
    judged: list[tuple[Any, str, bool]], origin: str, capsys: pytest.CaptureFixture[str]
) -> None:
    of_origin = [each for each in judged if each[0]["origin"] == origin]
    wrong = [(case["id"], first) for case, first, right in of_origin if not right]
    share = 1 - len(wrong) / len(of_origin)
    with capsys.disabled():
        print(f"\n  decode, {origin}: {len(of_origin) - len(wrong)} of {len(of_origin)} right")
    assert share >= WANTED_SHARE, wrong


def test_texts_that_no_table_quotes_do_as_well(
    judged: list[tuple[Any, str, bool]], built: Built
) -> None:
    """Rows must recognise what a message means, not repeat their samples."""
    quoted = [_squeezed(s) for item in built.source.of("error") for s in item.entry.samples]
    unseen = [
        each
        for each in judged
        if not any(_alike(_squeezed(each[0]["message"]), sample) for sample in quoted)
    ]
    wrong = [(case["id"], first) for case, first, right in unseen if not right]
    assert len(unseen) >= 25
    assert len(wrong) <= (1 - WANTED_SHARE) * len(unseen), wrong


def _alike(text: str, sample: str) -> bool:
    short, long = sorted((text, sample), key=len)
    return short == long or (len(short) > 25 and short in long)


@pytest.mark.parametrize("each", UNRELATED, ids=lambda each: str(each["id"]))
def test_an_unrelated_text_gets_no_diagnosis(decode: Decode, each: dict[str, Any]) -> None:
    report = decode(each["text"])
    assert [d.id for d in report.diagnoses] == []
    warns = all(str(f.get("exception")).endswith("Warning") for _, f, _ in report.facts
                if f.kind == "error_message")  # fmt: skip
    assert report.status == ("clear" if warns else "unknown")


@pytest.mark.parametrize(
    ("foreign", "ours"),
    [
        ("openai.RateLimitError: Error code: 429 - {'error': 'x'}",
         "tinker.RateLimitError: Error code: 429 - {'detail': 'x'}"),
        ("selenium.common.exceptions.InvalidSessionIdException: Message: invalid session id",
         "tinker.PermissionDeniedError: Error code: 403 - {'detail': 'Invalid session_id'}"),
    ],
)  # fmt: skip
def test_the_package_of_an_exception_decides(decode: Decode, foreign: str, ours: str) -> None:
    """If a text names the package its exception comes from, others' errors are left alone, also
    beside one of ours."""
    assert not decode(foreign).diagnoses
    assert decode(ours).diagnoses
    both = decode(f"{foreign}\n\n{ours}")
    assert [d.id for d in both.diagnoses] == [d.id for d in decode(ours).diagnoses]


def _command(root: Path, text: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(root / ".typing")}
    program = "from modelmedic.interfaces.cli.main import main; main()"
    return subprocess.run(
        [sys.executable, "-c", program, "decode", "-", "--format", "json"],
        input=text, capture_output=True, text=True, env=environment, check=False, timeout=60,
    )  # fmt: skip


def test_the_command_decodes_standard_input(root: Path, decode_cases: list[dict[str, Any]]) -> None:
    case = next(case for case in decode_cases if case["id"] == "own-no-key")
    found = _command(root, case["message"])
    report = json.loads(found.stdout)
    assert report["diagnoses"][0]["id"] in case["acceptable"]
    assert (found.returncode, found.stderr) == (1, "")


def test_the_command_says_that_nothing_is_known(root: Path) -> None:
    found = _command(root, "KeyError: 'foo'")
    report = json.loads(found.stdout)
    assert (found.returncode, report["status"], report["diagnoses"]) == (4, "unknown", [])
