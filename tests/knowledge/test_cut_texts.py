"""Texts with an end missing, or with everything missing but a status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from modelmedic.engine import Diagnoser
from modelmedic.engine.diagnosis.report import Report
from modelmedic.probes.messages.probe import read_messages

WRAPPED = Path(__file__).resolve().parents[1] / "probes" / "wrappings" / "messages.jsonl"
CUT_AT = 70


@pytest.fixture(scope="module")
def doctor() -> Diagnoser:
    return Diagnoser.load()


def decoded(doctor: Diagnoser, text: str) -> Report:
    read = read_messages(text, doctor.base.vocabulary)
    return doctor.diagnose(read.facts, read.problems, plan=False)


def rows(report: Report) -> set[str]:
    return {message.row for message in report.messages}


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("AssertionError: At least one of train_mlp, train_attn, or train_unembe",
         "tinker.err.config-no-trainable-modules"),
        ("tinker.TinkerError: The api_key client option must be set by passing a...",
         "tinker.err.auth-key-missing"),
    ],
)  # fmt: skip
def test_the_one_row_that_begins_like_it_answers_without_a_conclusion(
    text: str, row: str, doctor: Diagnoser
) -> None:
    report = decoded(doctor, text)
    assert (rows(report), report.diagnoses, report.status) == ({row}, (), "unknown")
    (message,) = report.messages
    assert message.decides is not None and message.decides.causes


@pytest.mark.parametrize(
    "text",
    [
        "Model creation for Qwen/Qwen3-8B is paused. Reaso",  # several rows begin like this
        "transformers 5.3.0 has a kno",  # too short for an unknown owner
        "openai.OpenAIError: At least one of train_mlp, train_attn, or train_unembe",
        "[GIL monitor] slept 2.01s instead of 2.0s (jitter: 0.01s)",  # whole, and in order
    ],
)
def test_a_beginning_of_several_or_of_others_stays_unknown(text: str, doctor: Diagnoser) -> None:
    assert not rows(decoded(doctor, text))


def test_cut_messages_are_mostly_recognised(doctor: Diagnoser) -> None:
    known = cut = 0
    for line in WRAPPED.read_text(encoding="utf-8").splitlines():
        each = json.loads(line)
        text = f"{each['exception']}: {each['text']}" if each["exception"] else each["text"]
        if len(text) > CUT_AT and rows(decoded(doctor, text)):
            cut += 1
            known += bool(rows(decoded(doctor, text[:CUT_AT])))
    assert cut >= 80
    assert known / cut >= 0.7


@pytest.mark.parametrize(
    ("text", "diagnosis"),
    [
        ("tinker.BadRequestError: 400", "tinker.config.bad-request"),
        ("tinker.AuthenticationError: 401", "tinker.auth.api-key-invalid"),
        ("tinker.BillingError: 402", "tinker.billing.blocked"),
        ("tinker.PermissionDeniedError: 403", "tinker.auth.access-denied"),
        ("tinker.NotFoundError: 404", "tinker.service.resource-not-found"),
        ("tinker.APIStatusError: 408", "tinker.service.overloaded"),
        ("tinker.ConflictError: 409", "tinker.service.session-conflict"),
        ("tinker.APIStatusError: 410", "tinker.service.session-expired"),
        ("tinker.APIStatusError: 413", "tinker.service.opaque-error"),
        ("tinker.UnprocessableEntityError: 422", "tinker.config.bad-request"),
        ("tinker.RateLimitError: 429", "tinker.service.rate-limited"),
        ("tinker._exceptions.RateLimitError: 429 Too Many Requests", "tinker.service.rate-limited"),
        ("tinker.InternalServerError: 500", "tinker.service.internal-error"),
        ("tinker.InternalServerError: 503", "tinker.service.overloaded"),
        ("tinker.RateLimitError", "tinker.service.rate-limited"),
    ],
)
def test_a_class_with_only_a_status_tells_of_that_answer(
    text: str, diagnosis: str, doctor: Diagnoser
) -> None:
    assert decoded(doctor, text).diagnoses[0].id == diagnosis


def test_a_status_behind_a_class_of_nobody_is_possible_at_most(doctor: Diagnoser) -> None:
    (found,) = decoded(doctor, "RateLimitError: 429").diagnoses
    assert found.confidence == "possible"


@pytest.mark.parametrize("text", ["KeyError: 404", "openai.RateLimitError: 429", "RateLimitError"])
def test_keys_and_statuses_of_others_say_nothing(text: str, doctor: Diagnoser) -> None:
    assert not decoded(doctor, text).diagnoses
