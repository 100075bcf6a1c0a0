"""Smoke run of a network in a process of its own, before anything relies on it.

A network that durable-rules cannot carry may hang it in C, with the interpreter lock held, so that
neither a signal nor a thread can end it. A new form of network is therefore tried here first, in a
subprocess with a timeout, as `tests/engine/test_durable_hazards.py` does; a run of `diagnose` tries
none and relies on the limits of `network_definition`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence

from .durable_engine import load_engine
from .durable_network import DurableNetwork
from .mark_network import MAX_PORTS, Mark, NetworkError, Shape, ShapeError
from .network_definition import compile_shapes

_CHILD = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    "from importlib import import_module; import_module(sys.argv[2]).smoke_main()"
)
_PASSED = "passed"


def verify_shapes(shapes: Sequence[Shape], timeout: float) -> None:
    """Compile and fire every shape in a subprocess, for at most `timeout` seconds.

    Raises `ShapeError` if the shapes are malformed, over a limit, or crash, hang or misfire there;
    `NetworkUnavailable` if the engine cannot be imported; `NetworkError` if this interpreter knows
    no executable to run.
    """
    compile_shapes(shapes)
    load_engine()
    if not sys.executable:
        raise NetworkError("cannot verify shapes: sys.executable is not set")
    command = [sys.executable, "-c", _CHILD, json.dumps(sys.path), __name__]
    try:
        done = subprocess.run(
            command,
            input=json.dumps(shapes),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ShapeError(f"the network hangs durable-rules: no end in {timeout} s") from None
    if done.returncode != 0 or done.stdout.strip() != _PASSED:
        detail = done.stderr.strip().rpartition("\n")[2] or done.stdout.strip()
        raise ShapeError(f"the network fails in durable-rules (exit {done.returncode}): {detail}")


def smoke_main() -> None:
    """Entry point of the subprocess: read the shapes from stdin, run them, print the verdict."""
    raw = json.load(sys.stdin)
    shapes = [Shape(p, n, tuple(tuple(join) for join in joins)) for p, n, joins in raw]
    smoke_run(shapes)
    print(_PASSED)


def smoke_run(shapes: Sequence[Shape]) -> None:
    """Fire every shape once, and once not because of a negated mark. Raises `NetworkError`."""
    network = DurableNetwork(shapes, debug=True)
    free, blocked = [], []
    for index, shape in enumerate(shapes):
        negated = range(shape.positives, shape.positives + shape.negatives)
        positive = [_mark(index, slot, key=1) for slot in range(shape.positives)]
        free += [_mark(index, slot, key=2) for slot in negated] + positive
        if negated:
            blocked += [_mark(index, slot, key=1) for slot in negated] + positive
    for marks, expected in ((free, list(range(len(shapes)))), (blocked, [])):
        with network.session() as session:
            session.feed(marks)
            fired = sorted(activation.shape for activation in session.activations())
        if fired != expected:
            raise NetworkError(f"the shapes {expected} should fire once each, {fired} did")
    network.close()


def _mark(shape: int, slot: int, key: int) -> Mark:
    return Mark(shape, slot, (key,) * MAX_PORTS)
