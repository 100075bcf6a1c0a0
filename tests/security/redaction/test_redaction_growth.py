"""The redactor takes time in proportion to a text, whatever fills it."""

import gc
import time

import pytest

from modelmedic.facts import ModelMedicError
from modelmedic.facts.redaction import Redactor
from modelmedic.facts.strict_yaml import load

REDACTOR = Redactor(lambda: b"salt", homes=["/srv/alice"], hosts=["gpu-17"])
KEY = "hf_aB3dE5gH7jK9mN1pQ3sT5vW7"
SIZE, TIMES, MOST = 20_000, 5, 15
"""Characters; five times as many may take at most so many times as long (25 would be quadratic)."""


def numbered(number: int) -> str:
    """Another key for each number."""
    return f"{KEY}{number:06}"


FILLINGS = {
    "hosts": lambda n: "gpu-17 ",
    "internal hosts": lambda n: f"node-{n}.corp.internal ",
    "homes": lambda n: "/srv/alice/x ",
    "addresses": lambda n: f"a{n}@example.com ",
    "keys": lambda n: f"{numbered(n)} ",
    "one key, cut short": lambda n: f"{KEY} " if not n else f"{KEY[:12]}... ",
    "dots": lambda n: f"{KEY} " if not n else "...",
    "tokens of an earlier redaction": lambda n: f"<secret:API_KEY:{n % 0x10000:04x}> {KEY} ",
    "keys across lines": lambda n: f"at {numbered(n)[:12]}\n{numbered(n)[12:]} x ",
    "lines of a width": lambda n: f"{n:039}\n",
    "names": lambda n: "api_key=",
    "values": lambda n: f"api_key_{n}='v{n}a8B2c9X' ",
    "escapes": lambda n: "%70%61\\n",
    "base64": lambda n: "cGFzc3dvcmQ9aHVudGVyMng=\n",
    "one run": lambda n: "cGFz",
    "one word": lambda n: "tml-",
    "brackets": lambda n: "[{'",
}


@pytest.mark.sweep
@pytest.mark.parametrize("filling", FILLINGS)
def test_the_time_grows_with_the_text(filling):
    small, large = text_of(filling, SIZE), text_of(filling, SIZE * TIMES)
    REDACTOR.redact(small)
    assert seconds(large, 1) <= MOST * max(seconds(small, 3), 0.004)


def text_of(filling, size):
    parts, length, number = [], 0, 0
    while length < size:
        parts.append(FILLINGS[filling](number))
        length += len(parts[-1])
        number += 1
    return "".join(parts)


def seconds(text, times):
    """Of the processor; the least of some. What other tests have left is not collected here: with
    a large heap that takes seconds."""
    spent = []
    gc.disable()
    try:
        for _ in range(times):
            begin = time.process_time()
            REDACTOR.redact(text)
            spent.append(time.process_time() - begin)
    finally:
        gc.enable()
    return min(spent)


def test_brackets_that_never_close():
    """The scanner of YAML looks at every open bracket for each token."""
    begin = time.process_time()
    with pytest.raises(ModelMedicError):
        load("a: " + "[" * 200_000, "x.yaml")
    assert time.process_time() - begin < 5
