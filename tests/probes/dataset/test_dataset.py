"""Findings about the rows of a chat data set."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from modelmedic.probes.dataset import probe as dataset
from modelmedic.probes.dataset.probe import CHECKED, gather_dataset
from modelmedic.probes.dataset.recognition import looks_like_dataset


@pytest.fixture
def sets(data):
    return data / "dataset"


def problems(outcome):
    return {f.get("problem"): f for f in outcome.facts if f.kind == "dataset_problem"}


def profile(outcome):
    (fact,) = (f for f in outcome.facts if f.kind == "dataset_profile")
    return fact


def thinking(outcome):
    return {
        f.get("place"): (f.get("present"), f.get("share"))
        for f in outcome.facts
        if f.kind == "think_blocks"
    }


def write(folder, rows):
    path = folder / "data.jsonl"
    path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in rows))
    return path


def chat(*turns):
    return {"messages": [{"role": role, "content": content} for role, content in turns]}


@pytest.mark.parametrize("name", ["good.jsonl", "tools.jsonl", "thinking.jsonl"])
def test_good_data_has_none_of_the_problems(sets, vocabulary, name):
    outcome = gather_dataset(sets / name, vocabulary)
    assert tuple(problems(outcome)) == CHECKED
    assert not any(f.get("present") for f in problems(outcome).values())
    assert not outcome.problems


@pytest.mark.parametrize(
    ("problem", "line", "count", "detail"),
    [
        ("not-json", 2, 2, "Unterminated string"),
        ("not-an-object", 4, 1, "a list"),
        ("messages-missing", 5, 3, "prompt and completion"),
        ("bad-message", 7, 3, "message 1: it has no 'content'"),
        ("last-turn-not-assistant", 9, 3, "'user'"),
        ("no-assistant-turn", 10, 2, "'system', 'user'"),
        ("unknown-role", 11, 1, "'human'"),
        ("empty-content", 12, 1, "'assistant'"),
        ("duplicate-rows", 13, 1, "line 1"),
        ("mixed-content-types", 14, 1, "a list of parts"),
    ],
)
def test_each_problem_with_its_place(sets, vocabulary, problem, line, count, detail):
    fact = problems(gather_dataset(sets / "broken.jsonl", vocabulary))[problem]
    assert fact.get("present") is True
    assert (fact.get("line"), fact.get("count")) == (line, count)
    assert fact.get("share") == pytest.approx(count / 15, abs=1e-4)
    assert detail in fact.get("detail")
    assert fact.provenance[0].location.endswith(f"broken.jsonl:{line}")


def test_thinking_blocks(sets, vocabulary):
    assert thinking(gather_dataset(sets / "thinking.jsonl", vocabulary)) == {
        "data": (True, 0.4), "data-history": (True, 0.5),
    }  # fmt: skip
    assert thinking(gather_dataset(sets / "mixed.jsonl", vocabulary))["data"] == (True, 0.5)
    assert thinking(gather_dataset(sets / "good.jsonl", vocabulary))["data"] == (False, 0)


def test_a_list_of_all_rows_is_named(sets, vocabulary):
    fact = problems(gather_dataset(sets / "one_value.json", vocabulary))["not-json"]
    assert "one JSON value, not one object a line" in fact.get("detail")


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"messages": [{"role": "user", "content": 3}]}, "bad-message"),
        ({"messages": ["hello"]}, "bad-message"),
        ({"messages": [{"content": "x"}]}, "bad-message"),
        ({"messages": [{"role": "user", "content": ["x"]}]}, "bad-message"),
        ({"messages": [{"role": "user", "content": [{"type": "image"}]}]}, "bad-message"),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": ""}]}]},
         "empty-content"),
        ({"messages": []}, "messages-missing"),
        ({"messages": {"role": "user"}}, "messages-missing"),
        ({}, "messages-missing"),
        (None, "not-an-object"),
        ("", "not-json"),
        ("{'role': 'user'}", "not-json"),
        ("\x00", "not-json"),
    ],
)  # fmt: skip
def test_wrong_shapes(tmp_path, vocabulary, row, problem):
    good = [chat(("user", "a"), ("assistant", "b"))]
    outcome = gather_dataset(write(tmp_path, [*good, row, *good]), vocabulary)
    assert problems(outcome)[problem].get("line") == 2


def test_a_byte_order_mark_and_empty_lines_at_the_end(tmp_path, vocabulary):
    path = tmp_path / "data.jsonl"
    row = json.dumps(chat(("user", "a"), ("assistant", "b"))).encode()
    path.write_bytes(b"\xef\xbb\xbf" + row + b"\r\n\n\n")
    fact = problems(gather_dataset(path, vocabulary))["not-json"]
    assert (fact.get("line"), fact.get("count")) == (1, 3)
    assert "byte order mark" in fact.get("detail")


def test_figures_of_the_whole(tmp_path, vocabulary):
    rows = [chat(("user", f"What is {i}?"), ("assistant", "x" * i)) for i in range(40)]
    rows += [chat(("user", "WHAT is 3 ?"), ("assistant", "xxx!"))]
    figures = profile(gather_dataset(write(tmp_path, rows), vocabulary))
    assert figures.get("examples") == 41
    assert figures.get("near_duplicate_share") == pytest.approx(1 / 41, abs=1e-4)
    assert (figures.get("question_forms"), figures.get("top_form_share")) == (1, 1)
    assert (figures.get("max_chars"), figures.get("longest_line")) == (50, 40)


def test_what_is_said_does_not_get_out(tmp_path, vocabulary):
    secret = "Tell nobody 4711"
    rows = [
        chat(("user", secret), ("assistant", secret)),
        chat(("user", secret), ("assistant", secret)),
        {"messages": [{"role": "user", "content": {secret: secret}}]},
        {"messages": [{"role": "user", "content": [{"type": "text", "body": secret}]}]},
        f'{{"messages": "{secret}',
        chat(("assistant", secret), ("user", secret)),
    ]
    outcome = gather_dataset(write(tmp_path, rows), vocabulary)
    shown = json.dumps([f.plain() for f in outcome.facts]) + "".join(map(str, outcome.problems))
    assert "4711" not in shown


def test_long_files_and_lines(tmp_path, vocabulary, monkeypatch):
    monkeypatch.setattr(dataset, "MAX_ROWS", 3)
    path = write(tmp_path, [chat(("user", "a"), ("assistant", str(i))) for i in range(9)])
    outcome = gather_dataset(path, vocabulary)
    assert [p.code for p in outcome.problems] == ["MM442"]
    assert not problems(outcome)  # what was not read may have any problem
    long = write(tmp_path, ["x" * 9_000_000, chat(("user", "a"), ("assistant", "b"))])
    outcome = gather_dataset(long, vocabulary)
    assert [str(p.where) for p in outcome.problems] == [f"{long}:1:0"]
    assert profile(outcome).get("examples") == 1


@pytest.mark.parametrize(
    ("content", "code"), [(b"", "MM470"), (b"\n\n", "MM470"), (b"a\0b", "MM471"),
                          (b"\x1f\x8b\x08\x00\x00\x00", "MM440")],
)  # fmt: skip
def test_files_without_rows(tmp_path, vocabulary, content, code):
    path = tmp_path / "x"
    path.write_bytes(content)
    outcome = gather_dataset(path, vocabulary)
    assert not outcome.facts
    assert [p.code for p in outcome.problems] == [code]


def test_a_folder_and_a_missing_file(tmp_path, vocabulary):
    for path in (tmp_path, tmp_path / "no"):
        assert [p.code for p in gather_dataset(path, vocabulary).problems] == ["MM440"]


def test_recognition(sets, data):
    for name, expected in [("good.jsonl", True), ("mixed.jsonl", True), ("sharegpt.jsonl", True),
                           ("broken.jsonl", True), ("one_value.json", False)]:  # fmt: skip
        assert looks_like_dataset(sets / name, (sets / name).read_bytes()) is expected
    long = json.dumps(chat(("user", "a" * 99_999))).encode()[:65_536]
    assert looks_like_dataset(sets, long)
    assert looks_like_dataset(sets, b'{"prompt": "a", "completion": "b"}\n')
    assert not looks_like_dataset(sets, b'{"prompt": "a", "completion_tokens": 3}\n')
    for name in ("metrics.jsonl", "config.json", "checkpoints.jsonl", "timing_spans.jsonl"):
        path = data / "metrics" / "runs" / "sft" / name
        assert not looks_like_dataset(path, path.read_bytes())


CONTENT = st.one_of(
    st.none(), st.text(max_size=8), st.integers(), st.sampled_from(["<think>x</think>", " "]),
    st.lists(st.one_of(st.text(max_size=3), st.dictionaries(
        st.sampled_from(["type", "text", "thinking", "image"]),
        st.one_of(st.sampled_from(["text", "thinking", "image"]), st.none(), st.integers()))),
        max_size=3),
)  # fmt: skip
MESSAGE = st.one_of(
    st.none(), st.text(max_size=3),
    st.fixed_dictionaries({}, optional={
        "role": st.one_of(st.sampled_from(["user", "assistant", "tool", "bot"]), st.integers(),
                          st.lists(st.integers())),
        "content": CONTENT, "tool_calls": st.just([1])}),
)  # fmt: skip
ROW = st.one_of(
    st.none(), st.integers(), st.text(max_size=5), st.lists(st.integers(), max_size=2),
    st.fixed_dictionaries({"messages": st.one_of(st.none(), st.lists(MESSAGE, max_size=4))}),
)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(st.lists(st.one_of(ROW.map(json.dumps), st.text(max_size=20)), max_size=8))
def test_any_rows_are_survived(tmp_path, vocabulary, lines):
    path = tmp_path / "any.jsonl"
    path.write_text("\n".join(lines), "utf-8", errors="replace")
    outcome = gather_dataset(path, vocabulary)
    assert all(problem.code != "MM402" for problem in outcome.problems)
    for fact in problems(outcome).values():
        assert fact.get("present") is (fact.get("count") > 0)


@pytest.mark.parametrize(
    ("said", "form"),
    [
        ('<tool_call>\n{"name": "w", "arguments": {}}\n</tool_call>', "tagged-json"),
        ("<tool_call>\n<function=w>\n</function>\n</tool_call>", "tagged-xml"),
        ("<tool_call>w\n<arg_key>city</arg_key>", "tagged-args"),
        ("<|tool_calls_section_begin|><|tool_call_begin|>w", "kimi-tokens"),
        ("<\uff5ctool\u2581calls\u2581begin\uff5c>w", "deepseek-tokens"),
        ("<|start|>assistant to=functions.w<|call|>", "harmony"),
        ("Write it between <tool_call> tags.", None),
        ("plain", None),
    ],
)
def test_the_form_of_tool_calls(vocabulary, tmp_path, said, form):
    path = tmp_path / "data.jsonl"
    turns = [{"role": "user", "content": said}, {"role": "assistant", "content": said}]
    path.write_text(json.dumps({"messages": turns}))
    found = [f for f in gather_dataset(path, vocabulary).facts if f.kind == "tool_format"]
    assert [(f.get("place"), f.get("format")) for f in found] == (
        [("training-data", form)] if form else []
    )


def test_forms_that_differ_say_nothing(vocabulary, tmp_path):
    path = tmp_path / "data.jsonl"
    forms = ['<tool_call>\n{"name": "w"}', "<|call|>"]
    rows = [{"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": each}]}
            for each in forms]  # fmt: skip
    path.write_text("\n".join(map(json.dumps, rows)))
    assert not [f for f in gather_dataset(path, vocabulary).facts if f.kind == "tool_format"]


def test_the_share_of_conversations_with_tool_calls(vocabulary, tmp_path):
    path = tmp_path / "data.jsonl"
    said = ["plain"] * 3 + ['<tool_call>\n{"name": "w"}']
    rows = [{"messages": [{"role": "user", "content": f"q {n}"},
                          {"role": "assistant", "content": each}, {"role": "user", "content": "."},
                          {"role": "assistant", "content": each}]}
            for n, each in enumerate(said)]  # fmt: skip
    path.write_text("\n".join(map(json.dumps, rows)))
    (found,) = (f for f in gather_dataset(path, vocabulary).facts if f.kind == "tool_format")
    assert found.get("share") == 0.25


@pytest.mark.parametrize(("systems", "share"), [("aaaa", 1.0), ("aab-", 0.5), ("----", None)])
def test_the_share_of_one_system_message(vocabulary, tmp_path, systems, share):
    path = tmp_path / "data.jsonl"
    rows = []
    for number, system in enumerate(systems):
        turns = [{"role": "user", "content": f"q {number}"}, {"role": "assistant", "content": "a"}]
        first = [{"role": "system", "content": system}] if system != "-" else []
        rows.append(json.dumps({"messages": first + turns}))
    path.write_text("\n".join(rows))
    facts = gather_dataset(path, vocabulary).facts
    (profile,) = [f for f in facts if f.kind == "dataset_profile"]
    assert profile.get("system_share") == share
