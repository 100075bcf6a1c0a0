"""The redactor: every kind of secret in every position, and nothing else."""

import json
import re
import textwrap
import traceback
from typing import Any

import pytest

from modelmedic.facts import Fact, Provenance
from modelmedic.facts.redaction import Redacted, Redactor

TOKEN = r"<secret:[A-Z_]+:[0-9a-f]{4}>"


def test_a_secret_becomes_a_token_of_its_kind(redact, secret):
    clean = redact(secret.text)
    assert secret.value not in clean.value
    shown = "~" if secret.kind == "HOME" else f"<secret:{secret.kind}:"
    assert shown in clean.value
    before, _, after = secret.text.partition(secret.value)
    assert clean.value.startswith(before) and clean.value.endswith(after)
    assert clean.counts == {secret.kind: 1}


def test_the_innocent_are_left_alone(redact, innocent):
    clean = redact(innocent)
    assert (clean.value, dict(clean.counts)) == (innocent, {})


@pytest.mark.parametrize(
    "frame",
    ["{}", "x {} y", "a\nb {}\nc", "\x1b[31m{}\x1b[0m", "→ {} ←", "'{}',", "<b>{}</b>", "[{}](x)",
     "logs/{}/x", "{}: is that a key?", "ends with {}."],
)  # fmt: skip
def test_wherever_it_stands(redact, secret, frame):
    """Secrets that show by their form; those that show by their surroundings bring these along."""
    text = frame.format(secret.text)
    assert secret.value not in redact(text).value
    assert secret.value not in redact({"key": {text: [text, ("x", text)]}}).value.__repr__()


def test_in_facts(redact, secret):
    fact = Fact.of("log_event", [Provenance("probe", secret.text)], text=secret.text, count=2)
    clean = redact((fact,))
    assert secret.value not in str([f.plain() for f in clean.value])
    assert clean.value[0].get("count") == 2


def test_in_tracebacks(redact, secret):
    try:
        raise ValueError(secret.text)
    except ValueError as error:
        text = "".join(traceback.format_exception(error))
    clean = redact(text).value
    assert secret.value not in clean
    assert clean.startswith("Traceback (most recent call last):")


def test_in_notebooks(redact, secret):
    lines = secret.text.splitlines(keepends=True)
    notebook = {"cells": [{"source": lines, "outputs": [{"text": [secret.text]}]}]}
    assert secret.value not in json.dumps(redact(notebook).value)
    assert secret.value not in redact(json.dumps(notebook, ensure_ascii=False)).value


def test_split_over_lines(redact, secret):
    """Only keys of some length can be distinguished from words that meet at the end of a line."""
    if secret.kind not in ("API_KEY", "TOKEN") or len(secret.value) < 24 or " " in secret.text[:3]:
        return
    if not secret.text.startswith("it says"):
        return
    for place in range(3, len(secret.value) - 1, 4):
        for gap in ("\n", "\r\n    ", "\\\n", "\n> "):
            split = secret.value[:place] + gap + secret.value[place:]
            clean = redact(f"it says {split} here").value
            assert secret.value[:place] not in clean or place < 4, (place, gap, clean)
            assert secret.value[place:] not in clean, (place, gap, clean)


def test_split_by_what_nobody_sees(redact, secret):
    if not secret.text.startswith("it says") or secret.kind in ("EMAIL", "PRIVATE_KEY"):
        return
    for hidden in ("\u200b", "\u00ad", "\x08", "\x1b[0m", "\U000e0041"):
        place = len(secret.value) // 2
        split = secret.value[:place] + hidden + secret.value[place:]
        clean = redact(f"it says {split} here").value
        assert secret.value[:place] not in clean and secret.value[place:] not in clean


def test_what_one_text_gives_away_is_hidden_in_all(redact):
    texts = ["DB_PASSWORD=s3cr3t/plan9", "login with s3cr3t/plan9 failed", "?p=s3cr3t%2Fplan9",
             "cut: s3cr3t/pl...", "PLAN9 stays"]  # fmt: skip
    clean = redact(texts)
    assert "s3cr3t" not in str(clean.value)
    assert clean.value[4] == "PLAN9 stays"
    tokens = {token for text in clean.value for token in re.findall(TOKEN, text)}
    assert len(tokens) == 1, "the same secret has the same token everywhere"
    assert clean.counts == {"PASSWORD": 1}


@pytest.mark.parametrize(
    "value",
    [
        {"api_key": "longvalue99"},
        {"name": "api_key", "value": "longvalue99"},
        {"headers": {"X-Api-Key": "longvalue99"}},
        Fact.of("hyperparameter", [], name="api_key", value="longvalue99"),
    ],
)
def test_structure_may_be_what_assigns(redact, value: Any):
    clean = redact([value, "again: longvalue99"])
    assert "longvalue99" not in str(clean.value)
    assert clean.counts == {"API_KEY": 1}


def test_two_secrets_as_keys_stay_two(redact, secrets):
    keys = {s.value: n for n, s in enumerate(secrets)}
    assert sorted(redact(keys).value.values()) == sorted(keys.values())


def test_tokens_depend_on_the_salt_and_the_secret():
    text = "password=first1 password=second2"

    def tokens(salt: bytes) -> str:
        return Redactor(lambda: salt).redact(text).value

    one, again, other = tokens(b"a"), tokens(b"a"), tokens(b"b")
    assert one == again != other
    assert len(set(one.split())) == 2


def test_only_a_redactor_makes_redacted_values():
    with pytest.raises(TypeError, match="only a redactor"):
        Redacted("text", {})


@pytest.mark.parametrize("value", [object(), {1: {2}}, [b"bytes"], {"x": textwrap}])
def test_what_cannot_be_looked_into_is_refused(redact, value):
    with pytest.raises(TypeError, match="cannot look for secrets"):
        redact(value)


def test_many_secrets_take_no_more_than_linear_work(redact):
    """Thousands of keys, each quoted elsewhere: done, and every one of them gone."""
    keys = ["hf" + "_" + f"{n:020d}abcDEF" for n in range(4000)]
    texts = [f"token is {key}" for key in keys] + [f"cut {key[:15]}..." for key in keys]
    clean = redact(texts)
    assert clean.counts == {"API_KEY": 4000}
    assert not any(key in text for key, text in zip(keys, clean.value, strict=False))
