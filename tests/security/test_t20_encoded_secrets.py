"""Threat T20 of SECURITY.md: a secret that is written in another way passes for something else."""

import base64
import json

import pytest

# In its parts, so that no scanner takes this file for a leak.
KEY = "tml" + "-Zk8Qw2Lp9Xv4Rt7Yb1Nc6Md3"
PASSWORD = "hunter2" + "xyzQ9"
PLAIN = f"Authorization: Bearer {KEY}"
WAYS = {
    "base64": lambda t: base64.b64encode(t.encode()).decode(),
    "base64 at an offset": lambda t: base64.b64encode(b"{ " + t.encode()).decode().rstrip("="),
    "base64 twice": lambda t: base64.b64encode(base64.b64encode(t.encode())).decode(),
    "base64 of UTF-16": lambda t: base64.b64encode(t.encode("utf-16-le")).decode(),
    "base64 over lines": lambda t: base64.encodebytes(b"x" * 60 + b" " + t.encode()).decode(),
    "hex": lambda t: t.encode().hex(),
    "percent": lambda t: "".join(f"%{b:02x}" for b in t.encode()),
    "JSON escapes": lambda t: "".join(f"\\u{ord(c):04x}" for c in t),
    "shell escapes": lambda t: "$'" + "".join(f"\\x{b:02x}" for b in t.encode()) + "'",
    "a line of a shell that goes on": lambda t: t[:30] + "\\\n" + t[30:],
}


@pytest.fixture(scope="module")
def texts():
    return {name: write(text) for name, write in WAYS.items()
            for text in (PLAIN, f"DB_PASSWORD={PASSWORD}") if len(text) > 30 or "shell" not in name}  # fmt: skip


@pytest.mark.parametrize(
    "format_", ["text", "json", "markdown", "html", "sarif", "junit", "github"]
)
def test_t20_encoded_secrets(diagnose, facts_file, texts, format_):
    facts = facts_file(
        *({"kind": "error_message", "text": f"Error code: 401 {text}", "exception": "X",
           "provenance": {"location": "job.log:3"}} for text in texts.values())
    )  # fmt: skip
    said = diagnose("--facts", facts, "-v", "-f", format_)
    assert said.code in (0, 1, 4), said.err
    shown = "".join((said.out + said.err).split())
    for name, text in texts.items():
        for form in (text, json.dumps(text)[1:-1]):
            assert "".join(form.split())[4:-4] not in shown, name


def test_t20_encoded_secrets_in_what_is_kept(diagnose, texts, tmp_path):
    log, saved = tmp_path / "job.log", tmp_path / "facts.json"
    log.write_text("".join(f"ERROR tinker.AuthenticationError: 401 {t}\n" for t in texts.values()))
    said = diagnose("inspect", log, "--save-facts", saved)
    for name in ("base64", "hex", "percent", "JSON escapes"):
        assert texts[name] not in saved.read_text() + said.out + said.err


def test_t20_what_decodes_to_nothing_is_left_alone(diagnose, facts_file):
    """A picture and a hash are not secrets because they look random."""
    picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
    facts = facts_file({"kind": "error_message", "text": f"Error: {picture} {digest}"})
    said = diagnose("--facts", facts, "-f", "json").json
    assert "redacted" not in said or not said["redacted"]
