"""The outcome of each answer of a service, with the real SDK: facts, and the first diagnosis."""

import contextlib
import importlib.util
import json
import socket
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tinker", reason="the smoke test uses the real SDK")

from modelmedic.facts import Location
from modelmedic.interfaces.cli.main import main
from modelmedic.probes.service import worker
from modelmedic.probes.service.probe import gather_service

_spec = importlib.util.spec_from_file_location("loopback", Path(__file__).with_name("loopback.py"))
assert _spec is not None and _spec.loader is not None
loopback: Any = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(loopback)
Service: Any = loopback.Service

pytestmark = [
    pytest.mark.heavy,
    # The SDK leaves closing its connections to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
KEY = "tml-NOT-A-REAL-KEY-0123456789"
# Far more than a call takes here, so that a busy machine does no harm.
TIMES: dict[str, Any] = {"timeout_s": 20.0, "client_s": 20.0}
# For answers that do not come.
SHORT: dict[str, Any] = {"timeout_s": 1.0, "client_s": 1.0}
SHORT_CREATION: dict[str, Any] = {"timeout_s": 20.0, "client_s": 1.5}


def here(settings, limit_s, python):
    """Run the worker in this process, which has imported the SDK already."""
    reports: list[dict[str, Any]] = []
    worker.smoke(settings, reports.append)
    return [*reports, {"step": "done"}]


def of_kind(outcome, kind):
    return [dict(fact.values) for fact in outcome.facts if fact.kind == kind]


def check(outcome, name):
    (found,) = [fact for fact in of_kind(outcome, "service_check") if fact["check"] == name]
    return found


@pytest.fixture
def first_diagnosis(compiled, monkeypatch, tmp_path, capsys):
    """The first diagnosis on the command line for the facts of an outcome."""

    monkeypatch.setenv("MODELMEDIC_CACHE", str(compiled))

    def first(outcome):
        path = tmp_path / "facts.json"
        facts = [fact.plain() for fact in outcome.facts]
        path.write_text(json.dumps({"schema": "modelmedic/facts/1", "facts": facts}))
        with contextlib.suppress(SystemExit):
            main(["--facts", str(path), "--format", "json"])
        report = json.loads(capsys.readouterr().out)
        assert not report["errors"]
        return report["diagnoses"][0]["id"]

    return first


def test_a_healthy_service(vocabulary, first_diagnosis):
    with Service() as service:
        outcome = gather_service(vocabulary, base_url=service.url, run=here, **TIMES)
    assert not outcome.problems
    assert check(outcome, "credentials") == {"check": "credentials", "ok": True}
    capabilities = check(outcome, "capabilities")
    assert capabilities["ok"] is True and 0 <= capabilities["latency_s"] < 10
    assert check(outcome, "create-training-client")["ok"] is True
    assert of_kind(outcome, "call_outcomes") == [
        {"operation": "get_server_capabilities", "attempts": 3, "failed": 0, "failed_share": 0}
    ]
    assert not of_kind(outcome, "error_message")
    assert first_diagnosis(outcome) in ("tinker.service.api-reachable", "tinker.service.healthy")


def test_the_requests_are_those_of_the_sdk_and_the_session_is_finished(vocabulary):
    with Service() as service:
        gather_service(vocabulary, base_url=service.url, trials=1, run=here, **TIMES)
    names = [operation for operation, _ in service.requests]
    assert names == ["get_server_capabilities", "create_session", "create_model",
                     "retrieve_future", "finish"]  # fmt: skip
    body = dict(service.requests)["create_model"]
    assert body["base_model"] == "Qwen/Qwen3-8B" and body["lora_config"]["rank"] == 32
    assert body["session_id"] == loopback.SESSION


STATUSES = {
    400: ("BadRequestError", "tinker.config.base-model-missing"),
    401: ("AuthenticationError", "tinker.auth.api-key-invalid"),
    402: ("BillingError", "tinker.billing.blocked"),
    403: ("PermissionDeniedError", "tinker.auth.access-denied"),
    404: ("NotFoundError", "tinker.service.resource-not-found"),
    409: ("ConflictError", "tinker.service.session-conflict"),
    422: ("UnprocessableEntityError", "tinker.config.bad-request"),
    429: ("RateLimitError", "tinker.service.rate-limited"),
    500: ("InternalServerError", "tinker.service.internal-error"),
    502: ("InternalServerError", "tinker.service.overloaded"),
    503: ("InternalServerError", "tinker.service.overloaded"),
    504: ("InternalServerError", "tinker.service.overloaded"),
}


@pytest.mark.sweep
@pytest.mark.parametrize("status", STATUSES)
def test_capabilities_refused_with_a_status(status, vocabulary, first_diagnosis):
    exception, diagnosis = STATUSES[status]
    with Service({"get_server_capabilities": status}) as service:
        outcome = gather_service(vocabulary, base_url=service.url, run=here, **TIMES)
    assert len(service.requests) == 1  # no silent retries
    assert not outcome.problems
    detail = str({"detail": loopback.DETAILS[status]})
    text = f"Error code: {status} - {detail}"
    found = check(outcome, "capabilities")
    assert 0 <= found.pop("latency_s") < 10
    assert found == {"check": "capabilities", "ok": False, "error": f"{exception}: {text}"}
    (response,) = of_kind(outcome, "http_response")
    assert 0 <= response.pop("latency_s") < 10
    assert response == {"status": status, "operation": "get_server_capabilities", "count": 1,
                        "body": detail, "owner": "tinker"}  # fmt: skip
    (message,) = of_kind(outcome, "error_message")
    assert message.pop("owner") == "tinker" and message.pop("owner_confidence") == "certain"
    assert "SDK" in message.pop("owner_evidence")
    assert message == {"text": text, "exception": exception, "module": "tinker",
                       "source": "service check", "count": 1}  # fmt: skip
    assert first_diagnosis(outcome) == diagnosis


@pytest.mark.sweep
@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 409, 422, 429, 500, 504])
def test_creation_refused_with_a_status(status, vocabulary, first_diagnosis):
    exception, diagnosis = STATUSES[status]
    with Service({"create_model": status}) as service:
        outcome = gather_service(vocabulary, base_url=service.url, run=here, **TIMES)
    assert check(outcome, "capabilities")["ok"] is True
    found = check(outcome, "create-training-client")
    assert found["ok"] is False and found["error"].startswith(f"{exception}: Error code: {status}")
    assert "timed_out" not in found
    (response,) = of_kind(outcome, "http_response")
    assert (response["status"], response["operation"]) == (status, "create_model")
    assert service.requests[-1][0] == "finish"
    assert first_diagnosis(outcome) == diagnosis


