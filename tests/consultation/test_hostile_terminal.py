"""The hostile alphabet in a real terminal: what a person sees is the text with its visible escapes,
and the terminal is asked for nothing but what we ask of it."""

import json
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

Start = Callable[..., Any]
# Sequences for the line editor and colours: cursor, colours, modes, the place of the cursor. No
# titles, links, clipboard, other screens, device strings, and no control character in eight bits.
OURS = re.compile(r"\x1b\[\??[\d;]*[A-Za-z]|\x1b[=>]")
NEVER = re.compile(r"\x1b[\]P^_Xc]|\x1b\[\?1049h|\x1b\[c")
PLAIN = frozenset("\r\n\t\b\x07")


@pytest.fixture
def texts(root: Path) -> list[str]:
    path = root / "tests" / "security" / "hostile" / "alphabet.json"
    every = json.loads(path.read_text(encoding="utf-8"))
    return [
        t for name, t in every.items() if name not in ("lone surrogates", "NUL", "lines", "tab")
    ]


def visible(text: str) -> str:
    return "".join(_escape(c) if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")
                   or ord(c) in (0xFFFE, 0xFFFF) else c for c in text)  # fmt: skip


def _escape(char: str) -> str:
    code = ord(char)
    return (
        f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
    )


def squeezed(text: str) -> str:
    return "".join(text.split())


def check(term: Any) -> None:
    """The terminal has been told nothing that is not ours. All has to be read: a read may end in
    the middle of a sequence."""
    term.finish()
    assert not NEVER.search(term.raw)
    rest = OURS.sub("", term.raw)
    found = {
        c for c in rest if c not in PLAIN and unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")
    }
    assert not found, [ascii(c) for c in found]


def test_a_report(terminal: Start, tmp_path: Path, texts: list[str]) -> None:
    """Long lines, so that the screen wraps none."""
    wide = [t for t in texts if t.isascii() or ("\u0301" not in t and "\u0351" not in t)]
    for at in range(0, len(wide), 4):
        facts = [
            {"kind": "error_message", "text": f"Error code: 402 - q{t}p", "exception": "X",
             "source": "pasted", "provenance": {"source": "file", "location": f"run/{t}.log"}}
            for t in wide[at : at + 4]
        ]  # fmt: skip
        path = tmp_path / f"{at}.json"
        path.write_text(json.dumps({"schema": "modelmedic/facts/1", "facts": facts}))
        term = terminal("--facts", str(path), "--all", columns=180, rows=400)
        term.wait("$ tinker auth status")
        shown = squeezed(term.text)
        for text in wide[at : at + 4]:
            if text.isascii():  # a screen of pyte gives wide characters two cells
                assert squeezed(visible(f"run/{text}.log")) in shown, text
        check(term)


def test_a_consultation(terminal: Start, tmp_path: Path, texts: list[str]) -> None:
    """Names of files, messages in them, and what is typed."""
    folder = tmp_path / "run"
    folder.mkdir()
    for number, text in enumerate(t for t in texts if "/" not in t):
        line = f"tinker.BillingError: Error code: 402 - q{text}p {number}\n"
        (folder / f"{text}.log").write_text(line, encoding="utf-8")
    term = terminal(columns=160, rows=200)
    term.wait("What is wrong?")
    term.answer(f"inspect {folder}")
    term.wait("Account is blocked for billing")
    for typed in (
        "[bold]x[/bold] [link=http://evil.test]y[/link]",
        "<b>x</b> <ansired>y</ansired>",
    ):
        term.answer(typed)
        assert squeezed(typed) in squeezed(term.text)
    for asked in ("facts", "candidates", "why", "report", "how"):
        term.answer(asked)
    check(term)
