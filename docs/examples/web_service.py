"""A web service that diagnoses facts: ``uvicorn web_service:app --workers 2``.

Needs ``pip install modelmedic fastapi uvicorn``. It takes in no more requests than it can answer in
time; the others get 429 at once, with the seconds after which to try again. ``/openapi.json``
describes it, ``/health`` reports whether it is ready and how full it is.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from pydantic import BaseModel

from modelmedic.engine import Diagnoser, Report
from modelmedic.facts import ModelMedicError
from modelmedic.facts.fact_file import parse_facts
from modelmedic.interfaces.cli.aio import AsyncDiagnoser

MAX_WAITING = 32
"""Requests that are taken in at the same time, the ones that are being answered included."""
MAX_BYTES = 1_000_000

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class Found(BaseModel):
    """A diagnosis."""

    id: str
    title: str
    severity: str
    confidence: str
    summary: str


class Answer(BaseModel):
    """The diagnoses of the facts, and the next steps."""

    status: str
    diagnoses: list[Found]
    next: list[str]


class Health(BaseModel):
    """Whether the service is ready, and how full it is."""

    ready: bool
    waiting: int
    most: int
    refused: int
    knowledge: str


class Gate:
    """Lets so many requests in at the same time and refuses the others before they cost anything.
    What is not a diagnosis, such as ``/health``, always passes."""

    def __init__(self, app: Callable[[Scope, Receive, Send], Awaitable[None]]) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != "/diagnose":
            await self._app(scope, receive, send)
        elif load.waiting >= MAX_WAITING:
            load.refused += 1
            await _refuse(send, load.seconds())
        else:
            load.waiting += 1
            began = time.perf_counter()
            try:
                await self._app(scope, receive, send)
            finally:
                load.waiting -= 1
                load.took += 0.1 * (time.perf_counter() - began - load.took)


class Load:
    """How full the service is, and how long requests take, on average."""

    def __init__(self) -> None:
        self.waiting = 0
        self.refused = 0
        self.took = 0.0

    def seconds(self) -> int:
        """After how many seconds there should be room again."""
        return max(1, math.ceil(self.took))


async def _refuse(send: Send, seconds: int) -> None:
    body = json.dumps({"detail": f"too many requests at once; try again in {seconds} s"}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"retry-after", str(seconds).encode()),
    ]
    await send({"type": "http.response.start", "status": 429, "headers": headers})
    await send({"type": "http.response.body", "body": body})


load = Load()
doctors: dict[str, AsyncDiagnoser] = {}


@asynccontextmanager
async def lifespan(_: FastAPI) -> Any:
    """Load the knowledge once, and diagnose once, before the first request."""
    # One thread: more of them would only take turns. Another process takes another core. And the
    # thread gives way soon, or each call of the network would wait for it.
    sys.setswitchinterval(0.0005)
    async with AsyncDiagnoser(Diagnoser.load(), threads=1) as doctor:
        await doctor.diagnose([])
        doctors["main"] = doctor
        yield
        doctors.clear()


app = FastAPI(title="ModelMedic", lifespan=lifespan)
app.add_middleware(Gate)
FACTS = {"type": "array", "items": {"type": "object", "required": ["kind"]}}
TAKES = {"requestBody": {"required": True, "content": {"application/json": {"schema": FACTS}}}}
ALSO: dict[int | str, dict[str, Any]] = {
    413: {"description": "More facts than the service takes."},
    422: {"description": "Facts that break the vocabulary; says which, and what would be right."},
    429: {"description": "Too many requests at once; Retry-After says when to try again."},
}


@app.post("/diagnose", openapi_extra=TAKES, responses=ALSO)
async def diagnose(request: Request) -> Answer:
    """The diagnoses for a list of facts, the most important first."""
    doctor = doctors["main"]
    text = (await _body(request)).decode("utf-8", "replace")
    try:
        facts = parse_facts(text, "request", doctor.doctor.base.vocabulary)
    except ModelMedicError as error:
        raise HTTPException(422, [str(problem) for problem in error.problems]) from None
    return _answer(await doctor.diagnose(facts))


@app.get("/health")
async def health() -> Health:
    """Whether the service is ready, and how full it is."""
    doctor = doctors.get("main")
    digest = doctor.doctor.base.digest if doctor else ""
    return Health(
        ready=doctor is not None,
        waiting=load.waiting,
        most=MAX_WAITING,
        refused=load.refused,
        knowledge=digest,
    )


async def _body(request: Request) -> bytes:
    """The body, as far as it is of a reasonable size."""
    parts = bytearray()
    async for part in request.stream():
        parts += part
        if len(parts) > MAX_BYTES:
            raise HTTPException(413, f"more than {MAX_BYTES:,} bytes")
    return bytes(parts)


def _answer(report: Report) -> Answer:
    found = [
        Found(
            id=d.id,
            title=d.title,
            severity=d.severity,
            confidence=d.confidence,
            summary=d.summary,
        )
        for d in report.diagnoses
    ]
    steps = [step.text for step in report.next[:3]]
    return Answer(status=report.status, diagnoses=found, next=steps)
