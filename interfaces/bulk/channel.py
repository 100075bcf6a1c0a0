"""Pickled values over a pipe, each behind its length: half a value is never taken for one."""

from __future__ import annotations

import pickle
from typing import Any, BinaryIO

_SIZE = 8


def send(stream: BinaryIO, value: Any) -> None:
    """Write one value. Raises OSError if the reader is gone."""
    data = pickle.dumps(value, 5)
    stream.write(len(data).to_bytes(_SIZE, "big"))
    stream.write(data)
    stream.flush()


def receive(stream: BinaryIO) -> Any:
    """The next value. Raises EOFError where the writer ended before it was whole."""
    data = _exactly(stream, int.from_bytes(_exactly(stream, _SIZE), "big"))
    return pickle.loads(data)  # noqa: S301 - of a process of this job


def _exactly(stream: BinaryIO, count: int) -> bytes:
    data = stream.read(count)
    if len(data) < count:
        raise EOFError
    return data
