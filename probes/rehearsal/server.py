"""The HTTP side of the stand-in: on the loopback only, below a path that only its caller knows."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol

_MOST_BYTES = 256_000_000  # of a request
JSON, PROTO = "application/json", "application/x-protobuf"


class Reply(Exception):
    """An answer with a status other than 200."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail


class Answers(Protocol):
    """Whoever answers requests."""

    def answer(
        self, verb: str, path: str, raw: bytes, headers: Mapping[str, str]
    ) -> tuple[str, bytes]:
        """The kind and the bytes of the answer to a request; the names of its headers are in lower
        case. Raises :class:`Reply`."""
        ...


class Server:
    """A running server; a context manager."""

    def __init__(self, answers: Answers) -> None:
        secret = secrets.token_urlsafe(16)
        self._server = ThreadingHTTPServer(
            ("127.0.0.1", 0), _handler(answers, f"/{secret}/api/v1/")
        )
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/{secret}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), daemon=True
        )

    def __enter__(self) -> Server:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def _handler(answers: Answers, prefix: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        timeout = 600

        def log_message(self, format: str, *args: object) -> None:
            pass

        def handle_one_request(self) -> None:
            try:
                super().handle_one_request()
            except (ConnectionError, TimeoutError):  # the job has ended
                self.close_connection = True

        def _take(self) -> None:
            size = int(self.headers.get("content-length") or 0)
            if size > _MOST_BYTES or not self.path.startswith(prefix):
                self.close_connection = True
                self._send(413 if size > _MOST_BYTES else 404, JSON, b"{}")
                return
            raw, path = self.rfile.read(size), self.path.removeprefix(prefix)
            headers = {name.lower(): value for name, value in self.headers.items()}
            try:
                kind, body = answers.answer(self.command, path, raw, headers)
            except Reply as reply:
                self._send(reply.status, JSON, json.dumps({"detail": reply.detail}).encode())
            except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
                said = {"detail": f"the stand-in cannot read this request: {error!r}"}
                self._send(422, JSON, json.dumps(said).encode())
            else:
                self._send(200, kind, body)

        def _send(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = _take

    return Handler


def plain(value: Any) -> tuple[str, bytes]:
    """An answer in JSON."""
    return JSON, json.dumps(value).encode()