OTHER_FAULTS = {
    "drop": ("APIConnectionError: Connection error.", "tinker.service.unreachable"),
    "html": (
        "APIResponseValidationError: Expected Content-Type response header to be "
        "`application/json` but received `text/html` instead.",
        "tinker.service.unreachable",
    ),
    "wrong-json": (
        "APIResponseValidationError: Data returned by API invalid for expected schema.",
        "tinker.service.internal-error",
    ),
    "empty-400": ("BadRequestError: Error code: 400", "tinker.service.unreachable"),
}


@pytest.mark.sweep
@pytest.mark.parametrize("fault", OTHER_FAULTS)
def test_capabilities_with_a_broken_answer(fault, vocabulary, first_diagnosis):
    error, diagnosis = OTHER_FAULTS[fault]
    with Service({"get_server_capabilities": fault}) as service:
        outcome = gather_service(vocabulary, base_url=service.url, run=here, **TIMES)
    found = check(outcome, "capabilities")
    assert (found["ok"], found["error"]) == (False, error)
    assert "timed_out" not in found
    (message,) = of_kind(outcome, "error_message")
    assert f"{message['exception']}: {message['text']}" == error
    assert first_diagnosis(outcome) == diagnosis


@pytest.mark.sweep
@pytest.mark.parametrize("fault", ["drop", "html", "wrong-json"])
def test_creation_with_a_broken_answer_is_no_matter_of_capacity(fault, vocabulary, first_diagnosis):
    with Service({"create_model": fault}) as service:
        outcome = gather_service(vocabulary, base_url=service.url, run=here, **TIMES)
    found = check(outcome, "create-training-client")
    assert (found["ok"], found["error"]) == (False, OTHER_FAULTS[fault][0])
    first = {"drop": "tinker.service.overloaded", "html": "tinker.service.unreachable",
             "wrong-json": "tinker.service.internal-error"}  # fmt: skip
    assert first_diagnosis(outcome) == first[fault]


def test_capabilities_that_hang(vocabulary, first_diagnosis):
    with Service({"get_server_capabilities": "hang"}) as service:
        outcome = gather_service(vocabulary, base_url=service.url, run=here, **SHORT)
    found = check(outcome, "capabilities")
    assert 0.9 < found.pop("latency_s") < 10
    assert found == {"check": "capabilities", "ok": False, "timed_out": True,
                     "error": "TimeoutError: no answer to get_server_capabilities within 1 s",
                     }  # fmt: skip
    assert not of_kind(outcome, "error_message")  # the SDK has raised nothing
    assert first_diagnosis(outcome) == "tinker.service.unreachable"


