"""The smoke test itself: two calls of the real SDK, each outcome said at once as a line of JSON.

Run as a script by :mod:`.probe`, in its own process so that whatever hangs can be ended, and by
the interpreter of another environment; hence only the standard library and ``tinker``, and no
relative imports. Settings come as JSON on standard input. The credential is the SDK's own matter:
it is neither read here nor said.

It uses the quick path of the SDK, ``AsyncTinker(max_retries=0)``: the public client retries in
silence for minutes and would hide the reason.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

Say = Callable[[dict[str, Any]], None]
# Small models, for a client that is created only to see whether it can be.
PREFERRED_MODELS = ("Qwen/Qwen3-8B", "Qwen/Qwen3.5-9B-Base", "meta-llama/Llama-3.2-1B")
HEARTBEAT_S = 10.0
POLL_S = 45.0
POLL_PAUSE_S = 0.5
FINISH_S = 5.0
MAX_TEXT = 4_000
MAX_MODELS = 1_000


def smoke(settings: dict[str, Any], say: Say) -> None:
    """Run the checks of ``settings`` and say what comes out: base_url, model (or ""), timeout_s
    for a call, client_s for creating the training client, trials, rank, training_client."""
    try:
        from tinker import types
        from tinker._client import AsyncTinker
    except ImportError as error:
        name = (error.name or "").partition(".")[0]
        say({"step": "missing", "name": name, "reason": _text(error)})
        return
    say({"step": "ready"})
    asyncio.run(_checks(AsyncTinker, types, settings, say))


async def _checks(client_class: Any, types: Any, settings: dict[str, Any], say: Say) -> None:
    say({"step": "start", "check": "capabilities", "operation": "get_server_capabilities"})
    start = time.perf_counter()
    try:
        client = client_class(
            base_url=settings["base_url"] or None,
            max_retries=0,
            timeout=settings["timeout_s"],
            _strict_response_validation=True,  # like the public client
        )
    except Exception as error:  # noqa: BLE001 - any refusal of the SDK is the finding
        if "api_key client option must be set" in str(error):
            say({"step": "credentials", "ok": False})
        say(_failure("capabilities", "", start, error))
        return
    say({"step": "credentials", "ok": True})
    models = await _capabilities(client, settings, say)
    if models is None or not settings["training_client"]:
        return
    model = settings["model"] or _small_model(models)
    if not model:
        say({"step": "no-model"})
        return
    await _training_client(client, types, settings, model, say)


async def _capabilities(
    client: Any, settings: dict[str, Any], say: Say
) -> list[dict[str, Any]] | None:
    """The models that the service lists; None if the first call failed."""
    operation = "get_server_capabilities"
    bound = settings["timeout_s"]
    seconds: list[float] = []
    failed = 0
    answer: Any = None
    for trial in range(max(settings["trials"], 1)):
        start = time.perf_counter()
        try:
            answer = await asyncio.wait_for(client.service.get_server_capabilities(), bound)
            seconds.append(time.perf_counter() - start)
        except Exception as error:  # noqa: BLE001 - any failure of the call is the finding
            if trial == 0:
                say(_failure("capabilities", operation, start, error, bound))
                return None
            failed += 1
    models = _models(answer)
    # The quickest call: the first one also opens the connection.
    say({"step": "check", "check": "capabilities", "ok": True, "seconds": min(seconds),
         "operation": operation, "attempts": len(seconds) + failed, "failed": failed,
         "models": [each["name"] for each in models]})  # fmt: skip
    return models


async def _training_client(
    client: Any, types: Any, settings: dict[str, Any], model: str, say: Say
) -> None:
    check = "create-training-client"
    bound = settings["client_s"]
    state = {"operation": "create_session", "session": "", "queue": "", "reason": ""}
    say({"step": "start", "check": check, "operation": "create_model", "model": model})
    start = time.perf_counter()
    try:
        await asyncio.wait_for(_create(client, types, settings["rank"], model, state), bound)
        say({"step": "check", "check": check, "ok": True, "operation": "create_model",
             "seconds": time.perf_counter() - start})  # fmt: skip
    except Exception as error:  # noqa: BLE001 - any failure of the call is the finding
        failure = _failure(check, state["operation"], start, error, bound)
        say({**failure, "queue": state["queue"], "reason": state["reason"][:MAX_TEXT]})
    if state["session"]:
        path = f"/api/v1/sessions/{state['session']}/finish"
        body = {"reason": {"type": "success"}, "detail": None}
        # A courtesy to the service: it need not keep the session until it times out.
        with contextlib.suppress(Exception):
            await asyncio.wait_for(client.post(path, body=body, cast_to=type(None)), FINISH_S)


async def _create(client: Any, types: Any, rank: int, model: str, state: dict[str, str]) -> None:
    """Open a session and wait until it has a training client."""
    from tinker._version import __version__

    request = types.CreateSessionRequest(
        tags=["modelmedic-smoke-test"], user_metadata={}, sdk_version=__version__
    )
    session = await client.service.create_session(request=request)
    state["session"] = str(session.session_id)
    alive = asyncio.create_task(_keep_alive(client, state["session"]))
    try:
        state["operation"] = "create_model"
        request = types.CreateModelRequest(
            session_id=state["session"], model_seq_id=0, base_model=model,
            lora_config=types.LoraConfig(rank=rank),
        )  # fmt: skip
        future = await client.models.create(request=request)
        state["operation"] = "retrieve_future"
        request = types.FutureRetrieveRequest(request_id=future.request_id)
        while not await _is_ready(client, request, state):
            await asyncio.sleep(POLL_PAUSE_S)
    finally:
        alive.cancel()


async def _is_ready(client: Any, request: Any, state: dict[str, str]) -> bool:
    """Request the result once. Raises if the service reports that it will not come."""
    try:
        retrieve = client.futures.with_raw_response.retrieve
        response = await retrieve(request=request, timeout=POLL_S, max_retries=0)
        answer = await response.json()
    except Exception as error:
        if getattr(error, "status_code", 0) != 408:
            raise
        answer = getattr(error, "body", None)
        answer = {"type": "try_again", **(answer if isinstance(answer, dict) else {})}
    if not isinstance(answer, dict):
        return True
    if answer.get("type") == "try_again":
        state["queue"] = str(answer.get("queue_state") or "")
        state["reason"] = str(answer.get("queue_state_reason") or "")
        return False
    if "error" in answer:
        raise RequestFailed(f"Request failed: {answer['error']}")
    return True


class RequestFailed(Exception):
    """The service reports a failed request; the SDK calls it RequestFailedError."""


async def _keep_alive(client: Any, session: str) -> None:
    """Send the heartbeats without which the service ends a session."""
    while True:
        await asyncio.sleep(HEARTBEAT_S)
        with contextlib.suppress(Exception):
            await client.service.session_heartbeat(session_id=session, max_retries=0)


def _models(answer: Any) -> list[dict[str, Any]]:
    found = []
    for each in (getattr(answer, "supported_models", None) or ())[:MAX_MODELS]:
        name = getattr(each, "model_name", None)
        if isinstance(name, str) and name:
            trainable = getattr(each, "trainable", None) is not False
            found.append({"name": name[:200], "trainable": trainable})
    return found


def _small_model(models: list[dict[str, Any]]) -> str:
    names = [each["name"] for each in models if each["trainable"]]
    return next((name for name in PREFERRED_MODELS if name in names), names[0] if names else "")


def _failure(
    check: str, operation: str, start: float, error: Exception, bound: float = 0.0
) -> dict[str, Any]:
    """The report on a check that failed with ``error``."""
    name = type(error).__name__
    waited = isinstance(error, asyncio.TimeoutError)
    text = _text(error)
    if waited and not text:
        what = "not ready" if operation == "retrieve_future" else f"no answer to {operation}"
        text = f"{what} within {bound:g} s"
    renamed = {"RequestFailed": "RequestFailedError"}
    status = getattr(error, "status_code", None)
    return {
        "step": "check", "check": check, "ok": False, "seconds": time.perf_counter() - start,
        "timed_out": waited or name == "APITimeoutError", "operation": operation,
        "exception": renamed.get(name, name),
        "module": "tinker" if name in renamed else type(error).__module__, "text": text,
        "status": status if isinstance(status, int) and status >= 400 else 0, "body": _body(error),
    }  # fmt: skip


def _text(error: BaseException) -> str:
    return str(error)[:MAX_TEXT]


def _body(error: Exception) -> str:
    """The body of the answer that ``error`` carries, as the SDK shows it; "" if none."""
    body = getattr(error, "body", None)
    return "" if body is None else str(body)[:500]


def _main() -> None:
    # Nothing else that prints may get between the lines.
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    sys.stdout = sys.stderr

    def say(report: dict[str, Any]) -> None:
        out.write(json.dumps(report) + "\n")
        out.flush()

    smoke(json.loads(sys.stdin.read()), say)
    say({"step": "done"})
    # Threads that still wait for a name or a connection must not hold up the end.
    os._exit(0)


if __name__ == "__main__":
    _main()
