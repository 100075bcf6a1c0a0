"""Ordinary texts stay as they are. The corpora: our documentation and knowledge, the sample logs
and data of the tests, the reference of the Python language, and much of its standard library,
comments and code, which mentions keys, tokens and passwords all the time."""

import importlib
import inspect
import re
from collections import Counter

import pytest

from modelmedic.facts.redaction import Redactor
from modelmedic.facts.strict_yaml import load

REDACTOR = Redactor(lambda: b"salt", homes=["/srv/alice"], hosts=["node-7"])
MODULES = (
    "argparse", "asyncio.events", "collections", "concurrent.futures._base", "configparser", "csv",
    "decimal", "difflib", "doctest", "email.message", "functools", "hashlib", "hmac", "http.client",
    "http.cookies", "imaplib", "json.decoder", "logging", "multiprocessing.pool", "netrc",
    "optparse", "pathlib", "pickle", "random", "re", "secrets", "smtplib", "socket", "ssl",
    "statistics", "subprocess", "tarfile", "threading", "tokenize", "typing", "unittest.case",
    "urllib.parse", "urllib.request", "uuid", "xml.etree.ElementTree", "zipfile",
)  # fmt: skip
# What a text that is rightly changed holds: addresses of authors, home folders and a host in
# samples, the values of cookies, and the password in an example of urllib.
REAL = {
    "EMAIL": re.compile(r"[\w.+-]+@[\w-]+\.[\w.]+"),
    "HOME": re.compile(r"/(?:home|Users)/\w+|/root\b"),
    "HOST": re.compile(r"\bip-\d+-\d+-\d+-\d+"),
    "TOKEN": re.compile(r"(?:C\.load|Cookie: )"),
    "PASSWORD": re.compile(r"geheim\$parole"),
}


def texts_in(value):
    if isinstance(value, str):
        yield value
    if isinstance(value, dict):  # learned weights are never shown
        value = {key: part for key, part in value.items() if key != "weights"}
    parts = (*value, *value.values()) if isinstance(value, dict) else value
    for part in parts if isinstance(value, dict | list) else ():
        yield from texts_in(part)


def paragraphs(text):
    return text.split("\n\n")


@pytest.fixture
def corpora(root):
    topics = importlib.import_module("pydoc_data.topics").topics
    known = [
        path
        for name in ("knowledge", "facts/vocabulary", "probes")
        for path in (root / name).rglob("*.yaml")
    ]
    samples = [p for p in (root / "tests/probes/data").rglob("*") if p.is_file()]
    sources = [inspect.getsource(importlib.import_module(name)) for name in MODULES]
    return {
        "language reference": [p for text in topics.values() for p in paragraphs(text)],
        "documentation": [p for path in (*root.glob("*.md"), *root.glob("docs/*.md"))
                          for p in paragraphs(path.read_text("utf-8"))],
        "knowledge": sorted({t for path in known
                             for t in texts_in(load(path.read_text("utf-8"), path.name).data)}),
        "samples": [line for path in samples if path.stat().st_size < 300_000
                    for line in path.read_text("utf-8", "replace").splitlines()],
        "standard library": [p for text in sources for p in paragraphs(text)],
    }  # fmt: skip


@pytest.mark.slow
def test_prose_logs_and_code_stay_as_they_are(corpora, capsys):
    said, wrong = [], []
    for name, texts in corpora.items():
        changed: Counter[str] = Counter()
        for text in texts:
            counts = REDACTOR.redact(text).counts
            changed.update(counts)
            unreal = [kind for kind in counts if kind not in REAL or not REAL[kind].search(text)]
            if unreal:
                wrong.append((name, unreal, text[:200]))
        size = sum(map(len, texts))
        said.append(f"{name}: {len(texts):,} texts, {size:,} characters, changed {dict(changed)}")
    with capsys.disabled():
        print("", *said, f"false redactions: {len(wrong)}", sep="\n")
    assert sum(len(text) for texts in corpora.values() for text in texts) > 3_000_000
    assert wrong == []
