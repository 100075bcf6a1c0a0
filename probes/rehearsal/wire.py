"""Reads and writes the protobuf messages of the SDK, so that a stand-in needs no package.

Field numbers are those of the SDK's ``tinker_public.proto``. Lists of numbers come as bytes.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

_FORMS = {0: "f", 1: "f", 2: "q", 3: "i"}  # by the number of the type of a tensor
_BFLOAT16 = 4
_MOST_VALUES = 4_000_000  # of one tensor


class Example(NamedTuple):
    """A training example: its input tokens (-1 for each token of an image), and its loss inputs."""

    tokens: tuple[int, ...]
    inputs: dict[str, tuple[float, ...]]


class Batch(NamedTuple):
    """A request of ``forward_backward`` or ``forward``."""

    model: str
    loss: str
    examples: tuple[Example, ...]
    forward_only: bool


def read_batch(raw: bytes) -> Batch:
    """A request from its bytes. Raises ValueError if they are no such message."""
    found: dict[int, list[Any]] = {}
    for number, value in _fields(raw):
        found.setdefault(number, []).append(value)
    examples = tuple(_example(each) for each in found.get(3, ()))
    text = [bytes(found.get(n, [b""])[-1]).decode("utf-8", "replace") for n in (1, 4)]
    return Batch(text[0], text[1], examples, bool(found.get(6, [0])[-1]))


def _example(raw: bytes) -> Example:
    tokens: list[int] = []
    inputs: dict[str, tuple[float, ...]] = {}
    for number, value in _fields(raw):
        if number == 1:
            tokens.extend(_chunk(value))
        elif number == 2:
            entry = dict(_fields(value))
            inputs[bytes(entry.get(1, b"")).decode("utf-8", "replace")] = _tensor(entry.get(2, b""))
    return Example(tuple(tokens), inputs)


def _chunk(raw: bytes) -> Sequence[int]:
    for number, value in _fields(raw):
        if number == 1:
            return _numbers("i", dict(_fields(value)).get(1, b""))
        if number == 2:
            return [-1] * min(int(dict(_fields(value)).get(3, 0)), _MOST_VALUES)
    return []


def _tensor(raw: bytes) -> tuple[float, ...]:
    fields = list(_fields(raw))
    kept = dict(fields)
    form = int(kept.get(3, 0))
    if 2 in kept:
        return _sparse(dict(_fields(kept[2])), form, [n for k, n in fields if k == 4])
    return tuple(_values(kept.get(1, b""), form))


def _sparse(csr: dict[int, Any], form: int, shape: list[Any]) -> tuple[float, ...]:
    sizes = [
        size for each in shape for size in (_packed(each) if isinstance(each, bytes) else [each])
    ]
    rows, width = [*sizes, 1, 1][:2]
    if rows * width > _MOST_VALUES:
        raise ValueError("a sparse tensor is too large")
    dense = [0.0] * (rows * width)
    values, columns = _values(csr.get(1, b""), form), _numbers("q", csr.get(3, b""))
    starts = _numbers("q", csr.get(2, b""))
    for row, (begin, end) in enumerate(pairwise(starts)):
        for place in range(begin, end):
            dense[row * width + columns[place]] = values[place]
    return tuple(dense)


def _values(raw: bytes, form: int) -> Sequence[float]:
    if form == _BFLOAT16:
        raw = b"".join(b"\0\0" + raw[n : n + 2] for n in range(0, len(raw), 2))
    return _numbers(_FORMS.get(form, "f"), raw)


def _numbers(form: str, raw: bytes) -> Sequence[Any]:
    values = array(form)
    values.frombytes(raw[: len(raw) - len(raw) % values.itemsize])
    return values


def _fields(raw: bytes) -> Iterator[tuple[int, Any]]:
    """(number, value) of the fields of a message: an integer, or bytes."""
    place, end = 0, len(raw)
    while place < end:
        key, place = _varint(raw, place)
        kind = key & 7
        if kind == 0:
            value, place = _varint(raw, place)
            yield key >> 3, value
            continue
        if kind == 2:
            size, place = _varint(raw, place)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
        else:
            raise ValueError("this is not a message of the SDK")
        if place + size > end:
            raise ValueError("the message is cut off")
        yield key >> 3, raw[place : place + size]
        place += size


def _packed(raw: bytes) -> list[int]:
    found, place = [], 0
    while place < len(raw):
        value, place = _varint(raw, place)
        found.append(value)
    return found


def _varint(raw: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 70:
        if place >= len(raw):
            raise ValueError("the message is cut off")
        byte = raw[place]
        place += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, place
        shift += 7
    raise ValueError("this is not a message of the SDK")


def trained(logprobs: Sequence[Sequence[float]], metrics: dict[str, float]) -> bytes:
    """A ``ForwardBackwardOutput`` with the log-probabilities of each example."""
    ends, flat = [0], array("f")
    for each in logprobs:
        flat.extend(each)
        ends.append(4 * len(flat))
    tensor = _bytes(1, flat.tobytes()) + _bytes(2, array("q", ends).tobytes()) + _number(3, 1)
    field = _bytes(1, b"logprobs") + _bytes(2, tensor)
    record = _bytes(1, b"ArrayRecord") + _bytes(2, field) + _number(3, len(logprobs))
    said = b"".join(
        _bytes(3, _bytes(1, name.encode()) + b"\x11" + struct.pack("<d", value))
        for name, value in metrics.items()
    )
    return _bytes(1, b"ArrayRecord") + _bytes(2, record) + said


class Answer(NamedTuple):
    """A sampled sequence; ``stopped`` is False if it reached its length limit."""

    tokens: tuple[int, ...]
    logprobs: tuple[float, ...]
    stopped: bool


def sampled(answers: Sequence[Answer], prompt: Sequence[float], extra: bytes = b"") -> bytes:
    """A ``SampleResponse``; ``prompt`` are the log-probabilities of the prompt, if asked for."""
    said = b"".join(_bytes(1, _sequence(each)) for each in answers)
    return said + (_bytes(2, array("f", prompt).tobytes()) if prompt else b"") + extra


def _sequence(answer: Answer) -> bytes:
    tokens, logprobs = array("i", answer.tokens), array("f", answer.logprobs)
    reason = _number(1, 0 if answer.stopped else 1)
    return reason + _bytes(2, tokens.tobytes()) + _bytes(3, logprobs.tobytes())


def topk(ids: Sequence[int], logprobs: Sequence[float], width: int, field: int) -> bytes:
    """The likeliest tokens of each position, as field ``field`` of its message."""
    inner = _bytes(1, array("i", ids).tobytes()) + _bytes(2, array("f", logprobs).tobytes())
    return _bytes(field, inner + _number(3, width) + _number(4, len(ids) // max(width, 1)))


def _bytes(number: int, value: bytes) -> bytes:
    return _count(number << 3 | 2) + _count(len(value)) + value


def _number(number: int, value: int) -> bytes:
    return _count(number << 3) + _count(value)


def _count(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)
