"""Laws of the redactor, and the corpus of ordinary texts that it must leave alone."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelmedic.facts.redaction import Redactor
from modelmedic.facts.redaction.search import secret_spans, suspicious
from modelmedic.facts.strict_yaml import load

REDACTOR = Redactor(lambda: b"salt", homes=["/srv/alice"], hosts=["node-7"])
PIECES = st.sampled_from(
    ["tml-", "hf_", "AKIA", "sk-", "ghp_", "eyJ", "xoxb-", "password", "api_key", "token",
     "--token ", "Bearer ", "=", ": ", "'", '"', "\\", "@", "://", "/home/", "a1B2c3D4e5F6g7H8",
     "word", " ",
     "\n", "...", ".local", "node-7", "/srv/alice", "\u200b", "\x1b[0m", "-----BEGIN PRIVATE KEY",
     "curl -u a:", "wandb login ", "0123456789abcdef0123456789abcdef01234567", "ip-10-0-0-1", "é",
     "<secret:API_KEY:0000>", "\ud800", ".com", "x"]
)  # fmt: skip
TEXTS = st.lists(PIECES | st.text(max_size=6), max_size=12).map("".join)


@given(TEXTS)
def test_what_is_clean_stays_as_it_is(text):
    once = REDACTOR.redact(text)
    twice = REDACTOR.redact(once.value)
    assert twice.value == once.value
    assert not twice.counts


@given(TEXTS)
def test_the_quick_look_misses_nothing(text):
    if not suspicious(text):
        plain = text.encode("utf-8", "replace").decode()
        assert secret_spans(plain) == []


@given(st.lists(TEXTS, max_size=5), st.integers(0, 4))
def test_a_value_keeps_its_shape(texts, number):
    value = {"list": texts, "number": number, "pair": (True, None), "float": 0.5}
    clean = REDACTOR.redact(value).value
    assert clean.keys() == value.keys()
    assert len(clean["list"]) == len(texts)
    assert [clean["number"], clean["pair"], clean["float"]] == [number, (True, None), 0.5]


def texts_in(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, part in value.items():
            yield from (*texts_in(name), *texts_in(part))
    elif isinstance(value, list):
        for part in value:
            yield from texts_in(part)


@pytest.fixture(scope="module")
def knowledge_texts(root):
    found = []
    for folder in ("knowledge", "facts/vocabulary", "probes"):
        for path in sorted((root / folder).rglob("*.yaml")):
            if path.name == "weights.yaml":
                continue  # learned letters, which are never shown and any word may precede
            found += texts_in(load(path.read_text(encoding="utf-8"), path.name).data)
    return found


@pytest.mark.slow
def test_the_texts_of_the_knowledge_are_left_alone(knowledge_texts, capsys):
    changed: Counter[str] = Counter()
    for text in knowledge_texts:
        clean = REDACTOR.redact(text)
        changed.update(clean.counts.keys())
    size = sum(map(len, knowledge_texts))
    with capsys.disabled():
        print(f"\n{len(knowledge_texts)} texts, {size} characters, changed: {dict(changed)}")
    assert len(knowledge_texts) > 10_000
    assert not changed.keys() - {"HOME"}, "nothing but home folders in sample messages"
    assert changed["HOME"] <= 20


@pytest.mark.slow
def test_documentation_and_logs_are_left_alone(root, capsys):
    paths = [*root.glob("*.md"), *root.glob("docs/*.md"),
             *(p for p in (root / "tests/probes/data").rglob("*") if p.is_file())]  # fmt: skip
    lines = []
    for path in paths:
        if path.stat().st_size < 300_000:
            lines += path.read_text(encoding="utf-8", errors="replace").splitlines()
    changed = [line for line in lines if REDACTOR.redact(line).value != line]
    with capsys.disabled():
        print(f"\n{len(lines)} lines, changed: {len(changed)}")
    assert len(lines) > 5_000
    assert len(changed) <= len(lines) / 1000, changed[:20]
