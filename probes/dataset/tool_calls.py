"""Recognises the form of the tool calls in the text of a message, by marks that only that form
has."""

from __future__ import annotations

_MARKS = {
    "kimi-tokens": ("<|tool_calls_section_begin|>", "<|tool_call_begin|>"),
    "deepseek-tokens": ("<\uff5ctool\u2581calls\u2581begin\uff5c>",
                        "<\uff5ctool\u2581call\u2581begin\uff5c>"),
    "harmony": ("<|call|>", " to=functions."),
}  # fmt: skip
_TAG, _INSIDE = "<tool_call>", 200


def form_of(text: str) -> str:
    """The form of the first tool call in a text, in the words of the vocabulary; empty if no form
    is certain."""
    for form, marks in _MARKS.items():
        if any(mark in text for mark in marks):
            return form
    _, tag, behind = text.partition(_TAG)
    inside = behind.lstrip()[:_INSIDE]
    if not tag:
        return ""
    if inside.startswith("<function="):
        return "tagged-xml"
    if "<arg_key>" in inside:
        return "tagged-args"
    return "tagged-json" if inside.startswith("{") else ""
