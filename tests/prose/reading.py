"""Reads the prose of the repository: pages, docstrings, comments, messages and knowledge."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

# Generated from code and knowledge, or a quotation of somebody else's text.
_GENERATED = ("docs/lint.md", "docs/reference.md", "docs/surface.md")
_USERS_CODE = re.compile(
    r"tests/(probes/(data|\w+/(data|cases|projects|interface|pairs|stalls))|ports/models"
    r"|reproducers/\w+|benchmarks/peers|security/(patterns|redaction))/"
)
_KEYS = (
    "about|action|check|description|difference|do|finding|fix|help|meaning|message|name|note|prompt"
    "|question|reason|resolution|summary|title|unanchored|verify|why|workaround"
)
_ENTRY = re.compile(rf"(?:^|[{{,]) *(?:- )?({_KEYS}): +(?=[^\s{{\[])", re.M)
_BLOCK = re.compile(r"[>|][+-]?\n")
_FENCE = re.compile(r"^```.*?^```|^<!--.*?-->|`[^`\n]*`", re.M | re.S)
_STRING = re.compile(
    r'[rbuf]{0,2}(?:"""((?:[^\\]|\\.)*?)"""|"((?:[^"\\\n]|\\.)*)"|\'((?:[^\'\\\n]|\\.)*)\')', re.S
)
# Comments of several lines, and strings that Python joins.
_TOKENS = re.compile(
    r"# ?(?P<comment>[^\n]+(?:\n *# ?[^\n]*)*)"
    rf"|(?P<strings>{_STRING.pattern}(?:\s*{_STRING.pattern})*)",
    re.S,
)
# An item of a list, a row, a heading, or lines that belong together.
_PART = re.compile(r"^[-*|#\d].*\n?(?:^ .*\n?)*|.+(?:\n(?![-*|#]).+)*", re.M)
_VALUE = re.compile(r"\{[^{}]*\}")
_MARK = re.compile(r"\n *# ?")
_DIRECTIVE = re.compile(r"(noqa|fmt|type|pragma|pylint|ruff|yaml-language-server)\b ?:")


class Prose(NamedTuple):
    """A piece of prose, and the line that it begins in."""

    path: str
    line: int
    form: str  # page, docstring, comment, message, title, text
    text: str


def prose(root: Path, folders: list[str]) -> Iterator[Prose]:
    """All prose of the files that git knows below the folders, or of the whole repository."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *folders],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    for name in listed:
        if name in _GENERATED or _USERS_CODE.match(name) or not (root / name).is_file():
            continue
        if name.endswith(".md"):
            yield from of_page(name, _read(root, name))
        elif name.endswith(".py"):
            yield from of_module(name, _read(root, name))
        elif name.endswith(".yaml") and name.startswith(("knowledge/", "facts/", "probes/")):
            yield from of_knowledge(name, _read(root, name))


def _read(root: Path, name: str) -> str:
    return (root / name).read_text(encoding="utf-8")


def of_page(name: str, text: str) -> Iterator[Prose]:
    """The paragraphs, items and rows of a page, without its code."""
    text = _FENCE.sub(lambda match: re.sub(r"[^\n]", "~", match[0]), text)
    for match in re.finditer(r"(?:.+\n?)+", text):
        for part in _PART.finditer(match[0]):
            line = text.count("\n", 0, match.start() + part.start()) + 1
            if said := _flat(part[0].replace("~", "").lstrip("-*#| ")):
                yield Prose(name, line, "page", said)


def of_module(name: str, text: str) -> Iterator[Prose]:
    """Docstrings, comments and messages of a module."""
    of_tests = name.startswith("tests/")
    line, at = 1, 0
    for match in _TOKENS.finditer(text):
        line, at = line + text.count("\n", at, match.start()), match.start()
        if match["comment"]:
            if not _DIRECTIVE.match(match["comment"]):
                yield Prose(name, line, "comment", _flat(_MARK.sub("\n", match["comment"])))
            continue
        strings = match["strings"]
        docstring = strings.startswith('"""') and not text[text.rfind("\n", 0, at) + 1 : at].strip()
        if docstring or not (of_tests or strings.startswith(("r", "b"))):
            parts = (part[1] or part[2] or part[3] or "" for part in _STRING.finditer(strings))
            said = _flat("".join(parts))
            if not docstring:
                said = _VALUE.sub("{}", said)
            if said.count(" ") >= 2:
                form = "docstring" if docstring else "message"
                yield Prose(name, line, form, said)


def of_knowledge(name: str, text: str) -> Iterator[Prose]:
    """The texts of a file of knowledge, without patterns and samples."""
    if name.endswith(
        (".test.yaml", "words/weights.yaml", "words.yaml", "languages.yaml", "general.yaml")
    ):
        return
    for match in _ENTRY.finditer(text):
        form = "title" if match[1] == "title" else "text"
        said = _value(text, match)
        if " " in said:
            yield Prose(name, text.count("\n", 0, match.start(1)) + 1, form, said)


def _value(text: str, match: re.Match[str]) -> str:
    """The value behind a key: a block, a quotation, or plain words up to the next key."""
    start = match.end()
    if block := _BLOCK.match(text, start):
        indent = len(re.match(r" *", text[block.end() :])[0])  # type: ignore[index]
        lines = re.compile(rf"(?: {{{indent}}}.*\n|\n)*+").match(text, block.end())
        return _flat(lines[0] if lines else "")
    if text[start] in "\"'":
        quote = text[start]
        closed = re.compile(rf"{quote}((?:[^{quote}\\]|\\.|{quote * 2})*){quote}", re.S)
        quoted = closed.match(text, start)
        return _flat(quoted[1]) if quoted else ""
    plain = re.compile(r"[^\n]*(?:\n ++(?!- |[\w.-]+:(?: |\n)|#)[^\n]*)*").match(text, start)
    said = plain[0] if plain else ""
    if "{" in text[text.rfind("\n", 0, match.start(1)) + 1 : match.start(1)]:
        said = re.split(r", [a-z_]+:|\}", said)[0]
    return _flat(said)


def _flat(text: str) -> str:
    return " ".join(text.split())
