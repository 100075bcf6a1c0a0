"""The index of texts that messages must contain: it may offer too many patterns, never too few."""

from __future__ import annotations

import sys

import pytest

from modelmedic.engine.compiler.indexing import index_rules
from modelmedic.engine.inference import program
from modelmedic.engine.inference.operators import compile_re2
from modelmedic.engine.inference.rule_index import by_piece, contained
from modelmedic.facts.required_text import required_text, required_texts

PATTERNS = (
    "(?i)disk quota of (user|group) exceeded",
    "(?i)key is missing",
    "(?i)token expired",
    "expired",
    "(?i)oom",
    "Session .{1,9} is lost",
)
TEXTS = (
    "Disk Quota of user exceeded",
    "di\u017fk quota of group exceeded",
    "the \u212aEY IS MISSING",
    "to\u212aen expired",
    "OOM",
    "S\u00e9ance: Session \u00fc1 is lost",
    "\u0130 key is missing \u00df",
    "expire",
    "",
    "ok",
)


@pytest.mark.parametrize("text", TEXTS)
def test_what_matches_is_found(text: str) -> None:
    numbered = [(required_text(pattern), n) for n, pattern in enumerate(PATTERNS)]
    found = contained(by_piece(numbered), text)
    matching = [n for n, pattern in enumerate(PATTERNS) if compile_re2(pattern).search(text)]
    assert set(matching) <= set(found)
    assert found == [n for required, n in numbered if required in _folded(text)]


def test_a_number_of_several_texts_is_found_once_by_any() -> None:
    texts = by_piece([("read timed out", 0), ("connection reset", 0), ("oom", 1), ("killed", 1)])
    assert contained(texts, "Connection reset, then the read timed out") == [0]
    assert contained(texts, "OOM: killed; read timed out") == [0, 1]
    assert contained(texts, "timed out") == []


def test_patterns_of_alternatives_are_not_tried_on_every_text() -> None:
    """Each is listed under the texts of its alternatives; those that need none are tried always."""
    wanted = ("(?i)Read timed out|connection (?:reset|refused)", "disk quota", "x(?:a|b)")
    tests = [program.Test("text", "matches", each) for each in wanted]
    patterns = [program.Pattern("m", (test,), (), False) for test in tests]
    table = index_rules(patterns, []).alpha["m"]
    assert table.general == [2]
    texts = {text: number for found in table.by_text["text"].values() for text, number in found}
    assert texts == {"read timed out": 0, "connection reset": 0, "connection refused": 0,
                     "disk quota": 1}  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        ("plain words", ("plain words",)),
        (
            "(?i)Read timed out|connection (?:reset|refused)",
            ("connection refused", "connection reset", "read timed out"),
        ),
        (
            "(?:lost|gone) (?:for ever|at once)",
            ("gone at once", "gone for ever", "lost at once", "lost for ever"),
        ),
        ("x(?:ab|disk quota)", ("xab", "xdisk quota")),
        ("x(?:a|disk quota)", ()),
        ("gh[pou]_", ("gho_", "ghp_", "ghu_")),
        ("gh[a-z]_", ()),
        ("(?i)SK[^a]_", ()),
        ("(?:disk|quota)*", ()),
        ("(?:disk|quota)+", ("disk", "quota")),
        ("(?x) disk # no spaces", ()),
        ("(", ()),
    ],
)
def test_one_of_these_texts_is_in_every_match(pattern: str, texts: tuple[str, ...]) -> None:
    assert required_texts(pattern) == texts


def test_only_two_other_characters_are_letters_of_ascii_in_another_case() -> None:
    others = map(chr, range(128, sys.maxunicode + 1))
    whole = "".join(c for c in others if not "\ud800" <= c <= "\udfff")
    assert set(compile_re2("(?i)[a-z]").findall(whole)) == {"\u017f", "\u212a"}


def test_texts_stand_under_pieces_that_few_share() -> None:
    texts = [(f"{name} is already there", n) for n, name in enumerate(("file", "folder", "name"))]
    assert max(map(len, by_piece([*texts, ("oom", 3)]).values())) == 1


def _folded(text: str) -> str:
    return "".join({"\u017f": "s", "\u212a": "k"}.get(c, c) for c in text).lower()
