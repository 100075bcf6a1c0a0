"""Parts that are taken out of a text that a page rendered, and parts that stay."""

from __future__ import annotations

import pytest

from modelmedic.probes.messages.probe import read_messages
from modelmedic.probes.messages.reframed import reframed
from modelmedic.probes.messages.scan import begins_message, scan
from modelmedic.reading.text.plain_text import Line, unrendered


def lines(text: str) -> list[Line]:
    return [Line(number, each) for number, each in enumerate(text.split("\n"), 1)]


@pytest.mark.parametrize(
    ("shown", "typed"),
    [
        ("[188](vscode-cell:/a/b.py:188) x = 1", "188 x = 1"),
        ("File [~/a.py:188](file:///home/a.py#line=187), in f(x)", "File ~/a.py:188, in f(x)"),
        ("Cell In[4], [line 2](vscode-notebook-cell:x.ipynb#X1)", "Cell In[4], line 2"),
        ("&lt;module&gt; &#39;a&#39; &#x22;b&#x22; c&nbsp;d", "<module> 'a' \"b\" c d"),
        ("&amp;lt;module&amp;gt;", "<module>"),
        ('<span class="k">ValueError</span>: x<br/>', "ValueError: x"),
        ("\\_\\_init\\_\\_ of torch\\_neuronx", "__init__ of torch_neuronx"),
        ("[0;31mValueError[0m: x", "ValueError: x"),
        ("\\u001b[31mValueError\\u001b[0m: x", "ValueError: x"),
    ],
)
def test_what_a_page_put_in_is_taken_out(shown, typed):
    assert unrendered(shown) == typed


@pytest.mark.parametrize(
    "text",
    [
        "see [the issue](https://github.com/a/b/issues/1)",
        "x[1](2)",
        "in <module> of <frozen importlib._bootstrap>, token <s>, <a b>",
        "<html><head><title>502 Bad Gateway</title></head>",
        "pattern \\_x in a_b",
        "C:\\_work\\_temp\\a_b",
        "&#7; &#99999; & &copy;",
        "shape [0, 1m]",
    ],
)
def test_what_a_program_printed_stays(text):
    assert unrendered(text) == text


FORMED = (
    'Traceback (most recent call last):\n  File "/a/b.py", line 3, in f\n    g(x,\n      y)\n'
    "      ^^\nValueError: x\nmore of it\n"
)


def test_a_traceback_in_form_stays_as_it_is():
    assert reframed(lines(FORMED), begins_message) == lines(FORMED)


@pytest.mark.parametrize(
    "text",
    [
        'File "/a/b.py", line 3, in f\ng(\nx)\nValueError: x',
        '\tFile "/a/b.py", line 3, in f\n\t\tg(x)\nValueError: x',
        '  File "/a/b.py", line 3, in f\n    g("\n{}\n at ".format(\nValueError: x',
        '  File "/a/b\n.py", line 3, in f\n    g(x)\nValueError: x',
        '  File "/a/b.py", line\n3, in f\n    g(x)\nValueError: x',
        "File /a/b.py:3, in f(x)\n      2 def f(x):\n----> 3     g(x)\n\nValueError: x",
        "File /a/\nb.py:3, in f(x)\n      2 def f(x):\n----> 3     g(x)\n\nValueError: x",
    ],
)
def test_a_frame_without_form_is_one_of_its_exception(text):
    (found,) = [each for each in scan(lines(text)) if each.exception]
    assert (found.exception, found.text) == ("ValueError", "x")
    assert (found.file, found.line) == ("/a/b.py", 3)


@pytest.mark.parametrize(
    "text",
    [
        # The class of an exception may have any name, and the lines in between may be of others.
        'Traceback (most recent call last):\n  File "/a/b.py", line 3, in f\n    g(x)\nOdd: x',
        'File "/a/b.py", line 3, in f\ng(x)\nOdd: x\n\nValueError: y',
    ],
)
def test_the_first_line_that_names_a_class_ends_a_traceback(text):
    found = scan(lines(text))
    assert (found[0].exception, found[0].text) == ("Odd", "x")


def test_a_log_may_begin_within_a_traceback():
    head = "ERROR 08-21 10:11:12 [core.py:634] "
    text = f'{head}  File "/a/b.py", line 3, in f\n{head}    g(x)\n{head}ValueError: x\n{head}Bye'
    found = scan(lines(text))
    assert [(each.exception, each.text, each.file) for each in found if each.exception] == [
        ("ValueError", "x", "/a/b.py")
    ]
    assert ("ERROR", "Bye") in [(each.level, each.text) for each in found]


def test_a_message_between_a_frame_and_an_exception_parts_them():
    text = '  File "/a/b.py", line 3, in f\n    g(x)\n2025-01-01 00:00:00 INFO other\nValueError: x'
    (found,) = [each for each in scan(lines(text)) if each.exception]
    assert not found.frames


@pytest.mark.parametrize(
    "text", ["File not found: http://host:80", "File a b:3, in the list (old)", "File x.py:12"]
)
def test_a_sentence_about_a_file_is_no_frame(text):
    said = f"{text}\nValueError: x"
    assert not [each for each in scan(lines(said)) if each.frames]


COMPILER = "2024-02-13T11:11:10Z NeuronX Compiler version 2.12.68.0"


def test_the_code_of_the_compiler_makes_a_line_an_error():
    for line in ("[XTP002] Too many", "2024-02-13T11:11:09Z [XTP002] Too many"):
        found = scan(lines(f"{COMPILER}\n{line}\n{COMPILER}"))
        assert [(each.level, each.text) for each in found if each.keep] == [
            ("ERROR", "[XTP002] Too many")
        ]


def test_a_code_in_brackets_is_no_error_elsewhere():
    text = "\n".join(f"2024-02-13T11:11:0{n}Z [JOB123] started" for n in range(6))
    assert not [each for each in scan(lines(text)) if each.keep]


def test_the_class_of_an_error_may_stand_on_the_next_line():
    text = "ERROR:a.b:It failed: no x\nERROR:a.b:Generation error type: AttributeError"
    assert [(each.exception, each.text) for each in scan(lines(text))] == [
        ("AttributeError", "It failed: no x")
    ]
    other = "ERROR:a.b:It failed: no x\nERROR:c.d:Generation error type: AttributeError"
    assert [each.exception for each in scan(lines(other))] == ["", ""]


def test_the_place_of_a_traceback_is_that_in_the_text(vocabulary):
    text = '> #\n> neuronx\n> File "/a/b.py", line 3, in f\n> g(x)'.replace("> ", ">")
    (found,) = [
        each for each in read_messages(text, vocabulary).facts if each.kind == "failing_line"
    ]
    assert (found.get("line"), found.get("code")) == (3, "g(x)")
    assert found.plain()["provenance"][0]["location"] == "pasted:3"
