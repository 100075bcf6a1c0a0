"""A small Tinker-like server on 127.0.0.1 that answers as it is told to.

``Service(faults)`` maps an operation, such as ``create_model``, to what becomes of its requests:
a status, or ``hang``, ``drop``, ``html``, ``wrong-json``, ``empty-400``, or a (status, body) pair.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SESSION = "00000000-5e55-0000-0000-000000000001"
DETAILS = {
    400: "base_model is required",
    401: "Invalid API key",
    402: "Access blocked due to billing status",
    403: "You do not have access to this model",
    404: "Not Found",
    409: "Conflict",
    422: "rank: value is not a valid integer",
    429: "Too Many Requests",
    500: "Internal Server Error",
    502: "Bad Gateway",
    503: "Service Unavailable",
    504: "Gateway Timeout",
}
MODELS = ["Qwen/Qwen3-8B", "Qwen/Qwen3-32B", "meta-llama/Llama-3.2-1B"]
Fault = int | str | tuple[int, Any]


class Service:
    """The server as a context manager; ``url`` is its base URL, ``requests`` what it was asked."""

    def __init__(self, faults: Mapping[str, Fault] | None = None) -> None:
        self.faults = dict(faults or {})
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.models: list[dict[str, Any]] = [{"model_name": name} for name in MODELS]
        self.closing = threading.Event()
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                service.answer(self, {})

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                service.answer(self, json.loads(body or b"{}"))

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Service:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()

    def answer(self, handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        operation = handler.path.partition("/api/v1/")[2].partition("?")[0]
        operation = "finish" if operation.endswith("/finish") else operation
        self.requests.append((operation, body))
        fault = self.faults.get(operation)
        if fault is None:
            _send(handler, 200, self._good(operation))
        elif fault == "hang":
            self.closing.wait(30)
        elif fault == "drop":
            handler.close_connection = True
            handler.connection.shutdown(socket.SHUT_RDWR)
        elif fault == "html":
            _send(handler, 200, "<html><body>Sign in</body></html>", "text/html")
        elif fault == "wrong-json":
            _send(handler, 200, {"unexpected": [1]})
        elif fault == "empty-400":
            _send(handler, 400, "", "text/plain")
        elif isinstance(fault, tuple):
            _send(handler, *fault)
        elif isinstance(fault, int):
            _send(handler, fault, {"detail": DETAILS[fault]})

    def _good(self, operation: str) -> dict[str, Any]:
        answers: dict[str, dict[str, Any]] = {
            "get_server_capabilities": {"supported_models": self.models},
            "create_session": {"session_id": SESSION},
            "create_model": {"request_id": "req-1"},
            "retrieve_future": {"model_id": f"{SESSION}:train:0", "type": "create_model"},
        }
        return answers.get(operation, {})


def _send(
    handler: BaseHTTPRequestHandler, status: int, body: Any, kind: str = "application/json"
) -> None:
    raw = (body if isinstance(body, str) else json.dumps(body)).encode()
    handler.send_response(status)
    handler.send_header("content-type", kind)
    handler.send_header("content-length", str(len(raw)))
    handler.end_headers()
    handler.wfile.write(raw)
