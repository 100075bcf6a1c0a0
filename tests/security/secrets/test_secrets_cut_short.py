"""Texts are cut to fit a line. A redactor would not know a secret that the cut halves."""

import asyncio
import json
import sys

import pytest

from modelmedic.interfaces.reports.formats import FORMATS

pytestmark = pytest.mark.deep
LIMITS = (40, 60, 80, 120, 200, 300, 400, 500)


@pytest.fixture(scope="module")
def texts(planted):
    """Texts in which the n-th character is in the middle of a secret."""
    return [
        "Error code: 401 - ".ljust(max(18, limit - len(s.text) + len(s.value) // 2), "x")
        + f" {s.text} and more " + "y" * 40
        for limit in LIMITS for s in planted(f"cut-{limit}")
    ]  # fmt: skip


@pytest.fixture(scope="module")
def uncut(clean, planted):
    secrets = tuple(s for limit in LIMITS for s in planted(f"cut-{limit}"))
    return clean._replace(secrets=secrets)


@pytest.fixture(scope="module")
def facts(texts):
    return [
        fact
        for text in texts
        for fact in (
            {"kind": "error_message", "text": text, "provenance": {"location": f"{text}:3"}},
            {"kind": "log_event", "event": "heartbeat-failed", "text": text, "count": 3},
            {"kind": "http_response", "status": 401, "body": text},
        )
    ]


@pytest.mark.parametrize("format_", FORMATS)
def test_reports(program, uncut, facts, format_, tmp_path):
    path = tmp_path / "facts.json"
    path.write_text(json.dumps({"schema": "modelmedic/facts/1", "facts": facts}))
    done = program("--facts", path, "-v", "-f", format_)
    assert done.returncode in (0, 1, 4), done.stderr
    uncut(done.stdout, done.stderr)


def test_one_at_a_time(said, uncut, texts):
    """No other text of the answer holds the whole."""
    for number, text in enumerate(texts):
        format_ = list(FORMATS)[number % len(FORMATS)]
        uncut(said("decode", text, "-f", format_), said("explain", text, "-f", format_))
        uncut(said("whatif", "--set", f"package name={text!r}"), said("--facts", text))


def test_bad_input(said, uncut, texts, tmp_path):
    path = tmp_path / "facts.json"
    for text in texts:
        path.write_text(json.dumps([{"kind": text}, {"kind": "package", text: text, "name": [text]},
                                    {"kind": "symptom", "name": text}]))  # fmt: skip
        uncut(said("--facts", path), said("--facts", path, "-f", "json"))


def test_consultations(said, uncut, texts, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for text in texts[::2]:  # 19 kinds, so that each has its turn
        line = text.replace("\n", "\\n")
        answers = tmp_path / "answers.txt"
        answers.write_text(f"tinker.AuthenticationError: {line}\n{line}\nfacts\nwhy\nquit\n")
        uncut(said("--answers", answers))
    uncut(*(p.read_text() for p in tmp_path.rglob("*.json")))


def test_agents(uncut, texts, environment):
    mcp = pytest.importorskip("mcp")
    server = mcp.StdioServerParameters(
        command=sys.executable, args=["-P", "-m", "modelmedic.interfaces.cli.main", "mcp"],
        env=environment,
    )  # fmt: skip

    async def talk():
        async with mcp.Client(server, read_timeout_seconds=90) as client:
            return [
                str(await client.call_tool(name, given))
                for text in texts
                for name, given in (
                    ("diagnose", {"facts": [{"kind": "error_message", "text": text}]}),
                    ("decode", {"text": f"tinker.AuthenticationError: {text}"}),
                    ("diagnose", {"facts": [{"kind": "symptom", "name": text}]}),
                )
            ]

    uncut(*asyncio.run(talk()))