def test_a_refused_connection(vocabulary, first_diagnosis):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        outcome = gather_service(vocabulary, base_url=url, run=here, **TIMES)
    assert check(outcome, "capabilities")["error"] == "APIConnectionError: Connection error."
    assert first_diagnosis(outcome) == "tinker.service.unreachable"


def test_a_name_that_does_not_exist(vocabulary, first_diagnosis):
    outcome = gather_service(vocabulary, base_url="http://no-such-host.invalid", run=here, **SHORT)
    assert check(outcome, "capabilities")["ok"] is False
    assert first_diagnosis(outcome) == "tinker.service.unreachable"


@pytest.mark.parametrize("url", ["not a url", "ftp://x", "http://", "http://[::1", "x" * 5000])
def test_a_base_url_that_is_none(url, vocabulary):
    assert check(gather_service(vocabulary, base_url=url, run=here, **TIMES), "capabilities")[
        "ok"
    ] is False  # fmt: skip


def test_creation_that_hangs(vocabulary, first_diagnosis):
    with Service({"create_model": "hang"}) as service:
        outcome = gather_service(vocabulary, base_url=service.url, run=here, **SHORT_CREATION)
    found = check(outcome, "create-training-client")
    assert found["timed_out"] is True and found["ok"] is False
    assert first_diagnosis(outcome) == "tinker.service.model-capacity"


NOT_READY = {"type": "try_again", "request_id": "req-1"}


@pytest.mark.sweep
@pytest.mark.parametrize("status", [200, 408])
@pytest.mark.parametrize(
    ("state", "event", "reason"),
    [
        ("paused_capacity", "capacity-wait", "Tinker backend is running short on capacity"),
        ("paused_rate_limit", "rate-limited", "concurrent training clients rate limit hit"),
    ],
)
def test_creation_that_is_queued(status, state, event, reason, vocabulary):
    answer = (status, {**NOT_READY, "queue_state": state})
    with Service({"retrieve_future": answer}) as service:
        outcome = gather_service(vocabulary, base_url=service.url, run=here, **SHORT_CREATION)
    found = check(outcome, "create-training-client")
    assert found["timed_out"] is True
    assert found["error"] == "TimeoutError: not ready within 1.5 s"
    events = {fact["event"]: fact for fact in of_kind(outcome, "log_event")}
    assert set(events) == {"queue-paused", event}
    assert f"Model creation for Qwen/Qwen3-8B is paused. Reason: {reason}" in events[event]["text"]
    assert [name for name, _ in service.requests].count("retrieve_future") > 1


def test_a_shortage_of_capacity_is_diagnosed(vocabulary, first_diagnosis):
    answer = (408, {**NOT_READY, "queue_state": "paused_capacity"})
    with Service({"retrieve_future": answer}) as service:
        outcome = gather_service(vocabulary, base_url=service.url, run=here, **SHORT_CREATION)
    assert first_diagnosis(outcome) == "tinker.service.model-capacity"


def test_the_servers_own_reason_is_kept(vocabulary):
    answer = (408, {**NOT_READY, "queue_state": "paused", "queue_state_reason": "upgrade"})
    with Service({"retrieve_future": answer}) as service:
        outcome = gather_service(vocabulary, base_url=service.url, run=here, **SHORT_CREATION)
    (event,) = of_kind(outcome, "log_event")
    assert event["text"] == "Model creation for Qwen/Qwen3-8B is paused. Reason: upgrade."


def test_a_creation_that_fails_on_the_server(vocabulary):
    answer = (200, {"error": f"no room in session {loopback.SESSION}", "category": "server"})
    with Service({"retrieve_future": answer}) as service:
        outcome = gather_service(vocabulary, base_url=service.url, run=here, **TIMES)
    (message,) = of_kind(outcome, "error_message")
    assert message["exception"] == "RequestFailedError"
    assert message["text"] == "Request failed: no room in session session-1"


def test_a_result_that_the_service_does_not_know(vocabulary, first_diagnosis):
    with Service({"retrieve_future": 404}) as service:
        outcome = gather_service(vocabulary, base_url=service.url, run=here, **TIMES)
    (response,) = of_kind(outcome, "http_response")
    assert (response["status"], response["operation"]) == (404, "retrieve_future")
    assert first_diagnosis(outcome) == "tinker.service.resource-not-found"


