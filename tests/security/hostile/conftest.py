"""The hostile alphabet, the command in this process, and readers that are not ours."""

import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import html5lib
import jsonschema
import pytest
from junitparser import JUnitXml
from markdown_it import MarkdownIt

from modelmedic.interfaces.cli.main import main

HERE = Path(__file__).parent
ALPHABET: dict[str, str] = json.loads((HERE / "alphabet.json").read_text(encoding="utf-8"))
# Characters that hide or move text, or are not text, by the Unicode database, not by our own table.
# (The signs of number in Arabic and Syriac scripts are of the same category, and can be seen.)
HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
SEEN = frozenset("\n\t")
OUR_STYLE = {"rel": "stylesheet", "href": "style.css"}  # of pages that lie in one folder


def hidden(char: str) -> bool:
    """Whether a character may not reach a terminal, a page or a log."""
    code = ord(char)
    return char not in SEEN and (
        unicodedata.category(char) in HIDDEN or code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF
    )


def visible(text: str) -> str:
    """A text as the documentation says it is shown: ``\\x1b``, ``\\u202e``, ``\\U000e0041``."""
    return "".join(_escape(char) if hidden(char) else char for char in text)


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 256 else (
        f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}")  # fmt: skip


def squeezed(text: str) -> str:
    """Text without layout."""
    return re.sub(r"\s", "", text)


class Answer(NamedTuple):
    """Exit code and streams."""

    code: int
    out: str
    err: str


@pytest.fixture(scope="session")
def alphabet() -> dict[str, str]:
    """Texts that facts and files may hold: lone surrogates and NUL are tests of their own."""
    return {name: text for name, text in ALPHABET.items()
            if name not in ("lone surrogates", "NUL")}  # fmt: skip


@pytest.fixture(scope="session")
def groups(alphabet: dict[str, str]) -> list[list[str]]:
    """The alphabet by threes: of more that say the same, reports for people quote three."""
    texts = list(alphabet.values())
    return [texts[at : at + 3] for at in range(0, len(texts), 3)]


def is_shown(text: str, said: str) -> bool:
    """Whether a text is in what was read back (layout apart), in one of the documented forms: as it
    is but for visible escapes, on one line, as a value in Python's notation, as a path."""
    line = text.replace("\n", "\\n").replace("\t", " ")
    forms = (text, line, repr(text)[1:-1], ascii(text)[1:-1], visible(line).replace("\\", "/"))
    return any(squeezed(visible(form)) in squeezed(said) for form in forms)


@pytest.fixture(scope="session")
def shown() -> Callable[[str, str], bool]:
    return is_shown


@pytest.fixture(scope="session")
def is_hidden() -> Callable[[str], bool]:
    return hidden


@pytest.fixture(scope="session")
def cache(compiled: Path) -> Path:
    return compiled


@pytest.fixture
def command(
    cache: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> Callable[..., Answer]:
    """Runs ``diagnose`` in an empty folder. Whatever it writes is UTF-8 without invisible
    characters or tracebacks; ``passed`` holds what a program that it runs writes before that
    to both streams, which comes through as it is."""
    monkeypatch.chdir(tmp_path)
    for name, value in (("CACHE", str(cache)), ("SALT", "test")):
        monkeypatch.setenv(f"MODELMEDIC_{name}", value)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def command(*arguments: object, passed: bytes = b"") -> Answer:
        with pytest.raises(SystemExit) as end:
            main([str(a) for a in arguments])
        streams = capfdbinary.readouterr()
        assert all(stream.startswith(passed) for stream in streams)
        out, err = (stream.removeprefix(passed).decode("utf-8") for stream in streams)
        for text in (out, err):
            found = [ascii(text[max(0, n - 30) : n + 30]) for n, c in enumerate(text) if hidden(c)]
            assert not found, found[:3]
        assert "Traceback" not in out + err
        return Answer(int(end.value.code or 0), out, err)

    return command


@pytest.fixture(scope="session")
def read_back(sarif_schema: Any) -> Callable[[str, str], str]:
    """The text in a document, as a reader of its format gets it."""

    def read_back(format_: str, document: str) -> str:
        if format_ == "sarif":
            jsonschema.Draft4Validator(sarif_schema).validate(json.loads(document))
        return READERS[format_](document)

    return read_back


def _html(document: str) -> str:
    tree = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(document)
    for element in tree.iter():
        assert element.tag not in ("script", "img", "iframe", "object", "embed", "form")
        assert element.tag != "link" or dict(element.attrib) == OUR_STYLE
        assert not [name for name in element.attrib if str(name).startswith("on")]
        assert not re.match(r"(?i)\s*javascript:", str(element.attrib.get("href", "")))
    return "".join(tree.itertext())


FOLD = re.compile(r"(<details><summary>[A-Za-z ,()]+</summary>|</details>)\n")
"""The only HTML in our Markdown."""


def _markdown(document: str, ours: frozenset[str] = frozenset()) -> str:
    tokens = MarkdownIt("gfm-like", {"linkify": True}).parse(document)
    inline = [child for token in tokens for child in token.children or ()]
    assert all(FOLD.fullmatch(t.content) for t in tokens if t.type == "html_block")
    kinds = {token.type for token in (*tokens, *inline)} - ours - {"html_block"}
    assert not kinds & {"html_block", "html_inline", "link_open", "image", "s_open", "hr"}
    return "".join(token.content for token in tokens if token.type == "fence") + "".join(
        token.content for token in inline)  # fmt: skip


def _markdown_page(document: str) -> str:
    """The text of a page that links to others, with a line before the last words."""
    links = re.findall(r"\]\(([^)]*)\)", re.sub(r"\\.|(`+).*?\1", "", document))
    assert links and all(re.fullmatch(r"[\w.-]+\.md", link) for link in links)
    return _markdown(document, frozenset({"link_open", "hr"}))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for part in value.values() if isinstance(value, dict) else (
        value if isinstance(value, list) else ()):  # fmt: skip
        yield from _texts(part)


def _json(document: str) -> str:
    assert document.isascii()
    return "".join(_texts(json.loads(document)))


def _sarif(document: str) -> str:
    said = _json(document)
    return said + unquote(said)  # places are URIs


def _junit(document: str) -> str:
    assert list(JUnitXml.fromstring(document.encode()))
    assert "<!" not in document.replace("<![CDATA[", "")
    root = ET.fromstring(document)
    return "".join((*root.itertext(), *(v for e in root.iter() for v in e.attrib.values())))


def _github(document: str) -> str:
    for line in document.splitlines():
        assert re.fullmatch(r"::(error|warning|notice) [^:]*::.*", line), line
    return unquote(document)


READERS: dict[str, Callable[[str], str]] = {
    "text": str, "json": _json, "markdown": _markdown, "markdown page": _markdown_page,
    "html": _html, "sarif": _sarif, "junit": _junit, "github": _github,
}  # fmt: skip


@pytest.fixture(scope="session")
def sarif_schema(root: Path) -> Any:
    """The JSON Schema of SARIF 2.1.0 as OASIS published it."""
    path = root / "tests" / "reports" / "data" / "sarif-2.1.0.json"
    return json.loads(path.read_text(encoding="utf-8"))
