"""Errors that count as explained: a diagnosis rests on them, or they report the same."""

from __future__ import annotations

from typing import Any

import pytest

from modelmedic.engine import Diagnoser
from modelmedic.engine.diagnosis.report import Report
from modelmedic.facts import Fact, Provenance

AUTH = "Error code: 401 - {'detail': 'Invalid API key'}"


def _error(doctor: Diagnoser, place: str = "", probe: str = "messages", **values: Any) -> Fact:
    made = doctor.base.vocabulary.fact("error_message", **values)
    return Fact(made.kind, made.values, (Provenance(f"probe:{probe}", place),))


def _texts(report: Report) -> list[str]:
    return [error.text for error in report.unexplained]


def test_the_first_cause_explains_its_consequences(doctor: Diagnoser) -> None:
    def chain(at: int, text: str) -> list[Fact]:
        cause = _error(doctor, f"run.log:{at}", chain="cause", text=text,
                       exception="AuthenticationError", module="tinker")  # fmt: skip
        final = _error(doctor, f"run.log:{at + 9}", chain="final", exception="RuntimeError",
                       text=f"training failed at {at}")  # fmt: skip
        return [cause, final]

    first, second = chain(10, AUTH), chain(50, "the sky fell")
    assert not doctor.diagnose(first).unexplained
    left = _texts(doctor.diagnose([*first, *second]))
    assert left == [
        "RuntimeError: training failed at 50",
        "tinker.AuthenticationError: the sky fell",
    ]


@pytest.mark.parametrize(
    ("values", "counts"),
    [
        ({"level": "ERROR"}, True),
        ({"level": "CRITICAL"}, True),
        ({"level": "WARNING"}, False),
        ({"level": "INFO"}, False),
        ({}, True),
        ({"source": "log"}, False),
        ({"source": "log", "exception": "ValueError"}, True),
        ({"exception": "FutureWarning"}, False),
        ({"source": "traceback", "exception": "ValueError", "chain": "final"}, True),
    ],
)
def test_what_counts_as_an_error(doctor: Diagnoser, values: dict[str, str], counts: bool) -> None:
    report = doctor.diagnose([_error(doctor, text="the sky fell", **values)])
    assert bool(report.unexplained) == counts
    assert report.status == ("unknown" if counts else "clear")


def test_a_loose_line_of_a_log_is_no_error(doctor: Diagnoser) -> None:
    """Logs hold many lines with the word error that mean no harm."""
    loose = {"text": "eval error 0.02", "source": "pasted"}
    assert not doctor.diagnose([_error(doctor, "run.log:3", "logs", **loose)]).unexplained
    assert doctor.diagnose([_error(doctor, "pasted:3", **loose)]).unexplained


def test_what_stands_in_one_line_is_one_error(doctor: Diagnoser) -> None:
    whole = _error(doctor, "a.log:4", level="ERROR", text="judge failed: ValueError: no colour")
    inner = _error(doctor, "a.log:4", level="ERROR", exception="ValueError", text="no colour")
    assert _texts(doctor.diagnose([whole, inner])) == ["judge failed: ValueError: no colour"]


def test_refused_requests_count_and_retried_ones_do_not(doctor: Diagnoser) -> None:
    def answered(status: int) -> Report:
        fact = doctor.base.vocabulary.fact("http_response", status=status, operation="elsewhere")
        return doctor.diagnose([fact])

    assert answered(418).status == "unknown"
    assert answered(503).status == answered(200).status == "clear"


def test_the_owner_is_told(doctor: Diagnoser) -> None:
    kinds = doctor.base.vocabulary.kinds["error_message"].attributes
    if "owner" not in kinds:
        pytest.skip("messages have no owner yet")
    owner = {"owner": "openai", "owner_confidence": "certain", "owner_evidence": "module openai"}
    (error,) = doctor.diagnose([_error(doctor, text="the sky fell", **owner)]).unexplained
    assert (error.owner, error.owner_confidence, error.owner_evidence) == tuple(owner.values())
