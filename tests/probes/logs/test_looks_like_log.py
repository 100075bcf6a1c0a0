"""The files that are taken for logs."""

import gzip
import json
from pathlib import Path

import pytest

from modelmedic.probes.logs.recognition import looks_like_logs

ROOT = Path(__file__).resolve().parents[3]


def test_the_samples_are_logs(data):
    for path in sorted((data / "logs").iterdir()):
        assert looks_like_logs(path, path.read_bytes()[:65_536]), path.name


@pytest.mark.parametrize(
    "text",
    [
        "INFO:a.b:x\n" * 5,
        "2026-01-02 03:04:05,678 - a - INFO - x\nsome text\n" * 5,
        "03:04:05 x\n03:04:06 y\n",
        '{"level": "info", "msg": "x"}\n' * 3,
        'starting\nTraceback (most recent call last):\n  File "a.py", line 1\nKeyError: 1\n',
        "ERROR: one line\n",
    ],
)
def test_logs(text):
    assert looks_like_logs(Path("x"), text.encode())
    assert looks_like_logs(Path("x"), gzip.compress(text.encode()))
    assert looks_like_logs(Path("x"), text.encode("utf-16"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "torch==2.13.0\nnumpy==2.4\n",
        "import sys\nprint('x')\n",
        "import sys\n\ndef f():\n    '''\nTraceback (most recent call last):\n    '''\n",
        json.dumps({"step": 1, "train_mean_nll": 0.3}) + "\n" + json.dumps({"step": 2}) + "\n",
        json.dumps({"messages": [{"role": "user", "content": "error"}]}) + "\n",
        "name,value\na,1\n",
        "# A text\n\nThe error was found.\n",
        'Process 12: python\nThread 12 (idle): "MainThread"\n    f (a.py:1)\n',
        "diff --git a/x b/x\n--- a/x\n+++ b/x\n",
    ],
)
def test_other_texts(text):
    assert not looks_like_logs(Path("train.log"), text.encode())


@pytest.mark.parametrize("head", [b"\0\1\2", b"\x1f\x8bxx", b"BZhxx", b"\x89PNG\r\n", b"\x80\x02"])
def test_binary_files(head):
    assert not looks_like_logs(Path("train.log"), head)


def test_our_own_sources_are_none():
    for folder in ("probes", "facts", "docs"):
        for path in sorted((ROOT / folder).rglob("*.*")):
            if path.suffix in (".py", ".yaml", ".md", ".json"):
                assert not looks_like_logs(path, path.read_bytes()[:65_536]), path


def test_a_line_cut_at_the_end_of_the_head_is_not_judged():
    head = ("INFO:a.b:x\n" * 7000).encode()[:65_536]
    assert looks_like_logs(Path("x"), head)