def test_a_session_that_is_refused(vocabulary):
    with Service({"create_session": 403}) as service:
        outcome = gather_service(vocabulary, base_url=service.url, run=here, **TIMES)
    (response,) = of_kind(outcome, "http_response")
    assert (response["status"], response["operation"]) == (403, "create_session")
    assert "finish" not in [name for name, _ in service.requests]


def test_without_a_key(vocabulary, monkeypatch, first_diagnosis):
    monkeypatch.delenv("TINKER_API_KEY")
    outcome = gather_service(vocabulary, base_url="http://127.0.0.1:9", run=here)
    assert check(outcome, "credentials")["ok"] is False
    assert "api_key client option must be set" in check(outcome, "capabilities")["error"]
    assert first_diagnosis(outcome) == "tinker.auth.api-key-missing"


def test_with_a_key_of_another_service(vocabulary, monkeypatch, first_diagnosis):
    monkeypatch.setenv("TINKER_API_KEY", "sk-0123456789")
    outcome = gather_service(vocabulary, base_url="http://127.0.0.1:9", run=here)
    error = check(outcome, "capabilities")["error"]
    assert error == "TinkerError: The api_key must start with the 'tml-' prefix"
    assert not [f for f in of_kind(outcome, "service_check") if f["check"] == "credentials"]
    assert first_diagnosis(outcome) == "tinker.auth.api-key-invalid"


def test_a_key_in_an_answer_is_cut_out(vocabulary):
    body = {"detail": f"Invalid API key {KEY} for https://me:secret@host/"}
    with Service({"get_server_capabilities": (401, body)}) as service:
        outcome = gather_service(vocabulary, base_url=service.url, run=here, **TIMES)
    said = repr([fact.plain() for fact in outcome.facts])
    assert KEY not in said and "secret" not in said
    assert said.count("Invalid API key <redacted> for https://<redacted>@host/") == 3


def test_a_model_that_the_service_does_not_list(vocabulary, first_diagnosis):
    with Service({"create_model": 400}) as service:
        outcome = gather_service(
            vocabulary, base_url=service.url, model="qwen/Qwen3_8b", run=here, **TIMES
        )
    assert of_kind(outcome, "base_model") == [
        {"name": "qwen/Qwen3_8b", "served": False, "closest": "Qwen/Qwen3-8B",
         "spelling_differs": True}
    ]  # fmt: skip
    assert dict(service.requests)["create_model"]["base_model"] == "qwen/Qwen3_8b"


def test_a_model_that_it_lists(vocabulary):
    with Service() as service:
        outcome = gather_service(
            vocabulary, base_url=service.url, model="Qwen/Qwen3-32B", run=here, **TIMES
        )
    assert of_kind(outcome, "base_model") == [{"name": "Qwen/Qwen3-32B", "served": True}]


def test_no_model_can_be_trained(vocabulary):
    with Service() as service:
        service.models = [{"model_name": "a/b", "trainable": False}]
        outcome = gather_service(vocabulary, base_url=service.url, run=here, **TIMES)
    assert [problem.code for problem in outcome.problems] == ["MM483"]
    assert check(outcome, "capabilities")["ok"] is True


def test_without_the_training_client(vocabulary):
    with Service() as service:
        outcome = gather_service(
            vocabulary, base_url=service.url, training_client=False, trials=1, run=here, **TIMES
        )
    assert len(service.requests) == 1 and not outcome.problems
    assert not of_kind(outcome, "call_outcomes")  # one call tells nothing of a share


def test_calls_that_fail_now_and_then_are_counted(vocabulary):
    class Flaky(Service):  # type: ignore[misc]
        def answer(self, handler, body):
            self.faults = {"get_server_capabilities": 503} if len(self.requests) % 2 else {}
            super().answer(handler, body)

    with Flaky() as service:
        outcome = gather_service(
            vocabulary, base_url=service.url, trials=10, training_client=False, run=here, **TIMES
        )
    (found,) = of_kind(outcome, "call_outcomes")
    assert (found["attempts"], found["failed"], found["failed_share"]) == (10, 5, 0.5)


def test_every_fact_fits_and_says_where_it_comes_from(vocabulary):
    with Service({"create_model": 500}) as service:
        outcome = gather_service(vocabulary, base_url=service.url, run=here, **TIMES)
    for fact in outcome.facts:
        assert not vocabulary.problems(fact.plain(), Location("x"))
        (seen,) = fact.provenance
        assert seen.source == "probe:service" and seen.location.startswith("service:")
