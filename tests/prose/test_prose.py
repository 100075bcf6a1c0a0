"""The lint of prose finds what it should and leaves the rest alone."""

import importlib.util
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def load(name):
    spec = importlib.util.spec_from_file_location(f"tested_{name}", HERE / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


PATTERNS = load("prose").patterns()


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.name)
def test_a_pattern_matches_its_examples_and_not_its_counterexamples(pattern):
    assert pattern.matching and pattern.harmless
    assert [text for text in pattern.matching if not pattern.regex.search(text)] == []
    assert [text for text in pattern.harmless if pattern.regex.search(text)] == []


MODULE = '''"""First line
and second."""
# one comment
# in two lines
x = f"Cannot read {name}: " "it is empty" + r"a b c \\d"
y = "# no comment here"  # noqa: S101
'''
KNOWLEDGE = """
  - id: a
    title: Two words
    meaning: >-
      A folded
      text.
    match: {pattern: 'not this one'}
    fix: plain words
      over two lines
    facts: {name: {type: string, description: "In braces.", ask: "No, not this."}}
"""


def test_docstrings_comments_and_messages_are_read_with_their_lines():
    found = [(p.line, p.form, p.text) for p in load("reading").of_module("a/b.py", MODULE)]
    assert found == [
        (1, "docstring", "First line and second."),
        (3, "comment", "one comment in two lines"),
        (5, "message", "Cannot read {}: it is empty"),
        (6, "message", "# no comment here"),
    ]


def test_texts_of_knowledge_are_read_and_patterns_are_not():
    found = [(p.line, p.form, p.text) for p in load("reading").of_knowledge("a.yaml", KNOWLEDGE)]
    assert found == [
        (3, "title", "Two words"),
        (4, "text", "A folded text."),
        (8, "text", "plain words over two lines"),
        (10, "text", "In braces."),
    ]


def test_a_page_is_read_without_its_code():
    page = "# Title\n\nSome words\nmore words.\n\n```\ncode here\n```\n- an item\n  of a list\n"
    found = [(p.line, p.text) for p in load("reading").of_page("a.md", page)]
    assert found == [(1, "Title"), (3, "Some words more words."), (9, "an item of a list")]
