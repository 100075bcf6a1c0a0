"""Tests that do not need the cookbook: recognition, reading conversations, missing packages."""

import json
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modelmedic.facts import Problem
from modelmedic.probes.renderer.conversations import (
    BUILT_IN,
    built_in_conversations,
    read_conversations,
    thinking_of,
)
from modelmedic.probes.renderer.probe import gather_renderer
from modelmedic.probes.renderer.sides import template_keywords


def read(path, content):
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    problems: list[Problem] = []
    return read_conversations(path, problems), [problem.code for problem in problems]


USER = {"role": "user", "content": "Hi"}


def test_importing_is_light():
    code = "import sys, modelmedic.probes.renderer; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"numpy", "torch", "transformers", "tinker", "tinker_cookbook", "pydantic", "yaml"}
    assert not heavy & set(done.stdout.split())


@pytest.mark.parametrize("missing", ["tinker_cookbook", "transformers"])
def test_missing_packages_are_an_outcome(vocabulary, monkeypatch, missing):
    monkeypatch.setattr(
        "modelmedic.probes.renderer.probe.find_spec",
        lambda name: None if name == missing else object(),
    )
    (problem,) = gather_renderer("x", vocabulary).problems
    assert problem.code == "MM403"


def test_forms_of_conversation_files(tmp_path):
    file = tmp_path / "c.json"
    tool = {"name": "f", "parameters": {}}
    found, codes = read(file, [USER])
    assert [c.messages for c in found] == [(USER,)] and not codes
    found, codes = read(
        file, {"messages": [USER], "tools": [{"type": "function", "function": tool}], "name": "a"}
    )
    assert found[0].name == "a" and found[0].tools == (tool,) and not codes
    found, codes = read(file, [{"messages": [USER], "name": "a"}, {"messages": [USER], "name": "a"},
                               [USER]])  # fmt: skip
    assert [c.name for c in found] == ["a", "a-2", "conversation-3"]
    lines = "\n".join(json.dumps({"messages": [USER]}) for _ in range(3)) + "\n\nnot json\n"
    found, codes = read(file, lines)
    assert len(found) == 3 and codes == ["MM441"]
    assert found[2].place.endswith("c.json:3")


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("", "MM440"), ("{", "MM441"), ("[" * 50_000, "MM441"), ("[]", "MM440"), ("3", "MM441"),
        ({"messages": []}, "MM441"), ({"messages": [{"role": "robot", "content": "x"}]}, "MM441"),
        ({"messages": [{"role": "user", "content": 3}]}, "MM441"),
        ({"messages": [USER], "tools": ["f"]}, "MM441"),
        ({"messages": [USER] * 201}, "MM441"),
        ({"messages": [{"role": "user", "content": "x" * 200_001}]}, "MM441"),
        ("\x00\x01\x02", "MM441"), ("nothing\n" * 50, "MM441"),
    ],
)  # fmt: skip
def test_unusable_files(tmp_path, content, code):
    found, codes = read(tmp_path / "c.json", content)
    assert not found and codes == [code]


def test_missing_and_large_files(tmp_path, monkeypatch):
    problems: list[Problem] = []
    assert read_conversations(tmp_path / "none.json", problems) == []
    assert read_conversations(tmp_path, problems) == []
    monkeypatch.setattr("modelmedic.probes.renderer.conversations.MAX_BYTES", 10)
    found, codes = read(tmp_path / "c.json", [USER])
    assert not found and codes == ["MM440"]
    assert [problem.code for problem in problems] == ["MM440", "MM440"]


def test_many_conversations_are_capped(tmp_path):
    found, codes = read(tmp_path / "c.json", [{"messages": [USER]}] * 30)
    assert len(found) == 20 and codes == ["MM440"]


def test_features_of_conversations():
    by_name = {each.name: each for each in BUILT_IN}
    assert by_name["system"].has_system and not by_name["basic"].has_system
    assert by_name["tools"].has_tools and not by_name["tools"].without_tools().tools
    thinking = by_name["history-thinking"]
    assert thinking.has_history_thinking
    assert not thinking.without_history_thinking().has_history_thinking
    assert by_name["system"].without_system().messages[0]["role"] == "user"
    assert all(each.built_in for each in built_in_conversations())
    image = {"role": "user", "content": [{"type": "image_url", "image_url": {}}]}
    assert by_name["basic"]._replace(messages=(image,)).has_images


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"content": "a"}, ("", "a")),
        ({"content": None}, ("", "")),
        ({"content": "a", "reasoning_content": "t"}, ("t", "a")),
        ({"content": "<think>\nt\n</think>\n\na"}, ("t", "a")),
        ({"content": [{"type": "thinking", "thinking": "t"}, {"type": "text", "text": "a"}]},
         ("t", "a")),
    ],
)  # fmt: skip
def test_ways_to_write_thinking(message, expected):
    assert thinking_of(message) == expected


@pytest.mark.parametrize(
    ("renderer", "keywords"),
    [
        ("qwen3", {"enable_thinking": True}),
        ("qwen3_disable_thinking", {"enable_thinking": False}),
        ("qwen3_instruct", {}),
        ("qwen3_8_low_reasoning", {"enable_thinking": True, "reasoning_effort": "low"}),
        ("deepseekv3", {"thinking": False}),
        ("deepseekv3_thinking", {"thinking": True}),
        ("deepseekv4_1_disable_thinking", {"thinking_mode": "chat"}),
        ("kimi_k26_preserve_thinking", {"thinking": True, "preserve_thinking": True}),
        ("nemotron3_low_thinking", {"enable_thinking": True, "low_effort": True}),
        ("gpt_oss_high_reasoning", {"reasoning_effort": "high"}),
        ("llama3", {}),
        ("role_colon", {}),
    ],
)
def test_the_template_is_told_the_mode_of_the_renderer(renderer, keywords):
    assert template_keywords(renderer) == keywords


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["messages", "role", "content", "tools", "name", "user", "tool_calls"]),
            inner | st.sampled_from(["user", "assistant", "text"]),
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=200)
@given(value=VALUES)
def test_reading_never_raises(tmp_path_factory, value):
    file = tmp_path_factory.getbasetemp() / "fuzz.json"
    read(file, value)


@settings(max_examples=100)
@given(content=st.binary(max_size=300))
def test_reading_bytes_never_raises(tmp_path_factory, content):
    file = tmp_path_factory.getbasetemp() / "fuzz.bin"
    file.write_bytes(content)
    read_conversations(file, [])
