"""The wire: JSON-RPC messages, one a line, on standard input and output.

Every request is answered, malformed ones with an error; what is pending when the input ends is
finished first. The MCP library answers neither what it cannot parse nor what is pending then.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, NamedTuple

import anyio
import mcp_types as types

MAX_LINE = 16_000_000
LAST_ANSWERS_S = 600.0
"""How long pending calls may take after the end of the input."""
PARSE_ERROR, INVALID_REQUEST = -32700, -32600
_CHUNK = 1 << 16

Id = str | int | None


class Refusal(NamedTuple):
    """The reason why a line is not a message; ``id`` is the id of the request, if known."""

    code: int
    message: str
    id: Id = None

    def line(self) -> bytes:
        error = {"code": self.code, "message": self.message}
        return json.dumps({"jsonrpc": "2.0", "id": self.id, "error": error}).encode() + b"\n"


class Wire:
    """Both directions, in the form in which the library takes files: read with ``async for``,
    written with ``write`` and ``flush``."""

    def __init__(self, source: BinaryIO, target: BinaryIO) -> None:
        self._source, self._target = source, target
        self._pending: set[str] = set()
        self._settled = anyio.Event()

    async def __aiter__(self) -> AsyncIterator[str]:
        while line := await anyio.to_thread.run_sync(self._line, abandon_on_cancel=True):
            if not line.strip():
                continue
            found = read(line, self._pending)
            if isinstance(found, Refusal):
                await self._put(found.line())
            else:
                self._note(found)
                yield line.decode()
        with anyio.move_on_after(LAST_ANSWERS_S):
            while self._pending:
                self._settled = anyio.Event()
                await self._settled.wait()

    async def write(self, text: str) -> None:
        """Send a message of the server."""
        message = json.loads(text)
        await self._put(text.encode())
        if "method" not in message:
            self._settle(message.get("id"))

    async def flush(self) -> None:
        """Nothing: each message is sent at once."""

    def _note(self, message: dict[str, Any]) -> None:
        if "method" in message and "id" in message:
            self._pending.add(str(message["id"]))
        elif message.get("method") == "notifications/cancelled":
            self._settle((message.get("params") or {}).get("requestId"))

    def _settle(self, answered: Any) -> None:
        self._pending.discard(str(answered))  # to the library, 5 and "5" are the same id
        self._settled.set()

    async def _put(self, data: bytes) -> None:
        def put() -> None:
            self._target.write(data)
            self._target.flush()

        await anyio.to_thread.run_sync(put)

    def _line(self) -> bytes:
        """The next line; of one that is too long, as much as shows that. Empty at the end."""
        line = self._source.readline(MAX_LINE + 1)
        rest = line
        while len(line) > MAX_LINE and rest and not rest.endswith(b"\n"):
            rest = self._source.readline(_CHUNK)
        return line


def read(line: bytes, pending: Collection[str]) -> dict[str, Any] | Refusal:
    """The message in a line, or the reason why it is not a message. Nothing of the line is
    quoted."""
    if len(line) > MAX_LINE:
        return Refusal(INVALID_REQUEST, f"a message has at most {MAX_LINE:,} bytes")
    try:
        message = json.loads(line.decode("utf-8"), parse_constant=_no_number)
    except RecursionError:
        return Refusal(PARSE_ERROR, "the message is nested too deep")
    except ValueError:
        return Refusal(PARSE_ERROR, "the message is not JSON in UTF-8")
    if isinstance(message, list):
        return Refusal(INVALID_REQUEST, "batches are not supported: send each message by itself")
    if not isinstance(message, dict):
        return Refusal(INVALID_REQUEST, "a message is a JSON object")
    return _checked(message, line, pending)


def _checked(
    message: dict[str, Any], line: bytes, pending: Collection[str]
) -> dict[str, Any] | Refusal:
    known = message.get("id") if "method" in message else None
    if isinstance(known, bool) or not isinstance(known, str | int | None):
        return Refusal(INVALID_REQUEST, "an id is a text or a whole number")
    if isinstance(known, str) and not _is_text(known):
        return Refusal(INVALID_REQUEST, "an id holds half a character (a lone surrogate)")
    if "method" in message and "id" in message and known is None:
        return Refusal(INVALID_REQUEST, "a request has an id that is not null")
    try:
        types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except Exception:  # noqa: BLE001 - whatever it is, the client is told
        if not _is_text(json.dumps(message, ensure_ascii=False)):
            return Refusal(PARSE_ERROR, "a text holds half a character (a lone surrogate)", known)
        return Refusal(INVALID_REQUEST, "this is not a message of JSON-RPC 2.0", known)
    if known is not None and str(known) in pending:
        return Refusal(INVALID_REQUEST, "a call with this id is still pending", known)
    return message


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


@contextmanager
def standard_streams() -> Iterator[Wire]:
    """The wire on standard input and output, which meanwhile lead nowhere and to standard error:
    what else a probe may print does not get between the messages."""
    source, target = (os.dup(stream.fileno()) for stream in (sys.stdin, sys.stdout))
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.close(nowhere)
    os.dup2(2, 1)
    # Not closed: a thread may still wait for a line.
    yield Wire(os.fdopen(source, "rb", closefd=False), os.fdopen(target, "wb", closefd=False))
