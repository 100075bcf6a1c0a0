"""Sends the example service very many requests at once: ``python web_service_load.py 2000``.

Starts ``web_service`` in two processes on a free port of this machine, opens all connections at
the same time, and prints how many requests were accepted and refused, how long the accepted ones
took, and every other outcome. Ends with 1 if there was an error other than 429.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

FACTS = [
    {"kind": "package", "name": "pydantic", "version": "2.13.0b2"},
    {"kind": "package", "name": "tinker", "version": "0.16.1"},
    {"kind": "timing_summary", "operation": "forward_backward", "submit_s": 40.0, "count": 12},
]
PATIENCE_S = 60.0


class Outcome(NamedTuple):
    """The status of a request (or the name of an error), and the seconds that it took."""

    status: str
    seconds: float
    retry_after: bool = False


async def request(port: int, body: bytes = b"", method: str = "POST /diagnose") -> Outcome:
    """Send one request on a connection of its own."""
    began = time.perf_counter()
    try:
        async with asyncio.timeout(PATIENCE_S):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            head = f"{method} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            writer.write(head.encode() + body)
            answer = await reader.read()
            writer.close()
    except (OSError, TimeoutError) as error:
        return Outcome(type(error).__name__, time.perf_counter() - began)
    status = answer[9:12].decode("ascii", "replace") or "closed"
    return Outcome(status, time.perf_counter() - began, b"retry-after:" in answer.lower())


async def storm(port: int, count: int) -> list[Outcome]:
    """The outcomes of so many requests at the same time."""
    body = json.dumps(FACTS).encode()
    return await asyncio.gather(*(request(port, body) for _ in range(count)))


async def ready(port: int) -> None:
    """Wait until the service answers."""
    for _ in range(600):
        if (await request(port, method="GET /health")).status == "200":
            return
        await asyncio.sleep(0.2)
    raise SystemExit("the service did not start")


def serve(port: int, workers: int) -> subprocess.Popen[bytes]:
    """Start the service."""
    command = [sys.executable, "-m", "uvicorn", "web_service:app", "--port", str(port)]
    command += ["--workers", str(workers), "--log-level", "warning", "--backlog", "4096"]
    return subprocess.Popen(command, cwd=Path(__file__).parent)


def free_port() -> int:
    """A free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def percentile(seconds: list[float], share: float) -> float:
    """The value below which a share of the measured ones lies."""
    return sorted(seconds)[min(len(seconds) - 1, int(share * len(seconds)))]


def main() -> int:
    """Run the storm and print what came of it."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    workers = min(2, os.cpu_count() or 1)
    port = free_port()
    service = serve(port, workers)
    try:
        asyncio.run(ready(port))
        began = time.perf_counter()
        outcomes = asyncio.run(storm(port, count))
        took = time.perf_counter() - began
    finally:
        service.terminate()
        service.wait()
    counted = Counter(outcome.status for outcome in outcomes)
    accepted = [outcome.seconds for outcome in outcomes if outcome.status == "200"]
    print(f"{count} requests at once, {workers} processes, {took:.1f} s in all: {dict(counted)}")
    for share in (0.5, 0.99) if accepted else ():
        print(f"accepted, {share:.0%} within {percentile(accepted, share):.2f} s")
    return int(bool(counted.keys() - {"200", "429"}) or not accepted)


if __name__ == "__main__":
    sys.exit(main())
